//! Messages and their parts.

use serde::Deserialize;
use serde_json::Value;

use super::{Error, Times};

/// A message, without what it is made of.
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
    /// `{diffs}` of what the turn changed, or `true` of a message that sums up.
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

/// Tokens of a message, a step or a session. What came from the cache is not among `input`, what was thought not
/// among `output`.
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
    /// All of them.
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

/// Tokens that were read from the cache, or written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Cache {
    pub read: f64,
    pub write: f64,
}

/// A piece of a message.
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
    /// Said by OpenCode in somebody's name.
    #[serde(default)]
    pub synthetic: bool,
    /// Of a summary: OpenCode makes it by itself, and goes on.
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

/// Where the call of a tool stands.
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
    /// Pictures and other files that came of it.
    pub attachments: Vec<Attached>,
}

/// A file that came of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Attached {
    pub mime: String,
    pub filename: Option<String>,
    /// An address, or the file itself: `data:image/png;base64,..`.
    pub url: String,
}

/// What happened to a file.
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
