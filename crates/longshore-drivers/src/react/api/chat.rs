//! OpenAI Chat Completions, as OpenAI and everybody who says to be compatible speaks it.
//!
//! Calls are put together per `index` over many chunks; they are whole when the answer says why it ended, or is over.
//! Known and taken as meant: arguments that come whole, or as an object; ids that are missing or say the same twice;
//! several calls that all have the index 0; an index that is missing; `finish_reason: stop` with calls; no `[DONE]`;
//! a usage that comes with the last chunk, in one of its own, or never.

use std::sync::Arc;

use longshore_model::usage::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::{Failure, FailureKind};
use super::text::Text;
use super::{
    Cached, Event, Finish, Look, Request, Thought, arguments_of, look, name_of, parse, summary, words,
};
use crate::react::history::{Item, Part, Role};

pub(super) fn body(request: &Request) -> Value {
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

fn messages(request: &Request) -> Vec<Value> {
    let told = (!request.instructions.is_empty())
        .then(|| json!({ "role": "system", "content": &*request.instructions }));
    let mut messages: Vec<Value> = told.into_iter().collect();
    let mut items = request.history.iter().peekable();
    while let Some(item) = items.next() {
        match &**item {
            Item::Message { role: Role::User, content, .. } => messages.push(user(content)),
            Item::Summary { text } => messages.push(json!({ "role": "user", "content": summary(text) })),
            Item::FunctionCallOutput { .. } => {
                let mut shown = Vec::new();
                result(item, &mut messages, &mut shown);
                while let Some(next) =
                    items.next_if(|next| matches!(&***next, Item::FunctionCallOutput { .. }))
                {
                    result(next, &mut messages, &mut shown);
                }
                // A tool's message cannot show an image; a person's can.
                if !shown.is_empty() {
                    messages.push(json!({ "role": "user", "content": shown }));
                }
            }
            Item::Message { role: Role::Assistant, .. }
            | Item::FunctionCall { .. }
            | Item::Reasoning { .. } => {
                let mut answer = Answer::default();
                answer.add(item);
                while let Some(next) = items.next_if(|next| is_answer(next)) {
                    answer.add(next);
                }
                messages.extend(answer.message());
            }
            Item::Allowed { .. } => {}
        }
    }
    messages
}

fn is_answer(item: &Arc<Item>) -> bool {
    match &**item {
        Item::Message { role, .. } => *role == Role::Assistant,
        Item::FunctionCall { .. } | Item::Reasoning { .. } => true,
        Item::FunctionCallOutput { .. } | Item::Summary { .. } | Item::Allowed { .. } => false,
    }
}

/// What of one answer goes into one message.
#[derive(Default)]
struct Answer {
    text: Vec<String>,
    calls: Vec<Value>,
}

impl Answer {
    fn add(&mut self, item: &Item) {
        match item {
            Item::Message { content, .. } => self.text.push(words(content)),
            Item::FunctionCall { call_id, name, arguments, .. } => {
                let function =
                    json!({ "name": name_of(name), "arguments": arguments_of(arguments).to_string() });
                self.calls.push(json!({ "id": call_id, "type": "function", "function": function }));
            }
            // The services that show their thoughts do not want them back.
            Item::Reasoning { .. }
            | Item::FunctionCallOutput { .. }
            | Item::Summary { .. }
            | Item::Allowed { .. } => {}
        }
    }

    fn message(self) -> Option<Value> {
        let text = self.text.join("\n\n");
        let content = if text.is_empty() && !self.calls.is_empty() { Value::Null } else { text.into() };
        let mut message = json!({ "role": "assistant", "content": content });
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into();
        }
        let is_something = message["content"] != "" || message.get("tool_calls").is_some();
        is_something.then_some(message)
    }
}

fn user(content: &[Part]) -> Value {
    if content.iter().all(|part| !matches!(part, Part::Attached(_))) {
        return json!({ "role": "user", "content": words(content) });
    }
    let parts: Vec<Value> = content
        .iter()
        .map(|part| match part {
            Part::InputText { text } | Part::OutputText { text } => json!({ "type": "text", "text": text }),
            Part::Attached(attachment) => shown(look(attachment)),
        })
        .collect();
    json!({ "role": "user", "content": parts })
}

fn shown(look: Look<'_>) -> Value {
    let url = match look {
        Look::Image(media_type, data) => format!("data:{media_type};base64,{data}"),
        Look::ImageAt(url) => url.to_owned(),
        Look::Mention(text) => return json!({ "type": "text", "text": text }),
    };
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn result(item: &Item, messages: &mut Vec<Value>, images: &mut Vec<Value>) {
    if let Item::FunctionCallOutput { call_id, output } = item {
        messages.push(json!({ "role": "tool", "tool_call_id": call_id, "content": output.content }));
        images.extend(output.images.iter().map(|image| shown(look(image))));
    }
}

/// A chunk, read where it lies.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Option<Used>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    /// All of it at once, from services that do not stream.
    #[serde(borrow, default)]
    message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    /// What others call it; some say both.
    #[serde(borrow, default)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    #[serde(default)]
    index: Option<usize>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Cached>,
    #[serde(default)]
    completion_tokens_details: Option<Thought>,
}

impl Used {
    fn usage(self) -> Usage {
        Usage {
            input: self.prompt_tokens,
            cached_input: self.prompt_tokens_details.and_then(|details| details.cached_tokens),
            output: self.completion_tokens,
            reasoning: self.completion_tokens_details.and_then(|details| details.reasoning_tokens),
            context_window: None,
            context_used: None,
        }
    }
}

/// A call that is being put together.
#[derive(Debug)]
struct Growing {
    index: Option<usize>,
    id: Option<String>,
    name: String,
    arguments: String,
}

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    calls: Vec<Growing>,
    finish: Option<Finish>,
}

impl Reader {
    pub(super) fn read(&mut self, data: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        if data.trim_ascii() == b"[DONE]" {
            return self.finish(tell);
        }
        let chunk: Chunk<'_> = match parse(data) {
            Ok(chunk) => chunk,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return tell(Event::Failed(Failure::of_error(&error, FailureKind::Unavailable)));
        }
        for choice in chunk.choices {
            let delta = choice.delta.or(choice.message).unwrap_or_default();
            let Delta { content, reasoning_content, reasoning, refusal, tool_calls } = delta;
            for Text(text) in reasoning_content.or(reasoning).into_iter().filter(|text| !text.0.is_empty()) {
                tell(Event::Reasoning(text));
            }
            for Text(text) in content.into_iter().chain(refusal).filter(|text| !text.0.is_empty()) {
                tell(Event::Text(text));
            }
            for call in tool_calls.into_iter().flatten() {
                self.grow(call);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.0.is_empty()) {
                self.finish = Some(match &*reason.0 {
                    "length" => Finish::Length,
                    "content_filter" => Finish::Filtered,
                    _ => Finish::Done,
                });
                self.call(tell);
            }
        }
        if let Some(used) = chunk.usage {
            tell(Event::Usage(used.usage()));
        }
    }

    /// The stream ended. If it had said why the answer ends, nothing is missing.
    pub(super) fn end(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        if self.finish.is_some() {
            self.finish(tell);
        }
    }

    fn finish(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        self.call(tell);
        tell(Event::Ended(self.finish.unwrap_or(Finish::Done)));
    }

    fn grow(&mut self, delta: CallDelta<'_>) {
        let CallDelta { index, id, function } = delta;
        let id = id.filter(|id| !id.0.is_empty()).map(Text::into_owned);
        let FunctionDelta { name, arguments } =
            function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let name = name.filter(|name| !name.0.is_empty());
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        };
        // Where an index says nothing, a second name with another id is a second call.
        let is_another =
            |call: &Growing| name.is_some() && id.is_some() && call.id.is_some() && call.id != id;
        match at.and_then(|at| self.calls.get_mut(at)).filter(|call| !is_another(call)) {
            Some(call) => {
                call.id = call.id.take().or(id);
                if call.name.is_empty() {
                    call.name.push_str(name.as_ref().map_or("", |name| &name.0));
                }
                call.arguments.push_str(arguments.as_ref().map_or("", |text| &text.0));
            }
            None => self.calls.push(Growing {
                index,
                id,
                name: name.map(Text::into_owned).unwrap_or_default(),
                arguments: arguments.map(Text::into_owned).unwrap_or_default(),
            }),
        }
    }

    fn call(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        for Growing { id, name, arguments, .. } in self.calls.drain(..) {
            tell(Event::Call { id, name, arguments });
        }
    }
}
