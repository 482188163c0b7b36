//! What a service is asked: blocks of the same speaker in one message, results before words.

use serde_json::{Value, json};

use crate::api::{Look, Request, arguments_of, look, name_of, plain_id, summary};
use crate::history::{Item, Part, Role};
use longshore_model::service::ModelApi;

/// How much an answer may hold when nothing is set: this API must be told.
pub(super) const MAX_OUTPUT: u64 = 16_000;

pub(in super::super) fn body(request: &Request) -> Value {
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters }))
        .collect();
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_output.unwrap_or(MAX_OUTPUT),
        "messages": messages(request),
        "stream": true,
    });
    if !request.instructions.is_empty() {
        let told = json!({ "type": "text", "text": &*request.instructions, "cache_control": { "type": "ephemeral" } });
        body["system"] = vec![told].into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    body
}

/// Speakers take turns: blocks of the same speaker go into one message, results before words.
fn messages(request: &Request) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for item in &request.history {
        let (role, blocks) = blocks(item);
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    // What was said so far is the same next time, and need not be paid again in full.
    if let Some(last) = messages.last_mut().and_then(|(_, blocks)| blocks.last_mut())
        && last["type"] != "thinking"
        && last["type"] != "redacted_thinking"
    {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn blocks(item: &Item) -> (&'static str, Vec<Value>) {
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    match item {
        Item::Message { role, content, .. } => {
            let role = match role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            let blocks = content.iter().filter_map(|part| match part {
                Part::InputText { text: words } | Part::OutputText { text: words } => text(words),
                Part::Attached(attachment) => Some(shown(look(attachment))),
            });
            (role, blocks.collect())
        }
        Item::Summary { text: words } => ("user", text(&summary(words)).into_iter().collect()),
        Item::Reasoning { api: ModelApi::Messages, data, .. } => ("assistant", vec![data.clone()]),
        Item::Reasoning { api: ModelApi::Chat | ModelApi::Responses, .. } | Item::Allowed { .. } => {
            ("assistant", Vec::new())
        }
        Item::FunctionCall { call_id, name, arguments, .. } => {
            let input = arguments_of(arguments);
            (
                "assistant",
                vec![
                    json!({ "type": "tool_use", "id": plain_id(call_id), "name": name_of(name), "input": input }),
                ],
            )
        }
        Item::FunctionCallOutput { call_id, output } => {
            let mut content: Vec<Value> = text(&output.content).into_iter().collect();
            content.extend(output.images.iter().map(|image| shown(look(image))));
            let mut block =
                json!({ "type": "tool_result", "tool_use_id": plain_id(call_id), "content": content });
            if !output.success {
                block["is_error"] = true.into();
            }
            ("user", vec![block])
        }
    }
}

fn shown(look: Look<'_>) -> Value {
    let source = match look {
        Look::Image(media_type, data) => json!({ "type": "base64", "media_type": media_type, "data": data }),
        Look::ImageAt(url) => json!({ "type": "url", "url": url }),
        Look::Mention(text) => return json!({ "type": "text", "text": text }),
    };
    json!({ "type": "image", "source": source })
}
