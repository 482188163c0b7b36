//! What clients send: the parameters of every call.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::capability::Mode;
use longshore_model::command::{Attachment, Prompt, When};
use longshore_model::device::{DeviceMode, PushSubscription};
use longshore_model::id::{PromptId, Seq, SessionId};
use longshore_model::info::Status;
use longshore_model::mcp::McpServer;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A new session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Open")]
pub struct OpenParams {
    /// Which agent: a name from `/api/v1/agents`.
    pub agent: String,
    /// The work tree: an absolute path.
    pub cwd: String,
    /// What to say first.
    #[serde(default)]
    pub prompt: Option<PromptContent>,
    /// The title; otherwise it is taken from the first prompt.
    #[serde(default)]
    pub title: Option<String>,
    /// The model; otherwise the agent chooses.
    #[serde(default)]
    pub model: Option<String>,
    /// How hard the agent shall think: one of the model's `efforts`; otherwise the agent chooses.
    #[serde(default)]
    pub effort: Option<String>,
    /// What the agent may do without asking; otherwise `ask`, or where that is none of its modes, the one that allows least.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// Servers of tools (MCP) for the agent, besides those of the settings.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
}

/// What is told of agents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListAgentsParams {
    /// Which of their models; `asked` unless said otherwise.
    #[serde(default)]
    pub models: WhichModels,
}

/// Which models of an agent are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichModels {
    /// All: agents are asked, and each has a process to start for it. That may take seconds.
    #[default]
    Asked,
    /// Those that are known already. That takes no time.
    Known,
}

/// The models of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListModelsParams {
    /// Its name.
    pub agent: String,
    /// Whether it has to start for it, whatever is known.
    #[serde(default)]
    pub anew: bool,
}

/// Which sessions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Only those of this status.
    #[serde(default)]
    pub status: Option<Status>,
    /// Only those of this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Only those whose title, preview or folder has this in it.
    #[serde(default)]
    pub q: Option<String>,
    /// Only those that are put away or closed, or only those that are neither (the default).
    #[serde(default)]
    pub archived: Option<bool>,
    /// How many; 50 unless said otherwise, 200 at most.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Where the page begins: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// What to change of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Update")]
pub struct UpdateParams {
    /// Its title.
    #[serde(default)]
    pub title: Option<String>,
    /// Put it away, or take it out.
    #[serde(default)]
    pub archived: Option<bool>,
    /// What the agent may do without asking.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// Its model.
    #[serde(default)]
    pub model: Option<String>,
    /// How hard the agent shall think: one of the model's `efforts`.
    #[serde(default)]
    pub effort: Option<String>,
    /// The order of the waiting prompts, the next one first.
    #[serde(default)]
    pub queue: Option<Vec<PromptId>>,
}

/// Something to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Say")]
pub struct PromptParams {
    /// What.
    pub content: PromptContent,
    /// The client's own name for it: the same key twice is one prompt.
    #[serde(default)]
    pub key: Option<String>,
    /// What to do when the agent is busy.
    #[serde(default)]
    pub when: When,
}

/// Words, or words and attachments.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "`content` is a text, or a list of {type: text, text} and {type: attachment, mediaType, data | path | url}"
)]
pub enum PromptContent {
    /// Words.
    Text(String),
    /// Piece by piece.
    Parts(Vec<PromptPart>),
}

/// A piece of a prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptPart {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A file or an image.
    Attachment(Attachment),
}

impl PromptContent {
    /// As the waist has it.
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

/// How a waiting prompt shall read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Rewrite")]
pub struct RewriteParams {
    /// The words.
    pub text: String,
}

/// How to wake an agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Revive")]
pub struct ReviveParams {
    /// Tell it what the log holds instead of relying on its own memory.
    #[serde(default)]
    pub from_log: bool,
}

/// Which held prompts are sent on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SendQueued")]
pub struct SendQueuedParams {
    /// All of them; only the next one unless said otherwise.
    #[serde(default)]
    pub all: bool,
}

/// A decision on an approval.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Decide")]
pub struct DecideParams {
    /// What is decided.
    pub decision: Decision,
    /// What the agent is told with it.
    #[serde(default)]
    pub message: Option<String>,
    /// The arguments that it may use instead of its own.
    #[serde(default)]
    pub input: Option<Value>,
}

/// An answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Answer")]
pub struct AnswerParams {
    /// By field.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
    /// Whether it is answered at all.
    #[serde(default)]
    pub action: AnswerAction,
}

/// Which events.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventsParams {
    /// Those after this seq; all unless said otherwise.
    #[serde(default)]
    pub after: Seq,
    /// How many of a page; 200 unless said otherwise, 1000 at most.
    #[serde(default)]
    pub limit: Option<usize>,
    /// With the agents' own frames in `rawEvent`.
    #[serde(default)]
    pub raw: bool,
}

/// Where a copy leaves its origin.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Fork")]
pub struct ForkParams {
    /// The seq of something that a person said: the copy has what came before that turn. All unless said otherwise.
    #[serde(default)]
    pub before: Option<Seq>,
}

/// Which items of a timeline.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimelineParams {
    /// Those that began before this seq; the newest unless said otherwise.
    #[serde(default)]
    pub before: Option<Seq>,
    /// How many; 50 unless said otherwise, 500 at most.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchParams {
    /// The words.
    pub q: String,
    /// How many hits; 20 unless said otherwise, 100 at most.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// What a code for a new device shall be good for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Pair")]
pub struct PairParams {
    /// What the device may do; `full` unless said otherwise.
    #[serde(default)]
    pub mode: DeviceMode,
    /// Its name for people; otherwise it names itself.
    #[serde(default)]
    pub label: Option<String>,
}

/// What a screen shows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Shown")]
pub struct PresenceParams {
    /// The session; none when it shows something else.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// Whether anybody can see it.
    pub visible: bool,
}

/// Where a browser wants to be woken.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PushSubscribe")]
pub struct PushSubscribeParams {
    /// As the browser gives it; members that we do not know are left alone.
    pub subscription: PushSubscription,
}

/// Where a browser no longer wants to be woken.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Unsubscribe")]
pub struct PushUnsubscribeParams {
    /// The endpoint of its subscription; all of this device unless said otherwise.
    #[serde(default)]
    pub endpoint: Option<String>,
}

/// Since when.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsageParams {
    /// How many days back; 30 unless said otherwise, 366 at most.
    #[serde(default)]
    pub days: Option<u32>,
}

/// Which folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FoldersParams {
    /// An absolute path on the machine that runs the agents; its home folder unless said otherwise.
    #[serde(default)]
    pub path: Option<String>,
}

/// Events of an exported session, in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportParams {
    pub(super) events: Vec<Box<serde_json::value::RawValue>>,
    /// The work tree in which the session goes on here.
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// Whether these are the last ones.
    #[serde(default)]
    pub(super) done: bool,
}

/// The agent's own frame, beside an event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawEventMember {
    #[serde(default)]
    pub(super) raw_event: Option<Box<serde_json::value::RawValue>>,
}

/// Parameters by name. A list would otherwise be taken for the fields in their order, which nobody has promised.
#[derive(Debug)]
pub(crate) struct ByName<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByName<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields))
            }
        }
        from.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// Nothing at all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParams {}

/// From where to follow a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SubscribeParams {
    #[serde(default)]
    pub(super) after: Seq,
    #[serde(default)]
    pub(super) raw: bool,
}

/// A prompt that was taken.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Prompted")]
pub struct PromptReceipt {
    /// Its name.
    pub prompt: PromptId,
    /// The turn that it begins or steers.
    pub turn: longshore_model::id::TurnId,
    /// The event that recorded it.
    pub seq: Seq,
}
