//! Delegation between hub and anchor: the work that one agent gives to another, and the news that come back.
//!
//! The agent names a call. The hub opens a session for the call, the child, and reports on the child under
//! the same name. The log has [`crate::lifecycle::Delegation`] and its end.

use serde::{Deserialize, Serialize};

use crate::capability::Mode;
use crate::event::AgentName;
use crate::id::SessionId;
use crate::lifecycle::TurnOutcome;

/// What an agent requests for a call that another session answers. The tag is part of the protocol in
/// `docs/react.md`, and the log keeps the lines of that protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum DelegationRequest {
    /// Start this task.
    Begin(Task),
    /// Stop the task.
    Recall,
}

/// A task for another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The agent that does the task.
    pub agent: AgentName,
    /// The text of the task.
    pub task: String,
    /// The folder; none for the work tree of the delegating session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The mode of the child, never more than the delegating session has; none for the same mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The model; none leaves the choice to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What happens to a child session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum ChildNews {
    /// The hub has opened the child.
    Opened {
        /// The child.
        child: SessionId,
        /// The child's agent.
        agent: AgentName,
    },
    /// The child's agent writes a message.
    Said {
        /// The next piece of the message.
        text: String,
    },
    /// The child has ended, or never began.
    Ended {
        /// The outcome.
        outcome: TurnOutcome,
        /// The child's last message, or the error.
        text: String,
    },
}
