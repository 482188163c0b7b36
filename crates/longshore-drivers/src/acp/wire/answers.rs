//! The agent's answers to our requests.

use serde::Deserialize;
use serde_json::Value;

use super::empty;

/// The answer to `initialize`.
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

/// What the agent can do. An object, empty or not, is a yes; null is a no.
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

/// How servers of tools may be reached besides over pipes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct McpCapabilities {
    #[serde(deserialize_with = "empty")]
    pub http: bool,
}

/// What a prompt may hold besides text and links.
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

/// What can be done with sessions besides talking.
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
    /// `agent` when it is missing, `terminal`, `env_var`.
    #[serde(rename = "type", deserialize_with = "empty")]
    pub kind: String,
    /// The variables that it reads.
    #[serde(deserialize_with = "empty")]
    pub vars: Vec<AuthVar>,
    #[serde(rename = "_meta", deserialize_with = "empty")]
    pub meta: Value,
}

/// A variable of the environment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuthVar {
    /// Its name.
    #[serde(deserialize_with = "empty")]
    pub name: String,
}

/// Who it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct AgentInfo {
    #[serde(deserialize_with = "empty")]
    pub name: String,
    pub version: Option<String>,
}

/// The answer to `session/new`, `session/load`, `session/resume`, `session/fork` and `session/set_config_option`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Opened {
    /// Missing where we named it ourselves.
    pub session_id: Option<String>,
    pub modes: Option<Modes>,
    pub config_options: Option<Vec<ConfigOption>>,
    /// No longer part of the protocol, and still all that some agents have.
    pub models: Option<Models>,
}

/// The modes that a session can be in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Modes {
    #[serde(deserialize_with = "empty")]
    pub current_mode_id: String,
    #[serde(deserialize_with = "empty")]
    pub available_modes: Vec<ModeOffered>,
}

/// A mode.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModeOffered {
    /// Its name.
    #[serde(deserialize_with = "empty")]
    pub id: String,
}

/// The models that a session can think with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Models {
    #[serde(deserialize_with = "empty")]
    pub current_model_id: String,
    #[serde(deserialize_with = "empty")]
    pub available_models: Vec<ModelOffered>,
}

/// A model.
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

/// Something that can be set.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ConfigOption {
    #[serde(deserialize_with = "empty")]
    pub id: String,
    /// `mode`, `model`, `thought_level` or a word of the agent's own.
    #[serde(deserialize_with = "empty")]
    pub category: String,
    /// A word, or a boolean.
    #[serde(deserialize_with = "empty")]
    pub current_value: Value,
    /// Values, or groups of values.
    #[serde(deserialize_with = "empty")]
    pub options: Vec<ConfigValue>,
}

/// A value that an option can have, or a group of such.
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

/// The answer to `session/prompt`.
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

/// Counts of tokens. With some agents the input holds what came from the cache, with others it does not; the total tells.
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

/// The answer to `session/list`.
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
