//! The parts that both OpenAI APIs share.

use crate::api::{Format, ToolChoice};
use serde_json::Value;

/// Whether the model calls tools. `named` finds the name of a tool that it must call.
pub(super) fn choice(choice: &Value, named: impl FnOnce(&Value) -> Option<String>) -> Option<ToolChoice> {
    match choice.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::Never),
        Some("required") => Some(ToolChoice::Must),
        Some(_) => None,
        None => named(choice).map(ToolChoice::Tool),
    }
}

/// The form that the answer must have. `schema` has the schema, if the form is one.
pub(super) fn format(format: &Value, schema: &Value) -> Option<Format> {
    match format["type"].as_str()? {
        "json_object" => Some(Format::Json),
        "json_schema" => Some(Format::Schema {
            name: schema["name"].as_str().unwrap_or("answer").to_owned(),
            schema: schema["schema"].clone(),
            strict: schema["strict"].as_bool().unwrap_or(false),
        }),
        _ => None,
    }
}
