//! The parts of items: tool calls, diffs, plan steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::Attachment;

/// The most bytes of base64 that the attachments of one outcome may have together.
pub const MOST_ATTACHED: usize = 8 << 20;

/// A tool call, as far as the agent has reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The agent's name of the tool: `exec_command`, `Bash`, `server.tool`.
    pub name: String,
    /// The kind of tool.
    pub kind: ToolKind,
    /// The command line, if the tool runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The folder in which the tool runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
}

impl ToolCall {
    /// A call of which only the output is known.
    pub fn unknown() -> Self {
        Self { name: "tool".to_owned(), kind: ToolKind::Other, command: None, cwd: None, input: Value::Null }
    }
}

/// The kind of a tool.
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

/// How a tool call ended. The event's text is the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcome {
    /// The final status.
    pub status: ToolStatus,
    /// The exit code, if the tool has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long the call took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The result as data, if the tool returns data.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Images and other content that is not text, at most [`MOST_ATTACHED`] bytes together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl ToolOutcome {
    /// An outcome with only a status.
    pub fn of(status: ToolStatus) -> Self {
        Self { status, exit_code: None, duration_ms: None, result: Value::Null, attachments: Vec::new() }
    }

    /// Removes attachments over the limit, the last ones first. Returns a line for people that names what is
    /// left out.
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

/// The status of a tool call or of a file change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The work has not ended yet.
    Running,
    /// The work succeeded.
    Completed,
    /// The work failed.
    Failed,
    /// A person or a rule refused the work.
    Declined,
    /// The work was stopped.
    Cancelled,
}

/// A change of one or several files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// The status of the change.
    pub status: ToolStatus,
    /// The changes, one per file.
    pub changes: Vec<FileChange>,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The path of the file.
    pub path: String,
    /// The kind of change.
    pub kind: FileChangeKind,
    /// The new path, if the file moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// A unified diff.
    pub diff: String,
}

/// The kind of a file change.
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
    /// The text of the step.
    pub text: String,
    /// How far the step is.
    pub status: PlanStatus,
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}
