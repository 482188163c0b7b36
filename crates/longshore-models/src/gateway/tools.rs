//! The client's tools under names that every API accepts, and the way back.
//!
//! Some APIs have groups of tools, tools with free text, and client tools that are not functions. The gateway offers
//! all of them to the service as functions, and turns a call of such a function back into a call of the original tool.

use std::collections::HashMap;

use crate::api::name_of;
use crate::tool::ToolDefinition;
use serde_json::{Value, json};

/// The maximal length of a name.
const LONGEST: usize = 64;
/// The separator between a group and a tool.
const BETWEEN: &str = "__";

/// The kind of a client's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientToolKind {
    /// A function whose arguments are JSON.
    Function,
    /// A tool that takes free text.
    Custom,
    /// The client looks for further tools.
    Search,
    /// The client runs a command.
    Shell,
}

/// A tool as the client knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientTool {
    pub(super) kind: ClientToolKind,
    pub(super) group: Option<String>,
    pub(super) name: String,
}

/// All tools of a request.
#[derive(Debug, Default)]
pub(super) struct Tools {
    offered: Vec<ToolDefinition>,
    /// The client's tools by the names that the service knows.
    known: HashMap<String, ClientTool>,
    /// The names that the service knows, by group and name of the client.
    names: HashMap<(Option<String>, String), String>,
}

impl Tools {
    /// Adds a tool. An existing tool of the same name stays as it is.
    pub(super) fn add(&mut self, tool: ClientTool, description: &str, parameters: Value) {
        let key = (tool.group.clone(), tool.name.clone());
        if tool.name.is_empty() || self.names.contains_key(&key) {
            return;
        }
        let name = self.free(&joined(tool.group.as_deref(), &tool.name));
        let parameters = match parameters {
            Value::Object(schema) if !schema.is_empty() => Value::Object(schema),
            _ => json!({ "type": "object", "properties": {} }),
        };
        let description = description.to_owned();
        self.offered.push(ToolDefinition {
            name: name.clone(),
            description,
            parameters,
            side_by_side: false,
        });
        self.names.insert(key, name.clone());
        self.known.insert(name, tool);
    }

    /// Adds a tool that takes free text, as a function whose only argument is that text.
    pub(super) fn add_custom(&mut self, group: Option<&str>, name: &str, description: &str, grammar: &Value) {
        let mut told = format!(
            "{description}\n\nIt is called as a function here: its argument `input` holds the whole text, as a JSON string."
        );
        if let Some(definition) = grammar["definition"].as_str() {
            let syntax = grammar["syntax"].as_str().unwrap_or("formal");
            told.push_str(&format!(" The text must match this {syntax} grammar:\n{definition}"));
        }
        let parameters = json!({
            "type": "object",
            "properties": { "input": { "type": "string", "description": "The whole text." } },
            "required": ["input"],
            "additionalProperties": false,
        });
        let tool = ClientTool {
            kind: ClientToolKind::Custom,
            group: group.map(str::to_owned),
            name: name.to_owned(),
        };
        self.add(tool, told.trim_start(), parameters);
    }

    /// The tools for the service.
    pub(super) fn offered(&self) -> Vec<ToolDefinition> {
        self.offered.clone()
    }

    /// The service's name for a tool. A tool that the client no longer offers gets the name that it would have.
    pub(super) fn name(&self, group: Option<&str>, name: &str) -> String {
        let key = (group.map(str::to_owned), name.to_owned());
        self.names.get(&key).cloned().unwrap_or_else(|| cut(&name_of(&joined(group, name)), LONGEST))
    }

    /// The client's tool for a name. An unknown name becomes a function with that name, because the client can give the
    /// best error.
    pub(super) fn tool(&self, name: &str) -> ClientTool {
        let unknown = || ClientTool { kind: ClientToolKind::Function, group: None, name: name.to_owned() };
        self.known.get(name).cloned().unwrap_or_else(unknown)
    }

    fn free(&self, preferred: &str) -> String {
        let preferred = name_of(preferred);
        let numbered = |number: usize| {
            let suffix = format!("_{number}");
            format!("{}{suffix}", cut(&preferred, LONGEST - suffix.len()))
        };
        let mut names = std::iter::once(cut(&preferred, LONGEST)).chain((2..).map(numbered));
        names.find(|name| !self.known.contains_key(name)).unwrap_or(preferred)
    }
}

fn joined(group: Option<&str>, name: &str) -> String {
    match group {
        Some(group) => format!("{}{BETWEEN}{name}", group.trim_end_matches('_')),
        None => name.to_owned(),
    }
}

/// Cuts a name, which has one byte per character.
fn cut(name: &str, length: usize) -> String {
    name.chars().take(length).collect()
}

/// The free text in the arguments of a function that stands for a tool with free text.
pub(super) fn free_text(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(mut object)) => match object.remove("input") {
            Some(Value::String(text)) => text,
            // A model that calls it otherwise means the same.
            Some(other) => other.to_string(),
            None if object.len() == 1 => object
                .into_iter()
                .find_map(|(_, value)| value.as_str().map(str::to_owned))
                .unwrap_or_default(),
            None => arguments.to_owned(),
        },
        Ok(Value::String(text)) => text,
        // The model wrote the text itself, without an object.
        Ok(_) | Err(_) => arguments.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(group: Option<&str>, name: &str) -> ClientTool {
        ClientTool { kind: ClientToolKind::Function, group: group.map(str::to_owned), name: name.to_owned() }
    }

    #[test]
    fn every_tool_has_a_name_of_its_own_and_is_found_again_by_it() {
        let mut tools = Tools::default();
        let long = "x".repeat(80);
        let all = [
            function(None, "mcp__demo__write"),
            function(Some("mcp__demo"), "write"),
            function(Some("mcp__demo__"), "write"),
            function(None, "my.tool"),
            function(None, &long),
            function(None, &format!("{long}y")),
        ];
        for tool in &all {
            tools.add(tool.clone(), "", Value::Null);
            tools.add(tool.clone(), "again", Value::Null);
        }
        let names: Vec<String> = tools.offered().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), all.len());
        assert_eq!(names[..4], ["mcp__demo__write", "mcp__demo__write_2", "mcp__demo__write_3", "my_tool"]);
        for (tool, name) in all.iter().zip(&names) {
            assert!(name.len() <= LONGEST, "{name}");
            assert_eq!(tools.tool(name), *tool);
            assert_eq!(tools.name(tool.group.as_deref(), &tool.name), *name);
        }
        assert_eq!(tools.tool("what"), function(None, "what"));
        assert_eq!(tools.name(Some("gone"), "a.b"), "gone__a_b");
    }

    #[test]
    fn free_text_is_found_however_a_model_wraps_it() {
        for arguments in [r#"{"input":"a\nb"}"#, r#"{"patch":"a\nb"}"#, r#""a\nb""#, "a\nb"] {
            assert_eq!(free_text(arguments), "a\nb", "{arguments}");
        }
        assert_eq!(free_text(r#"{"a":1,"b":2}"#), r#"{"a":1,"b":2}"#, "nothing is lost");
    }
}
