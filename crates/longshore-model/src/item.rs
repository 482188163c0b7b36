//! What items are made of: tool calls, diffs, plan steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::Attachment;

/// How many bytes of base64 the attachments of one outcome may have together.
pub const MOST_ATTACHED: usize = 8 << 20;

/// A call of a tool, as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// What the agent calls the tool: `exec_command`, `Bash`, `server.tool`.
    pub name: String,
    /// What sort of thing it does.
    pub kind: ToolKind,
    /// The command line, for tools that run one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
}

impl ToolCall {
    /// A call of which only its output is known.
    pub fn unknown() -> Self {
        Self { name: "tool".to_owned(), kind: ToolKind::Other, command: None, cwd: None, input: Value::Null }
    }
}

/// What sort of thing a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ToolKind {
    Execute,
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Fetch,
    Think,
    Delegate,
    Other,
}

/// How a call ended. The output itself is the event's text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcome {
    /// How it ended.
    pub status: ToolStatus,
    /// The exit code, for tools that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The result as data, where the tool gives data.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Pictures and other content that is no text, [`MOST_ATTACHED`] bytes together at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl ToolOutcome {
    /// An outcome of which only the status is known.
    pub fn of(status: ToolStatus) -> Self {
        Self { status, exit_code: None, duration_ms: None, result: Value::Null, attachments: Vec::new() }
    }

    /// Takes out the attachments that are too many bytes together, the last ones first of all: what is left out, in a
    /// line for people.
    pub fn bound_attachments(&mut self) -> Option<String> {
        let mut all = 0;
        let mut left_out = Vec::new();
        self.attachments.retain(|attachment| {
            let bytes = attachment.bytes();
            let fits = all + bytes <= MOST_ATTACHED;
            match fits {
                true => all += bytes,
                false => {
                    let name = attachment.name.as_deref().unwrap_or("an attachment");
                    left_out.push(format!("{name} ({}, {bytes} bytes)", attachment.media_type));
                }
            }
            fits
        });
        (!left_out.is_empty()).then(|| format!("left out, as it is too large: {}", left_out.join(", ")))
    }
}

/// Where a tool call or a file change stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Not ended yet.
    Running,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Somebody said no.
    Declined,
    /// Stopped from outside.
    Cancelled,
}

/// A change of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Whether it is done.
    pub status: ToolStatus,
    /// File by file.
    pub changes: Vec<FileChange>,
}

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Which file.
    pub path: String,
    /// What happens to it.
    pub kind: FileChangeKind,
    /// Where it goes, when it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// A unified diff.
    pub diff: String,
}

/// What can happen to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum FileChangeKind {
    Add,
    Update,
    Delete,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}
