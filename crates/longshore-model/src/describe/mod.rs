//! Tool calls in words for people, the same for every agent and every client.
//!
//! | function | returns |
//! |---|---|
//! | [`running`] | one line about a running call: `Running: git status` |
//! | [`finished`] | one line about a finished call: `Ran: git status` |
//! | [`before`] | what the call is about to do, in Markdown |
//! | [`after`] | the result of the call, in Markdown: exit code, output, diffs |
//! | [`asks`] | whether the call asks a person a question |
//! | [`reveal`] | a text with its invisible characters written out, for decisions |
//!
//! Clients in other languages test their own functions with `tests/vectors-describe.json`.

mod markdown;
mod reveal;
mod tools;

use serde_json::Value;

use crate::item::{FileChange, ToolCall, ToolOutcome, ToolStatus};
use tools::ToolWording;

pub use markdown::{fenced, head_and_tail};
pub use reveal::{is_commanding, reveal};
pub use tools::asks;

/// The most characters of a line's subject.
const SUBJECT_CHARS: usize = 120;
/// The most characters of an output that are shown.
const OUTPUT_CHARS: usize = 4_000;

/// One line about a running call.
pub fn running(call: &ToolCall) -> String {
    let tool = ToolWording::of(call);
    line(&summary(&tool, &tool.doing, call))
}

/// One line about a finished call.
pub fn finished(call: &ToolCall, outcome: &ToolOutcome) -> String {
    line(&ended(call, outcome))
}

/// Of a line: what is done, and to what.
type CallSummary = (String, String);

fn ended(call: &ToolCall, outcome: &ToolOutcome) -> CallSummary {
    let tool = ToolWording::of(call);
    let subject = subject(call, &tool);
    let about = if subject.is_empty() { tool.noun.to_string() } else { subject };
    match outcome.status {
        ToolStatus::Running => summary(&tool, &tool.doing, call),
        ToolStatus::Completed => match outcome.exit_code.filter(|code| *code != 0) {
            Some(code) => (format!("Ended with exit code {code}"), about),
            None => summary(&tool, &tool.did, call),
        },
        ToolStatus::Failed => match outcome.exit_code {
            Some(code) => (format!("Failed with exit code {code}"), about),
            None => ("Failed".to_owned(), about),
        },
        ToolStatus::Declined => ("Declined".to_owned(), about),
        ToolStatus::Cancelled => ("Cancelled".to_owned(), about),
    }
}

/// With nothing to say what it is about, a verb alone takes what such a tool is always about.
fn summary(tool: &ToolWording, verb: &str, call: &ToolCall) -> CallSummary {
    let subject = subject(call, tool);
    match subject.is_empty() && !verb.contains(' ') && !tool.noun.is_empty() {
        true => (format!("{verb} {}", tool.noun), subject),
        false => (verb.to_owned(), subject),
    }
}

/// What a call is about to do, in Markdown.
pub fn before(call: &ToolCall) -> String {
    if let Some(command) = command_of(call) {
        let mut text = fenced("sh", &command);
        if let Some(cwd) = &call.cwd {
            text.push_str(&format!("\n\nin {}", markdown::code(cwd)));
        }
        return text;
    }
    let tool = ToolWording::of(call);
    let mut text = heading(&summary(&tool, &tool.doing, call));
    match &call.input {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                text.push_str("\n\n");
                text.push_str(&markdown::field(name, value));
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            text.push_str("\n\n");
            text.push_str(&markdown::value(&call.input));
        }
    }
    text
}

/// The result of a call, in Markdown.
pub fn after(call: &ToolCall, outcome: &ToolOutcome, output: &str, changes: &[FileChange]) -> String {
    let mut parts = vec![heading(&ended(call, outcome))];
    if outcome.exit_code == Some(0) {
        parts.push("exit code 0".to_owned());
    }
    for change in changes {
        parts.push(format!("{}\n{}", markdown::code(&change.path), fenced("diff", change.diff.trim_end())));
    }
    if !output.trim().is_empty() {
        parts.push(fenced("", &markdown::head_and_tail(output.trim_end(), OUTPUT_CHARS)));
    }
    parts.join("\n\n")
}

fn line((verb, subject): &CallSummary) -> String {
    match subject.is_empty() {
        true => verb.clone(),
        false => format!("{verb}: {subject}"),
    }
}

fn heading((verb, subject): &CallSummary) -> String {
    match subject.is_empty() {
        true => format!("**{verb}**"),
        false => format!("**{verb}** {}", markdown::code(subject)),
    }
}

/// What a call is about: a command, a file, a question.
fn subject(call: &ToolCall, tool: &ToolWording) -> String {
    let command = command_of(call).filter(|_| tool.of.is_empty());
    let found = command.or_else(|| tool.of.iter().find_map(|key| words_of(&call.input[*key])));
    let text = found.unwrap_or_default();
    let text = match (tool.is_path, &call.cwd) {
        (true, Some(cwd)) => text.strip_prefix(&format!("{}/", cwd.trim_end_matches('/'))).unwrap_or(&text),
        (true, None) | (false, _) => &text,
    };
    markdown::first_line(text, SUBJECT_CHARS)
}

/// The command line of a call that runs one.
fn command_of(call: &ToolCall) -> Option<String> {
    let told = call.command.clone();
    told.or_else(|| ["command", "cmd", "script"].iter().find_map(|key| words_of(&call.input[*key])))
}

/// A value that can be said in a line.
fn words_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
        }
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}
