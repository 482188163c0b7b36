//! Anthropic Messages.
//!
//! An answer is a message of content blocks. As a stream it is `message_start`, then for every block
//! `content_block_start`, deltas of its kind and `content_block_stop`, then `message_delta` with the stop reason and
//! the usage, then `message_stop`. An `error` event ends a failed answer. The usage counts cached tokens separately
//! from the other input tokens.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::api::ApiAnswer;
use super::failure::status_of;
use super::frame::{Exchange, ScriptFrame, SseEvent};
use super::plain::{PlainCall, thoughts};
use super::request::{last_text, text_of};
use super::step::{Action, Reason, Say, ScriptUsage};

/// The beginning of texts that an agent itself adds to a user message.
const REMINDER: &str = "<system-reminder>";
/// The signature of thoughts. Agents only send it back, so any text serves.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// The text of the last user message. Results of tools and the agent's own reminders are in user messages too. They do
/// not count.
pub(super) fn last_user_text(request: &Value) -> String {
    let own_words = |text: &str| !text.trim_start().starts_with(REMINDER);
    last_text(&request["messages"], |message| text_of(&message["content"], own_words))
}

/// An error body in the shape of this API.
pub(super) fn error_body(status: StatusCode, message: &str) -> Value {
    let kind = match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    error(kind, message)
}

fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// Renders one answer.
pub(super) fn render(actions: &[Action], usage: &ScriptUsage, exchange: &Exchange) -> ApiAnswer {
    let mut writer = MessagesRenderer { exchange, frames: Vec::new(), content: Vec::new(), failure: None };
    let mut begun = writer.message(None);
    begun["usage"] = usage_json(&ScriptUsage { output: 1, ..*usage });
    writer.push(&json!({"type": "message_start", "message": begun}));
    for action in actions {
        writer.action(action);
    }
    let calls = writer.content.iter().any(|block| block["type"] == "tool_use");
    let stop = match actions.last() {
        Some(Action::Incomplete(reason)) => Some(stop_reason(reason)),
        Some(last) if last.is_last() => None,
        _ if calls => Some("tool_use"),
        _ => Some("end_turn"),
    };
    if let Some(reason) = stop {
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        writer.push(&json!({"type": "message_delta", "delta": delta, "usage": usage_json(usage)}));
        writer.push(&json!({"type": "message_stop"}));
    }
    let (status, whole) = match writer.failure.take() {
        Some(failure) => failure,
        None => {
            let mut message = writer.message(stop);
            message["usage"] = usage_json(usage);
            message["content"] = json!(writer.content);
            (StatusCode::OK, message)
        }
    };
    ApiAnswer { frames: writer.frames, status, whole }
}

/// The reason for an incomplete answer, in the words of this API.
fn stop_reason(reason: &str) -> &str {
    match reason {
        "max_output_tokens" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    }
}

fn usage_json(usage: &ScriptUsage) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    })
}

/// Writes the events of one answer.
struct MessagesRenderer<'a> {
    exchange: &'a Exchange,
    frames: Vec<ScriptFrame>,
    /// The blocks so far. Their number is the index of the next block.
    content: Vec<Value>,
    failure: Option<(StatusCode, Value)>,
}

impl MessagesRenderer<'_> {
    fn action(&mut self, action: &Action) {
        match action {
            Action::Say(say) => self.say(say),
            Action::Reason(reason) => self.reason(reason),
            Action::Call(call) => self.call(&PlainCall::of_function(call)),
            Action::Custom(custom) => self.call(&PlainCall::of_custom(custom)),
            Action::Item(block) => {
                self.begin(block);
                self.stop(block.clone());
            }
            Action::Event(event) => self.push(event),
            Action::Sleep(wait) => self.frames.push(ScriptFrame::Wait(*wait)),
            Action::Cut => self.frames.push(ScriptFrame::Cut),
            Action::Hang => self.frames.push(ScriptFrame::Hang),
            // `end` leaves out the stop reason, and the stop reason contains the reason of `incomplete`.
            Action::End | Action::Incomplete(_) => {}
            Action::Fail { code, message } => {
                let body = error(code, message);
                self.push(&body);
                self.failure = Some((status_of(code), body));
            }
        }
    }

    fn say(&mut self, say: &Say) {
        self.begin(&json!({"type": "text", "text": ""}));
        for piece in say.text.pieces() {
            self.delta(json!({"type": "text_delta", "text": piece}));
            self.frames.extend(ScriptFrame::pause(say.text.delay()));
        }
        let block = json!({"type": "text", "text": say.text.text()});
        match say.unfinished {
            true => self.content.push(block),
            false => self.stop(block),
        }
    }

    fn reason(&mut self, reason: &Reason) {
        let mut text = String::new();
        self.begin(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        for (piece, pause) in thoughts(reason) {
            self.delta(json!({"type": "thinking_delta", "thinking": piece}));
            self.frames.extend(ScriptFrame::pause(pause));
            text.push_str(&piece);
        }
        self.delta(json!({"type": "signature_delta", "signature": SIGNATURE}));
        self.stop(json!({"type": "thinking", "thinking": text, "signature": SIGNATURE}));
    }

    fn call(&mut self, call: &PlainCall<'_>) {
        let id = call
            .id
            .clone()
            .unwrap_or_else(|| format!("toolu_{}_{}", self.exchange.number, self.content.len()));
        let block = |input: Value| json!({"type": "tool_use", "id": id, "name": call.name, "input": input});
        self.begin(&block(json!({})));
        for piece in call.arguments.pieces() {
            self.delta(json!({"type": "input_json_delta", "partial_json": piece}));
            self.frames.extend(ScriptFrame::pause(call.arguments.delay()));
        }
        match call.unfinished {
            true => self.content.push(block(call.arguments_json())),
            false => self.stop(block(call.arguments_json())),
        }
    }

    fn begin(&mut self, block: &Value) {
        let index = self.content.len();
        self.push(&json!({"type": "content_block_start", "index": index, "content_block": block}));
    }

    fn delta(&mut self, delta: Value) {
        let index = self.content.len();
        self.push(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }

    fn stop(&mut self, block: Value) {
        let index = self.content.len();
        self.push(&json!({"type": "content_block_stop", "index": index}));
        self.content.push(block);
    }

    fn push(&mut self, event: &Value) {
        self.frames.push(ScriptFrame::Event(SseEvent::named_by_type(event)));
    }

    /// The message without its content.
    fn message(&self, stop: Option<&str>) -> Value {
        json!({
            "id": format!("msg_{}", self.exchange.number),
            "type": "message",
            "role": "assistant",
            "model": self.exchange.model,
            "content": [],
            "stop_reason": stop,
            "stop_sequence": null,
        })
    }
}
