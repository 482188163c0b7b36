//! Optional settings of a request, in the form of each API.

use serde_json::{Value, json};

use super::strict::Strict;
use super::{chat, turns};

/// The options of a request. Options that an API does not know are left out of its body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// Whether the model calls tools.
    pub tool_choice: Option<ToolChoice>,
    /// Whether an answer may contain several calls.
    pub parallel_calls: Option<bool>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The limit of nucleus sampling.
    pub top_p: Option<f64>,
    /// Texts before which the answer ends.
    pub stop: Vec<String>,
    /// The form that the answer must have.
    pub format: Option<Format>,
    /// The rules that the service enforces.
    pub strict: Strict,
}

/// Whether the model calls tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model calls no tool.
    Never,
    /// The model calls at least one tool.
    Must,
    /// The model calls this tool.
    Tool(String),
}

/// A form that an answer must have.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// JSON.
    Json,
    /// JSON that fits a schema.
    Schema {
        /// The name of the schema.
        name: String,
        /// The schema.
        schema: Value,
        /// Whether the service enforces the schema.
        strict: bool,
    },
}

impl RequestOptions {
    pub(super) fn chat(&self, body: &mut Value) {
        if has_tools(body) {
            put(body, "tool_choice", self.tool_choice.as_ref().map(choice_of_chat));
            put(body, "parallel_tool_calls", self.parallel_calls);
        }
        self.chances(body);
        put(body, "stop", (!self.stop.is_empty()).then(|| self.stop.clone()));
        let format = self.format.as_ref().map(|format| match format {
            Format::Json => json!({ "type": "json_object" }),
            Format::Schema { name, schema, strict } => {
                let schema = json!({ "name": name, "schema": schema, "strict": strict });
                json!({ "type": "json_schema", "json_schema": schema })
            }
        });
        put(body, "response_format", format);
        if self.strict.turns {
            turns::in_chat(body);
        }
        if self.strict.thoughts {
            chat::fill_thoughts(body);
        }
        if self.strict.signatures {
            chat::fill_signatures(body);
        }
    }

    pub(super) fn responses(&self, body: &mut Value) {
        if has_tools(body) {
            put(body, "tool_choice", self.tool_choice.as_ref().map(choice_of_responses));
            put(body, "parallel_tool_calls", self.parallel_calls);
        }
        self.chances(body);
        let format = self.format.as_ref().map(|format| match format {
            Format::Json => json!({ "format": { "type": "json_object" } }),
            Format::Schema { name, schema, strict } => {
                json!({ "format": { "type": "json_schema", "name": name, "schema": schema, "strict": strict } })
            }
        });
        put(body, "text", format);
        if self.strict.turns {
            turns::in_responses(body);
        }
    }

    pub(super) fn messages(&self, body: &mut Value) {
        if has_tools(body) && (self.tool_choice.is_some() || self.parallel_calls.is_some()) {
            let choice = self.tool_choice.as_ref().unwrap_or(&ToolChoice::Auto);
            let mut said = match choice {
                ToolChoice::Auto => json!({ "type": "auto" }),
                ToolChoice::Never => json!({ "type": "none" }),
                ToolChoice::Must => json!({ "type": "any" }),
                ToolChoice::Tool(name) => json!({ "type": "tool", "name": name }),
            };
            if *choice != ToolChoice::Never {
                put(&mut said, "disable_parallel_tool_use", self.parallel_calls.map(|parallel| !parallel));
            }
            put(body, "tool_choice", Some(said));
        }
        self.chances(body);
        put(body, "stop_sequences", (!self.stop.is_empty()).then(|| self.stop.clone()));
        let format = self.format.as_ref().and_then(|format| match format {
            Format::Json => None,
            Format::Schema { schema, .. } => {
                Some(json!({ "format": { "type": "json_schema", "schema": schema } }))
            }
        });
        put(body, "output_config", format);
        if self.strict.turns {
            turns::in_messages(body);
        }
    }

    fn chances(&self, body: &mut Value) {
        put(body, "temperature", self.temperature);
        put(body, "top_p", self.top_p);
    }
}

/// Whether the request has tools. Some services refuse a tool choice without tools.
fn has_tools(body: &Value) -> bool {
    body.get("tools").is_some()
}

fn put<T: Into<Value>>(body: &mut Value, key: &str, value: Option<T>) {
    if let Some(value) = value {
        body[key] = value.into();
    }
}

fn choice_of_chat(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto | ToolChoice::Never | ToolChoice::Must => word(choice).into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

fn choice_of_responses(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto | ToolChoice::Never | ToolChoice::Must => word(choice).into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
    }
}

fn word(choice: &ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Never => "none",
        ToolChoice::Must | ToolChoice::Tool(_) => "required",
    }
}
