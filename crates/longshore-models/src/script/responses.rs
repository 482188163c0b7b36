//! OpenAI Responses.
//!
//! An answer is `response.created`, then for every item `response.output_item.added`, deltas of its kind and
//! `response.output_item.done` with the whole item, then `response.completed` with the whole response and its usage.
//! `response.failed` and `response.incomplete` end other answers. Events have a dense `sequence_number`.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::api::ApiAnswer;
use super::chunks::Chunks;
use super::frame::{Exchange, ScriptFrame, SseEvent};
use super::request::{last_text, text_of};
use super::step::{Action, CustomCall, FunctionCall, Reason, Say, ScriptUsage};

/// The text of the last user message. Results of tools are separate items and do not count, so the text stays the same
/// over all requests of a turn.
pub(super) fn last_user_text(request: &Value) -> String {
    match &request["input"] {
        Value::String(text) => text.clone(),
        items => last_text(items, |item| text_of(&item["content"], |_| true)),
    }
}

/// An error body in the form of OpenAI's APIs.
pub(super) fn error_body(status: StatusCode, message: &str) -> Value {
    let (kind, code) = match status.as_u16() {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        429 => ("requests", Some("rate_limit_exceeded")),
        400..=499 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// Renders one answer. A failure is an answer too: as one body, it has the status of success.
pub(super) fn render(actions: &[Action], usage: &ScriptUsage, exchange: &Exchange) -> ApiAnswer {
    let mut writer = ResponsesRenderer {
        exchange,
        frames: Vec::new(),
        sequence: 0,
        output: Vec::new(),
        whole: Value::Null,
    };
    writer.response("response.created", "in_progress", json!({}));
    for action in actions {
        writer.action(action);
    }
    if !actions.last().is_some_and(Action::is_last) {
        writer.response("response.completed", "completed", json!({"usage": usage_json(usage)}));
    }
    ApiAnswer { frames: writer.frames, status: StatusCode::OK, whole: writer.whole }
}

fn usage_json(usage: &ScriptUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    })
}

/// Writes the events of one answer.
struct ResponsesRenderer<'a> {
    exchange: &'a Exchange,
    frames: Vec<ScriptFrame>,
    sequence: u64,
    /// The finished items. Their number is the index of the next item.
    output: Vec<Value>,
    /// The response in the last event that had one.
    whole: Value,
}

impl ResponsesRenderer<'_> {
    fn action(&mut self, action: &Action) {
        match action {
            Action::Say(say) => self.say(say),
            Action::Reason(reason) => self.reason(reason),
            Action::Call(call) => self.call(call),
            Action::Custom(custom) => self.custom(custom),
            Action::Item(item) => self.finish_item(item.clone()),
            Action::Event(event) => self.push(event),
            Action::Sleep(wait) => self.frames.push(ScriptFrame::Wait(*wait)),
            Action::Cut => self.frames.push(ScriptFrame::Cut),
            Action::Hang => self.frames.push(ScriptFrame::Hang),
            // The body ends after the last frame, without the event that completes the answer.
            Action::End => {}
            Action::Fail { code, message } => {
                let error = json!({"error": {"code": code, "message": message}});
                self.response("response.failed", "failed", error);
            }
            Action::Incomplete(reason) => {
                let details = json!({"incomplete_details": {"reason": reason}});
                self.response("response.incomplete", "incomplete", details);
            }
        }
    }

    fn say(&mut self, say: &Say) {
        let id = self.id(&say.id, "msg");
        let place = json!({"item_id": id, "output_index": self.index(), "content_index": 0});
        let mut item = json!({"type": "message", "role": "assistant", "id": id});
        if let Some(phase) = &say.phase {
            item["phase"] = json!(phase);
        }
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        let text = say.text.text();

        self.begin_item(&item, json!({"content": []}));
        self.at(&place, "response.content_part.added", json!({"part": part("")}));
        self.deltas(&place, "response.output_text.delta", &say.text);
        if say.unfinished {
            return;
        }
        self.at(&place, "response.output_text.done", json!({"text": text}));
        self.at(&place, "response.content_part.done", json!({"part": part(&text)}));
        item["status"] = json!("completed");
        item["content"] = json!([part(&text)]);
        self.finish_item(item);
    }

    fn reason(&mut self, reason: &Reason) {
        let id = self.id(&reason.id, "rs");
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        let mut item = json!({"type": "reasoning", "id": id, "summary": []});

        self.begin_item(&item, json!({}));
        for (index, summary) in reason.summary.iter().enumerate() {
            let place = json!({"item_id": id, "output_index": self.index(), "summary_index": index});
            let text = summary.text();
            let added = json!({"part": part("")});
            self.at(&place, "response.reasoning_summary_part.added", added);
            self.deltas(&place, "response.reasoning_summary_text.delta", summary);
            let done = json!({"text": text});
            self.at(&place, "response.reasoning_summary_text.done", done);
            let done = json!({"part": part(&text)});
            self.at(&place, "response.reasoning_summary_part.done", done);
        }
        if let Some(raw) = &reason.raw {
            let place = json!({"item_id": id, "output_index": self.index(), "content_index": 0});
            let text = raw.text();
            self.deltas(&place, "response.reasoning_text.delta", raw);
            self.at(&place, "response.reasoning_text.done", json!({"text": text}));
            item["content"] = json!([{"type": "reasoning_text", "text": text}]);
        }
        item["summary"] = reason.summary.iter().map(|chunks| part(&chunks.text())).collect();
        // Agents that keep no state on the server send this back unchanged, so any text serves.
        item["encrypted_content"] = json!("c2NyaXB0ZWQ=");
        self.finish_item(item);
    }

    fn call(&mut self, call: &FunctionCall) {
        let call_id = self.id(&call.id, "call");
        let id = format!("fc_{call_id}");
        let place = json!({"item_id": id, "output_index": self.index()});
        let mut item = json!({"type": "function_call", "id": id, "call_id": call_id, "name": call.name});
        if let Some(namespace) = &call.namespace {
            item["namespace"] = json!(namespace);
        }
        let arguments = call.arguments.text();

        self.begin_item(&item, json!({"arguments": ""}));
        self.deltas(&place, "response.function_call_arguments.delta", &call.arguments);
        if call.unfinished {
            return;
        }
        let done = json!({"name": call.name, "arguments": arguments});
        self.at(&place, "response.function_call_arguments.done", done);
        item["status"] = json!("completed");
        item["arguments"] = json!(arguments);
        self.finish_item(item);
    }

    fn custom(&mut self, custom: &CustomCall) {
        let call_id = self.id(&custom.id, "call");
        let id = format!("ctc_{call_id}");
        // Codex needs `call_id` here: it assigns streamed input to a call by this id.
        let place = json!({"item_id": id, "call_id": call_id, "output_index": self.index()});
        let mut item = json!({"type": "custom_tool_call", "id": id, "call_id": call_id, "name": custom.name});
        let input = custom.input.text();

        self.begin_item(&item, json!({"input": ""}));
        self.deltas(&place, "response.custom_tool_call_input.delta", &custom.input);
        let done = json!({"input": input});
        self.at(&place, "response.custom_tool_call_input.done", done);
        item["status"] = json!("completed");
        item["input"] = json!(input);
        self.finish_item(item);
    }

    /// Writes the event for a new item, whose growing fields are still empty.
    fn begin_item(&mut self, item: &Value, empty: Value) {
        let mut item = merged(item, empty);
        item["status"] = json!("in_progress");
        let index = self.index();
        let added = "response.output_item.added";
        self.event(json!({"type": added, "output_index": index, "item": item}));
    }

    fn finish_item(&mut self, item: Value) {
        let index = self.index();
        let done = "response.output_item.done";
        self.event(json!({"type": done, "output_index": index, "item": item}));
        self.output.push(item);
    }

    fn deltas(&mut self, place: &Value, kind: &str, chunks: &Chunks) {
        for piece in chunks.pieces() {
            self.at(place, kind, json!({"delta": piece}));
            self.frames.extend(ScriptFrame::pause(chunks.delay()));
        }
    }

    /// Writes an event about a place in the output.
    fn at(&mut self, place: &Value, kind: &str, more: Value) {
        let mut event = merged(place, more);
        event["type"] = json!(kind);
        self.event(event);
    }

    fn event(&mut self, mut event: Value) {
        event["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.push(&event);
    }

    fn push(&mut self, event: &Value) {
        let event = SseEvent::named_by_type(event);
        self.frames.push(ScriptFrame::Event(event));
    }

    /// Writes an event with the whole response.
    fn response(&mut self, event: &str, status: &str, more: Value) {
        let response = json!({
            "id": format!("resp_{}", self.exchange.number),
            "object": "response",
            "created_at": self.exchange.created_at,
            "model": self.exchange.model,
            "status": status,
            "output": self.output,
        });
        self.whole = merged(&response, more);
        self.event(json!({"type": event, "response": self.whole}));
    }

    fn index(&self) -> usize {
        self.output.len()
    }

    /// The author's id, or an id that no other answer of this server has.
    fn id(&self, given: &Option<String>, prefix: &str) -> String {
        given.clone().unwrap_or_else(|| format!("{prefix}_{}_{}", self.exchange.number, self.index()))
    }
}

/// Merges two objects. The values of the second win.
fn merged(first: &Value, second: Value) -> Value {
    let mut all = first.as_object().cloned().unwrap_or_default();
    if let Value::Object(more) = second {
        all.extend(more);
    }
    Value::Object(all)
}
