//! A tool that a model may call.

use serde_json::Value;

/// A tool, as the model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// A name that every API takes: letters, digits, `_` and `-`, at most 64 of them.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// Whether calls of it may run beside others.
    pub side_by_side: bool,
}
