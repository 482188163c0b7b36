//! Moves a user message that follows tool results into the last result, for services that require it. Some chat
//! templates do not count calls and results as turns, so two user turns would be adjacent.

use serde_json::{Value, json};

/// The replacement for an image in a field that takes only text.
const IMAGE: &str = "[an image, which cannot be shown here]";

/// Joins the messages of Chat Completions, whose results are texts.
pub(super) fn in_chat(body: &mut Value) {
    join(&mut body["messages"], |result, next| {
        let fits = result["role"] == "tool" && next["role"] == "user";
        fits.then(|| {
            let words = |part: Value| part["text"].as_str().unwrap_or(IMAGE).to_owned();
            let said: Vec<String> = parts(next["content"].take()).into_iter().map(words).collect();
            let content = result["content"].as_str().unwrap_or_default();
            result["content"] = format!("{content}\n\n{}", told(&said.join("\n"))).into();
        })
    });
}

/// Joins the items of Responses.
pub(super) fn in_responses(body: &mut Value) {
    join(&mut body["input"], |result, next| {
        let fits = result["type"] == "function_call_output" && next["role"] == "user";
        fits.then(|| {
            let (said, shown) = apart(parts(next["content"].take()));
            let said = told(&said);
            result["output"] = match result["output"].take() {
                Value::String(before) if shown.is_empty() => format!("{before}\n\n{said}").into(),
                before => {
                    let mut all = parts(before);
                    all.push(json!({ "type": "text", "text": said }));
                    all.extend(shown);
                    all.iter_mut()
                        .filter(|part| part["type"] == "text")
                        .for_each(|part| part["type"] = "input_text".into());
                    all.into()
                }
            };
        })
    });
}

/// Joins the blocks of Messages.
pub(super) fn in_messages(body: &mut Value) {
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        let Some(blocks) = message["content"].as_array_mut() else { continue };
        let is_result = |block: &Value| block["type"] == "tool_result";
        if !blocks.iter().any(is_result) {
            continue;
        }
        let (mut results, mut said): (Vec<Value>, Vec<Value>) = blocks.drain(..).partition(is_result);
        if let Some(result) = results.last_mut().filter(|_| !said.is_empty()) {
            let last = said.last_mut().and_then(Value::as_object_mut);
            let mark = last.and_then(|last| last.remove("cache_control"));
            let (said, shown) = apart(said);
            let mut content = parts(result["content"].take());
            content.push(json!({ "type": "text", "text": told(&said) }));
            content.extend(shown);
            result["content"] = content.into();
            if let Some(mark) = mark {
                result["cache_control"] = mark;
            }
        }
        *blocks = results;
    }
}

/// Joins adjacent entries of a list for which `take_in` succeeds.
fn join(list: &mut Value, take_in: impl Fn(&mut Value, &mut Value) -> Option<()>) {
    let Some(list) = list.as_array_mut() else { return };
    let mut all: Vec<Value> = Vec::with_capacity(list.len());
    for mut next in list.drain(..) {
        if all.last_mut().and_then(|last| take_in(last, &mut next)).is_none() {
            all.push(next);
        }
    }
    *list = all;
}

/// Splits parts into their joined text and the other parts.
fn apart(all: Vec<Value>) -> (String, Vec<Value>) {
    let (words, shown): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|part| part["text"].is_string());
    let words: Vec<&str> = words.iter().filter_map(|part| part["text"].as_str()).collect();
    (words.join("\n"), shown)
}

fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    }
}

fn told(said: &str) -> String {
    format!("<user-message>\n{said}\n</user-message>")
}
