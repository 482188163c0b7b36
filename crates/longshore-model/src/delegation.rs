//! Delegation on its way: what an agent wants another one to do, and what it hears of that.
//!
//! The agent names a call; the hub opens a session for it, the child, and tells the agent how the child fares under
//! the same name. What the log says of it is [`crate::lifecycle::Delegation`] and its end.

use serde::{Deserialize, Serialize};

use crate::capability::Mode;
use crate::event::AgentName;
use crate::id::SessionId;
use crate::lifecycle::TurnOutcome;

/// What an agent wants with a call that another session answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum DelegateWish {
    /// Have this done.
    Begin(Task),
    /// Stop it.
    Recall,
}

/// Work for another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Which agent shall do it.
    pub agent: AgentName,
    /// What it is told.
    pub task: String,
    /// Where; the work tree of whoever delegates when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What it may do without asking: never more than whoever delegates, and the same when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The model; none leaves it to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// How a child fares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum ChildNews {
    /// There is a session for it now.
    Opened {
        /// Which one.
        child: SessionId,
        /// Its agent.
        agent: AgentName,
    },
    /// It speaks.
    Said {
        /// What it adds.
        text: String,
    },
    /// It is done, or never began.
    Ended {
        /// How.
        outcome: TurnOutcome,
        /// Its last message, or what went wrong.
        text: String,
    },
}
