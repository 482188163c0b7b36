//! The JSON of the OpenAgents app, with its names.
//!
//! ```text
//! app  {"id":1,"method":"initialize","params":{"protocol_version":"0.2.2",..}}
//! hub  {"id":1,"result":{"protocol_version":"0.2.2","agent_capabilities":{..},"auth_methods":[],..}}
//! app  session/new                                  hub  {"session_id":UUID}
//! app  session/set_mode {session_id,mode_id}        hub  session/update current_mode_update, then {}
//! app  session/prompt {session_id,prompt:[..]}      hub  {"status":"started"|"resumed"}, at once
//! hub  session/update {session_id,update}, for each finished message and each step of a tool call
//! app  session/cancel {session_id}, as a notification
//! ```
//!
//! It is older than ACP's first version, and not ACP: names are in snake case, and what an update carries is nested under
//! its kind. The app loses a frame without a literal `"jsonrpc":"2.0"`, a whole notification for one value that it cannot
//! decode, and a whole history for one such update in it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the protocol. The app accepts every one that begins like this one.
pub(crate) const VERSION: &str = "0.2.2";

/// The notification that brings all news.
#[derive(Debug, Serialize)]
pub(crate) struct Notification {
    pub(crate) jsonrpc: &'static str,
    pub(crate) method: &'static str,
    pub(crate) params: SessionNotification,
}

/// An update, with its session.
#[derive(Debug, Serialize)]
pub(crate) struct SessionNotification {
    pub(crate) session_id: String,
    pub(crate) update: SessionUpdate,
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub(crate) enum SessionUpdate {
    UserMessageChunk { content: ContentChunk },
    AgentMessageChunk { content: ContentChunk },
    AgentThoughtChunk { content: ContentChunk },
    Plan { plan: Plan },
    AvailableCommandsUpdate { available_commands: Vec<AvailableCommand> },
    CurrentModeUpdate { current_mode_id: ModeId },
    ToolCall { tool_call: ToolCall },
    ToolCallUpdate { tool_call_update: ToolCallUpdate },
}

/// A content in a content.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ContentChunk {
    pub(crate) content: TextContent,
}

impl ContentChunk {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { content: TextContent { kind: "text", text: text.into() } }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TextContent {
    #[serde(rename = "type")]
    kind: &'static str,
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Plan {
    pub(crate) entries: Vec<PlanEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PlanEntry {
    pub(crate) content: String,
    pub(crate) priority: &'static str,
    pub(crate) status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AvailableCommand {
    pub(crate) name: String,
    pub(crate) description: String,
}

/// A mode is an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ModeId {
    #[default]
    #[serde(rename = "default_mode")]
    Default,
    #[serde(rename = "codex")]
    Codex,
    #[serde(rename = "claude-code")]
    ClaudeCode,
}

impl ModeId {
    /// The mode with this name. A mode that only later apps have is the default one.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "codex" => ModeId::Codex,
            "claude-code" => ModeId::ClaudeCode,
            _ => ModeId::Default,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolCall {
    pub(crate) call_id: String,
    pub(crate) name: String,
    /// An object, or absent: the app decodes nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolCallUpdate {
    pub(crate) call_id: String,
    pub(crate) status: CallStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// How a call ended. There is a `started` too, which the app draws as a result that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallStatus {
    Completed,
    Error,
}

/// The answer to `initialize`. The app closes the connection if any of these is missing.
#[derive(Debug, Serialize)]
pub(crate) struct Initialized {
    pub(crate) protocol_version: &'static str,
    pub(crate) agent_capabilities: AgentCapabilities,
    pub(crate) auth_methods: [String; 0],
    pub(crate) agent_info: AgentInfo,
    pub(crate) _meta: InitializedMeta,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct AgentCapabilities {
    pub(crate) load_session: bool,
    pub(crate) prompt_capabilities: PromptCapabilities,
    pub(crate) mcp_capabilities: McpCapabilities,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct PromptCapabilities {
    pub(crate) image: bool,
    pub(crate) audio: bool,
    pub(crate) embedded_context: bool,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct McpCapabilities {
    pub(crate) http: bool,
    pub(crate) sse: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct AgentInfo {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) version: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct InitializedMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) working_directory: Option<String>,
}

/// One row of `threads/list`. Times are in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct ThreadSummary {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) source: &'static str,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) last_message_ts: i64,
}

/// One row of `tinyvex/history.recentSessions`.
#[derive(Debug, Serialize)]
pub(crate) struct RecentSession {
    pub(crate) session_id: String,
    pub(crate) last_ts: i64,
    pub(crate) message_count: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct InitializeParams {
    #[serde(default, alias = "protocolVersion")]
    pub(crate) protocol_version: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SessionNewParams {
    pub(crate) cwd: Option<String>,
    pub(crate) mode_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SetModeParams {
    pub(crate) session_id: String,
    pub(crate) mode_id: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PromptParams {
    pub(crate) session_id: String,
    #[serde(alias = "content")]
    pub(crate) prompt: Vec<ContentBlock>,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    ResourceLink {
        uri: String,
    },
    Resource {
        resource: EmbeddedResource,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct EmbeddedResource {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) text: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionParams {
    pub(crate) session_id: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReadParams {
    pub(crate) session_id: String,
    #[serde(alias = "uri")]
    pub(crate) path: String,
    pub(crate) line: Option<u64>,
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WriteParams {
    pub(crate) session_id: String,
    #[serde(alias = "uri")]
    pub(crate) path: String,
    #[serde(alias = "text")]
    pub(crate) content: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RunParams {
    pub(crate) session_id: String,
    pub(crate) command: Vec<String>,
    pub(crate) cwd: Option<String>,
    #[serde(default)]
    pub(crate) env: Option<std::collections::BTreeMap<String, String>>,
    pub(crate) output_byte_limit: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ThreadsParams {
    #[serde(rename = "topK")]
    pub(crate) top_k: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LatestParams {
    pub(crate) limit_lines: Option<usize>,
    pub(crate) max_bytes: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct IndexParams {
    pub(crate) session_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TimelineParams {
    pub(crate) session_id: String,
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TitleParams {
    pub(crate) session_id: String,
    pub(crate) title: String,
}
