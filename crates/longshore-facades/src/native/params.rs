//! The parameters of the calls.

use std::collections::BTreeMap;

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::capability::Mode;
use longshore_model::command::{Attachment, Prompt, When};
use longshore_model::device::{DeviceMode, PushSubscription};
use longshore_model::event::EventJson;
use longshore_model::id::{ApprovalId, DeviceId, PromptId, QuestionId, Seq, SessionId};
use longshore_model::info::Status;
use longshore_model::mcp::McpServer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A session to open.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenParams {
    /// The agent: a name from `/api/v1/agents`.
    pub agent: String,
    /// The work tree: an absolute path.
    pub cwd: String,
    /// The first prompt.
    #[serde(default)]
    pub prompt: Option<PromptContent>,
    /// The title. Default: the beginning of the first prompt.
    #[serde(default)]
    pub title: Option<String>,
    /// The model. Default: the agent chooses.
    #[serde(default)]
    pub model: Option<String>,
    /// How hard the agent thinks: one of the model's `efforts`. Default: the agent chooses.
    #[serde(default)]
    pub effort: Option<String>,
    /// What the agent may do without asking. Default: `ask`; if the agent has no such mode, its mode that
    /// allows least.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// MCP servers for the agent, besides the servers of the settings.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// The client's own key of the session. Two requests of one device with the same key open one session.
    #[serde(default)]
    pub key: Option<String>,
}

/// No parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// A session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionParams {
    /// The session.
    pub session: SessionId,
}

/// A device.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceParams {
    /// The device.
    pub device: DeviceId,
}

/// What to return about agents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListAgentsParams {
    /// Which models to return. Default: `asked`.
    #[serde(default)]
    pub models: WhichModels,
}

/// Which models of an agent to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichModels {
    /// All models: the hub asks the agents, and each agent starts a process for that. This may take seconds.
    #[default]
    Asked,
    /// The models that the hub knows already. This takes no time.
    Known,
}

/// The models of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListModelsParams {
    /// The name of the agent.
    pub agent: String,
    /// Whether the agent must start a new process, even if its models are known.
    #[serde(default)]
    pub anew: bool,
}

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Only sessions with this status.
    #[serde(default)]
    pub status: Option<Status>,
    /// Only sessions of this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Only sessions with this text in their title, preview or folder.
    #[serde(default)]
    pub q: Option<String>,
    /// `true`: only archived and closed sessions. `false`: only the other sessions. Default: `false`.
    #[serde(default)]
    pub archived: Option<bool>,
    /// The most sessions of the page. Default: 50; maximum: 200.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Where the page begins: `next` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// The changes of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateParams {
    /// The session.
    pub session: SessionId,
    /// The new title.
    #[serde(default)]
    pub title: Option<String>,
    /// `true` archives the session; `false` takes it out of the archive.
    #[serde(default)]
    pub archived: Option<bool>,
    /// What the agent may do without asking.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// How hard the agent thinks: one of the model's `efforts`.
    #[serde(default)]
    pub effort: Option<String>,
    /// The order of the waiting prompts; the next prompt comes first.
    #[serde(default)]
    pub queue: Option<Vec<PromptId>>,
}

/// A prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptParams {
    /// The session.
    pub session: SessionId,
    /// The content of the prompt.
    pub content: PromptContent,
    /// The client's own key of the prompt. Two prompts with the same key are one prompt.
    #[serde(default)]
    pub key: Option<String>,
    /// What to do when the agent is busy.
    #[serde(default)]
    pub when: When,
}

/// Text, or text and attachments.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "`content` is a text, or a list of {type: text, text} and {type: attachment, mediaType, data | path | url}"
)]
pub enum PromptContent {
    /// Text.
    Text(String),
    /// Several parts.
    Parts(Vec<PromptPart>),
}

/// A part of a prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A file or an image.
    Attachment(Attachment),
}

impl PromptContent {
    /// The prompt in the vocabulary of the waist.
    pub fn into_prompt(self, key: Option<String>, when: When) -> Prompt {
        let parts = match self {
            PromptContent::Text(text) => return Prompt { text, attachments: Vec::new(), key, when },
            PromptContent::Parts(parts) => parts,
        };
        let (mut texts, mut attachments) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                PromptPart::Text { text } => texts.push(text),
                PromptPart::Attachment(attachment) => attachments.push(attachment),
            }
        }
        Prompt { text: texts.join("\n"), attachments, key, when }
    }
}

/// The new text of a waiting prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditPromptParams {
    /// The session.
    pub session: SessionId,
    /// The prompt.
    pub prompt: PromptId,
    /// The new text.
    pub text: String,
}

/// A waiting prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelPromptParams {
    /// The session of the prompt.
    pub session: SessionId,
    /// The prompt.
    pub prompt: PromptId,
}

/// How to wake an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviveParams {
    /// The session.
    pub session: SessionId,
    /// Whether the agent gets what the log holds, instead of using its own memory.
    #[serde(default)]
    pub from_log: bool,
}

/// Which held prompts to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendQueuedParams {
    /// The session.
    pub session: SessionId,
    /// Whether to send all held prompts. Default: only the next one.
    #[serde(default)]
    pub all: bool,
}

/// A decision on an approval.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideParams {
    /// The approval.
    pub approval: ApprovalId,
    /// The decision.
    pub decision: Decision,
    /// A message to the agent.
    #[serde(default)]
    pub message: Option<String>,
    /// The arguments that the tool gets instead of the agent's own arguments.
    #[serde(default)]
    pub input: Option<Value>,
}

/// An answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerParams {
    /// The question.
    pub question: QuestionId,
    /// The answers, by field.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
    /// Whether the person answers, declines or cancels.
    #[serde(default)]
    pub action: AnswerAction,
}

/// Which events to return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventsParams {
    /// The session.
    pub session: SessionId,
    /// Only events after this seq. Default: all events.
    #[serde(default)]
    pub after: Seq,
    /// The most events of the page. Default: 200; maximum: 1000.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Whether to return the agents' own frames in `rawEvent`.
    #[serde(default)]
    pub raw: bool,
}

/// A copy of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkParams {
    /// The session to copy.
    pub session: SessionId,
    /// The seq of a prompt: the copy has only what came before the turn of that prompt. Default: the copy has
    /// everything.
    #[serde(default)]
    pub before: Option<Seq>,
}

/// Which items of a timeline to return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimelineParams {
    /// The session.
    pub session: SessionId,
    /// Only items that began before this seq. Default: the newest items.
    #[serde(default)]
    pub before: Option<Seq>,
    /// The most items of the page. Default: 50; maximum: 500.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// A search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchParams {
    /// The words to find.
    pub q: String,
    /// The most hits. Default: 20; maximum: 100.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// A code for a new device.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PairParams {
    /// What the device may do. Default: `full`.
    #[serde(default)]
    pub mode: DeviceMode,
    /// The device's name for people. Default: the device names itself.
    #[serde(default)]
    pub label: Option<String>,
}

/// A project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectParams {
    /// The folder: an absolute path.
    pub path: String,
}

/// What the caller's screen shows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PresenceParams {
    /// The session on the screen; null if the screen shows something else.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// Whether anybody can see the screen.
    pub visible: bool,
}

/// A browser's subscription to pushes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PushSubscribeParams {
    /// The subscription as the browser gives it. The hub ignores unknown fields.
    pub subscription: PushSubscription,
}

/// A subscription to delete.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PushUnsubscribeParams {
    /// The endpoint of the subscription. Default: all subscriptions of the caller.
    #[serde(default)]
    pub endpoint: Option<String>,
}

/// The time of the usage.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsageParams {
    /// The number of days, back from today. Default: 30; maximum: 366.
    #[serde(default)]
    pub days: Option<u32>,
}

/// A folder to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FoldersParams {
    /// An absolute path on the machine that runs the agents. Default: the machine's home folder.
    #[serde(default)]
    pub path: Option<String>,
}

/// Events of an exported session, in order. Several calls may import one session part by part.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportParams {
    /// The events as an export has them, with the agent's own frames in `rawEvent`.
    #[schemars(with = "Vec<EventJson<'static>>")]
    pub events: Vec<Box<RawValue>>,
    /// The work tree in which the session continues here. Default: the folder in the file, if sessions of
    /// this hub have been there.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Whether this is the last part.
    #[serde(default)]
    pub done: bool,
}

/// The agent's own frame of an event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawEventMember {
    #[serde(default)]
    pub(super) raw_event: Option<Box<RawValue>>,
}
