//! What the app can take: it closes the connection at a message of 1 MiB, and draws a tool's output from memory.
//!
//! Only frames of this client are cut. The log and all other clients have everything.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// The most bytes of a frame.
pub(crate) const FRAME: usize = 900_000;
/// The most bytes of a list in a frame. The rest is for what stands around it.
pub(crate) const LIST: usize = FRAME - 4_096;
/// The most bytes of a tool's output, as JSON.
pub(crate) const OUTPUT: usize = 16 * 1_024;
/// The most bytes of a tool's arguments, as JSON.
const ARGUMENTS: usize = 256 << 10;
/// The most bytes of one text, which may become six times as many as JSON.
const TEXT: usize = 128 << 10;

/// How many bytes something has as JSON.
fn json_len(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |json| json.len())
}

fn omitted(bytes: usize) -> String {
    format!("(omitted {bytes} bytes)")
}

/// A tool's output, or how many bytes it has.
pub(crate) fn output(output: Value) -> Value {
    match json_len(&output) {
        bytes if bytes > OUTPUT => Value::String(omitted(bytes)),
        _ => output,
    }
}

/// Why a tool failed: the end of a longer text says most.
pub(crate) fn error(text: &str) -> String {
    let mut from = text.len().saturating_sub(OUTPUT / 2);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    match from {
        0 => text.to_owned(),
        _ => format!("{}{}", omitted(from), &text[from..]),
    }
}

/// A tool's arguments. Long texts in them are left out, or all of them.
pub(crate) fn arguments(mut arguments: Map<String, Value>) -> Map<String, Value> {
    let bytes = json_len(&arguments);
    if bytes <= ARGUMENTS {
        return arguments;
    }
    arguments.values_mut().for_each(shorten);
    match json_len(&arguments) {
        short if short <= ARGUMENTS => arguments,
        _ => Map::from_iter([("omitted".to_owned(), json!(omitted(bytes)))]),
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > OUTPUT => *text = omitted(text.len()),
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text in pieces that fit into a frame each. An empty text has none.
pub(crate) fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let mut end = text.len().min(TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    pieces
}

/// The beginning of a text for a list.
pub(crate) fn brief(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A list as JSON that fits into a frame: the newest of it, which are the last ones.
pub(crate) fn page<T: Serialize>(items: &[T], most: usize) -> String {
    page_within(items, most, LIST)
}

/// The same, within so many bytes.
pub(crate) fn page_within<T: Serialize>(items: &[T], most: usize, bytes: usize) -> String {
    let (mut kept, mut left) = (Vec::new(), bytes.min(LIST).saturating_sub(2));
    for item in items.iter().rev().take(most) {
        let Ok(json) = serde_json::to_string(item) else { continue };
        match left.checked_sub(json.len() + 1) {
            Some(rest) => left = rest,
            None => break,
        }
        kept.push(json);
    }
    kept.reverse();
    format!("[{}]", kept.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_over_sixteen_kilobytes_says_how_long_it_is() {
        let fits = Value::String("x".repeat(OUTPUT - 2));
        assert_eq!(output(fits.clone()), fits);
        assert_eq!(output(Value::String("x".repeat(OUTPUT - 1))), json!("(omitted 16385 bytes)"));
        assert!(error(&"é".repeat(20_000)).starts_with("(omitted 31808 bytes)é"));
        assert_eq!(error("short"), "short");
    }

    #[test]
    fn arguments_stay_an_object() {
        let call = |text: usize| {
            let value = json!({ "file_path": "a", "content": "x".repeat(text), "edits": [{ "new": "y".repeat(text) }] });
            let Value::Object(fields) = value else { unreachable!() };
            arguments(fields)
        };
        assert_eq!(call(100)["content"], "x".repeat(100));
        let cut = call(200_000);
        assert_eq!((&cut["file_path"], &cut["content"]), (&json!("a"), &json!("(omitted 200000 bytes)")));
        assert_eq!(cut["edits"][0]["new"], "(omitted 200000 bytes)");
        let many: Map<String, Value> = (0..50_000).map(|at| (at.to_string(), json!("xxxxxxxx"))).collect();
        assert_eq!(arguments(many).keys().collect::<Vec<_>>(), ["omitted"]);
    }

    #[test]
    fn pieces_are_the_whole_text() {
        let text = "\u{1}é".repeat(100_000);
        let pieces = pieces(&text);
        assert_eq!(pieces.concat(), text);
        assert!(pieces.iter().all(|piece| json_len(piece) < FRAME));
        assert!(super::pieces("").is_empty());
        assert_eq!((brief("abc", 3), brief("abcd", 3)), ("abc".to_owned(), "abc…".to_owned()));
    }

    #[test]
    fn a_page_is_cut_from_its_oldest() {
        let items: Vec<String> = (0..100).map(|at| format!("{at:05}{}", "x".repeat(20_000))).collect();
        let page: Vec<String> = serde_json::from_str(&super::page(&items, usize::MAX)).unwrap();
        assert!(page.len() > 30 && page.len() < 50, "{}", page.len());
        assert_eq!(page[..], items[items.len() - page.len()..]);
        assert!(super::page(&items, usize::MAX).len() <= LIST);
        assert_eq!(super::page(&items, 0), "[]");
        let few: Vec<String> = serde_json::from_str(&super::page(&items, 2)).unwrap();
        assert_eq!(few[..], items[98..]);
        assert_eq!(page_within(&items, 9, 10), "[]");
    }
}
