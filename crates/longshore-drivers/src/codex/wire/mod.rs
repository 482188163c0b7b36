//! Their JSON, with their names.
//!
//! ```text
//! -> initialize            <- its answer            -> initialized
//! -> thread/start          <- its answer, which names the thread        (or thread/resume, thread/fork)
//! -> turn/start            <- its answer, which names the turn
//!                          <- turn/started
//!                          <- item/started, item/.../delta*, item/completed        for every item
//!                          <- item/.../requestApproval {id}   -> its answer        <- serverRequest/resolved
//!                          <- error {willRetry}*, thread/tokenUsage/updated
//!                          <- turn/completed
//! ```
//!
//! One object per line and no `jsonrpc`. Both sides number their requests, so an id says nothing without knowing
//! whose it is: a line with a `method` and an `id` is a request of theirs. Unknown fields are skipped, a field of
//! theirs that is missing or null reads as empty: the schema grows with every release.

mod asked;
mod items;
pub(crate) mod snake;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use asked::*;
pub use items::*;

/// The outside of every line, borrowed from it.
#[derive(Debug, Deserialize)]
pub struct Head<'a> {
    /// Empty in answers.
    #[serde(borrow, default)]
    pub method: Cow<'a, str>,
    /// Of a request of theirs, or of ours that this answers.
    #[serde(default)]
    pub id: Option<RpcId>,
    /// What a request or a notification is about.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// A good answer.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    /// The error.
    #[serde(default)]
    pub error: Option<RpcError>,
    /// What `codex exec --json` calls its lines, which have no method.
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
}

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RpcId {
    /// As codex counts them.
    Number(i64),
    /// As anybody may.
    Text(String),
}

/// Why a request was refused.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct RpcError {
    /// For people; the code is nearly always the same.
    #[serde(default)]
    pub message: String,
}

/// Where something happened.
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

/// `item/agentMessage/delta` and all its kin: the line that comes by the thousand.
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
    /// Which part.
    #[serde(default)]
    pub summary_index: u32,
}

/// The answer to `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Greeting {
    /// `longshore/0.166.0 (...)`: our name, their version.
    pub user_agent: String,
}

/// The answer to `thread/start`, `thread/resume`, `thread/fork`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// The thread.
    pub thread: Thread,
    /// The model that it uses.
    #[serde(default)]
    pub model: Option<String>,
    /// Where it works.
    #[serde(default)]
    pub cwd: Option<String>,
    /// How codex works with people; missing from older servers.
    #[serde(default)]
    pub collaboration_mode: Option<Collaboration>,
}

/// A conversation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its name.
    pub id: String,
    /// The thread that spawned it.
    #[serde(default)]
    pub parent_thread_id: Option<String>,
    /// Where its record is, or will be.
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

/// `collaborationMode`: only its name matters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Collaboration {
    /// `plan` or `default`.
    pub mode: String,
}

/// `turn/started`, `turn/completed`, and the answer to `turn/start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnMoved {
    /// Not in the answer.
    #[serde(default)]
    pub thread_id: String,
    /// The turn.
    pub turn: Turn,
}

/// A turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its name.
    pub id: String,
    /// `inProgress`, `completed`, `failed`, `interrupted`.
    #[serde(default)]
    pub status: String,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<TurnError>,
    /// How long it took.
    #[serde(default)]
    pub duration_ms: Option<u64>,
}

/// The answer to `thread/backgroundTerminals/list`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackgroundTerminals {
    /// A page of them.
    pub data: Vec<BackgroundTerminal>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// A command that runs on after its turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTerminal {
    /// The item of the command in its turn.
    pub item_id: String,
    /// The id of the running command.
    pub process_id: String,
}

/// What went wrong.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnError {
    /// For people.
    pub message: String,
    /// A word, or an object of one word and an HTTP status.
    #[serde(deserialize_with = "empty")]
    pub codex_error_info: Value,
    /// More, for people.
    pub additional_details: Option<String>,
}

/// `error`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorSaid {
    /// What went wrong.
    pub error: TurnError,
    /// Whether codex tries again.
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
    /// How much.
    pub token_usage: Tokens,
}

/// Of a thread so far, and of its last request to the model.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// So far.
    pub total: TokenCount,
    /// The last request.
    pub last: TokenCount,
    /// How much the model can hold.
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
    /// All that is known.
    pub rate_limits: RateLimits,
}

/// The allowances of an account; both null for providers that have none.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct RateLimits {
    pub limit_id: Option<String>,
    pub limit_name: Option<String>,
    pub primary: Option<RateWindow>,
    pub secondary: Option<RateWindow>,
}

/// One allowance.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RateWindow {
    /// How much is used, in percent.
    pub used_percent: f64,
    /// Over how long.
    pub window_duration_mins: Option<u64>,
    /// In seconds since 1970.
    pub resets_at: Option<i64>,
}

/// The notifications that are a few words for people, or name a thing.
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

/// What the next turn will be run with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ThreadSettings {
    /// The model.
    pub model: Option<String>,
}

/// The answer to `model/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPage {
    /// Some.
    #[serde(default)]
    pub data: Vec<Model>,
    /// Where the others are.
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

/// The answer to `thread/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPage {
    /// Some.
    #[serde(default)]
    pub data: Vec<Thread>,
    /// Where the others are.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// Null reads as empty.
fn empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
