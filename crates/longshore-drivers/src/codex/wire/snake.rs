//! Translates the spelling of rollouts and `codex exec` into the app-server's: `CommandExecution` and
//! `command_execution` become `commandExecution`, `exit_code` becomes `exitCode`. A command may be a list of
//! words; a duration has seconds and nanoseconds.

use serde_json::{Map, Value, json};

use super::Item;
use crate::argv::typed;

/// Reads an item into the form of the app-server. The changes of files keep their form.
pub(crate) fn item_of(item: Map<String, Value>) -> Result<Item, serde_json::Error> {
    // Codex's own tools have another spelling. The tools of an MCP server keep the server's spelling.
    let own_tool =
        item.get("type").is_some_and(|kind| kind == "CollabAgentToolCall" || kind == "collab_tool_call");
    let mut fields = Map::new();
    for (name, value) in item {
        let value = match (name.as_str(), value) {
            ("type", Value::String(kind)) => Value::String(kind_of(&kind)),
            ("status" | "source", Value::String(word)) => Value::String(camel_word(&word)),
            ("tool", Value::String(word)) if own_tool => Value::String(camel_word(&word)),
            ("command", Value::Array(words)) => {
                let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap_or_default()).collect();
                Value::String(typed(&words))
            }
            ("cwd", Value::String(cwd)) => {
                Value::String(cwd.strip_prefix("file://").map(str::to_owned).unwrap_or(cwd))
            }
            ("content", Value::Array(parts)) => parts.into_iter().map(input).collect(),
            ("agents_states", Value::Object(states)) => {
                states.into_iter().map(|(child, state)| (child, state_of(state))).collect()
            }
            ("action", action @ Value::Object(_)) => input(action),
            ("result", Value::Object(mut result)) => {
                if let Some(data) = result.remove("structured_content") {
                    result.insert("structuredContent".to_owned(), data);
                }
                Value::Object(result)
            }
            ("error", Value::String(message)) => json!({"message": message}),
            ("parsed_cmd", Value::Array(actions)) => actions.into_iter().map(input).collect(),
            ("duration", duration) => {
                let millis = duration["secs"].as_u64().unwrap_or(0) * 1_000
                    + duration["nanos"].as_u64().unwrap_or(0) / 1_000_000;
                fields.insert("durationMs".to_owned(), millis.into());
                continue;
            }
            (_, value) => value,
        };
        let name = match name.as_str() {
            "parsed_cmd" => "commandActions".to_owned(),
            "summary_text" => "summary".to_owned(),
            "raw_content" => "content".to_owned(),
            name => camel_word(name),
        };
        fields.insert(name, value);
    }
    serde_json::from_value(Value::Object(fields))
}

/// A part of a message, or an action of a command, with its type in the app-server's spelling.
fn input(mut part: Value) -> Value {
    if let Some(Value::String(kind)) = part.get_mut("type") {
        *kind = camel_word(&small(kind));
    }
    if let Some(url) = part.get_mut("image_url").map(Value::take) {
        part["url"] = url;
    }
    part
}

/// Reads `"running"`, `{"completed":"its last message"}`, or `{"status":..,"message":..}`.
fn state_of(state: Value) -> Value {
    match state {
        Value::String(word) => json!({"status": camel_word(&word)}),
        Value::Object(mut state) if state.contains_key("status") => {
            if let Some(Value::String(word)) = state.get_mut("status") {
                *word = camel_word(word);
            }
            Value::Object(state)
        }
        Value::Object(only) => match only.into_iter().next() {
            Some((word, message)) => json!({"status": camel_word(&word), "message": message}),
            None => json!({}),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => json!({}),
    }
}

/// Turns `CommandExecution` and `command_execution` into `commandExecution`.
fn kind_of(kind: &str) -> String {
    match kind {
        "collab_tool_call" => "collabAgentToolCall".to_owned(),
        kind => camel_word(&small(kind)),
    }
}

/// Turns `UserMessage` into `userMessage`.
fn small(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Turns `exit_code` into `exitCode`.
fn camel_word(word: &str) -> String {
    let mut parts = word.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut whole, part| {
        let mut letters = part.chars();
        whole.extend(letters.next().into_iter().flat_map(char::to_uppercase).chain(letters));
        whole
    })
}

/// Respells all names in a value. A string that is itself a name is respelled too.
pub(crate) fn camel(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let of = |(name, value): (String, Value)| {
                let value = match (name.as_str(), value) {
                    ("codex_error_info", Value::String(word)) => Value::String(camel_word(&word)),
                    (_, value) => camel(value),
                };
                (camel_word(&name), value)
            };
            fields.into_iter().map(of).collect()
        }
        Value::Array(values) => values.into_iter().map(camel).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}
