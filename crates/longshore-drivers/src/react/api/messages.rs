//! Anthropic Messages: turns of two speakers, each made of blocks. A thought is signed, and sent again as it came.

use std::collections::BTreeMap;

use longshore_model::usage::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::{Failure, FailureKind};
use super::text::Text;
use super::{Event, Finish, Look, Request, arguments_of, look, name_of, parse, summary};
use crate::react::history::{Item, Part, Role};
use crate::react::settings::Api;

/// How much an answer may hold when nothing is set: this API must be told.
const MAX_OUTPUT: u64 = 16_000;

pub(super) fn body(request: &Request) -> Value {
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
        Item::Reasoning { api: Api::Messages, data, .. } => ("assistant", vec![data.clone()]),
        Item::Reasoning { api: Api::Chat | Api::Responses, .. } | Item::Allowed { .. } => {
            ("assistant", Vec::new())
        }
        Item::FunctionCall { call_id, name, arguments, .. } => {
            let input = arguments_of(arguments);
            (
                "assistant",
                vec![json!({ "type": "tool_use", "id": call_id, "name": name_of(name), "input": input })],
            )
        }
        Item::FunctionCallOutput { call_id, output } => {
            let mut content: Vec<Value> = text(&output.content).into_iter().collect();
            content.extend(output.images.iter().map(|image| shown(look(image))));
            let mut block = json!({ "type": "tool_result", "tool_use_id": call_id, "content": content });
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

/// What is read of an event, where it lies.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<Begun<'a>>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    usage: Option<Used>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Begun<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    data: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    usage: Option<Used>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Used {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// A block that is being put together.
#[derive(Debug)]
enum Block {
    Text(String),
    Call { id: Option<String>, name: String, begun_with: Option<Value>, arguments: String },
    Thinking { text: String, signature: String },
    Redacted(String),
    Other,
}

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    blocks: BTreeMap<u64, Block>,
    used: Used,
    finish: Option<Finish>,
}

impl Reader {
    pub(super) fn read(&mut self, data: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        let told: Told<'_> = match parse(data) {
            Ok(told) => told,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        match &*told.kind.0 {
            "message_start" => self.use_up(told.message.and_then(|message| message.usage)),
            "content_block_start" => {
                if let Some(begun) = told.content_block {
                    self.begin(told.index, begun, tell);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = told.delta {
                    self.grow(told.index, delta, tell);
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.blocks.remove(&told.index) {
                    stop(block, tell);
                }
            }
            "message_delta" => {
                self.use_up(told.usage);
                let reason = told.delta.and_then(|delta| delta.stop_reason);
                if let Some(reason) = reason {
                    self.finish = Some(match &*reason.0 {
                        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
                        "refusal" => Finish::Filtered,
                        _ => Finish::Done,
                    });
                }
            }
            "message_stop" => self.finish(tell),
            "error" => {
                let error = told.error.unwrap_or_default();
                tell(Event::Failed(Failure::of_error(&error, FailureKind::Unavailable)));
            }
            _ => {}
        }
    }

    /// The stream ended. If it had said why the answer ends, nothing is missing.
    pub(super) fn end(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        if self.finish.is_some() && self.blocks.is_empty() {
            self.finish(tell);
        }
    }

    fn finish(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        for (_, block) in std::mem::take(&mut self.blocks) {
            stop(block, tell);
        }
        let Used { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } =
            self.used;
        let cached = cache_read_input_tokens.unwrap_or(0) + cache_creation_input_tokens.unwrap_or(0);
        tell(Event::Usage(Usage {
            input: input_tokens.map(|fresh| fresh + cached),
            cached_input: cache_read_input_tokens,
            output: output_tokens,
            reasoning: None,
            context_window: None,
            context_used: None,
        }));
        tell(Event::Ended(self.finish.unwrap_or(Finish::Done)));
    }

    fn use_up(&mut self, used: Option<Used>) {
        let Some(used) = used else { return };
        let newer = |now: Option<u64>, then: Option<u64>| now.or(then);
        self.used = Used {
            input_tokens: newer(used.input_tokens, self.used.input_tokens),
            cache_creation_input_tokens: newer(
                used.cache_creation_input_tokens,
                self.used.cache_creation_input_tokens,
            ),
            cache_read_input_tokens: newer(used.cache_read_input_tokens, self.used.cache_read_input_tokens),
            output_tokens: newer(used.output_tokens, self.used.output_tokens),
        };
    }

    fn begin(&mut self, index: u64, begun: Begun<'_>, tell: &mut dyn FnMut(Event<'_>)) {
        let block = match &*begun.kind.0 {
            "text" => {
                let text = begun.text.unwrap_or_default().0;
                let block = Block::Text(text.clone().into_owned());
                if !text.is_empty() {
                    tell(Event::Text(text));
                }
                block
            }
            "tool_use" => Block::Call {
                id: begun.id.map(Text::into_owned),
                name: begun.name.map(Text::into_owned).unwrap_or_default(),
                begun_with: begun.input,
                arguments: String::new(),
            },
            "thinking" => {
                let text = begun.thinking.unwrap_or_default().0;
                let block = Block::Thinking { text: text.clone().into_owned(), signature: String::new() };
                if !text.is_empty() {
                    tell(Event::Reasoning(text));
                }
                block
            }
            "redacted_thinking" => Block::Redacted(begun.data.map(Text::into_owned).unwrap_or_default()),
            _ => Block::Other,
        };
        self.blocks.insert(index, block);
    }

    fn grow(&mut self, index: u64, delta: Delta<'_>, tell: &mut dyn FnMut(Event<'_>)) {
        match self.blocks.get_mut(&index) {
            Some(Block::Text(all)) => {
                if let Some(Text(text)) = delta.text {
                    all.push_str(&text);
                    tell(Event::Text(text));
                }
            }
            Some(Block::Call { arguments, .. }) => {
                arguments.push_str(delta.partial_json.as_ref().map_or("", |text| &text.0));
            }
            Some(Block::Thinking { text, signature }) => {
                signature.push_str(delta.signature.as_ref().map_or("", |text| &text.0));
                if let Some(Text(thinking)) = delta.thinking {
                    text.push_str(&thinking);
                    tell(Event::Reasoning(thinking));
                }
            }
            Some(Block::Redacted(_) | Block::Other) | None => {}
        }
    }
}

/// A block is whole.
fn stop(block: Block, tell: &mut dyn FnMut(Event<'_>)) {
    match block {
        Block::Text(text) => tell(Event::TextDone(text.into())),
        Block::Call { id, name, begun_with, arguments } => {
            let whole = begun_with.filter(|input| arguments.is_empty() && !input.is_null());
            let arguments = whole.map_or(arguments, |input| input.to_string());
            tell(Event::Call { id, name, arguments });
        }
        Block::Thinking { text, signature } => {
            let data = json!({ "type": "thinking", "thinking": text, "signature": signature });
            tell(Event::ReasoningDone { text, data });
        }
        Block::Redacted(data) => {
            let data = json!({ "type": "redacted_thinking", "data": data });
            tell(Event::ReasoningDone { text: String::new(), data });
        }
        Block::Other => {}
    }
}
