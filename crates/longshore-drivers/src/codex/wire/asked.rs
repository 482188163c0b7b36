//! Codex's requests to the driver.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{RpcId, empty};

/// `serverRequest/resolved`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// The request of Codex that is closed.
    pub request_id: RpcId,
}

/// The parameters of every request for permission.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct ApprovalParams {
    /// The first version of the protocol calls it `callId`.
    #[serde(alias = "callId")]
    pub item_id: String,
    pub reason: Option<String>,
    /// A command line. In the first version, a list of words.
    #[serde(deserialize_with = "empty")]
    pub command: Value,
    #[serde(deserialize_with = "empty")]
    pub parsed_cmd: Value,
    pub cwd: Option<String>,
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    pub grant_root: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub permissions: Value,
    /// The changes. Only requests of the first version contain them.
    #[serde(deserialize_with = "empty")]
    pub file_changes: BTreeMap<String, OldChange>,
}

/// A change in the form of the first version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct OldChange {
    #[serde(rename = "type")]
    pub kind: String,
    pub content: Option<String>,
    pub unified_diff: Option<String>,
    pub move_path: Option<String>,
}

/// `item/tool/requestUserInput`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct UserInputAsked {
    pub questions: Vec<Question>,
}

/// One question.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Question {
    pub id: String,
    #[serde(deserialize_with = "empty")]
    pub header: String,
    #[serde(deserialize_with = "empty")]
    pub question: String,
    pub is_other: bool,
    pub is_secret: bool,
    #[serde(deserialize_with = "empty")]
    pub options: Vec<QuestionOption>,
}

/// One offered answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct QuestionOption {
    pub label: String,
    #[serde(deserialize_with = "empty")]
    pub description: String,
}

/// `mcpServer/elicitation/request`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Elicitation {
    pub server_name: String,
    /// `form` or `url`.
    pub mode: String,
    #[serde(deserialize_with = "empty")]
    pub message: String,
    pub url: Option<String>,
    /// A JSON schema of one flat object.
    #[serde(deserialize_with = "empty")]
    pub requested_schema: Value,
    #[serde(rename = "_meta")]
    pub meta: Option<ElicitationMeta>,
}

/// What Codex adds when the question is its own: whether it may call this tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct ElicitationMeta {
    pub codex_approval_kind: Option<String>,
    /// A word or a list of words: `session`, `always`.
    #[serde(deserialize_with = "empty")]
    pub persist: Value,
    pub tool_name: Option<String>,
    #[serde(deserialize_with = "empty")]
    pub tool_params: Value,
}

/// `item/tool/call`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolAsked {
    /// The tool that the client must run.
    pub tool: String,
}
