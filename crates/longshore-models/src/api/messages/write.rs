//! Writes the body of a request: blocks of one speaker in one message, results before text.

use serde_json::{Value, json};

use crate::api::{AttachmentView, NeutralRequest, arguments_of, name_of, plain_id, summary, view_of};
use crate::history::{HistoryItem, HistoryPart, Role};
use longshore_model::service::ModelApi;

/// The limit of an answer without a setting: this API requires a limit.
pub(super) const MAX_OUTPUT: u64 = 16_000;

pub(in super::super) fn body(request: &NeutralRequest) -> Value {
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

/// The roles alternate: blocks of the same role go into one message, results before text.
fn messages(request: &NeutralRequest) -> Vec<Value> {
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
    // The next request repeats the conversation. With the mark, the service caches it and charges less.
    if let Some(last) = messages.last_mut().and_then(|(_, blocks)| blocks.last_mut())
        && last["type"] != "thinking"
        && last["type"] != "redacted_thinking"
    {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn blocks(item: &HistoryItem) -> (&'static str, Vec<Value>) {
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    match item {
        HistoryItem::Message { role, content, .. } => {
            let role = match role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            let blocks = content.iter().filter_map(|part| match part {
                HistoryPart::InputText { text: words } | HistoryPart::OutputText { text: words } => {
                    text(words)
                }
                HistoryPart::Attached(attachment) => Some(shown(view_of(attachment))),
            });
            (role, blocks.collect())
        }
        HistoryItem::Summary { text: words } => ("user", text(&summary(words)).into_iter().collect()),
        HistoryItem::Reasoning { api: ModelApi::Messages, data, .. } => ("assistant", vec![data.clone()]),
        HistoryItem::Reasoning { api: ModelApi::Chat | ModelApi::Responses, .. }
        | HistoryItem::Allowed { .. } => ("assistant", Vec::new()),
        HistoryItem::FunctionCall { call_id, name, arguments, .. } => {
            let input = arguments_of(arguments);
            (
                "assistant",
                vec![
                    json!({ "type": "tool_use", "id": plain_id(call_id), "name": name_of(name), "input": input }),
                ],
            )
        }
        HistoryItem::FunctionCallOutput { call_id, output } => {
            let mut content: Vec<Value> = text(&output.content).into_iter().collect();
            content.extend(output.images.iter().map(|image| shown(view_of(image))));
            let mut block =
                json!({ "type": "tool_result", "tool_use_id": plain_id(call_id), "content": content });
            if !output.success {
                block["is_error"] = true.into();
            }
            ("user", vec![block])
        }
    }
}

fn shown(view: AttachmentView<'_>) -> Value {
    let source = match view {
        AttachmentView::Image(media_type, data) => {
            json!({ "type": "base64", "media_type": media_type, "data": data })
        }
        AttachmentView::ImageAt(url) => json!({ "type": "url", "url": url }),
        AttachmentView::Mention(text) => return json!({ "type": "text", "text": text }),
    };
    json!({ "type": "image", "source": source })
}
