//! Why the hub did not do something. A variant per decision that a caller can take.

use std::sync::Arc;

use longshore_log::LogError;
use longshore_model::command::Refusal;
use longshore_model::id::{Seq, SessionId};

/// Why the hub did not do something.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// There is no such session.
    #[error("no session has this id")]
    UnknownSession,
    /// There is no such approval or question.
    #[error("no approval or question has this id")]
    UnknownAsk,
    /// There is no such agent.
    #[error("no agent is called `{0}`; `longshore agents` lists the agents")]
    UnknownAgent(String),
    /// The agent is known and not installed.
    #[error("{agent} is not set up on this machine: {install}")]
    NotInstalled {
        /// Which one.
        agent: String,
        /// The command that installs it.
        install: String,
    },
    /// No agent can work in the folder that was named.
    #[error("no agent can work in `{cwd}`: {fault}")]
    BadCwd {
        /// Which folder.
        cwd: String,
        /// Why not.
        fault: String,
    },
    /// The model is known not to have that effort.
    #[error("{model} has no effort `{effort}`; its efforts are {}", .efforts.join(", "))]
    UnknownEffort {
        /// What was asked for.
        effort: String,
        /// Of which model.
        model: String,
        /// What can be asked for.
        efforts: Vec<String>,
    },
    /// The session's machine said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A session of this id is here already, and an import changes none.
    #[error("this hub already has this session; `longshore show {0}` shows it")]
    SessionExists(SessionId),
    /// A fork needs a session at rest whose agent remembers it.
    #[error("cannot fork: {0}")]
    CannotFork(&'static str),
    /// The client is ahead of the log: it asks for what comes after something that never was.
    #[error("the session ends at event {head}, so there are no events after {after}; start again from 0")]
    Ahead {
        /// What the client said.
        after: Seq,
        /// What there is.
        head: Seq,
    },
    /// Too much is waiting already; try again.
    #[error("the session has too many requests at once; try again in a moment")]
    Busy,
    /// No machine that could run agents is connected.
    #[error("no machine that runs agents is connected; wait a moment, or restart the hub")]
    NoAnchor,
    /// The anchor did not answer, or could not.
    #[error("{0}")]
    Anchor(String),
    /// What a client asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The log could not be read or written.
    #[error(transparent)]
    Log(Arc<LogError>),
    /// A stored event could not be read back.
    #[error("cannot read event {seq} of the log: {source}")]
    Unreadable {
        /// Which one.
        seq: Seq,
        /// Why.
        source: serde_json::Error,
    },
}

impl From<LogError> for HubError {
    fn from(error: LogError) -> Self {
        HubError::Log(Arc::new(error))
    }
}
