//! The agent's responses to the driver's requests.

use serde::Deserialize;
use serde_json::Value;

use super::empty;

/// The response to `initialize`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Greeting {
    #[serde(deserialize_with = "empty")]
    pub agent_capabilities: AgentCapabilities,
    #[serde(deserialize_with = "empty")]
    pub auth_methods: Vec<AuthMethod>,
    #[serde(deserialize_with = "empty")]
    pub agent_info: AgentInfo,
}

/// The agent's capabilities. An object, empty or not, means yes. Null means no.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct AgentCapabilities {
    #[serde(deserialize_with = "empty")]
    pub load_session: bool,
    #[serde(deserialize_with = "empty")]
    pub prompt_capabilities: PromptCapabilities,
    #[serde(deserialize_with = "empty")]
    pub session_capabilities: SessionCapabilities,
    #[serde(deserialize_with = "empty")]
    pub mcp_capabilities: McpCapabilities,
}

/// The transports for MCP servers besides pipes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct McpCapabilities {
    #[serde(deserialize_with = "empty")]
    pub http: bool,
}

/// The content that a prompt may have besides text and links.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PromptCapabilities {
    #[serde(deserialize_with = "empty")]
    pub image: bool,
    #[serde(deserialize_with = "empty")]
    pub audio: bool,
    #[serde(deserialize_with = "empty")]
    pub embedded_context: bool,
}

/// The session methods that the agent supports besides prompts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct SessionCapabilities {
    pub list: Option<Value>,
    pub resume: Option<Value>,
    pub fork: Option<Value>,
}

/// One way to log in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct AuthMethod {
    #[serde(deserialize_with = "empty")]
    pub id: String,
    #[serde(deserialize_with = "empty")]
    pub name: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
    /// `agent` if it is missing, `terminal`, `env_var`.
    #[serde(rename = "type", deserialize_with = "empty")]
    pub kind: String,
    /// The environment variables that this method reads.
    #[serde(deserialize_with = "empty")]
    pub vars: Vec<AuthVar>,
    #[serde(rename = "_meta", deserialize_with = "empty")]
    pub meta: Value,
}

/// An environment variable.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuthVar {
    /// The name of the variable.
    #[serde(deserialize_with = "empty")]
    pub name: String,
}

/// The agent's name and version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct AgentInfo {
    #[serde(deserialize_with = "empty")]
    pub name: String,
    pub version: Option<String>,
}

/// The response to `session/new`, `session/load`, `session/resume`, `session/fork` and
/// `session/set_config_option`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Opened {
    /// Missing if the driver's request named the session.
    pub session_id: Option<String>,
    pub modes: Option<Modes>,
    pub config_options: Option<Vec<ConfigOption>>,
    /// The protocol no longer has this field, but some agents have only this one.
    pub models: Option<Models>,
}

/// The modes of a session.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Modes {
    #[serde(deserialize_with = "empty")]
    pub current_mode_id: String,
    #[serde(deserialize_with = "empty")]
    pub available_modes: Vec<ModeOffered>,
}

/// A mode that the agent offers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModeOffered {
    /// The id of the mode.
    #[serde(deserialize_with = "empty")]
    pub id: String,
}

/// The models of a session.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Models {
    #[serde(deserialize_with = "empty")]
    pub current_model_id: String,
    #[serde(deserialize_with = "empty")]
    pub available_models: Vec<ModelOffered>,
}

/// A model that the agent offers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ModelOffered {
    #[serde(deserialize_with = "empty")]
    pub model_id: String,
    #[serde(deserialize_with = "empty")]
    pub name: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
}

/// A setting of the session.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ConfigOption {
    #[serde(deserialize_with = "empty")]
    pub id: String,
    /// `mode`, `model`, `thought_level` or a category of the agent.
    #[serde(deserialize_with = "empty")]
    pub category: String,
    /// A string or a boolean.
    #[serde(deserialize_with = "empty")]
    pub current_value: Value,
    /// Values, or groups of values.
    #[serde(deserialize_with = "empty")]
    pub options: Vec<ConfigValue>,
}

/// A value of a setting, or a group of values.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct ConfigValue {
    #[serde(deserialize_with = "empty")]
    pub value: String,
    #[serde(deserialize_with = "empty")]
    pub name: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
    #[serde(deserialize_with = "empty")]
    pub options: Vec<ConfigValue>,
}

/// The response to `session/prompt`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Prompted {
    /// `end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`.
    #[serde(deserialize_with = "empty")]
    pub stop_reason: String,
    pub usage: Option<TokenUsage>,
    #[serde(rename = "_meta", deserialize_with = "empty")]
    pub meta: Value,
}

/// Counts of tokens. Some agents count cached tokens in the input, others do not. The total shows which of
/// the two.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct TokenUsage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cached_read_tokens: Option<u64>,
    pub cached_write_tokens: Option<u64>,
    pub thought_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
}

/// The response to `session/list`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct SessionPage {
    #[serde(deserialize_with = "empty")]
    pub sessions: Vec<SessionListed>,
    pub next_cursor: Option<String>,
}

/// A conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct SessionListed {
    #[serde(deserialize_with = "empty")]
    pub session_id: String,
    pub cwd: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub title: String,
    pub updated_at: Option<String>,
}
