//! Writes answers of OpenAI Responses: items that are added, grow and are done, between `created` and `completed`.

use crate::api::{Failure, FailureKind, Finish};
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use crate::gateway::answer::{Exchange, GatewayCall, TextKind, Write};
use crate::gateway::refusal;
use crate::gateway::tools::{ClientToolKind, free_text};
use crate::script::SseEvent;

/// Writes one answer.
pub(in crate::gateway) struct ResponsesWriter {
    exchange: Exchange,
    model: String,
    frames: String,
    sequence: u64,
    /// The finished items. Their number is the index of the next item.
    output: Vec<Value>,
    whole: Value,
}

impl ResponsesWriter {
    pub(in crate::gateway) fn new(exchange: Exchange, model: String) -> Self {
        Self { exchange, model, frames: String::new(), sequence: 0, output: Vec::new(), whole: Value::Null }
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}_{}", self.exchange.id, self.output.len())
    }

    fn event(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        event["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        self.frames.push_str(&SseEvent::named_by_type(&event).encode());
    }

    /// Writes an event about the current item.
    fn at(&mut self, kind: &str, id: &str, place: &str, mut event: Value) {
        event["item_id"] = id.into();
        event["output_index"] = self.output.len().into();
        event[place] = 0.into();
        self.event(kind, event);
    }

    fn added(&mut self, item: Value) {
        let index = self.output.len();
        self.event("response.output_item.added", json!({ "output_index": index, "item": item }));
    }

    fn done(&mut self, item: Value) {
        let index = self.output.len();
        self.event("response.output_item.done", json!({ "output_index": index, "item": item }));
        self.output.push(item);
    }

    /// Writes an event with the whole response.
    fn response(&mut self, kind: &str, status: &str, more: Value) {
        let mut response = json!({
            "id": format!("resp_{}", self.exchange.id),
            "object": "response",
            "created_at": self.exchange.created_at,
            "model": self.model,
            "status": status,
            "output": self.output,
            "error": null,
            "incomplete_details": null,
            "usage": null,
        });
        for (key, value) in more.as_object().cloned().unwrap_or_default() {
            response[key] = value;
        }
        self.event(kind, json!({ "response": response }));
        self.whole = response;
    }
}

fn part(what: TextKind, text: &str) -> Value {
    match what {
        TextKind::Text => json!({ "type": "output_text", "text": text, "annotations": [] }),
        TextKind::Thought => json!({ "type": "summary_text", "text": text }),
    }
}

fn tokens(usage: &Usage) -> Value {
    let Usage { input, cached_input, output, reasoning, .. } = *usage;
    if input.is_none() && output.is_none() {
        return Value::Null;
    }
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": cached_input.unwrap_or(0) },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": reasoning.unwrap_or(0) },
        "total_tokens": input + output,
    })
}

impl Write for ResponsesWriter {
    fn start(&mut self) {
        self.response("response.created", "in_progress", json!({}));
    }

    fn begin(&mut self, what: TextKind) {
        match what {
            TextKind::Text => {
                let id = self.id("msg");
                let item = json!({ "type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": [] });
                self.added(item);
                let begun = json!({ "part": part(what, "") });
                self.at("response.content_part.added", &id, "content_index", begun);
            }
            TextKind::Thought => {
                let id = self.id("rs");
                self.added(json!({ "type": "reasoning", "id": id, "status": "in_progress", "summary": [] }));
                let begun = json!({ "part": part(what, "") });
                self.at("response.reasoning_summary_part.added", &id, "summary_index", begun);
            }
        }
    }

    fn more(&mut self, what: TextKind, text: &str) {
        let delta = json!({ "delta": text });
        match what {
            TextKind::Text => self.at("response.output_text.delta", &self.id("msg"), "content_index", delta),
            TextKind::Thought => {
                self.at("response.reasoning_summary_text.delta", &self.id("rs"), "summary_index", delta);
            }
        }
    }

    fn end(&mut self, what: TextKind, text: &str, seal: &str) {
        let (whole, done) = (json!({ "text": text }), json!({ "part": part(what, text) }));
        match what {
            TextKind::Text => {
                let id = self.id("msg");
                self.at("response.output_text.done", &id, "content_index", whole);
                self.at("response.content_part.done", &id, "content_index", done);
                let content = [part(what, text)];
                self.done(json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": content }));
            }
            TextKind::Thought => {
                let id = self.id("rs");
                self.at("response.reasoning_summary_text.done", &id, "summary_index", whole);
                self.at("response.reasoning_summary_part.done", &id, "summary_index", done);
                let summary: Vec<Value> = (!text.is_empty()).then(|| part(what, text)).into_iter().collect();
                self.done(
                    json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": seal }),
                );
            }
        }
    }

    fn call(&mut self, call: &GatewayCall) {
        let GatewayCall { id: call_id, tool, arguments } = call;
        // The field of the item that grows, and the events for it.
        let (prefix, mut item, key, value, events) = match tool.kind {
            ClientToolKind::Function => {
                let item = json!({ "type": "function_call", "name": tool.name });
                ("fc", item, "arguments", arguments.clone(), Some("response.function_call_arguments"))
            }
            ClientToolKind::Custom => {
                let item = json!({ "type": "custom_tool_call", "name": tool.name });
                ("ctc", item, "input", free_text(arguments), Some("response.custom_tool_call_input"))
            }
            ClientToolKind::Search => {
                let item = json!({ "type": "tool_search_call", "execution": "client" });
                ("tsc", item, "arguments", arguments.clone(), None)
            }
            ClientToolKind::Shell => {
                ("lsc", json!({ "type": "local_shell_call" }), "action", arguments.clone(), None)
            }
        };
        let id = self.id(prefix);
        item["id"] = id.as_str().into();
        item["call_id"] = call_id.as_str().into();
        if let Some(group) = &tool.group {
            item["namespace"] = group.as_str().into();
        }
        item["status"] = "in_progress".into();
        if let Some(events) = events {
            item[key] = "".into();
            self.added(item.clone());
            let index = self.output.len();
            let place = json!({ "item_id": id, "call_id": call_id, "output_index": index });
            let mut delta = place.clone();
            delta["delta"] = value.as_str().into();
            self.event(&format!("{events}.delta"), delta);
            let mut done = place;
            done[key] = value.as_str().into();
            self.event(&format!("{events}.done"), done);
            item[key] = value.into();
        } else {
            let mut value: Value = serde_json::from_str(&value).unwrap_or_default();
            if tool.kind == ClientToolKind::Shell && value.is_object() {
                value["type"] = "exec".into();
            }
            item[key] = value;
            self.added(item.clone());
        }
        item["status"] = "completed".into();
        self.done(item);
    }

    fn finish(&mut self, finish: Finish, usage: &Usage) {
        let usage = tokens(usage);
        let cut = |reason: &str| json!({ "usage": usage, "incomplete_details": { "reason": reason } });
        match finish {
            Finish::Done => self.response("response.completed", "completed", json!({ "usage": usage })),
            // This API has one word for every answer that should continue.
            Finish::Length | Finish::Paused => {
                self.response("response.incomplete", "incomplete", cut("max_output_tokens"))
            }
            // A further request would only fill the window again. This failure tells clients to summarize the
            // conversation.
            Finish::Full => {
                let why = "the conversation has filled the model's window";
                self.fail(&Failure::new(FailureKind::TooLong, why));
            }
            Finish::Filtered => self.response("response.incomplete", "incomplete", cut("content_filter")),
        }
    }

    fn fail(&mut self, failure: &Failure) {
        // Clients recognise by this code that a further try is useless.
        let code = refusal::code(failure.kind).unwrap_or("invalid_prompt");
        let error = json!({ "error": { "code": code, "message": failure.message } });
        self.response("response.failed", "failed", error);
    }

    fn frames(&mut self) -> String {
        std::mem::take(&mut self.frames)
    }

    fn whole(&self) -> Value {
        self.whole.clone()
    }
}
