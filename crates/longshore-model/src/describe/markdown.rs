//! Text in Markdown that cannot break out of its place, whatever it contains.

use serde_json::Value;

/// The longest value that fits into a line.
const SHORT: usize = 80;

/// A code block that its content cannot end.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Inline code that its content cannot end.
pub(super) fn code(text: &str) -> String {
    match text.contains('`') {
        true => format!("`` {text} ``"),
        false => format!("`{text}`"),
    }
}

/// An argument and its value.
pub(super) fn field(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) if text.len() <= SHORT && !text.contains('\n') && !text.contains("``") => {
            format!("{name}: {}", code(text))
        }
        Value::Bool(_) | Value::Number(_) => format!("{name}: `{value}`"),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            format!("{name}:\n{}", self::value(value))
        }
    }
}

/// A value in its own block.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => fenced("", text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            fenced("json", &serde_json::to_string_pretty(value).unwrap_or_default())
        }
    }
}

/// The first line of a text that is not blank, cut at a length.
pub(super) fn first_line(text: &str, chars: usize) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let cut: String = first.chars().take(chars).collect();
    match cut.len() < first.len() || lines.next().is_some() {
        true => cut + " …",
        false => cut,
    }
}

/// The beginning and the end of a text, with a note of what is left out between them.
pub fn head_and_tail(text: &str, chars: usize) -> String {
    let count = text.chars().count();
    if count <= chars {
        return text.to_owned();
    }
    let half = chars / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n… {} characters left out …\n{tail}", count - 2 * half)
}
