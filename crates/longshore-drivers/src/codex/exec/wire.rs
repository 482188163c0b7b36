//! The JSON of `codex exec`, with its names.
//!
//! ```text
//! codex exec --json [-s SANDBOX] [-m MODEL] [--image=FILE]* [resume THREAD | fork THREAD] -      the prompt on stdin
//!                          <- thread.started {thread_id}
//!                          <- turn.started
//!                          <- item.started, item.updated*, item.completed {item {id, type, ..}}  for every item
//!                          <- error {message}*                    an attempt failed, or the turn is about to
//!                          <- turn.completed {usage}, or turn.failed {error {message}}
//! ```
//!
//! Nothing comes in deltas: most items appear only when they are complete. Every process numbers its items
//! from the beginning. `usage` counts the whole thread.
//!
//! Old releases wrote `{"type": "tool_call", "item": {"id", "tool_name", "arguments"}}`, then `tool_result`
//! with `ok`, `output` and `error`. The type is in `type` or in `event`, or in the same field of the
//! container. The container is `item`, `msg` or `payload`. The fields are `tool_name` or `tool`, `id` or
//! `call_id`, `arguments` or `args`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A JSON object of Codex.
pub type Fields = Map<String, Value>;

/// A line of `codex exec`.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name of the line's kind: `item.completed/agent_message`.
    pub kind: String,
    /// The event in the line.
    pub said: ExecEvent,
}

/// The event in a line.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecEvent {
    /// The thread has this id.
    ThreadStarted(String),
    /// An item begins, changes or is complete.
    Item(Step, Fields),
    /// The turn ended well.
    TurnCompleted(Option<Tokens>),
    /// The turn failed.
    TurnFailed(String),
    /// An error, in words for people.
    Error(String),
    /// A tool is called, in an old release.
    Called(Called),
    /// A tool has ended, in an old release.
    Returned(Returned),
    /// An event that the driver does not know.
    Other,
}

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Step {
    Started,
    Updated,
    Completed,
}

/// The tokens of the whole thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Tokens {
    pub input_tokens: Option<u64>,
    pub cached_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub reasoning_output_tokens: Option<u64>,
}

/// `tool_call`.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// The id that joins the call to its result. Empty if Codex sends none.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments of the call.
    pub arguments: Value,
}

/// `tool_result`.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// The id of the call.
    pub id: String,
    /// Whether the call succeeded.
    pub ok: bool,
    /// The output of the tool.
    pub output: Value,
    /// The error of the tool.
    pub error: Option<String>,
}

/// A step of a plan.
#[derive(Clone, Debug, Deserialize)]
pub struct Todo {
    /// The text of the step.
    #[serde(default)]
    pub text: String,
    /// Whether the step is done.
    #[serde(default)]
    pub completed: bool,
}

/// A change of one file.
#[derive(Clone, Debug, Deserialize)]
pub struct Change {
    /// The path of the file.
    pub path: String,
    /// `add`, `delete`, `update`.
    #[serde(default)]
    pub kind: String,
}

/// Reads a line.
pub fn read(line: &str) -> Result<Line, serde_json::Error> {
    let line: Fields = serde_json::from_str(line)?;
    let named = word(&line, &["type", "event"]).unwrap_or_default().to_lowercase();
    let container = ["item", "msg", "payload"].iter().find_map(|name| line.get(*name)?.as_object());
    let inner = container.and_then(|item| word(item, &["type"])).unwrap_or_default().to_lowercase();
    let step = match named.as_str() {
        "item.started" => Some(Step::Started),
        "item.updated" => Some(Step::Updated),
        "item.completed" => Some(Step::Completed),
        _ => None,
    };
    let said = match (named.as_str(), inner.as_str(), step, container) {
        ("tool_call", ..) | (_, "tool_call", ..) => ExecEvent::Called(called(container.unwrap_or(&line))),
        ("tool_result", ..) | (_, "tool_result", ..) => {
            ExecEvent::Returned(returned(container.unwrap_or(&line)))
        }
        (_, _, Some(step), Some(item)) => ExecEvent::Item(step, item.clone()),
        ("thread.started", ..) => match word(&line, &["thread_id"]) {
            Some(thread) if !thread.is_empty() => ExecEvent::ThreadStarted(thread.to_owned()),
            Some(_) | None => ExecEvent::Other,
        },
        ("turn.completed", ..) => {
            let usage = line.get("usage").filter(|usage| !usage.is_null());
            ExecEvent::TurnCompleted(usage.map(Tokens::deserialize).transpose()?)
        }
        ("turn.failed", ..) => ExecEvent::TurnFailed(message(&line)),
        ("error", ..) => ExecEvent::Error(message(&line)),
        _ => ExecEvent::Other,
    };
    let kind = match (named.as_str(), inner.as_str()) {
        ("", "") => "line".to_owned(),
        (named, "") => named.to_owned(),
        ("", inner) => inner.to_owned(),
        (named, inner) => format!("{named}/{inner}"),
    };
    Ok(Line { kind, said })
}

fn called(call: &Fields) -> Called {
    let arguments = match first(call, &["arguments", "args"]) {
        // A model writes the arguments as JSON in a string.
        Some(Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Some(arguments) => arguments.clone(),
        None => Value::Null,
    };
    Called { id: id(call), name: word(call, &["tool_name", "tool"]).unwrap_or("tool").to_owned(), arguments }
}

fn returned(result: &Fields) -> Returned {
    let error = match result.get("error") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other["message"].as_str().map_or_else(|| other.to_string(), str::to_owned)),
    };
    Returned {
        id: id(result),
        ok: result.get("ok").and_then(Value::as_bool).unwrap_or(error.is_none()),
        output: result.get("output").cloned().unwrap_or_default(),
        error,
    }
}

fn id(fields: &Fields) -> String {
    match first(fields, &["id", "call_id"]) {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        Some(_) | None => String::new(),
    }
}

/// The error text: `message`, or the message in `error`.
fn message(line: &Fields) -> String {
    let error = line.get("error").unwrap_or(&Value::Null);
    let nested = error["message"].as_str().or_else(|| error.as_str());
    nested.or_else(|| word(line, &["message"])).unwrap_or_default().to_owned()
}

/// The first of these fields that is not null.
fn first<'a>(fields: &'a Fields, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| fields.get(*name).filter(|value| !value.is_null()))
}

/// The first of these fields that is a string.
fn word<'a>(fields: &'a Fields, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str())
}
