//! The messages between hub and anchor: two enums that can cross a socket.
//!
//! The hub never touches an agent's process. The anchor holds the processes. The hub sends commands to the
//! anchor, and the anchor returns the agents' output, already translated.

mod query;
mod repository;

use serde::{Deserialize, Serialize};

use crate::capability::{Capabilities, Mode};
use crate::command::AgentCommand;
use crate::delegation::DelegationRequest;
use crate::event::{AgentName, Draft, Raw};
use crate::id::{PromptId, QueryId, SessionId};
use crate::lifecycle::{NativeId, Sleep};
use crate::mcp::McpServer;
use crate::time::Timestamp;

pub use query::{
    AgentQuestion, AgentsQuery, AnchorQuery, Answer, CommandRun, FileQuery, FileWrite, Folders, FoldersQuery,
    GitQuery, Machine, MessagesQuery, ModelsQuery, NativeMessages, NativeSession, NativeSessions, PastCount,
    PastQuery, Query, RecordSizeQuery, RunQuery, SessionsQuery, WorkTreeQuery,
};
pub use repository::{
    ChangedFile, GitCommit, GitWorkTree, RepositoryAsk, RepositoryQuery, RepositoryView, WorkTreeStatus,
};

/// Messages from the hub to the anchor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum ToAnchor {
    /// Start an agent for a session.
    Open(Launch),
    /// Pass a command to a session's agent.
    Tell {
        /// The session.
        session: SessionId,
        /// The command.
        command: AgentCommand,
    },
    /// Stop a session's agent.
    Stop {
        /// The session.
        session: SessionId,
    },
    /// Read the rest of a conversation from the agent's own record.
    ReadPast {
        /// The session that imports the conversation.
        session: SessionId,
        /// The agent.
        agent: AgentName,
        /// The agent's name of the conversation.
        native: NativeId,
        /// The position up to which the hub has already read the record.
        after: u64,
        /// The part of the record that is in the log already; none to import everything that is read.
        told: Option<ToldHere>,
    },
    /// Answer a query that concerns no session.
    Ask {
        /// The id of the query.
        id: QueryId,
        /// The query.
        query: Query,
    },
}

/// The part of a conversation that is in the log already because our own driver reported it. All other turns
/// of the agent's record happened elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldHere {
    /// When our agent last reported something in a turn. Turns that began later happened elsewhere.
    pub until: Timestamp,
    /// When the hub last imported from the record. Turns that began between `since` and `until` came from our
    /// agent, or happened elsewhere at the same time.
    pub since: Timestamp,
    /// The prompts that were sent here between `since` and `until`. They tell the two kinds of turns apart if
    /// the record names prompts.
    pub prompts: Vec<PromptId>,
}

/// Messages from the anchor to the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum FromAnchor {
    /// Events from a session's agent, in order.
    Said {
        /// The session.
        session: SessionId,
        /// The events.
        drafts: Vec<Draft>,
    },
    /// A session's agent is gone.
    Gone {
        /// The session.
        session: SessionId,
        /// How the process ended.
        sleep: Sleep,
        /// The reason, for people.
        reason: String,
    },
    /// Conversations that happened elsewhere, or that continued there.
    FoundPast {
        /// Some of these conversations.
        found: Vec<Past>,
    },
    /// Events from the record of such a conversation.
    ReadPast {
        /// The session that imports the conversation.
        session: SessionId,
        /// The position in the record before these events.
        after: u64,
        /// When our own agent had last reported something, as the request said.
        since: Option<Timestamp>,
        /// The events, each with its time.
        drafts: Vec<(Timestamp, Draft)>,
        /// The position in the record after these events.
        until: u64,
    },
    /// A session's agent wants another agent to do something, or to stop. The agent gets the news as
    /// [`AgentCommand::Child`].
    Delegate {
        /// The session.
        session: SessionId,
        /// The agent's id of the call.
        call: String,
        /// What the agent requests.
        request: DelegationRequest,
    },
    /// The answer to a query.
    Answer {
        /// The id of the query.
        id: QueryId,
        /// The answer, or why there is none.
        answer: Result<Answer, String>,
    },
}

/// Everything that the anchor needs to start an agent for a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The session.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentName,
    /// The work tree.
    pub cwd: String,
    /// What the agent may do without asking.
    pub mode: Mode,
    /// The model; none leaves the choice to the agent.
    pub model: Option<String>,
    /// How hard the agent thinks, in the agent's words; none leaves the choice to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Whether this session is at the deepest level of delegation. The hub would refuse delegations of this
    /// session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deepest: bool,
    /// The MCP servers that the agent gets.
    pub mcp_servers: Vec<McpServer>,
    /// What the agent knows of the conversation when it starts.
    pub start: Start,
}

/// What an agent knows of its conversation when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "start", rename_all = "snake_case")]
pub enum Start {
    /// Nothing: the conversation is new.
    New,
    /// What the log holds: the agent gets the conversation as text before the first prompt.
    Told {
        /// The conversation so far, as text.
        story: String,
    },
    /// Its own earlier lines from the log, for agents that remember nothing themselves: see
    /// [`Capabilities::memory_in_log`].
    Lines {
        /// The agent's own lines in their order, without lines that only made an item grow. Messages of
        /// people are among them, each as the draft of a user message in JSON: `{"draft":..}`.
        lines: Vec<Raw>,
    },
    /// What its own memory holds.
    Resume {
        /// The agent's name of the conversation.
        native: NativeId,
    },
    /// A copy of another conversation in its own memory.
    Fork {
        /// The agent's name of the other conversation.
        native: NativeId,
    },
}

/// A conversation that happened elsewhere, for example in the agent's own terminal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// The agent.
    pub agent: AgentName,
    /// The agent's name of the conversation.
    pub native: NativeId,
    /// The work tree.
    pub cwd: String,
    /// The title, if the agent has one.
    pub title: Option<String>,
    /// When the conversation began.
    pub created_at: Timestamp,
    /// The agent's name of the conversation that delegated to this one.
    pub parent: Option<NativeId>,
    /// What the agent can do.
    pub capabilities: Capabilities,
    /// The size of the agent's record.
    pub size: u64,
    /// When the record was last written.
    pub written: Timestamp,
}
