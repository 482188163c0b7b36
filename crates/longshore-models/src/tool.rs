//! A tool that a model may call.

use serde_json::Value;

/// The definition of a tool for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// A name that every API accepts: letters, digits, `_` and `-`, at most 64 of them.
    pub name: String,
    /// The tool's purpose, for the model.
    pub description: String,
    /// The JSON schema of the arguments.
    pub parameters: Value,
    /// Whether calls of the tool may run beside other calls.
    pub side_by_side: bool,
}
