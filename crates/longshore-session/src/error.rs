//! Why the hub refused a request, one variant per decision that a caller can take.

use std::sync::Arc;

use longshore_log::LogError;
use longshore_model::command::Refusal;
use longshore_model::id::{Seq, SessionId};

/// Why the hub refused a request.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// No session has this id.
    #[error("no session has this id")]
    UnknownSession,
    /// No approval or question has this id.
    #[error("no approval or question has this id")]
    UnknownAsk,
    /// No agent has this name.
    #[error("no agent is called `{0}`; `longshore agents` lists the agents")]
    UnknownAgent(String),
    /// The agent is not installed.
    #[error("{agent} is not set up on this machine: {install}")]
    NotInstalled {
        /// The agent.
        agent: String,
        /// The command that installs the agent.
        install: String,
    },
    /// No agent can work in this folder.
    #[error("no agent can work in `{cwd}`: {fault}")]
    BadCwd {
        /// The folder.
        cwd: String,
        /// The reason.
        fault: String,
    },
    /// The model does not have this effort.
    #[error("{model} has no effort `{effort}`; its efforts are {}", .efforts.join(", "))]
    UnknownEffort {
        /// The requested effort.
        effort: String,
        /// The model.
        model: String,
        /// The efforts of the model.
        efforts: Vec<String>,
    },
    /// The session refused the command.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The hub already has this session, and an import changes no session.
    #[error("this hub already has this session; `longshore show {0}` shows it")]
    SessionExists(SessionId),
    /// Only a session at rest whose agent remembers it can be forked.
    #[error("cannot fork: {0}")]
    CannotFork(&'static str),
    /// The client asks for events after an event that does not exist.
    #[error("the session ends at event {head}, so there are no events after {after}; start again from 0")]
    Ahead {
        /// The client's seq.
        after: Seq,
        /// The last seq of the session.
        head: Seq,
    },
    /// Too many requests wait; the client may try again.
    #[error("the session has too many requests at once; try again in a moment")]
    Busy,
    /// No machine that runs agents is connected.
    #[error("no machine that runs agents is connected; wait a moment, or restart the hub")]
    NoAnchor,
    /// The anchor did not answer, or could not.
    #[error("{0}")]
    Anchor(String),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The hub could not read or write the log.
    #[error(transparent)]
    Log(Arc<LogError>),
    /// The hub could not read a stored event.
    #[error("cannot read event {seq} of the log: {source}")]
    Unreadable {
        /// The seq of the event.
        seq: Seq,
        /// The cause.
        source: serde_json::Error,
    },
}

impl From<LogError> for HubError {
    fn from(error: LogError) -> Self {
        HubError::Log(Arc::new(error))
    }
}
