//! What the task of a session is told: by clients, and by its agent.

use longshore_model::command::{Command, Reply};
use longshore_model::event::{Author, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::{GitState, NativeId, Opened, Sleep};
use longshore_model::session::RecordPlace;
use longshore_model::time::Timestamp;
use tokio::sync::oneshot;

use crate::error::HubError;

/// What a client wants of a session.
pub(crate) enum FromClient {
    Command {
        command: Command,
        by: Author,
        reply: oneshot::Sender<Result<Reply, HubError>>,
    },
    Open {
        opened: Box<Opened>,
        copied: Vec<Draft>,
        reply: oneshot::Sender<Result<SessionInfo, HubError>>,
    },
    OpenPast {
        opened: Box<Opened>,
        native: NativeId,
        at: Timestamp,
        reply: oneshot::Sender<Result<SessionInfo, HubError>>,
    },
    Info {
        reply: oneshot::Sender<Result<SessionInfo, HubError>>,
    },
    RecordPlace {
        reply: oneshot::Sender<Result<Option<RecordPlace>, HubError>>,
    },
    /// The log holds more than it was told to: look there before anything else.
    Reread,
    /// Go for good, with all that was ever recorded.
    Erase {
        reply: oneshot::Sender<Result<(), HubError>>,
    },
    /// Nothing: just be awake, and set right what a crash left open.
    Wake,
}

/// What a session's agent does.
pub(crate) enum FromAgent {
    Said(Vec<Draft>),
    Gone {
        sleep: Sleep,
        reason: String,
    },
    Git(GitState),
    /// A session that works for this one waits for a person, or no longer; so it was when it had so many events.
    ChildWaits {
        child: SessionId,
        waiting: bool,
        at: Seq,
    },
    /// What was said elsewhere.
    Past {
        after: u64,
        since: Option<Timestamp>,
        drafts: Vec<(Timestamp, Draft)>,
        until: u64,
    },
    /// It had nothing to do for a while.
    Idle,
    /// Everything before this has been recorded when it is answered.
    Mark(oneshot::Sender<()>),
}
