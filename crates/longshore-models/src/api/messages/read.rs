//! Reads the stream of an answer: blocks that start, grow and stop.

use std::collections::BTreeMap;

use longshore_model::usage::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::failure::{Failure, FailureKind, is_error};
use crate::api::text::Text;
use crate::api::{Event, Finish, parse};

/// The fields of an event that are read. Texts borrow from the input.
#[derive(Deserialize)]
struct MessagesEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    delta: Option<BlockDelta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<ContentBlock<'a>>,
    #[serde(default)]
    message: Option<MessageStart>,
    #[serde(default)]
    usage: Option<MessagesUsage>,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
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
struct ContentBlock<'a> {
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
    signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    data: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default)]
    usage: Option<MessagesUsage>,
}

/// The whole answer in one body, from services that do not stream.
#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<ContentBlock<'a>>>,
    #[serde(borrow, default)]
    stop_reason: Option<Text<'a>>,
    #[serde(default)]
    usage: Option<MessagesUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct MessagesUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// A block while it is assembled.
#[derive(Debug)]
enum AnswerBlock {
    Text(String),
    Call { id: Option<String>, name: String, begun_with: Option<Value>, arguments: String },
    Thinking { text: String, signature: String },
    Redacted(String),
    Other,
}

/// Reads one answer.
#[derive(Debug, Default)]
pub(in super::super) struct MessagesReader {
    blocks: BTreeMap<u64, AnswerBlock>,
    used: MessagesUsage,
    finish: Option<Finish>,
}

impl MessagesReader {
    pub(in super::super) fn read(&mut self, data: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        let event: MessagesEvent<'_> = match parse(data) {
            Ok(event) => event,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        match &*event.kind.0 {
            "message_start" => self.use_up(event.message.and_then(|message| message.usage)),
            "content_block_start" => {
                if let Some(begun) = event.content_block {
                    self.begin(event.index, begun, tell);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.grow(event.index, delta, tell);
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.blocks.remove(&event.index) {
                    stop(block, tell);
                }
            }
            "message_delta" => {
                self.use_up(event.usage);
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.finish = reason.map(|reason| finish_of(&reason.0)).or(self.finish);
            }
            "message_stop" => self.finish(tell),
            "error" => tell(Event::Failed(Failure::of_event(data))),
            "" | "message" => self.whole(data, tell),
            _ => {}
        }
    }

    /// Reads the whole answer from one body.
    pub(in super::super) fn whole(&mut self, body: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        let whole: Whole<'_> = match parse(body) {
            Ok(whole) => whole,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        let Some(content) = whole.content else {
            let said: Value = serde_json::from_slice(body).unwrap_or_default();
            if is_error(&said) {
                tell(Event::Failed(Failure::in_stream(&said, FailureKind::Unavailable)));
            }
            return;
        };
        self.use_up(whole.usage);
        self.finish = whole.stop_reason.map(|reason| finish_of(&reason.0));
        for begun in content {
            self.begin(0, begun, tell);
            if let Some(block) = self.blocks.remove(&0) {
                stop(block, tell);
            }
        }
        self.finish(tell);
    }

    /// The end of the stream. The answer is complete if the service has reported why it ended and no block is open.
    pub(in super::super) fn end(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        if self.finish.is_some() && self.blocks.is_empty() {
            self.finish(tell);
        }
    }

    fn finish(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        for (_, block) in std::mem::take(&mut self.blocks) {
            stop(block, tell);
        }
        let MessagesUsage {
            input_tokens,
            cache_creation_input_tokens,
            cache_read_input_tokens,
            output_tokens,
        } = self.used;
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

    fn use_up(&mut self, used: Option<MessagesUsage>) {
        let Some(used) = used else { return };
        let newer = |now: Option<u64>, then: Option<u64>| now.or(then);
        self.used = MessagesUsage {
            input_tokens: newer(used.input_tokens, self.used.input_tokens),
            cache_creation_input_tokens: newer(
                used.cache_creation_input_tokens,
                self.used.cache_creation_input_tokens,
            ),
            cache_read_input_tokens: newer(used.cache_read_input_tokens, self.used.cache_read_input_tokens),
            output_tokens: newer(used.output_tokens, self.used.output_tokens),
        };
    }

    fn begin(&mut self, index: u64, begun: ContentBlock<'_>, tell: &mut dyn FnMut(Event<'_>)) {
        let block = match &*begun.kind.0 {
            "text" => {
                let text = begun.text.unwrap_or_default().0;
                let block = AnswerBlock::Text(text.clone().into_owned());
                if !text.is_empty() {
                    tell(Event::Text(text));
                }
                block
            }
            "tool_use" => AnswerBlock::Call {
                id: begun.id.map(Text::into_owned),
                name: begun.name.map(Text::into_owned).unwrap_or_default(),
                begun_with: begun.input,
                arguments: String::new(),
            },
            "thinking" => {
                let text = begun.thinking.unwrap_or_default().0;
                let signature = begun.signature.map(Text::into_owned).unwrap_or_default();
                let block = AnswerBlock::Thinking { text: text.clone().into_owned(), signature };
                if !text.is_empty() {
                    tell(Event::Reasoning(text));
                }
                block
            }
            "redacted_thinking" => {
                AnswerBlock::Redacted(begun.data.map(Text::into_owned).unwrap_or_default())
            }
            _ => AnswerBlock::Other,
        };
        self.blocks.insert(index, block);
    }

    fn grow(&mut self, index: u64, delta: BlockDelta<'_>, tell: &mut dyn FnMut(Event<'_>)) {
        match self.blocks.get_mut(&index) {
            Some(AnswerBlock::Text(all)) => {
                if let Some(Text(text)) = delta.text {
                    all.push_str(&text);
                    tell(Event::Text(text));
                }
            }
            Some(AnswerBlock::Call { arguments, .. }) => {
                arguments.push_str(delta.partial_json.as_ref().map_or("", |text| &text.0));
            }
            Some(AnswerBlock::Thinking { text, signature }) => {
                signature.push_str(delta.signature.as_ref().map_or("", |text| &text.0));
                if let Some(Text(thinking)) = delta.thinking {
                    text.push_str(&thinking);
                    tell(Event::Reasoning(thinking));
                }
            }
            Some(AnswerBlock::Redacted(_) | AnswerBlock::Other) | None => {}
        }
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "max_tokens" => Finish::Length,
        "model_context_window_exceeded" => Finish::Full,
        "pause_turn" => Finish::Paused,
        "refusal" => Finish::Filtered,
        _ => Finish::Done,
    }
}

/// Emits a complete block.
fn stop(block: AnswerBlock, tell: &mut dyn FnMut(Event<'_>)) {
    match block {
        AnswerBlock::Text(text) => tell(Event::TextDone(text.into())),
        AnswerBlock::Call { id, name, begun_with, arguments } => {
            let whole = begun_with.filter(|input| arguments.is_empty() && !input.is_null());
            let arguments = whole.map_or(arguments, |input| input.to_string());
            tell(Event::Call { id, name, arguments });
        }
        AnswerBlock::Thinking { text, signature } => {
            let data = json!({ "type": "thinking", "thinking": text, "signature": signature });
            tell(Event::ReasoningDone { text, data });
        }
        AnswerBlock::Redacted(data) => {
            let data = json!({ "type": "redacted_thinking", "data": data });
            tell(Event::ReasoningDone { text: String::new(), data });
        }
        AnswerBlock::Other => {}
    }
}
