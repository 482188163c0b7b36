//! OpenAI Chat Completions.
//!
//! An answer is one message of a choice. As a stream it is chunks whose `delta` adds to that message: first the role,
//! then pieces of the text and of the calls' arguments, then the `finish_reason`, then the usage if the client asked
//! for it, then the line `[DONE]`. The API has no thoughts. The renderer puts them into `reasoning_content`, where
//! models put their visible thoughts and agents look for them.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::api::ApiAnswer;
use super::failure::status_of;
use super::frame::{Delivery, Exchange, ScriptFrame, SseEvent};
use super::plain::{PlainCall, thoughts};
use super::request::{last_text, text_of};
use super::step::{Action, ScriptUsage};

/// The text of the last user message. Results of tools have their own role.
pub(super) fn last_user_text(request: &Value) -> String {
    last_text(&request["messages"], |message| text_of(&message["content"], |_| true))
}

/// Renders one answer.
pub(super) fn render(actions: &[Action], usage: &ScriptUsage, exchange: &Exchange) -> ApiAnswer {
    let mut writer =
        ChatRenderer { exchange, frames: Vec::new(), message: ScriptChatMessage::default(), failure: None };
    writer.delta(json!({"role": "assistant", "content": ""}));
    for action in actions {
        writer.action(action);
    }
    let finish = match actions.last() {
        Some(Action::Incomplete(reason)) => Some(finish_reason(reason)),
        Some(last) if last.is_last() => None,
        _ if writer.message.calls.is_empty() => Some("stop"),
        _ => Some("tool_calls"),
    };
    if let Some(reason) = finish {
        writer.finish(reason, usage);
    }
    let (status, whole) = match writer.failure.take() {
        Some(failure) => failure,
        None => (StatusCode::OK, writer.whole(finish, usage)),
    };
    ApiAnswer { frames: writer.frames, status, whole }
}

/// The reason for an incomplete answer, in the words of this API.
fn finish_reason(reason: &str) -> &str {
    match reason {
        "max_output_tokens" => "length",
        other => other,
    }
}

fn usage_json(usage: &ScriptUsage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

/// The message so far.
#[derive(Default)]
struct ScriptChatMessage {
    text: String,
    thoughts: String,
    calls: Vec<Value>,
    /// The fields that raw items added.
    more: Map<String, Value>,
}

/// Writes the chunks of one answer.
struct ChatRenderer<'a> {
    exchange: &'a Exchange,
    frames: Vec<ScriptFrame>,
    message: ScriptChatMessage,
    failure: Option<(StatusCode, Value)>,
}

impl ChatRenderer<'_> {
    fn action(&mut self, action: &Action) {
        match action {
            Action::Say(say) => {
                for piece in say.text.pieces() {
                    self.delta(json!({"content": piece}));
                    self.frames.extend(ScriptFrame::pause(say.text.delay()));
                }
                self.message.text.push_str(&say.text.text());
            }
            Action::Reason(reason) => {
                for (piece, pause) in thoughts(reason) {
                    self.delta(json!({"reasoning_content": piece}));
                    self.frames.extend(ScriptFrame::pause(pause));
                    self.message.thoughts.push_str(&piece);
                }
            }
            Action::Call(call) => self.call(&PlainCall::of_function(call)),
            Action::Custom(custom) => self.call(&PlainCall::of_custom(custom)),
            Action::Item(item) => {
                self.delta(item.clone());
                self.message.more.extend(item.as_object().cloned().unwrap_or_default());
            }
            Action::Event(event) => self.push(event),
            Action::Sleep(wait) => self.frames.push(ScriptFrame::Wait(*wait)),
            Action::Cut => self.frames.push(ScriptFrame::Cut),
            Action::Hang => self.frames.push(ScriptFrame::Hang),
            // `end` leaves out the finish reason, and the finish reason contains the reason of `incomplete`.
            Action::End | Action::Incomplete(_) => {}
            Action::Fail { code, message } => {
                let error = json!({"message": message, "type": code, "param": null, "code": code});
                let body = json!({"error": error});
                self.push(&body);
                self.failure = Some((status_of(code), body));
            }
        }
    }

    fn call(&mut self, call: &PlainCall<'_>) {
        let index = self.message.calls.len();
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{index}", self.exchange.number));
        let function = |arguments: &str| json!({"name": call.name, "arguments": arguments});
        let signed = call.signature.map(|signature| json!({"google": {"thought_signature": signature}}));
        let mut begun = json!({"index": index, "id": id, "type": "function", "function": function("")});
        if let Some(signed) = &signed {
            begun["extra_content"] = signed.clone();
        }
        self.delta(json!({"tool_calls": [begun]}));
        for piece in call.arguments.pieces() {
            self.delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
            self.frames.extend(ScriptFrame::pause(call.arguments.delay()));
        }
        let mut whole = json!({"id": id, "type": "function", "function": function(&call.arguments.text())});
        if let Some(signed) = signed {
            whole["extra_content"] = signed;
        }
        self.message.calls.push(whole);
    }

    fn finish(&mut self, reason: &str, usage: &ScriptUsage) {
        let choice = json!({"index": 0, "delta": {}, "finish_reason": reason});
        self.push(&self.chunk(json!([choice])));
        if self.exchange.delivery == (Delivery::Stream { usage: true }) {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = usage_json(usage);
            self.push(&chunk);
        }
        self.frames.push(ScriptFrame::Event(SseEvent { name: None, data: "[DONE]".to_owned() }));
    }

    fn delta(&mut self, delta: Value) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        self.push(&self.chunk(json!([choice])));
    }

    fn push(&mut self, data: &Value) {
        self.frames.push(ScriptFrame::Event(SseEvent::unnamed(data)));
    }

    fn chunk(&self, choices: Value) -> Value {
        self.completion("chat.completion.chunk", choices)
    }

    /// The whole answer. An answer without a finish reason has no usage.
    fn whole(&mut self, finish: Option<&str>, usage: &ScriptUsage) -> Value {
        let said = std::mem::take(&mut self.message);
        let mut message = json!({"role": "assistant", "content": null});
        if !said.text.is_empty() || said.calls.is_empty() {
            message["content"] = json!(said.text);
        }
        if !said.thoughts.is_empty() {
            message["reasoning_content"] = json!(said.thoughts);
        }
        if !said.calls.is_empty() {
            message["tool_calls"] = json!(said.calls);
        }
        for (key, value) in said.more {
            message[key] = value;
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        let mut whole = self.completion("chat.completion", json!([choice]));
        if finish.is_some() {
            whole["usage"] = usage_json(usage);
        }
        whole
    }

    fn completion(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.exchange.number),
            "object": object,
            "created": self.exchange.created_at,
            "model": self.exchange.model,
            "choices": choices,
        })
    }
}
