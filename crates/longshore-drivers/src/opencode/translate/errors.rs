//! The errors of failed turns, with codes that are the same for every agent.

use longshore_model::event::{Body, Draft};
use longshore_model::lifecycle::{TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use crate::opencode::wire::Error;

/// The end of a failed turn.
pub(super) fn failed(code: TurnErrorCode, message: &str) -> Draft {
    let error = TurnError { code, message: message.to_owned(), details: Value::Null };
    let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
    Draft::new(Body::TurnFinished(end)).text(message)
}

/// Whether the error is not a failure but a requested stop.
pub(super) fn is_abort(error: &Error) -> bool {
    error.name == "MessageAbortedError"
}

pub(super) fn error_of(error: &Error) -> TurnError {
    let message = error.data["message"].as_str().unwrap_or(&error.name);
    let status = error.data["statusCode"].as_u64();
    let code = match (error.name.as_str(), status) {
        ("ProviderAuthError", _) | (_, Some(401 | 403)) => TurnErrorCode::Unauthorized,
        (_, Some(402)) => TurnErrorCode::UsageLimit,
        (_, Some(429)) => TurnErrorCode::RateLimited,
        (_, Some(500..=599)) => TurnErrorCode::Overloaded,
        (name, _) if name.contains("Context") || name.contains("OutputLength") => {
            TurnErrorCode::ContextWindow
        }
        (_, None) if speaks_of_network(message) => TurnErrorCode::Network,
        (_, _) => TurnErrorCode::Other,
    };
    let mut details = json!({"name": error.name});
    if let Some(status) = status {
        details["statusCode"] = json!(status);
    }
    // A stack trace follows in further lines.
    let message = message.lines().next().unwrap_or_default().to_owned();
    TurnError { code, message, details }
}

fn speaks_of_network(message: &str) -> bool {
    ["ECONNREFUSED", "ENOTFOUND", "ETIMEDOUT", "fetch failed", "Unable to connect"]
        .iter()
        .any(|word| message.contains(word))
}
