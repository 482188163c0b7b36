//! Codex's JSON, with its names.
//!
//! ```text
//! -> initialize            <- response              -> initialized
//! -> thread/start          <- response with the id of the thread        (or thread/resume, thread/fork)
//! -> turn/start            <- response with the id of the turn
//!                          <- turn/started
//!                          <- item/started, item/.../delta*, item/completed        for every item
//!                          <- item/.../requestApproval {id}   -> response          <- serverRequest/resolved
//!                          <- error {willRetry}*, thread/tokenUsage/updated
//!                          <- turn/completed
//! ```
//!
//! One object per line, without `jsonrpc`. Both sides number their requests, so an id alone does not say
//! whose request it is. A line with a `method` and an `id` is a request of Codex. The schema grows with every
//! release, so the driver skips unknown fields. It reads a missing or null field of Codex as empty.

mod asked;
mod items;
pub(crate) mod snake;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use asked::*;
pub use items::*;

/// The outer fields of every line, borrowed from the line.
#[derive(Debug, Deserialize)]
pub struct Head<'a> {
    /// Empty in a response.
    #[serde(borrow, default)]
    pub method: Cow<'a, str>,
    /// The id of Codex's request, or of the driver's request that this line answers.
    #[serde(default)]
    pub id: Option<RpcId>,
    /// The parameters of a request or a notification.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// The result in a successful response.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    /// The error in a response.
    #[serde(default)]
    pub error: Option<RpcError>,
    /// The kind of a line of `codex exec --json`. These lines have no method.
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
}

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RpcId {
    /// Codex uses numbers.
    Number(i64),
    /// The protocol also allows texts.
    Text(String),
}

/// Why a request was refused.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct RpcError {
    /// The text for people. The code is not kept, because it is nearly always the same.
    #[serde(default)]
    pub message: String,
}

/// Where an event happened.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place<'a> {
    /// The thread.
    #[serde(borrow)]
    pub thread_id: Cow<'a, str>,
    /// The thread, in requests of the first version.
    #[serde(borrow)]
    pub conversation_id: Cow<'a, str>,
    /// The turn.
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    /// The turn, if the message has it here.
    #[serde(borrow)]
    pub turn: Option<PlaceTurn<'a>>,
}

/// A turn with only its id.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlaceTurn<'a> {
    /// The id of the turn.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
}

/// `item/agentMessage/delta` and the other deltas, which are the most frequent lines.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta<'a> {
    /// The thread.
    #[serde(borrow)]
    pub thread_id: Cow<'a, str>,
    /// The turn.
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    /// The item.
    #[serde(borrow)]
    pub item_id: Cow<'a, str>,
    /// The added text; `message` in the progress of an MCP tool, `stdin` in the input of a command.
    #[serde(borrow, alias = "message", alias = "stdin")]
    pub delta: Cow<'a, str>,
}

/// `item/reasoning/summaryPartAdded`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryPart {
    /// The thread.
    pub thread_id: String,
    /// The turn.
    pub turn_id: String,
    /// The item.
    pub item_id: String,
    /// The number of the part.
    #[serde(default)]
    pub summary_index: u32,
}

/// The response to `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Greeting {
    /// `longshore/0.166.0 (...)`: the client's name with Codex's version.
    pub user_agent: String,
}

/// The response to `thread/start`, `thread/resume`, `thread/fork`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// The thread.
    pub thread: Thread,
    /// The model that it uses.
    #[serde(default)]
    pub model: Option<String>,
    /// The folder in which the thread works.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The collaboration mode. Older servers do not send it.
    #[serde(default)]
    pub collaboration_mode: Option<Collaboration>,
}

/// A conversation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The id of the thread.
    pub id: String,
    /// The thread that spawned this thread.
    #[serde(default)]
    pub parent_thread_id: Option<String>,
    /// The path of the thread's record. The file may not exist yet.
    #[serde(default)]
    pub path: Option<String>,
    /// The work tree.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Its title.
    #[serde(default)]
    pub name: Option<String>,
    /// The beginning of the thread.
    #[serde(default)]
    pub preview: Option<String>,
    /// Its model.
    #[serde(default)]
    pub model: Option<String>,
    /// In seconds since 1970.
    #[serde(default)]
    pub updated_at: Option<i64>,
}

/// `thread/started`.
#[derive(Debug, Deserialize)]
pub struct ThreadStarted {
    /// The thread.
    pub thread: Thread,
}

/// `collaborationMode`. The driver reads only its name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Collaboration {
    /// `plan` or `default`.
    pub mode: String,
}

/// `turn/started`, `turn/completed`, and the response to `turn/start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnMoved {
    /// The thread. Missing in the response.
    #[serde(default)]
    pub thread_id: String,
    /// The turn.
    pub turn: Turn,
}

/// A turn of a thread.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The id of the turn.
    pub id: String,
    /// `inProgress`, `completed`, `failed`, `interrupted`.
    #[serde(default)]
    pub status: String,
    /// Why the turn failed.
    #[serde(default)]
    pub error: Option<TurnError>,
    /// How long the turn took.
    #[serde(default)]
    pub duration_ms: Option<u64>,
}

/// The response to `thread/backgroundTerminals/list`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackgroundTerminals {
    /// A page of commands.
    pub data: Vec<BackgroundTerminal>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

/// A command that continues after its turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTerminal {
    /// The item of the command in its turn.
    pub item_id: String,
    /// The id of the running command.
    pub process_id: String,
}

/// The error of a turn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnError {
    /// The text for people.
    pub message: String,
    /// A word, or an object with one word and an HTTP status.
    #[serde(deserialize_with = "empty")]
    pub codex_error_info: Value,
    /// Further text for people.
    pub additional_details: Option<String>,
}

/// `error`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorSaid {
    /// The error.
    pub error: TurnError,
    /// Whether Codex tries again.
    #[serde(default)]
    pub will_retry: bool,
    /// The thread.
    #[serde(default)]
    pub thread_id: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
}

/// `thread/tokenUsage/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// The thread.
    pub thread_id: String,
    /// The turn.
    #[serde(default)]
    pub turn_id: String,
    /// The tokens.
    pub token_usage: Tokens,
}

/// The tokens of a thread so far, and of its last request to the model.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// The whole thread so far.
    pub total: TokenCount,
    /// The last request.
    pub last: TokenCount,
    /// How many tokens the model can hold.
    #[serde(default)]
    pub model_context_window: Option<u64>,
}

/// Counts of tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct TokenCount {
    pub total_tokens: u64,
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
}

/// `account/rateLimits/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitsUpdated {
    /// The rate limits of the account.
    pub rate_limits: RateLimits,
}

/// The rate limits of an account. Both are null for a provider that has none.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct RateLimits {
    pub limit_id: Option<String>,
    pub limit_name: Option<String>,
    pub primary: Option<RateWindow>,
    pub secondary: Option<RateWindow>,
}

/// One rate limit.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RateWindow {
    /// The used part, in percent.
    pub used_percent: f64,
    /// The length of the window.
    pub window_duration_mins: Option<u64>,
    /// When the window ends, in seconds since 1970.
    pub resets_at: Option<i64>,
}

/// The notifications that have a few words for people, or only a name.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct RemarkParams {
    pub thread_id: String,
    pub turn_id: String,
    pub summary: Option<String>,
    pub details: Option<String>,
    pub message: Option<String>,
    // mcpServer/startupStatus/updated
    pub name: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub status: Value,
    pub error: Option<String>,
    // thread/name/updated
    pub thread_name: Option<String>,
    // model/rerouted
    pub to_model: Option<String>,
    pub reason: Option<String>,
    // thread/settings/updated
    pub thread_settings: Option<ThreadSettings>,
}

/// The settings of the next turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ThreadSettings {
    /// The model.
    pub model: Option<String>,
}

/// The response to `model/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPage {
    /// A page of models.
    #[serde(default)]
    pub data: Vec<Model>,
    /// The cursor of the next page.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// A model.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Model {
    pub id: String,
    pub model: String,
    #[serde(deserialize_with = "empty")]
    pub display_name: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
    pub is_default: bool,
    #[serde(deserialize_with = "empty")]
    pub supported_reasoning_efforts: Vec<Effort>,
}

/// An effort that a model accepts.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Effort {
    /// `low`, `medium`, `high`.
    #[serde(deserialize_with = "empty")]
    pub reasoning_effort: String,
}

/// The response to `thread/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPage {
    /// A page of threads.
    #[serde(default)]
    pub data: Vec<Thread>,
    /// The cursor of the next page.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// Reads null as empty.
fn empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
