//! Errors of the agent, as errors of the model.

use longshore_model::lifecycle::{TurnError, TurnErrorCode};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::acp::wire::{AUTH_REQUIRED, RpcError};

/// An error response.
#[derive(Debug)]
pub(super) struct AcpError {
    pub code: i64,
    /// The text for people.
    pub text: String,
    data: Value,
}

/// Reads an error response.
pub(super) fn error_of(error: &RawValue) -> AcpError {
    let error = serde_json::from_str::<RpcError>(error.get())
        .unwrap_or_else(|_| RpcError { message: error.get().to_owned(), ..RpcError::default() });
    AcpError { code: error.code, text: text_of(&error), data: error.data }
}

impl AcpError {
    /// The error of a failed turn.
    pub(super) fn turn_error(self) -> TurnError {
        let code = code_of(self.code, &self.text, &self.data);
        TurnError { code, message: self.text, details: self.data }
    }
}

/// The text of an error for people. Agents wrap the error of their model, often twice.
fn text_of(error: &RpcError) -> String {
    let data = &error.data;
    let details = [&data["message"], &data["details"], &data["error"], &data[0]["message"], data];
    let details = details.into_iter().find_map(Value::as_str).unwrap_or_default();
    let message = error.message.trim_start_matches("Internal error").trim_start_matches(": ");
    let text = match (message, details) {
        ("", "") => error.message.as_str(),
        ("", details) => details,
        (message, details) if details.is_empty() || message.contains(details) => message,
        (message, details) => return format!("{message}: {details}"),
    };
    match unwrapped(text) {
        empty if empty.trim().is_empty() => "it did not say why".to_owned(),
        text => text,
    }
}

/// `API Error: 400 {"error":{"message":"no"}}` becomes `API Error: 400 no`.
fn unwrapped(text: &str) -> String {
    let Some(at) = text.find('{') else { return text.to_owned() };
    let (before, json) = text.split_at(at);
    let inner: Value = serde_json::from_str(json).unwrap_or_default();
    let message = inner["error"]["message"].as_str().or_else(|| inner["message"].as_str());
    message.map_or_else(|| text.to_owned(), |message| format!("{before}{message}"))
}

/// The error code, which is the same for every agent.
pub(super) fn code_of(code: i64, text: &str, data: &Value) -> TurnErrorCode {
    let word = data["codex_error_info"].as_str().unwrap_or_default();
    let lower = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let status = if (400..600).contains(&code) { Some(code) } else { status_in(text) };
    match (status, word) {
        (_, "usage_limit_exceeded") => TurnErrorCode::UsageLimit,
        (_, "context_window_exceeded") => TurnErrorCode::ContextWindow,
        _ if code == AUTH_REQUIRED => TurnErrorCode::Unauthorized,
        (Some(401 | 403), _) => TurnErrorCode::Unauthorized,
        _ if says(&["usage limit", "quota exceeded", "insufficient_quota"]) => TurnErrorCode::UsageLimit,
        (Some(429), _) => TurnErrorCode::RateLimited,
        (Some(503 | 529), _) => TurnErrorCode::Overloaded,
        _ if says(&["overloaded", "high demand"]) => TurnErrorCode::Overloaded,
        _ if says(&["context window", "prompt is too long", "context_length"]) => {
            TurnErrorCode::ContextWindow
        }
        _ if says(&["econnrefused", "enotfound", "fetch failed", "network error", "stream disconnected"]) => {
            TurnErrorCode::Network
        }
        (_, _) => TurnErrorCode::Other,
    }
}

/// An HTTP status that is a word of its own in the text.
fn status_in(text: &str) -> Option<i64> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| word.len() == 3).filter_map(|word| word.parse().ok()).find(|n| (400..600).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_the_model_said() {
        let cases = [
            (
                r#"{"code":400,"message":"{\"error\":{\"code\":400,\"message\":\"no\"}}"}"#,
                "no",
                TurnErrorCode::Other,
            ),
            (
                r#"{"code":-32603,"message":"Internal error","data":{"message":"{\"error\":{\"message\":\"no\"}}"}}"#,
                "no",
                TurnErrorCode::Other,
            ),
            (
                r#"{"code":-32603,"message":"Internal error: API Error: 429 {\"error\":{\"message\":\"slow\"}}"}"#,
                "API Error: 429 slow",
                TurnErrorCode::RateLimited,
            ),
            (
                r#"{"code":-32603,"message":"Internal error","data":{"details":"Query closed"}}"#,
                "Query closed",
                TurnErrorCode::Other,
            ),
            (
                r#"{"code":-32000,"message":"Authentication required"}"#,
                "Authentication required",
                TurnErrorCode::Unauthorized,
            ),
            (r#"{"code":503,"message":"Busy"}"#, "Busy", TurnErrorCode::Overloaded),
            (r#"{"code":-32603,"message":"Internal error"}"#, "Internal error", TurnErrorCode::Other),
            (r#""all wrong""#, "\"all wrong\"", TurnErrorCode::Other),
        ];
        for (error, text, code) in cases {
            let fault = error_of(&RawValue::from_string(error.to_owned()).unwrap()).turn_error();
            assert_eq!((fault.message.as_str(), fault.code), (text, code), "of {error}");
        }
    }
}
