//! The agent's notifications: `session/update`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ConfigOption, TokenUsage, empty};

/// `session/update`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Updated<'a> {
    /// The session.
    #[serde(borrow)]
    pub session_id: Cow<'a, str>,
    /// The update. Its tag says its kind.
    #[serde(borrow)]
    pub update: &'a RawValue,
}

/// The tag of an update.
#[derive(Debug, Deserialize)]
pub struct Tag<'a> {
    /// `agent_message_chunk` and similar words.
    #[serde(borrow, rename = "sessionUpdate")]
    pub kind: Cow<'a, str>,
}

/// `agent_message_chunk` and the other chunks, which are the most frequent lines.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk<'a> {
    /// The added content.
    #[serde(borrow)]
    pub content: Block<'a>,
    /// The message of the piece, if the agent names it.
    #[serde(borrow, default)]
    pub message_id: Option<&'a RawValue>,
    /// Additional data of some agents.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// The tokens that the answer has used.
    pub fn usage(&self) -> Option<TokenUsage> {
        serde_json::from_str::<ChunkMeta>(self.meta?.get()).ok()?.usage
    }
}

/// Additional data of a chunk: the tokens of one answer of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ChunkMeta {
    /// The tokens of one answer.
    pub usage: Option<TokenUsage>,
}

/// A piece of content.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Block<'a> {
    /// `text`, `image`, `audio`, `resource_link`, `resource`.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub text: Cow<'a, str>,
    pub mime_type: Option<String>,
    pub uri: Option<String>,
    pub name: Option<String>,
    pub resource: Option<Resource>,
}

/// A resource that a piece of content embeds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Resource {
    pub uri: Option<String>,
    pub text: Option<String>,
}

impl Block<'_> {
    /// The text for people.
    pub fn words(&self) -> String {
        match self.kind.as_ref() {
            "text" => self.text.to_string(),
            "resource_link" => {
                let uri = self.uri.as_deref().unwrap_or_default();
                format!("[{}]({uri})", self.name.as_deref().unwrap_or(uri))
            }
            "resource" => {
                let (text, uri) = self
                    .resource
                    .as_ref()
                    .map_or((None, None), |resource| (resource.text.as_deref(), resource.uri.as_deref()));
                text.or(uri).unwrap_or_default().to_owned()
            }
            "image" | "audio" => format!("[{}]", self.mime_type.as_deref().unwrap_or(&self.kind)),
            _ => String::new(),
        }
    }
}

/// A tool call as reported by `tool_call`, by `tool_call_update`, and in a permission request. Missing fields
/// are unchanged.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ToolPart {
    #[serde(deserialize_with = "empty")]
    pub tool_call_id: String,
    pub title: Option<String>,
    pub name: Option<String>,
    /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`.
    pub kind: Option<String>,
    /// `pending`, `in_progress`, `completed`, `failed`.
    pub status: Option<String>,
    pub content: Option<Vec<ToolContent>>,
    pub locations: Option<Vec<Location>>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    #[serde(rename = "_meta", deserialize_with = "empty")]
    pub meta: Value,
}

impl ToolPart {
    /// Whether the part only names a call without any details.
    pub fn says_nothing_yet(&self) -> bool {
        let empty = |input: &Value| input.as_object().is_some_and(serde_json::Map::is_empty);
        self.status.as_deref() == Some("pending")
            && self.raw_input.as_ref().is_some_and(empty)
            && self.content.as_ref().is_none_or(Vec::is_empty)
            && self.locations.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Content that a tool call shows.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ToolContent {
    /// `content`, `diff`, `terminal`.
    #[serde(rename = "type", deserialize_with = "empty")]
    pub kind: String,
    /// The content of kind `content`: a [`Block`].
    pub content: Option<Box<RawValue>>,
    #[serde(deserialize_with = "empty")]
    pub path: String,
    pub old_text: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub new_text: String,
    #[serde(deserialize_with = "empty")]
    pub terminal_id: String,
    /// For kind `diff`, one agent sends `{"kind":"add"}`, `modify` or `delete`.
    #[serde(rename = "_meta", deserialize_with = "empty")]
    pub meta: Value,
}

/// A place in a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Location {
    /// The file.
    #[serde(deserialize_with = "empty")]
    pub path: String,
}

/// `plan`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// All steps of the plan.
    #[serde(deserialize_with = "empty")]
    pub entries: Vec<PlanEntry>,
}

/// One step of a plan.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlanEntry {
    /// The text of the step.
    #[serde(deserialize_with = "empty")]
    pub content: String,
    /// `pending`, `in_progress`, `completed`.
    #[serde(deserialize_with = "empty")]
    pub status: String,
}

/// `available_commands_update`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Commands {
    /// All commands of the session.
    #[serde(deserialize_with = "empty")]
    pub available_commands: Vec<Command>,
}

/// A slash command.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Command {
    #[serde(deserialize_with = "empty")]
    pub name: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
}

/// `current_mode_update`, `config_option_update`, `session_info_update`, `usage_update`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Facts {
    pub current_mode_id: Option<String>,
    pub config_options: Option<Vec<ConfigOption>>,
    pub title: Option<String>,
    pub used: Option<u64>,
    pub size: Option<u64>,
    pub cost: Option<Cost>,
}

/// What the session has cost so far.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Cost {
    pub amount: Option<f64>,
    #[serde(deserialize_with = "empty")]
    pub currency: String,
}
