//! Claude Code's JSON, with its names.
//!
//! ```text
//! -> control_request initialize     <- control_response
//! -> user                           <- system/init                                    at the start of every turn
//!                                   <- system/status requesting                       before every call of the model
//!                                   <- stream_event*                                  the deltas of the model
//!                                   <- user isReplay                                  the driver's prompt, repeated
//!                                   <- assistant                                      one complete block each
//!                                   <- control_request can_use_tool                   -> control_response
//!                                   <- user tool_result
//!                                   <- result                                         the turn is over
//! -> control_request interrupt      <- control_cancel_request*, control_response, result
//! ```
//!
//! Newer releases also report the progress of every prompt, in `command_lifecycle`.
//!
//! One object per line. Claude Code writes nothing before the driver's first line. Frames of a sub-agent name
//! the call that began the sub-agent in `parent_tool_use_id`. The driver skips unknown fields. It reads a
//! missing or null field of Claude Code as empty.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The outer fields of every line, borrowed from the line. For `stream_event`, the most frequent line, all of
/// its fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Line<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub subtype: Cow<'a, str>,
    #[serde(borrow)]
    pub event: Option<Event<'a>>,
    /// The call that began the sub-agent of this frame.
    #[serde(borrow, deserialize_with = "text")]
    pub parent_tool_use_id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub session_id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub uuid: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub request_id: Cow<'a, str>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub request: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
    /// Whether this is a prompt of the driver that Claude Code repeats.
    #[serde(rename = "isReplay", deserialize_with = "empty")]
    pub is_replay: bool,
    /// In `command_lifecycle` of newer releases: the driver's prompt.
    #[serde(borrow, deserialize_with = "text")]
    pub command_uuid: Cow<'a, str>,
    /// The progress of that prompt: `queued`, `started`, `completed`.
    #[serde(borrow)]
    pub state: Option<&'a RawValue>,
    /// In an assistant frame that comes from no model: the kind of the error, one word.
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// `stream_event`: an event of the model's stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Event<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub kind: Cow<'a, str>,
    pub index: Option<u64>,
    #[serde(borrow)]
    pub delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

/// The addition to a block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Delta<'a> {
    /// `text_delta`, `thinking_delta`, `signature_delta`, `input_json_delta`.
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub kind: Cow<'a, str>,
    /// The added text or thought.
    #[serde(borrow, alias = "thinking", deserialize_with = "text")]
    pub text: Cow<'a, str>,
}

/// The content of an assistant frame or a user frame.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message {
    /// The model's id for the message. It is the same in all frames of one message.
    #[serde(deserialize_with = "empty")]
    pub id: String,
    /// A list of blocks, or a text.
    pub content: Content,
    /// The tokens of the message so far.
    pub usage: Option<Tokens>,
}

/// A list of blocks, or a text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Content {
    Blocks(Vec<Block>),
    Text(String),
    Other(Value),
}

impl Default for Content {
    fn default() -> Self {
        Content::Blocks(Vec::new())
    }
}

impl Content {
    /// The content as blocks.
    pub fn blocks(self) -> Vec<Block> {
        match self {
            Content::Blocks(blocks) => blocks,
            Content::Text(text) => vec![Block { kind: "text".to_owned(), text, ..Block::default() }],
            Content::Other(_) => Vec::new(),
        }
    }
}

/// One block of a message, with the fields of all kinds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Block {
    /// `text`, `thinking`, `tool_use`, `tool_result`, `image`, and others.
    #[serde(rename = "type", deserialize_with = "empty")]
    pub kind: String,
    #[serde(deserialize_with = "empty")]
    pub text: String,
    #[serde(deserialize_with = "empty")]
    pub thinking: String,
    // tool_use
    #[serde(deserialize_with = "empty")]
    pub id: String,
    #[serde(deserialize_with = "empty")]
    pub name: String,
    #[serde(deserialize_with = "empty")]
    pub input: Value,
    // tool_result
    #[serde(deserialize_with = "empty")]
    pub tool_use_id: String,
    /// A text, or a list of blocks.
    #[serde(deserialize_with = "empty")]
    pub content: Value,
    #[serde(deserialize_with = "empty")]
    pub is_error: bool,
}

/// The model's counts of tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Tokens {
    pub input_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

/// `system`, with the fields of all subtypes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct System {
    // init
    pub cwd: Option<String>,
    pub model: Option<String>,
    #[serde(rename = "permissionMode")]
    pub permission_mode: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub slash_commands: Vec<String>,
    pub claude_code_version: Option<String>,
    // status
    pub status: Option<String>,
    pub compact_result: Option<String>,
    pub compact_error: Option<String>,
    // api_retry
    pub attempt: Option<u64>,
    pub max_retries: Option<u64>,
    pub retry_delay_ms: Option<f64>,
    pub error_status: Option<u64>,
    #[serde(deserialize_with = "empty")]
    pub error: Value,
    // task_started, task_progress, task_updated, task_notification
    #[serde(deserialize_with = "empty")]
    pub task_id: String,
    #[serde(deserialize_with = "empty")]
    pub tool_use_id: String,
    #[serde(deserialize_with = "empty")]
    pub task_type: String,
    pub description: Option<String>,
    pub prompt: Option<String>,
    // permission_denied, model_refusal_no_fallback, informational frames
    #[serde(deserialize_with = "empty")]
    pub message: Value,
    #[serde(deserialize_with = "empty")]
    pub content: Value,
    pub api_refusal_explanation: Option<String>,
}

/// `result`: the end of a turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Result {
    #[serde(deserialize_with = "empty")]
    pub subtype: String,
    #[serde(deserialize_with = "empty")]
    pub is_error: bool,
    pub api_error_status: Option<u64>,
    pub duration_ms: Option<u64>,
    #[serde(deserialize_with = "empty")]
    pub result: Value,
    pub stop_reason: Option<String>,
    /// The cost of the whole process so far, with sub-agents.
    pub total_cost_usd: Option<f64>,
    /// The tokens of this turn, without sub-agents.
    pub usage: Option<Tokens>,
    #[serde(rename = "modelUsage", deserialize_with = "empty")]
    pub model_usage: BTreeMap<String, ModelUsage>,
    pub terminal_reason: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub errors: Vec<Value>,
    /// What began the turn, if no prompt did.
    pub origin: Option<Origin>,
}

/// The usage of a model. The driver reads only the size of its context window.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUsage {
    /// How many tokens the model can hold.
    pub context_window: Option<u64>,
}

/// What began a turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// `task-notification`.
    #[serde(deserialize_with = "empty")]
    pub kind: String,
}

/// `control_request` from Claude Code.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Request {
    #[serde(deserialize_with = "empty")]
    pub subtype: String,
    #[serde(deserialize_with = "empty")]
    pub tool_name: String,
    #[serde(deserialize_with = "empty")]
    pub input: Value,
    pub description: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub permission_suggestions: Vec<Value>,
    pub decision_reason: Option<String>,
    pub decision_reason_type: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub tool_use_id: String,
    /// The sub-agent that sends the request, by the name of its task.
    #[serde(deserialize_with = "empty")]
    pub agent_id: String,
}

/// `control_response` to a request of the driver.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Response<'a> {
    #[serde(borrow, deserialize_with = "text")]
    pub subtype: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub request_id: Cow<'a, str>,
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
    #[serde(deserialize_with = "empty")]
    pub error: Value,
}

/// The response to `initialize`, and to `get_binary_version`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Greeting {
    #[serde(deserialize_with = "empty")]
    pub commands: Vec<Command>,
    #[serde(deserialize_with = "empty")]
    pub models: Vec<Model>,
    pub version: Option<String>,
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

/// A model.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Model {
    #[serde(deserialize_with = "empty")]
    pub value: String,
    pub resolved_model: Option<String>,
    /// `low`, `medium`, `high`. Empty if the model offers no choice.
    #[serde(deserialize_with = "empty")]
    pub supported_effort_levels: Vec<String>,
    #[serde(deserialize_with = "empty")]
    pub display_name: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
}

/// The input of `AskUserQuestion`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Questions {
    /// One to four questions.
    #[serde(deserialize_with = "empty")]
    pub questions: Vec<Question>,
}

/// One question.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Question {
    #[serde(deserialize_with = "empty")]
    pub question: String,
    #[serde(deserialize_with = "empty")]
    pub header: String,
    #[serde(deserialize_with = "empty")]
    pub multi_select: bool,
    #[serde(deserialize_with = "empty")]
    pub options: Vec<QuestionOption>,
}

/// One offered answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct QuestionOption {
    #[serde(deserialize_with = "empty")]
    pub label: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
}

/// Reads null as empty.
fn empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> std::result::Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// Reads a text, borrowed if possible. Null reads as empty.
fn text<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Cow<'de, str>, D::Error> {
    struct Text;
    impl<'de> Visitor<'de> for Text {
        type Value = Cow<'de, str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or null")
        }
        fn visit_borrowed_str<E: Error>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
            Ok(Cow::Borrowed(text))
        }
        fn visit_str<E: Error>(self, text: &str) -> std::result::Result<Self::Value, E> {
            Ok(Cow::Owned(text.to_owned()))
        }
        fn visit_unit<E: Error>(self) -> std::result::Result<Self::Value, E> {
            Ok(Cow::Borrowed(""))
        }
    }
    from.deserialize_any(Text)
}
