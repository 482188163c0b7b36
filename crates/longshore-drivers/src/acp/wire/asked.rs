//! The agent's requests to the driver.

use serde::Deserialize;
use serde_json::Value;

use super::{ToolPart, empty};

/// `session/request_permission`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ApprovalParams {
    #[serde(deserialize_with = "empty")]
    pub tool_call: ToolPart,
    #[serde(deserialize_with = "empty")]
    pub options: Vec<PermissionOption>,
}

/// One offered answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct PermissionOption {
    #[serde(deserialize_with = "empty")]
    pub option_id: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`.
    #[serde(deserialize_with = "empty")]
    pub kind: String,
}

/// `fs/read_text_file` and `fs/write_text_file`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct FileAsked {
    #[serde(deserialize_with = "empty")]
    pub path: String,
    pub line: Option<u64>,
    pub limit: Option<u64>,
    #[serde(deserialize_with = "empty")]
    pub content: String,
}

/// `terminal/create`, and the other requests about a terminal.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct TerminalAsked {
    #[serde(deserialize_with = "empty")]
    pub terminal_id: String,
    #[serde(deserialize_with = "empty")]
    pub command: String,
    #[serde(deserialize_with = "empty")]
    pub args: Vec<String>,
    #[serde(deserialize_with = "empty")]
    pub env: Vec<EnvVar>,
    pub cwd: Option<String>,
    pub output_byte_limit: Option<u64>,
}

/// An environment variable.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct EnvVar {
    #[serde(deserialize_with = "empty")]
    pub name: String,
    #[serde(deserialize_with = "empty")]
    pub value: String,
}

/// `elicitation/create`, and `elicitation/complete`, which names an elicitation.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Elicitation {
    #[serde(deserialize_with = "empty")]
    pub message: String,
    pub url: Option<String>,
    pub elicitation_id: Option<String>,
    /// A JSON schema of one flat object.
    #[serde(deserialize_with = "empty")]
    pub requested_schema: Value,
}

/// `$/cancel_request`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Withdrawn<'a> {
    /// The agent's request that is withdrawn.
    #[serde(borrow)]
    pub request_id: Option<&'a serde_json::value::RawValue>,
}
