//! Writes answers of OpenAI Chat Completions: chunks whose `delta` adds to one message.

use crate::api::{Failure, Finish};
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use crate::gateway::answer::{Exchange, GatewayCall, TextKind, Write};
use crate::gateway::refusal;
use crate::gateway::tools::{ClientToolKind, free_text};
use crate::script::SseEvent;

/// Writes one answer.
pub(in crate::gateway) struct ChatWriter {
    exchange: Exchange,
    model: String,
    tells_usage: bool,
    frames: String,
    text: String,
    thoughts: String,
    /// The data of thoughts that clients send back, in the form of OpenRouter.
    details: Vec<Value>,
    /// Whether another block stands before the next piece.
    gap: bool,
    calls: Vec<Value>,
    whole: Value,
}

impl ChatWriter {
    pub(in crate::gateway) fn new(exchange: Exchange, model: String, tells_usage: bool) -> Self {
        Self {
            exchange,
            model,
            tells_usage,
            frames: String::new(),
            text: String::new(),
            thoughts: String::new(),
            details: Vec::new(),
            gap: false,
            calls: Vec::new(),
            whole: Value::Null,
        }
    }

    fn completion(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.exchange.id),
            "object": object,
            "created": self.exchange.created_at,
            "model": self.model,
            "choices": choices,
        })
    }

    fn chunk(&mut self, choices: Value, usage: Value) {
        let mut chunk = self.completion("chat.completion.chunk", choices);
        if self.tells_usage {
            chunk["usage"] = usage;
        }
        self.frames.push_str(&SseEvent::unnamed(&chunk).encode());
    }

    fn delta(&mut self, delta: Value) {
        self.chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null);
    }
}

fn tokens(usage: &Usage) -> Value {
    let Usage { input, cached_input, output, reasoning, .. } = *usage;
    if input.is_none() && output.is_none() {
        return Value::Null;
    }
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": cached_input.unwrap_or(0) },
        "completion_tokens_details": { "reasoning_tokens": reasoning.unwrap_or(0) },
    })
}

impl Write for ChatWriter {
    fn start(&mut self) {
        self.delta(json!({ "role": "assistant", "content": "" }));
    }

    fn begin(&mut self, _: TextKind) {
        self.gap = true;
    }

    fn more(&mut self, what: TextKind, text: &str) {
        let (said, key) = match what {
            TextKind::Text => (&mut self.text, "content"),
            TextKind::Thought => (&mut self.thoughts, "reasoning_content"),
        };
        // A message has one text. An empty line separates the blocks of other APIs.
        let gap = if std::mem::take(&mut self.gap) && !said.is_empty() { "\n\n" } else { "" };
        said.push_str(gap);
        said.push_str(text);
        self.delta(json!({ key: format!("{gap}{text}") }));
    }

    /// This API has no event for the end of a text.
    fn end(&mut self, what: TextKind, _: &str, seal: &str) {
        if what == TextKind::Thought {
            let index = self.details.len();
            let detail =
                json!({ "type": "reasoning.encrypted", "data": seal, "format": "longshore", "index": index });
            self.delta(json!({ "reasoning_details": [detail] }));
            self.details.push(detail);
        }
    }

    fn call(&mut self, call: &GatewayCall) {
        let GatewayCall { id, tool, arguments } = call;
        let mut whole = match tool.kind {
            ClientToolKind::Custom => {
                let custom = json!({ "name": tool.name, "input": free_text(arguments) });
                json!({ "id": id, "type": "custom", "custom": custom })
            }
            ClientToolKind::Function | ClientToolKind::Search | ClientToolKind::Shell => {
                let function = json!({ "name": tool.name, "arguments": arguments });
                json!({ "id": id, "type": "function", "function": function })
            }
        };
        self.calls.push(whole.clone());
        whole["index"] = (self.calls.len() - 1).into();
        self.delta(json!({ "tool_calls": [whole] }));
    }

    fn finish(&mut self, finish: Finish, usage: &Usage) {
        let reason = match finish {
            Finish::Done if self.calls.is_empty() => "stop",
            Finish::Done => "tool_calls",
            // This API has one word for every answer that should continue.
            Finish::Length | Finish::Full | Finish::Paused => "length",
            Finish::Filtered => "content_filter",
        };
        self.chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null);
        let used = tokens(usage);
        if self.tells_usage && !used.is_null() {
            self.chunk(json!([]), used.clone());
        }
        self.frames.push_str("data: [DONE]\n\n");
        let mut message = json!({ "role": "assistant", "content": self.text, "refusal": null });
        if self.text.is_empty() && !self.calls.is_empty() {
            message["content"] = Value::Null;
        }
        if !self.thoughts.is_empty() {
            message["reasoning_content"] = self.thoughts.as_str().into();
        }
        if !self.details.is_empty() {
            message["reasoning_details"] = self.details.clone().into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.clone().into();
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        self.whole = self.completion("chat.completion", json!([choice]));
        self.whole["usage"] = used;
    }

    fn fail(&mut self, failure: &Failure) {
        let error = refusal::openai(refusal::status(failure.kind), failure);
        self.frames.push_str(&SseEvent::unnamed(&error).encode());
    }

    fn frames(&mut self) -> String {
        std::mem::take(&mut self.frames)
    }

    fn whole(&self) -> Value {
        self.whole.clone()
    }
}
