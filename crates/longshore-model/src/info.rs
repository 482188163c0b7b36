//! A session in one row of a list: the result of folding its log.

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
    /// The agent's name.
    pub provider: AgentName,
    /// The id of the session.
    pub session_id: SessionId,
    /// The title.
    pub title: String,
    /// The name of the work tree's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The address of `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The state in one of five words.
    pub status: Status,
    /// When the session was opened.
    pub created_at: Timestamp,
    /// When a person or the agent last did something. Entries that the hub writes for itself, for example
    /// after a restart, do not count.
    pub updated_at: Timestamp,
    /// When a person last did something here: opened the session, sent a prompt, decided. Work of the agent
    /// does not count, nor turns in the agent's own terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_at: Option<Timestamp>,
    /// The end of the last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Further properties, for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// The agent's own record of the session, if it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_session: Option<Value>,

    /// What the session does right now; finer than `status`.
    pub activity: Activity,
    /// The work tree.
    pub cwd: String,
    /// What the agent may do without asking.
    pub mode: Mode,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the agent thinks, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The MCP servers that the session gives its agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
    /// The agent's name of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeId>,
    /// How much of the agent's own record the hub has imported, while the conversation is held elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<u64>,
    /// What the agent can do.
    pub capabilities: Capabilities,
    /// The seq of the last event.
    pub head: Seq,
    /// The running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The waiting prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueuedPrompt>,
    /// Whether prompts of the queue are held until a person releases them.
    #[serde(default)]
    pub queue_held: bool,
    /// Whether a restart of the hub interrupted a turn, and nobody has sent a prompt since.
    #[serde(default)]
    pub cut_by_restart: bool,
    /// The waiting approvals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<OpenApproval>,
    /// The waiting questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// The tokens that the session has used.
    pub usage: Usage,
    /// How full the context window is, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u8>,
    /// The cost of the session, if the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The git state of the work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The slash commands that the agent offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SlashCommand>,
    /// Whether the session is archived.
    pub archived: bool,
    /// The session that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The session from which this one was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
}

/// The state of a session in one of five words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A turn runs or is about to run.
    Active,
    /// The session is at rest.
    Idle,
    /// The session is closed.
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
    /// The agent starts.
    Starting,
    /// A turn runs.
    Working,
    /// A turn runs and waits for a person.
    Waiting,
    /// The agent listens.
    Idle,
    /// The agent's process is gone; the next prompt starts it again.
    Sleeping,
    /// The session is closed.
    Closed,
}

/// A waiting prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedPrompt {
    /// The id of the prompt.
    pub prompt: PromptId,
    /// The turn that the prompt will begin.
    pub turn: TurnId,
    /// The text.
    pub text: String,
    /// The attachments. In a session's row they have no content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Whether the prompt waits until a person releases it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Whether the text is cut, as in a session's row. The session itself has the whole text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Who sent the prompt.
    pub by: Author,
}

impl QueuedPrompt {
    /// The same prompt without the content of its attachments: the hub writes and sends rows often, and
    /// attachments can be large.
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

/// A waiting approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenApproval {
    /// The session.
    pub session: SessionId,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The item that the approval is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// The event that requested the approval.
    pub seq: Seq,
    /// When the agent requested the approval.
    pub requested_at: Timestamp,
    /// The agent's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether a part of the request is left out, as in a session's row. The session itself and the timeline
    /// have the whole request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What the agent wants, and which decisions are possible.
    #[serde(flatten)]
    pub request: ApprovalRequest,
}

/// A waiting question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    /// The session.
    pub session: SessionId,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The event that asked the question.
    pub seq: Seq,
    /// When the agent asked.
    pub asked_at: Timestamp,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether a part of the question is left out, as in a session's row. The session itself and the timeline
    /// have the whole question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The fields to fill in.
    #[serde(flatten)]
    pub request: QuestionRequest,
}
