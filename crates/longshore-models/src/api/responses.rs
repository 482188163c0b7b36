//! OpenAI Responses: a list of items in, a list of items out. The service stores nothing, so it returns
//! thoughts encrypted, and the client sends them back.

use std::borrow::Cow;
use std::collections::HashMap;

use longshore_model::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::failure::{Failure, FailureKind, is_error};
use super::text::Text;
use super::{
    AttachmentView, Event, Finish, InputDetails, NeutralRequest, OutputDetails, arguments_of, name_of, parse,
    plain_id, summary, view_of,
};
use crate::history::{HistoryItem, HistoryPart, Role};
use longshore_model::service::ModelApi;

pub(super) fn body(request: &NeutralRequest) -> Value {
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false,
            })
        })
        .collect();
    let mut input: Vec<Value> = Vec::new();
    for item in request.history.iter().filter_map(|item| self::input(item)) {
        put(&mut input, item);
    }
    let mut body = json!({
        "model": request.model,
        "input": input,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    if !request.instructions.is_empty() {
        body["instructions"] = (*request.instructions).into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
        body["parallel_tool_calls"] = true.into();
    }
    if let Some(most) = request.max_output {
        body["max_output_tokens"] = most.into();
    }
    if let Some(effort) = &request.effort {
        body["reasoning"] = json!({ "effort": effort, "summary": "auto" });
    }
    body
}

/// The roles alternate here too: a self-hosted server gives the items to a template that may require it.
fn put(input: &mut Vec<Value>, mut item: Value) {
    match input.last_mut().filter(|last| last["role"] == "user" && item["role"] == "user") {
        Some(last) => {
            let more = item["content"].as_array_mut().map(std::mem::take).unwrap_or_default();
            if let Some(content) = last["content"].as_array_mut() {
                content.extend(more);
            }
        }
        None => input.push(item),
    }
}

fn input(item: &HistoryItem) -> Option<Value> {
    Some(match item {
        HistoryItem::Message { role: Role::User, content, .. } => {
            let content: Vec<Value> = content.iter().map(part).collect();
            json!({ "type": "message", "role": "user", "content": content })
        }
        HistoryItem::Message { role: Role::Assistant, content, .. } => {
            let content: Vec<Value> = content.iter().map(part).collect();
            json!({ "type": "message", "role": "assistant", "content": content })
        }
        HistoryItem::Reasoning { api: ModelApi::Responses, data, .. } => data.clone(),
        HistoryItem::Reasoning { api: ModelApi::Chat | ModelApi::Messages, .. }
        | HistoryItem::Allowed { .. } => {
            return None;
        }
        HistoryItem::FunctionCall { call_id, name, arguments, .. } => json!({
            "type": "function_call", "call_id": plain_id(call_id), "name": name_of(name),
            "arguments": arguments_of(arguments).to_string(),
        }),
        HistoryItem::FunctionCallOutput { call_id, output } if output.images.is_empty() => {
            json!({ "type": "function_call_output", "call_id": plain_id(call_id), "output": output.content })
        }
        HistoryItem::FunctionCallOutput { call_id, output } => {
            let mut parts = vec![json!({ "type": "input_text", "text": output.content })];
            parts.extend(output.images.iter().map(|image| shown(view_of(image))));
            json!({ "type": "function_call_output", "call_id": plain_id(call_id), "output": parts })
        }
        HistoryItem::Summary { text } => {
            let content = json!([{ "type": "input_text", "text": summary(text) }]);
            json!({ "type": "message", "role": "user", "content": content })
        }
    })
}

fn part(part: &HistoryPart) -> Value {
    match part {
        HistoryPart::InputText { text } => json!({ "type": "input_text", "text": text }),
        HistoryPart::OutputText { text } => json!({ "type": "output_text", "text": text }),
        HistoryPart::Attached(attachment) => shown(view_of(attachment)),
    }
}

fn shown(view: AttachmentView<'_>) -> Value {
    let url = match view {
        AttachmentView::Image(media_type, data) => format!("data:{media_type};base64,{data}"),
        AttachmentView::ImageAt(url) => url.to_owned(),
        AttachmentView::Mention(text) => return json!({ "type": "input_text", "text": text }),
    };
    json!({ "type": "input_image", "image_url": url })
}

/// The fields of an event that are read. Texts borrow from the input.
#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    delta: Option<Text<'a>>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<Response<'a>>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(default)]
    summary_index: Option<u64>,
    #[serde(default)]
    content_index: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Response<'a> {
    #[serde(default)]
    usage: Option<ResponsesUsage>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    #[serde(borrow, default)]
    output: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct ResponsesUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

impl ResponsesUsage {
    fn usage(self) -> Usage {
        Usage {
            input: self.input_tokens,
            cached_input: self.input_tokens_details.and_then(|details| details.cached_tokens),
            output: self.output_tokens,
            reasoning: self.output_tokens_details.and_then(|details| details.reasoning_tokens),
            context_window: None,
            context_used: None,
        }
    }
}

/// A part of a thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThoughtPart {
    item: Option<u64>,
    is_summary: bool,
    index: Option<u64>,
}

/// Reads one answer. Every item is emitted when it is complete, at the latest at the end of the answer.
#[derive(Debug, Default)]
pub(super) struct ResponsesReader {
    /// How many items of each kind are complete.
    done: HashMap<String, usize>,
    /// The part of a thought to which the last piece belongs.
    part: Option<ThoughtPart>,
}

impl ResponsesReader {
    pub(super) fn read(&mut self, data: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        if data.trim_ascii() == b"[DONE]" {
            return;
        }
        let event: ResponsesEvent<'_> = match parse(data) {
            Ok(event) => event,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        match &*event.kind.0 {
            "response.output_text.delta" | "response.refusal.delta" => {
                tell(Event::Text(event.delta.unwrap_or_default().0));
            }
            kind @ ("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                let is_summary = kind.contains("summary");
                let index = if is_summary { event.summary_index } else { event.content_index };
                let part = ThoughtPart { item: event.output_index, is_summary, index };
                // An empty line separates the parts of a thought, as in the complete thought.
                if self.part.replace(part).is_some_and(|last| last != part && last.item == part.item) {
                    tell(Event::Reasoning(Cow::Borrowed("\n\n")));
                }
                tell(Event::Reasoning(event.delta.unwrap_or_default().0));
            }
            "response.output_item.done" => {
                self.part = None;
                if let Some(item) = event.item {
                    *self.done.entry(kind_of(item)).or_default() += 1;
                    done(item, tell);
                }
            }
            "response.completed" | "response.done" | "response.incomplete" | "response.failed" => {
                self.ended(&event.kind.0, event.response.unwrap_or_default(), tell);
            }
            "error" => tell(Event::Failed(Failure::of_event(data))),
            "" => self.whole(data, tell),
            _ => {}
        }
    }

    /// Reads the whole answer from one body.
    pub(super) fn whole(&mut self, body: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        let response: Response<'_> = match parse(body) {
            Ok(response) => response,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        if response.output.is_none() {
            let said: Value = serde_json::from_slice(body).unwrap_or_default();
            if is_error(&said) {
                tell(Event::Failed(Failure::in_stream(&said, FailureKind::Unavailable)));
            }
            return;
        }
        let kind = format!("response.{}", response.status.as_deref().unwrap_or("completed"));
        self.ended(&kind, response, tell);
    }

    /// The end of the answer. Emits the items that no event has contained.
    fn ended(&mut self, kind: &str, response: Response<'_>, tell: &mut dyn FnMut(Event<'_>)) {
        let Response { usage, error, incomplete_details, output, .. } = response;
        if kind == "response.failed" {
            return tell(Event::Failed(Failure::in_stream(&error.unwrap_or_default(), FailureKind::Refused)));
        }
        for item in output.into_iter().flatten() {
            match self.done.get_mut(&kind_of(item)).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => done(item, tell),
            }
        }
        if let Some(used) = usage {
            tell(Event::Usage(used.usage()));
        }
        let reason = incomplete_details.map(|details| details.reason).unwrap_or_default();
        tell(Event::Ended(match (kind, reason.as_str()) {
            ("response.incomplete", "content_filter") => Finish::Filtered,
            ("response.incomplete", _) => Finish::Length,
            _ => Finish::Done,
        }));
    }
}

fn kind_of(item: &RawValue) -> String {
    #[derive(Default, Deserialize)]
    struct Kind {
        #[serde(rename = "type", default)]
        kind: String,
    }
    serde_json::from_str::<Kind>(item.get()).unwrap_or_default().kind
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesItem {
    Message {
        #[serde(default)]
        content: Vec<Value>,
    },
    FunctionCall {
        #[serde(default)]
        call_id: Option<String>,
        #[serde(default)]
        name: String,
        #[serde(default)]
        arguments: Value,
    },
    CustomToolCall {
        #[serde(default)]
        call_id: Option<String>,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: String,
    },
    Reasoning {
        #[serde(default)]
        summary: Vec<Value>,
        #[serde(default)]
        content: Option<Vec<Value>>,
    },
    #[serde(other)]
    Other,
}

/// Emits a complete item.
fn done(item: &RawValue, tell: &mut dyn FnMut(Event<'_>)) {
    let texts = |parts: &[Value], between: &str| {
        let text =
            |part: &Value| part["text"].as_str().or_else(|| part["refusal"].as_str()).map(str::to_owned);
        parts.iter().filter_map(text).collect::<Vec<_>>().join(between)
    };
    let read: ResponsesItem = match parse(item.get().as_bytes()) {
        Ok(read) => read,
        Err(failure) => return tell(Event::Failed(failure)),
    };
    match read {
        ResponsesItem::Message { content } => tell(Event::TextDone(texts(&content, "").into())),
        ResponsesItem::FunctionCall { call_id, name, arguments } => {
            let arguments = match arguments {
                Value::String(arguments) => arguments,
                Value::Null => String::new(),
                other => other.to_string(),
            };
            tell(Event::Call { id: call_id, name, arguments });
        }
        ResponsesItem::CustomToolCall { call_id, name, input } => {
            tell(Event::Call { id: call_id, name, arguments: json!({ "input": input }).to_string() });
        }
        ResponsesItem::Reasoning { summary, content } => {
            let shown = texts(&summary, "\n\n");
            let text = if shown.is_empty() { texts(&content.unwrap_or_default(), "\n\n") } else { shown };
            let mut data: Value = serde_json::from_str(item.get()).unwrap_or_default();
            if let Some(data) = data.as_object_mut() {
                // The service sends these fields, but does not expect them back.
                data.remove("status");
                data.remove("content");
            }
            tell(Event::ReasoningDone { text, data });
        }
        ResponsesItem::Other => {}
    }
}
