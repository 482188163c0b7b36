//! Reads the words of the user out of a request, in the shape that the APIs have in common: a list of messages
//! with a role, each with a text or a list of parts.

use serde_json::Value;

/// What the last message of the user says, of those that say something.
pub(super) fn last_text(messages: &Value, said: impl Fn(&Value) -> String) -> String {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let of_the_user = messages.iter().rev().filter(|message| message["role"] == "user");
    of_the_user.map(said).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The text of a message's content: its parts that have a text, as far as they count, a line each.
pub(super) fn text_of(content: &Value, counts: impl Fn(&str) -> bool) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.filter(|text| counts(text)).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
