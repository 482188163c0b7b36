//! The messages to the task of a session: from clients, and from its agent.

use longshore_model::command::{Command, Reply};
use longshore_model::event::{Author, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::{GitState, NativeId, Opened, Sleep};
use longshore_model::session::{KeyedPrompt, PromptName, RecordPlace};
use longshore_model::time::Timestamp;
use tokio::sync::oneshot;

use crate::error::HubError;

/// A message from a client.
pub(crate) enum FromClient {
    Command {
        command: Command,
        by: Author,
        reply: oneshot::Sender<Result<Reply, HubError>>,
    },
    Open {
        opened: Box<Opened>,
        copied: Vec<(Timestamp, Draft)>,
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
    KeyedPrompt {
        name: PromptName,
        reply: oneshot::Sender<Result<Option<KeyedPrompt>, HubError>>,
    },
    /// The log holds more than the session knows: read it first.
    Reread,
    /// Delete the session for good, with its whole log.
    Erase {
        reply: oneshot::Sender<Result<(), HubError>>,
    },
    /// Wake the session, and repair what a crash left open.
    Wake,
}

/// A message from the agent.
pub(crate) enum FromAgent {
    Said(Vec<Draft>),
    Gone {
        sleep: Sleep,
        reason: String,
    },
    Git(GitState),
    /// A child session begins or ends to wait for a person, with the child's seq at that time.
    ChildWaits {
        child: SessionId,
        waiting: bool,
        at: Seq,
    },
    /// Events that happened elsewhere.
    Past {
        after: u64,
        since: Option<Timestamp>,
        drafts: Vec<(Timestamp, Draft)>,
        until: u64,
    },
    /// The agent had nothing to do for a long time.
    Idle,
    /// Answered when everything before it is recorded.
    Mark(oneshot::Sender<()>),
}
