//! Items, plans and diffs of turns.

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

/// An item, with the fields of all kinds, because most kinds share them.
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
    /// For an MCP tool: `{content, structuredContent}`. For an image generation: the image.
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
    // subAgentActivity, which has its own `kind`
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

/// What a command does, in Codex's opinion.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CommandAction {
    /// `read`, `listFiles`, `search`, `unknown`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A change of one file.
#[derive(Clone, Debug, Deserialize)]
pub struct Change {
    /// The path of the file.
    pub path: String,
    /// The kind of the change.
    #[serde(default)]
    pub kind: ChangeKind,
    /// Hunks for an update, the whole content for an addition or a deletion.
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
    /// The new path, if the file moves.
    pub move_path: Option<String>,
}

/// The state of a spawned agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AgentState {
    /// `pendingInit`, `running`, `interrupted`, `completed`, `errored`, `shutdown`, `notFound`.
    pub status: String,
    /// The last message of the agent.
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
    /// Why the plan changed.
    #[serde(default)]
    pub explanation: Option<String>,
    /// The steps of the plan.
    #[serde(default)]
    pub plan: Vec<PlanStep>,
}

/// One step of a plan.
#[derive(Debug, Deserialize)]
pub struct PlanStep {
    /// The text of the step.
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
    /// The diff of everything that patches have changed in the turn so far.
    pub diff: String,
}
