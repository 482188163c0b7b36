//! Writes answers of Anthropic Messages: blocks that start, grow and stop, between `message_start` and `message_stop`.

use crate::api::{Failure, Finish, arguments_of};
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use crate::gateway::answer::{Exchange, GatewayCall, TextKind, Write};
use crate::gateway::refusal;
use crate::script::SseEvent;

/// Writes one answer.
pub(in crate::gateway) struct MessagesWriter {
    exchange: Exchange,
    model: String,
    frames: String,
    /// The finished blocks. Their number is the index of the next block.
    content: Vec<Value>,
    whole: Value,
}

impl MessagesWriter {
    pub(in crate::gateway) fn new(exchange: Exchange, model: String) -> Self {
        Self { exchange, model, frames: String::new(), content: Vec::new(), whole: Value::Null }
    }

    fn push(&mut self, event: Value) {
        self.frames.push_str(&SseEvent::named_by_type(&event).encode());
    }

    fn start_block(&mut self, block: Value) {
        let index = self.content.len();
        self.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
    }

    fn delta(&mut self, delta: Value) {
        let index = self.content.len();
        self.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
    }

    fn stop_block(&mut self, block: Value) {
        let index = self.content.len();
        self.push(json!({ "type": "content_block_stop", "index": index }));
        self.content.push(block);
    }

    fn message(&self, stop: Option<&str>, usage: &Usage) -> Value {
        json!({
            "id": format!("msg_{}", self.exchange.id),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": self.content,
            "stop_reason": stop,
            "stop_sequence": null,
            "usage": tokens(usage),
        })
    }
}

/// This API reports cached tokens in a separate field, not as a part of the input tokens.
fn tokens(usage: &Usage) -> Value {
    let Usage { input, cached_input, output, .. } = *usage;
    let cached = cached_input.unwrap_or(0);
    json!({
        "input_tokens": input.unwrap_or(0).saturating_sub(cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": output.unwrap_or(0),
    })
}

impl Write for MessagesWriter {
    fn start(&mut self) {
        let message = self.message(None, &Usage::default());
        self.push(json!({ "type": "message_start", "message": message }));
    }

    fn begin(&mut self, what: TextKind) {
        self.start_block(match what {
            TextKind::Text => json!({ "type": "text", "text": "" }),
            TextKind::Thought => json!({ "type": "thinking", "thinking": "", "signature": "" }),
        });
    }

    fn more(&mut self, what: TextKind, text: &str) {
        self.delta(match what {
            TextKind::Text => json!({ "type": "text_delta", "text": text }),
            TextKind::Thought => json!({ "type": "thinking_delta", "thinking": text }),
        });
    }

    fn end(&mut self, what: TextKind, text: &str, seal: &str) {
        match what {
            TextKind::Text => self.stop_block(json!({ "type": "text", "text": text })),
            TextKind::Thought => {
                self.delta(json!({ "type": "signature_delta", "signature": seal }));
                self.stop_block(json!({ "type": "thinking", "thinking": text, "signature": seal }));
            }
        }
    }

    fn call(&mut self, call: &GatewayCall) {
        let GatewayCall { id, tool, arguments } = call;
        // Clients cannot parse arguments that are no JSON, and would lose the whole answer.
        let input = arguments_of(arguments);
        let block = |input: Value| json!({ "type": "tool_use", "id": id, "name": tool.name, "input": input });
        self.start_block(block(json!({})));
        self.delta(json!({ "type": "input_json_delta", "partial_json": input.to_string() }));
        self.stop_block(block(input));
    }

    fn finish(&mut self, finish: Finish, usage: &Usage) {
        let called = self.content.iter().any(|block| block["type"] == "tool_use");
        let reason = match finish {
            Finish::Done if called => "tool_use",
            Finish::Done => "end_turn",
            Finish::Length => "max_tokens",
            Finish::Full => "model_context_window_exceeded",
            Finish::Paused => "pause_turn",
            Finish::Filtered => "refusal",
        };
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        self.push(json!({ "type": "message_delta", "delta": delta, "usage": tokens(usage) }));
        self.push(json!({ "type": "message_stop" }));
        self.whole = self.message(Some(reason), usage);
    }

    fn fail(&mut self, failure: &Failure) {
        self.push(refusal::anthropic(refusal::status(failure.kind), failure));
    }

    fn frames(&mut self) -> String {
        std::mem::take(&mut self.frames)
    }

    fn whole(&self) -> Value {
        self.whole.clone()
    }
}
