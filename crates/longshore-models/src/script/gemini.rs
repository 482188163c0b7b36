//! Gemini generateContent.
//!
//! An answer is the parts of one candidate. As a stream it is events without names, each a response with a further
//! part; the last one has the finish reason and the usage. Thoughts and calls come complete: the API has no pieces of
//! them. Calls have no finish reason of their own. The usage counts thoughts separately from the rest of the answer.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::api::ApiAnswer;
use super::failure::status_of;
use super::frame::{Exchange, ScriptFrame, SseEvent};
use super::plain::PlainCall;
use super::request::{last_text, text_of};
use super::step::{Action, ScriptUsage};

/// The text of the last user message. Results of tools are user messages too, but have no text.
pub(super) fn last_user_text(request: &Value) -> String {
    last_text(&request["contents"], |content| text_of(&content["parts"], |_| true))
}

/// An error body in the shape of this API.
pub(super) fn error_body(status: StatusCode, message: &str) -> Value {
    let name = match status.as_u16() {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        400..=499 => "INVALID_ARGUMENT",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    error(status, name, message)
}

fn error(status: StatusCode, name: &str, message: &str) -> Value {
    json!({"error": {"code": status.as_u16(), "message": message, "status": name}})
}

/// Renders one answer.
pub(super) fn render(actions: &[Action], usage: &ScriptUsage, exchange: &Exchange) -> ApiAnswer {
    let mut writer =
        GeminiRenderer { exchange, frames: Vec::new(), parts: Vec::new(), calls: 0, failure: None };
    for action in actions {
        writer.action(action);
    }
    let finish = match actions.last() {
        Some(Action::Incomplete(reason)) => Some(finish_reason(reason)),
        Some(last) if last.is_last() => None,
        _ => Some("STOP"),
    };
    if finish.is_some() {
        writer.push(&writer.response(json!([{"text": ""}]), finish, Some(usage)));
    }
    let (status, whole) = match writer.failure.take() {
        Some(failure) => failure,
        None => {
            let usage = finish.is_some().then_some(usage);
            (StatusCode::OK, writer.response(json!(joined(&writer.parts)), finish, usage))
        }
    };
    ApiAnswer { frames: writer.frames, status, whole }
}

/// The reason for an incomplete answer, in the words of this API.
fn finish_reason(reason: &str) -> &str {
    match reason {
        "max_output_tokens" => "MAX_TOKENS",
        "content_filter" => "SAFETY",
        other => other,
    }
}

fn usage_json(usage: &ScriptUsage) -> Value {
    json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    })
}

/// The parts of a stream in the form of one body: pieces of one text become one part.
fn joined(parts: &[Value]) -> Vec<Value> {
    let mut whole: Vec<Value> = Vec::new();
    for part in parts {
        match (whole.last_mut(), part["text"].as_str()) {
            (Some(last), Some(more)) if is_plain_text(last) && is_plain_text(part) => {
                let text = format!("{}{more}", last["text"].as_str().unwrap_or_default());
                last["text"] = json!(text);
            }
            _ => whole.push(part.clone()),
        }
    }
    whole
}

fn is_plain_text(part: &Value) -> bool {
    let text = part.as_object().is_some_and(|part| part.len() == 1);
    text && part["text"].is_string()
}

/// Writes the events of one answer.
struct GeminiRenderer<'a> {
    exchange: &'a Exchange,
    frames: Vec<ScriptFrame>,
    /// The parts that were sent so far.
    parts: Vec<Value>,
    calls: usize,
    failure: Option<(StatusCode, Value)>,
}

impl GeminiRenderer<'_> {
    fn action(&mut self, action: &Action) {
        match action {
            Action::Say(say) => {
                for piece in say.text.pieces() {
                    self.part(json!({"text": piece}));
                    self.frames.extend(ScriptFrame::pause(say.text.delay()));
                }
            }
            Action::Reason(reason) => {
                // Agents treat every such part as a separate thought, so the renderer does not cut thoughts.
                for thought in reason.summary.iter().chain(&reason.raw) {
                    self.part(json!({"text": thought.text(), "thought": true}));
                    self.frames.extend(ScriptFrame::pause(thought.delay()));
                }
            }
            Action::Call(call) => self.call(&PlainCall::of_function(call)),
            Action::Custom(custom) => self.call(&PlainCall::of_custom(custom)),
            Action::Item(part) => self.part(part.clone()),
            Action::Event(event) => self.push(event),
            Action::Sleep(wait) => self.frames.push(ScriptFrame::Wait(*wait)),
            Action::Cut => self.frames.push(ScriptFrame::Cut),
            Action::Hang => self.frames.push(ScriptFrame::Hang),
            // `end` leaves out the finish reason, and the finish reason contains the reason of `incomplete`.
            Action::End | Action::Incomplete(_) => {}
            Action::Fail { code, message } => {
                let status = status_of(code);
                let body = error(status, code, message);
                self.push(&body);
                self.failure = Some((status, body));
            }
        }
    }

    fn call(&mut self, call: &PlainCall<'_>) {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{}", self.exchange.number, self.calls));
        self.calls += 1;
        let mut part = json!({"functionCall": {"id": id, "name": call.name, "args": call.arguments_json()}});
        if let Some(signature) = call.signature {
            part["thoughtSignature"] = json!(signature);
        }
        self.part(part);
        self.frames.extend(ScriptFrame::pause(call.arguments.delay()));
    }

    fn part(&mut self, part: Value) {
        self.push(&self.response(json!([part]), None, None));
        self.parts.push(part);
    }

    fn push(&mut self, event: &Value) {
        self.frames.push(ScriptFrame::Event(SseEvent::unnamed(event)));
    }

    fn response(&self, parts: Value, finish: Option<&str>, usage: Option<&ScriptUsage>) -> Value {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        let mut response = json!({
            "candidates": [candidate],
            "modelVersion": self.exchange.model,
            "responseId": format!("resp_{}", self.exchange.number),
        });
        if let Some(usage) = usage {
            response["usageMetadata"] = usage_json(usage);
        }
        response
    }
}
