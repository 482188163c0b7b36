//! Items, and what turns report about themselves.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{RpcError, empty};

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
