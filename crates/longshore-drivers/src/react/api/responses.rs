//! OpenAI Responses: a list of items in, a list of items out. Nothing is stored at the service, so thoughts come back
//! to us encrypted and are sent again.

use std::borrow::Cow;

use longshore_model::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::failure::{Failure, FailureKind};
use super::text::Text;
use super::{Cached, Event, Finish, Look, Request, Thought, arguments_of, look, name_of, parse, summary};
use crate::react::history::{Item, Part, Role};
use crate::react::settings::Api;

pub(super) fn body(request: &Request) -> Value {
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
    let input: Vec<Value> = request.history.iter().filter_map(|item| input(item)).collect();
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

fn input(item: &Item) -> Option<Value> {
    Some(match item {
        Item::Message { role: Role::User, content, .. } => {
            let content: Vec<Value> = content.iter().map(part).collect();
            json!({ "type": "message", "role": "user", "content": content })
        }
        Item::Message { role: Role::Assistant, content, .. } => {
            let content: Vec<Value> = content.iter().map(part).collect();
            json!({ "type": "message", "role": "assistant", "content": content })
        }
        Item::Reasoning { api: Api::Responses, data, .. } => data.clone(),
        Item::Reasoning { api: Api::Chat | Api::Messages, .. } | Item::Allowed { .. } => return None,
        Item::FunctionCall { call_id, name, arguments, .. } => json!({
            "type": "function_call", "call_id": call_id, "name": name_of(name),
            "arguments": arguments_of(arguments).to_string(),
        }),
        Item::FunctionCallOutput { call_id, output } if output.images.is_empty() => {
            json!({ "type": "function_call_output", "call_id": call_id, "output": output.content })
        }
        Item::FunctionCallOutput { call_id, output } => {
            let mut parts = vec![json!({ "type": "input_text", "text": output.content })];
            parts.extend(output.images.iter().map(|image| shown(look(image))));
            json!({ "type": "function_call_output", "call_id": call_id, "output": parts })
        }
        Item::Summary { text } => {
            let content = json!([{ "type": "input_text", "text": summary(text) }]);
            json!({ "type": "message", "role": "user", "content": content })
        }
    })
}

fn part(part: &Part) -> Value {
    match part {
        Part::InputText { text } => json!({ "type": "input_text", "text": text }),
        Part::OutputText { text } => json!({ "type": "output_text", "text": text }),
        Part::Attached(attachment) => shown(look(attachment)),
    }
}

fn shown(look: Look<'_>) -> Value {
    let url = match look {
        Look::Image(media_type, data) => format!("data:{media_type};base64,{data}"),
        Look::ImageAt(url) => url.to_owned(),
        Look::Mention(text) => return json!({ "type": "input_text", "text": text }),
    };
    json!({ "type": "input_image", "image_url": url })
}

/// What is read of an event, where it lies.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    delta: Option<Text<'a>>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    response: Option<Response>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    usage: Option<Used>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    input_tokens_details: Option<Cached>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<Thought>,
}

/// Reads one answer. It remembers nothing: every item comes whole when it is done.
#[derive(Debug, Default)]
pub(super) struct Reader {}

impl Reader {
    pub(super) fn read(&mut self, data: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        if data.trim_ascii() == b"[DONE]" {
            return;
        }
        let told: Told<'_> = match parse(data) {
            Ok(told) => told,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        match &*told.kind.0 {
            "response.output_text.delta" | "response.refusal.delta" => {
                tell(Event::Text(told.delta.unwrap_or_default().0));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                tell(Event::Reasoning(told.delta.unwrap_or_default().0));
            }
            "response.reasoning_summary_part.added" => tell(Event::Reasoning(Cow::Borrowed(""))),
            "response.output_item.done" => {
                if let Some(item) = told.item {
                    done(item, tell);
                }
            }
            "response.completed" | "response.done" => ended(told.response, Finish::Done, tell),
            "response.incomplete" => {
                let reason = told.response.as_ref().and_then(|response| response.incomplete_details.as_ref());
                let finish = match reason.map(|details| details.reason.as_str()) {
                    Some("content_filter") => Finish::Filtered,
                    Some(_) | None => Finish::Length,
                };
                ended(told.response, finish, tell);
            }
            "response.failed" => {
                let error = told.response.and_then(|response| response.error).unwrap_or_default();
                tell(Event::Failed(Failure::of_error(&error, FailureKind::Refused)));
            }
            "error" => {
                let said: Value = serde_json::from_slice(data).unwrap_or_default();
                let error = said.get("error").filter(|error| error.is_object()).unwrap_or(&said);
                // Its own type is `error`, which says nothing.
                let mut failure = Failure::of_error(error, FailureKind::Unavailable);
                if failure.message.is_empty() {
                    failure.message = "the model's service reported an error without words".to_owned();
                }
                tell(Event::Failed(failure));
            }
            _ => {}
        }
    }
}

fn ended(response: Option<Response>, finish: Finish, tell: &mut dyn FnMut(Event<'_>)) {
    if let Some(used) = response.and_then(|response| response.usage) {
        tell(Event::Usage(Usage {
            input: used.input_tokens,
            cached_input: used.input_tokens_details.and_then(|details| details.cached_tokens),
            output: used.output_tokens,
            reasoning: used.output_tokens_details.and_then(|details| details.reasoning_tokens),
            context_window: None,
            context_used: None,
        }));
    }
    tell(Event::Ended(finish));
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Done {
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

/// An item is whole, and acted on at once.
fn done(item: &RawValue, tell: &mut dyn FnMut(Event<'_>)) {
    let texts = |parts: &[Value], between: &str| {
        let text =
            |part: &Value| part["text"].as_str().or_else(|| part["refusal"].as_str()).map(str::to_owned);
        parts.iter().filter_map(text).collect::<Vec<_>>().join(between)
    };
    let read: Done = match parse(item.get().as_bytes()) {
        Ok(read) => read,
        Err(failure) => return tell(Event::Failed(failure)),
    };
    match read {
        Done::Message { content } => tell(Event::TextDone(texts(&content, "").into())),
        Done::FunctionCall { call_id, name, arguments } => {
            let arguments = match arguments {
                Value::String(arguments) => arguments,
                Value::Null => String::new(),
                other => other.to_string(),
            };
            tell(Event::Call { id: call_id, name, arguments });
        }
        Done::CustomToolCall { call_id, name, input } => {
            tell(Event::Call { id: call_id, name, arguments: json!({ "input": input }).to_string() });
        }
        Done::Reasoning { summary, content } => {
            let shown = texts(&summary, "\n\n");
            let text = if shown.is_empty() { texts(&content.unwrap_or_default(), "\n\n") } else { shown };
            let mut data: Value = serde_json::from_str(item.get()).unwrap_or_default();
            if let Some(data) = data.as_object_mut() {
                // What the service says of its progress is nothing that it wants to hear.
                data.remove("status");
                data.remove("content");
            }
            tell(Event::ReasoningDone { text, data });
        }
        Done::Other => {}
    }
}
