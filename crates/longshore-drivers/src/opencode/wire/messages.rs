//! Messages and their parts.

use serde::Deserialize;
use serde_json::Value;

use super::{Error, Times};

/// A message without its parts.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Info {
    pub id: String,
    #[serde(default, rename = "sessionID")]
    pub session_id: String,
    #[serde(default)]
    pub role: String,
    #[serde(default, rename = "parentID")]
    pub parent_id: Option<String>,
    #[serde(default)]
    pub time: Times,
    #[serde(default)]
    pub error: Option<Error>,
    #[serde(default)]
    pub cost: Option<f64>,
    #[serde(default)]
    pub tokens: Option<Tokens>,
    #[serde(default)]
    pub finish: Option<String>,
    /// `{diffs}` with the changes of the turn, or `true` for a message that is a summary.
    #[serde(default)]
    pub summary: Value,
    /// `{cwd, root}`
    #[serde(default)]
    pub path: Value,
    #[serde(default, rename = "providerID")]
    pub provider_id: String,
    #[serde(default, rename = "modelID")]
    pub model_id: String,
}

/// Tokens of a message, a step or a session. `input` excludes cached tokens, and `output` excludes tokens of
/// thoughts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Tokens {
    pub input: f64,
    pub output: f64,
    pub reasoning: f64,
    pub cache: Cache,
}

impl Tokens {
    /// The sum of all tokens.
    pub fn sum(&self) -> f64 {
        self.input + self.output + self.reasoning + self.cache.read + self.cache.write
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
        self.reasoning += more.reasoning;
        self.cache.read += more.cache.read;
        self.cache.write += more.cache.write;
    }
}

/// Tokens read from the cache, or written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Cache {
    pub read: f64,
    pub write: f64,
}

/// A part of a message.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Part {
    pub id: String,
    #[serde(default, rename = "messageID")]
    pub message_id: String,
    #[serde(default, rename = "sessionID")]
    pub session_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub text: String,
    /// Whether OpenCode wrote this part in the name of the user or the model.
    #[serde(default)]
    pub synthetic: bool,
    /// For a summary: whether OpenCode makes it without a request, and continues afterwards.
    #[serde(default)]
    pub auto: bool,
    #[serde(default)]
    pub time: Times,
    #[serde(default)]
    pub tool: String,
    #[serde(default, rename = "callID")]
    pub call_id: String,
    #[serde(default)]
    pub state: State,
    #[serde(default)]
    pub mime: String,
    #[serde(default)]
    pub filename: Option<String>,
    #[serde(default)]
    pub url: String,
}

/// The state of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct State {
    pub status: String,
    pub input: Value,
    pub output: String,
    pub error: String,
    pub title: String,
    pub metadata: Value,
    pub time: Times,
    /// Pictures and other files in the result.
    pub attachments: Vec<Attached>,
}

/// A file in the result of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Attached {
    pub mime: String,
    pub filename: Option<String>,
    /// An address, or the content itself: `data:image/png;base64,..`.
    pub url: String,
}

/// A change of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Diff {
    #[serde(alias = "filePath")]
    pub file: String,
    #[serde(alias = "diff")]
    pub patch: String,
    pub status: String,
    pub additions: f64,
    pub deletions: f64,
}
