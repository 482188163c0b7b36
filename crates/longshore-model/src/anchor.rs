//! What hub and anchor say to each other: two enums that can cross a socket.
//!
//! The hub never reaches into an agent's process. It tells the anchor, which holds the processes, and the anchor
//! tells what they said, already translated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capability::{AgentInfo, Capabilities, Mode, ModelInfo};
use crate::command::AgentCommand;
use crate::delegation::DelegateWish;
use crate::event::{AgentName, Draft, Raw};
use crate::id::{PromptId, QueryId, SessionId};
use crate::lifecycle::{GitState, NativeId, Sleep};
use crate::mcp::McpServer;
use crate::time::Timestamp;

/// From the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum ToAnchor {
    /// Start an agent for a session.
    Open(Launch),
    /// Tell a session's agent something.
    Tell {
        /// Whose agent.
        session: SessionId,
        /// What.
        command: AgentCommand,
    },
    /// Stop a session's agent.
    Stop {
        /// Whose agent.
        session: SessionId,
    },
    /// Read on in a conversation that was held elsewhere.
    ReadPast {
        /// The session that takes it in.
        session: SessionId,
        /// Which agent.
        agent: AgentName,
        /// Its name for the conversation.
        native: NativeId,
        /// How much of the agent's record was looked at already.
        after: u64,
        /// What of it is in the log already; none when all that comes is to be taken in.
        told: Option<ToldHere>,
    },
    /// Ask something that concerns no session.
    Ask {
        /// The name of the question.
        id: QueryId,
        /// The question.
        query: Query,
    },
}

/// What of a conversation is in the log already, told by our own driver: all other turns of the agent's own record were held
/// elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldHere {
    /// When our agent was last heard in a turn. What began later was held elsewhere.
    pub until: Timestamp,
    /// When the record was last taken in. What began between the two was held by our agent, or elsewhere at the same time.
    pub since: Timestamp,
    /// What was said here between the two. Where the record has the names of prompts, they tell one from the other.
    pub prompts: Vec<PromptId>,
}

/// From the anchor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum FromAnchor {
    /// What a session's agent said, in order.
    Said {
        /// Whose agent.
        session: SessionId,
        /// What.
        drafts: Vec<Draft>,
    },
    /// A session's agent is gone.
    Gone {
        /// Whose agent.
        session: SessionId,
        /// How.
        sleep: Sleep,
        /// Why, for people.
        reason: String,
    },
    /// Conversations that were held elsewhere, or that have gone on there.
    FoundPast {
        /// Some of them.
        found: Vec<Past>,
    },
    /// What was said in one of them.
    ReadPast {
        /// The session that takes it in.
        session: SessionId,
        /// How much of the agent's record comes before it.
        after: u64,
        /// Until when our own agent had told, as it was asked for.
        since: Option<Timestamp>,
        /// What, and when.
        drafts: Vec<(Timestamp, Draft)>,
        /// How much of the agent's record was taken in with it.
        until: u64,
    },
    /// A session's agent wants another one to do something, or to stop. It hears of it as [`AgentCommand::Child`].
    Delegate {
        /// Whose agent.
        session: SessionId,
        /// Its name for the call.
        call: String,
        /// What it wants.
        wish: DelegateWish,
    },
    /// The answer to a question.
    Answer {
        /// The name of the question.
        id: QueryId,
        /// The answer, or why there is none.
        answer: Result<Answer, String>,
    },
}

/// All that is needed to start an agent for a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The session.
    pub session: SessionId,
    /// Which agent.
    pub agent: AgentName,
    /// The work tree.
    pub cwd: String,
    /// What it may do without asking.
    pub mode: Mode,
    /// The model asked for.
    pub model: Option<String>,
    /// How hard it shall think, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Delegation goes no deeper than this session: what it handed on would be refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deepest: bool,
    /// The servers of tools that it is given.
    pub mcp_servers: Vec<McpServer>,
    /// Where it starts from.
    pub start: Start,
}

/// Where a conversation starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "start", rename_all = "snake_case")]
pub enum Start {
    /// From nothing.
    New,
    /// From what our log holds: the agent is told before the first prompt.
    Told {
        /// The conversation so far, in words.
        story: String,
    },
    /// From our log, which is all the memory that the agent has: see [`Capabilities::memory_in_log`].
    Lines {
        /// Its own lines in their order, without those that only made an item grow, and among them what it was told by
        /// people, each as the draft of a user message in JSON: `{"draft":..}`.
        lines: Vec<Raw>,
    },
    /// From the agent's own memory.
    Resume {
        /// Its name for the conversation.
        native: NativeId,
    },
    /// From a copy of another conversation in the agent's own memory.
    Fork {
        /// Its name for that conversation.
        native: NativeId,
    },
}

/// A question that concerns no session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum Query {
    /// Which agents are there?
    Agents {
        /// One of them only. No program is started for that, so its version may not be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<AgentName>,
    },
    /// Which models has this agent?
    Models {
        /// Which agent.
        agent: AgentName,
        /// Whether it has to start for the answer: neither what it said before counts, nor a process that runs already.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// Where does this work tree stand?
    Git {
        /// The work tree.
        cwd: String,
    },
    /// Which conversations does this agent remember? The one in which something happened last comes first, where the
    /// agent has an order. A page may repeat what was on the one before.
    Sessions {
        /// Which agent.
        agent: AgentName,
        /// Where the page begins.
        cursor: Option<String>,
        /// How many.
        limit: u32,
    },
    /// What was said in a conversation that this agent remembers? The last page comes first.
    Messages {
        /// Which agent.
        agent: AgentName,
        /// Its name for the conversation.
        native: NativeId,
        /// Where the page ends; none for the last one.
        cursor: Option<String>,
    },
    /// Which conversations were held elsewhere? Those that are new are told before the answer.
    Past,
    /// Can an agent work in this folder?
    WorkTree {
        /// An absolute path.
        path: String,
    },
    /// How much is there of this agent's record of a conversation, now?
    RecordSize {
        /// Which agent.
        agent: AgentName,
        /// Its name for the conversation.
        native: NativeId,
    },
    /// Which folders are in this one?
    Folders {
        /// An absolute path; none for the folder where people begin.
        path: Option<String>,
    },
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To [`Query::Agents`].
    Agents {
        /// The name of the machine that they are on.
        machine: String,
        /// All that the anchor knows.
        agents: Vec<AgentInfo>,
    },
    /// To [`Query::Models`].
    Models {
        /// All of the agent's.
        models: Vec<ModelInfo>,
    },
    /// To [`Query::Git`].
    Git {
        /// None when it is no work tree of git.
        git: Option<GitState>,
    },
    /// To [`Query::Sessions`].
    Sessions {
        /// A page of them.
        sessions: Vec<NativeSession>,
        /// Where the next page begins.
        next: Option<String>,
    },
    /// To [`Query::Messages`].
    Messages {
        /// A page of them in their order, as the agent has them.
        messages: Vec<Raw>,
        /// Where the page before it ends; none when this is the first one.
        before: Option<String>,
    },
    /// To [`Query::Past`].
    Past {
        /// How many there are.
        found: u64,
        /// How many of them are yet to be read, or read on.
        unread: u64,
    },
    /// To [`Query::WorkTree`].
    WorkTree {
        /// Why not, for people; none when it can.
        fault: Option<String>,
    },
    /// To [`Query::RecordSize`].
    RecordSize {
        /// None when the agent keeps no record of it that we can read.
        size: Option<u64>,
    },
    /// To [`Query::Folders`].
    Folders(Folders),
}

/// A folder of a machine, for whoever looks for a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Folders {
    /// Which one.
    pub path: String,
    /// The one that it is in; none at the top.
    pub parent: Option<String>,
    /// The names of those in it, in order. Hidden ones are left out.
    pub folders: Vec<String>,
}

/// A conversation that an agent remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeSession {
    /// Its name for it.
    pub native: NativeId,
    /// Its title, or how it began.
    pub title: String,
    /// The work tree.
    pub cwd: Option<String>,
    /// When it began.
    pub created_at: Option<Timestamp>,
    /// When something last happened in it.
    pub updated_at: Option<Timestamp>,
    /// The agent's name for the conversation that delegated to this one.
    pub parent: Option<NativeId>,
}

/// A conversation that was held elsewhere: in the agent's own terminal, say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// Which agent.
    pub agent: AgentName,
    /// Its name for the conversation.
    pub native: NativeId,
    /// The work tree.
    pub cwd: String,
    /// What it is about, where the agent says so.
    pub title: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// The agent's name for the conversation that delegated to this one.
    pub parent: Option<NativeId>,
    /// What the agent can do.
    pub capabilities: Capabilities,
    /// How much there is of the agent's record.
    pub size: u64,
    /// When somebody last wrote to it.
    pub written: Timestamp,
}
