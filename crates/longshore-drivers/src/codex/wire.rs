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

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

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
    /// A bad one.
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
    /// The turn, where it is told with the place.
    #[serde(borrow)]
    pub turn: Option<PlaceTurn<'a>>,
}

/// A turn, of which only the name matters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlaceTurn<'a> {
    /// Its name.
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
    /// What it grows by; `message` in the progress of an MCP tool, `stdin` in what is typed into a command.
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
    /// How it works with people; older servers do not say.
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
    /// How it began.
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
    /// Whether codex goes on trying.
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
    /// How much is gone.
    pub used_percent: f64,
    /// Over how long.
    pub window_duration_mins: Option<u64>,
    /// In seconds since 1970.
    pub resets_at: Option<i64>,
}

/// `item/started`, `item/completed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemMoved {
    /// The thread.
    pub thread_id: String,
    /// The turn.
    pub turn_id: String,
    /// The item.
    pub item: Item,
}

/// An item: all fields of all kinds, since most kinds share them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Item {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(deserialize_with = "empty")]
    pub status: String,
    pub duration_ms: Option<u64>,

    // agentMessage, plan
    #[serde(deserialize_with = "empty")]
    pub text: String,
    pub phase: Option<String>,
    // userMessage: a list of inputs; reasoning: a list of strings
    pub client_id: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub content: Vec<Value>,
    #[serde(deserialize_with = "empty")]
    pub summary: Vec<String>,
    // commandExecution
    #[serde(deserialize_with = "empty")]
    pub command: String,
    pub cwd: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub source: String,
    #[serde(deserialize_with = "empty")]
    pub command_actions: Vec<CommandAction>,
    pub aggregated_output: Option<String>,
    pub exit_code: Option<i64>,
    // fileChange
    #[serde(deserialize_with = "empty")]
    pub changes: Vec<Change>,
    // mcpToolCall, dynamicToolCall, collabAgentToolCall
    #[serde(deserialize_with = "empty")]
    pub server: String,
    pub namespace: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub tool: String,
    #[serde(deserialize_with = "empty")]
    pub arguments: Value,
    /// Of an MCP tool: `{content, structuredContent}`; of an image generation: the image.
    #[serde(deserialize_with = "empty")]
    pub result: Value,
    pub error: Option<RpcError>,
    pub content_items: Option<Vec<Value>>,
    pub success: Option<bool>,
    pub prompt: Option<String>,
    pub model: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub receiver_thread_ids: Vec<String>,
    #[serde(deserialize_with = "empty")]
    pub agents_states: BTreeMap<String, AgentState>,
    // subAgentActivity, whose `kind` is its own
    #[serde(rename = "kind")]
    pub activity: Option<String>,
    pub agent_thread_id: Option<String>,
    pub agent_path: Option<String>,
    // webSearch, imageView, imageGeneration, reviews
    #[serde(deserialize_with = "empty")]
    pub query: String,
    #[serde(deserialize_with = "empty")]
    pub action: Value,
    pub path: Option<String>,
    pub saved_path: Option<String>,
    pub revised_prompt: Option<String>,
    pub review: Option<String>,
}

/// What codex thinks that a command does.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CommandAction {
    /// `read`, `listFiles`, `search`, `unknown`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// What happens to one file.
#[derive(Clone, Debug, Deserialize)]
pub struct Change {
    /// Which.
    pub path: String,
    /// What.
    #[serde(default)]
    pub kind: ChangeKind,
    /// Hunks for an update, the content itself for an addition and a deletion.
    #[serde(default)]
    pub diff: String,
}

/// `{"type":"update","move_path":null}`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ChangeKind {
    /// `add`, `delete`, `update`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it moves.
    pub move_path: Option<String>,
}

/// How a spawned agent is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AgentState {
    /// `pendingInit`, `running`, `interrupted`, `completed`, `errored`, `shutdown`, `notFound`.
    pub status: String,
    /// What it said last.
    pub message: Option<String>,
}

/// `turn/plan/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanUpdated {
    /// The thread.
    pub thread_id: String,
    /// The turn.
    pub turn_id: String,
    /// Why it changed.
    #[serde(default)]
    pub explanation: Option<String>,
    /// Its steps.
    #[serde(default)]
    pub plan: Vec<PlanStep>,
}

/// One step.
#[derive(Debug, Deserialize)]
pub struct PlanStep {
    /// What is to be done.
    pub step: String,
    /// `pending`, `inProgress`, `completed`.
    #[serde(default)]
    pub status: String,
}

/// `turn/diff/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffUpdated {
    /// The thread.
    pub thread_id: String,
    /// The turn.
    pub turn_id: String,
    /// Of everything that patches changed so far.
    pub diff: String,
}

/// The notifications that are a few words for people, or name a thing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Words {
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

/// `serverRequest/resolved`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// Which request of theirs is closed.
    pub request_id: RpcId,
}

/// Every request of theirs that asks whether it may.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct MayI {
    /// Also `callId`, in the first version.
    #[serde(alias = "callId")]
    pub item_id: String,
    pub reason: Option<String>,
    /// A command line, or its words in the first version.
    #[serde(deserialize_with = "empty")]
    pub command: Value,
    #[serde(deserialize_with = "empty")]
    pub parsed_cmd: Value,
    pub cwd: Option<String>,
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    pub grant_root: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub permissions: Value,
    /// In the first version; there the changes are in the request.
    #[serde(deserialize_with = "empty")]
    pub file_changes: BTreeMap<String, OldChange>,
}

/// A change as the first version tells it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct OldChange {
    #[serde(rename = "type")]
    pub kind: String,
    pub content: Option<String>,
    pub unified_diff: Option<String>,
    pub move_path: Option<String>,
}

/// `item/tool/requestUserInput`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct UserInputAsked {
    pub questions: Vec<Question>,
}

/// One question.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Question {
    pub id: String,
    #[serde(deserialize_with = "empty")]
    pub header: String,
    #[serde(deserialize_with = "empty")]
    pub question: String,
    pub is_other: bool,
    pub is_secret: bool,
    #[serde(deserialize_with = "empty")]
    pub options: Vec<QuestionOption>,
}

/// One answer to choose.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct QuestionOption {
    pub label: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
}

/// `mcpServer/elicitation/request`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Elicitation {
    pub server_name: String,
    /// `form` or `url`.
    pub mode: String,
    #[serde(deserialize_with = "empty")]
    pub message: String,
    pub url: Option<String>,
    /// A JSON schema of one flat object.
    #[serde(deserialize_with = "empty")]
    pub requested_schema: Value,
    #[serde(rename = "_meta")]
    pub meta: Option<ElicitationMeta>,
}

/// What codex adds when the question is its own: may this tool be called?
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct ElicitationMeta {
    pub codex_approval_kind: Option<String>,
    /// A word or a list of words: `session`, `always`.
    #[serde(deserialize_with = "empty")]
    pub persist: Value,
    pub tool_name: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub tool_params: Value,
}

/// `item/tool/call`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolAsked {
    /// The tool that we are to run.
    pub tool: String,
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
