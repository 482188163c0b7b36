//! Writes the body of a request: one message per speaker in turn, tool results as their own messages.

use std::sync::Arc;

use serde_json::{Value, json};

use super::thought::ThoughtReplay;
use crate::api::{AttachmentView, NeutralRequest, arguments_of, name_of, summary, view_of, words};
use crate::history::{HistoryItem, HistoryPart, Role};
use longshore_model::service::ModelApi;

pub(in super::super) fn body(request: &NeutralRequest) -> Value {
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            } })
        })
        .collect();
    let mut body = json!({
        "model": request.model,
        "messages": messages(request),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    if let Some(most) = request.max_output {
        body["max_completion_tokens"] = most.into();
    }
    if let Some(effort) = &request.effort {
        body["reasoning_effort"] = effort.as_str().into();
    }
    body
}

/// The roles alternate: templates of many models refuse two messages of one role in a row.
fn messages(request: &NeutralRequest) -> Vec<Value> {
    let told = (!request.instructions.is_empty())
        .then(|| json!({ "role": "system", "content": &*request.instructions }));
    let mut messages: Vec<Value> = told.into_iter().collect();
    let mut items = request.history.iter().peekable();
    while let Some(item) = items.next() {
        match &**item {
            HistoryItem::Message { role: Role::User, content, .. } => said(&mut messages, user(content)),
            HistoryItem::Summary { text } => said(&mut messages, summary(text).into()),
            HistoryItem::FunctionCallOutput { .. } => {
                let mut shown = Vec::new();
                result(item, &mut messages, &mut shown);
                while let Some(next) =
                    items.next_if(|next| matches!(&***next, HistoryItem::FunctionCallOutput { .. }))
                {
                    result(next, &mut messages, &mut shown);
                }
                // A message of a tool cannot contain an image. A message of a user can.
                if !shown.is_empty() {
                    said(&mut messages, shown.into());
                }
            }
            HistoryItem::Message { role: Role::Assistant, .. }
            | HistoryItem::FunctionCall { .. }
            | HistoryItem::Reasoning { .. } => {
                let mut answer = AssistantMessage::default();
                answer.add(item);
                while let Some(next) = items.next_if(|next| is_answer(next)) {
                    answer.add(next);
                }
                messages.extend(answer.message());
            }
            HistoryItem::Allowed { .. } => {}
        }
    }
    messages
}

/// Adds a user message, or extends the last message if it is a user's.
fn said(messages: &mut Vec<Value>, content: Value) {
    let last = messages.last_mut().filter(|last| last["role"] == "user");
    let Some(last) = last else { return messages.push(json!({ "role": "user", "content": content })) };
    last["content"] = match (last["content"].take(), content) {
        (Value::String(before), Value::String(after)) => format!("{before}\n\n{after}").into(),
        (before, after) => parts(before).into_iter().chain(parts(after)).collect::<Vec<_>>().into(),
    };
}

fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    }
}

fn is_answer(item: &Arc<HistoryItem>) -> bool {
    match &**item {
        HistoryItem::Message { role, .. } => *role == Role::Assistant,
        HistoryItem::FunctionCall { .. } | HistoryItem::Reasoning { .. } => true,
        HistoryItem::FunctionCallOutput { .. }
        | HistoryItem::Summary { .. }
        | HistoryItem::Allowed { .. } => false,
    }
}

/// The message of one answer.
#[derive(Default)]
struct AssistantMessage {
    text: Vec<String>,
    calls: Vec<Value>,
    thoughts: ThoughtReplay,
}

impl AssistantMessage {
    fn add(&mut self, item: &HistoryItem) {
        match item {
            HistoryItem::Message { content, .. } => self.text.push(words(content)),
            HistoryItem::FunctionCall { call_id, name, arguments, .. } => {
                let function =
                    json!({ "name": name_of(name), "arguments": arguments_of(arguments).to_string() });
                let mut call = json!({ "id": call_id, "type": "function", "function": function });
                self.thoughts.put_into_call(&mut call);
                self.calls.push(call);
            }
            HistoryItem::Reasoning { api: ModelApi::Chat, data, .. } => self.thoughts.add(data),
            // Data of another API has no meaning in this one.
            HistoryItem::Reasoning { api: ModelApi::Responses | ModelApi::Messages, .. }
            | HistoryItem::FunctionCallOutput { .. }
            | HistoryItem::Summary { .. }
            | HistoryItem::Allowed { .. } => {}
        }
    }

    fn message(self) -> Option<Value> {
        let text = self.text.join("\n\n");
        if text.is_empty() && self.calls.is_empty() {
            return None;
        }
        let content = if text.is_empty() { Value::Null } else { text.into() };
        let mut message = json!({ "role": "assistant", "content": content });
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into();
        }
        self.thoughts.put_into_message(&mut message);
        Some(message)
    }
}

fn user(content: &[HistoryPart]) -> Value {
    if content.iter().all(|part| !matches!(part, HistoryPart::Attached(_))) {
        return words(content).into();
    }
    let parts: Vec<Value> = content
        .iter()
        .map(|part| match part {
            HistoryPart::InputText { text } | HistoryPart::OutputText { text } => {
                json!({ "type": "text", "text": text })
            }
            HistoryPart::Attached(attachment) => shown(view_of(attachment)),
        })
        .collect();
    parts.into()
}

fn shown(view: AttachmentView<'_>) -> Value {
    let url = match view {
        AttachmentView::Image(media_type, data) => format!("data:{media_type};base64,{data}"),
        AttachmentView::ImageAt(url) => url.to_owned(),
        AttachmentView::Mention(text) => return json!({ "type": "text", "text": text }),
    };
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn result(item: &HistoryItem, messages: &mut Vec<Value>, images: &mut Vec<Value>) {
    if let HistoryItem::FunctionCallOutput { call_id, output } = item {
        messages.push(json!({ "role": "tool", "tool_call_id": call_id, "content": output.content }));
        images.extend(output.images.iter().map(|image| shown(view_of(image))));
    }
}
