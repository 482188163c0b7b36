//! Reads user texts and tool results from a request, in the form that the APIs share: a list of messages with a role,
//! each with a text or a list of parts.

use serde_json::Value;

/// The text of the last user message that has a text.
pub(super) fn last_text(messages: &Value, said: impl Fn(&Value) -> String) -> String {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let of_the_user = messages.iter().rev().filter(|message| message["role"] == "user");
    of_the_user.map(said).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The text of a message's content: the texts of those parts that count, each on its own line.
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

/// All texts in the results of tools since the model's last message, each on its own line.
pub(super) fn last_results(messages: &Value) -> String {
    let mut texts = Vec::new();
    for message in messages.as_array().map(Vec::as_slice).unwrap_or_default().iter().rev() {
        let found = results_of(message);
        let of_the_model = match message["role"].as_str() {
            Some(role) => role == "assistant" || role == "model",
            None => found.is_empty(),
        };
        if of_the_model {
            break;
        }
        found.into_iter().for_each(|result| all_texts(result, &mut texts));
    }
    texts.join("\n")
}

/// The results in a message of any form: a separate item, a message of a tool, or parts of a message.
fn results_of(message: &Value) -> Vec<&Value> {
    if message["type"].as_str().is_some_and(|kind| kind.ends_with("call_output")) {
        return vec![&message["output"]];
    }
    if message["role"] == "tool" {
        return vec![&message["content"]];
    }
    let parts = message["content"].as_array().or_else(|| message["parts"].as_array());
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    let result = |part: &'_ Value| part["type"] == "tool_result" || part.get("functionResponse").is_some();
    parts.iter().filter(|part| result(part)).collect()
}

fn all_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| all_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| all_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_found_in_every_api_and_only_those_since_the_model_spoke() {
        let responses = json!([
            { "type": "function_call_output", "call_id": "a", "output": "old" },
            { "type": "function_call", "call_id": "b" },
            { "type": "function_call_output", "call_id": "b", "output": "declined" },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "steered" }] },
        ]);
        let chat = json!([
            { "role": "tool", "content": "old" },
            { "role": "assistant", "tool_calls": [] },
            { "role": "tool", "content": "declined" },
        ]);
        let messages = json!([
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "a" }] },
            { "role": "user", "content": [
                { "type": "tool_result", "content": [{ "type": "text", "text": "declined" }] },
                { "type": "text", "text": "steered" },
            ] },
        ]);
        let gemini = json!([
            { "role": "model", "parts": [{ "functionCall": { "name": "old" } }] },
            { "role": "user", "parts": [{ "functionResponse": { "response": { "output": "declined" } } }] },
        ]);
        for request in [responses, chat, messages, gemini] {
            let found = last_results(&request);
            assert!(found.contains("declined"), "{request}: {found}");
            assert!(!found.contains("old") && !found.contains("steered"), "{request}: {found}");
        }
        assert_eq!(last_results(&json!("only words")), "");
    }
}
