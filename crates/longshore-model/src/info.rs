//! A session as lists show it: what the fold of its log comes to, in one row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{ApprovalRequest, QuestionRequest};
use crate::capability::{Capabilities, Mode, SlashCommand};
use crate::command::{Attachment, AttachmentSource};
use crate::event::{AgentName, Author};
use crate::id::{ItemId, PromptId, Seq, SessionId, TurnId};
use crate::lifecycle::{ForkPoint, GitState, NativeId};
use crate::mcp::McpServer;
use crate::time::Timestamp;
use crate::usage::Usage;

/// The public JSON of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Session")]
pub struct SessionInfo {
    /// The agent.
    pub provider: AgentName,
    /// Its name.
    pub session_id: SessionId,
    /// What it is about.
    pub title: String,
    /// The name of the work tree's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The address of `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// In one of five words.
    pub status: Status,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When a person or the agent last did something; not what the hub noted for itself, as after a restart.
    pub updated_at: Timestamp,
    /// When a person last did something here: opened it, said something, decided. What an agent did is no part of it, nor what
    /// was said in the agent's own terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_at: Option<Timestamp>,
    /// The end of what was last said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What else there is to know of it, for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// The agent's own record of it, where it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_session: Option<Value>,

    /// More closely than the status: what it does right now.
    pub activity: Activity,
    /// The work tree.
    pub cwd: String,
    /// What the agent may do without asking.
    pub mode: Mode,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the agent thinks, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The servers of tools that the agent was given with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
    /// The agent's name for the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeId>,
    /// How much of the agent's own record was taken in, as long as the conversation is held elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<u64>,
    /// What the agent can do.
    pub capabilities: Capabilities,
    /// The last event.
    pub head: Seq,
    /// The turn that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The prompts that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueuedPrompt>,
    /// Whether prompts of the queue are held until a person sends them on.
    #[serde(default)]
    pub queue_held: bool,
    /// Whether a restart of the hub cut a turn, and nobody has said anything since.
    #[serde(default)]
    pub cut_by_restart: bool,
    /// The approvals that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<OpenApproval>,
    /// The questions that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// What it has used.
    pub usage: Usage,
    /// How full the context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u8>,
    /// What it has cost, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Where the work tree stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The slash commands that the agent knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SlashCommand>,
    /// Put away.
    pub archived: bool,
    /// The session that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The session that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
}

/// A session in one of five words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A turn runs or is about to.
    Active,
    /// At rest.
    Idle,
    /// Closed.
    Completed,
    /// The last turn failed.
    Error,
    /// The last turn was interrupted.
    Interrupted,
}

/// What a session does right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Its agent starts.
    Starting,
    /// A turn runs.
    Working,
    /// A turn runs and waits for a person.
    Waiting,
    /// Its agent listens.
    Idle,
    /// Its agent is gone; the next prompt revives it.
    Sleeping,
    /// It is over.
    Closed,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedPrompt {
    /// Its name.
    pub prompt: PromptId,
    /// The turn that it will begin.
    pub turn: TurnId,
    /// The words.
    pub text: String,
    /// What comes with them; in the row of a session without its bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// It waits until a person sends it on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Its words are cut, as in the row of a session: the session itself has them whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whose it is.
    pub by: Author,
}

impl QueuedPrompt {
    /// The same without the bytes of its attachments: a row is written and sent often, and they may be large.
    pub(crate) fn without_data(&self) -> Self {
        let mut light = self.clone();
        for attachment in &mut light.attachments {
            if let AttachmentSource::Data(data) = &mut attachment.source {
                data.clear();
            }
        }
        light
    }
}

/// An approval that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenApproval {
    /// The session that waits.
    pub session: SessionId,
    /// The turn that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// The event that asked.
    pub seq: Seq,
    /// Since when.
    pub requested_at: Timestamp,
    /// The agent's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Some of it is left out, as in the row of a session: the session itself and the timeline have it whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What, and what may be answered.
    #[serde(flatten)]
    pub request: ApprovalRequest,
}

/// A question that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    /// The session that waits.
    pub session: SessionId,
    /// The turn that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The event that asked.
    pub seq: Seq,
    /// Since when.
    pub asked_at: Timestamp,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Some of it is left out, as in the row of a session: the session itself and the timeline have it whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What to fill in.
    #[serde(flatten)]
    pub request: QuestionRequest,
}
