//! The HTTP status for the code of a scripted failure, for responses in one body.

use axum::http::StatusCode;

/// The error codes of the three vendors, by status. All other codes count as faults of the server.
const CODES: [(u16, &[&str]); 8] = [
    (400, &["invalid_request_error", "invalid_prompt", "context_length_exceeded", "INVALID_ARGUMENT"]),
    (401, &["authentication_error", "invalid_api_key", "UNAUTHENTICATED"]),
    (403, &["permission_error", "PERMISSION_DENIED"]),
    (404, &["not_found_error", "model_not_found", "NOT_FOUND"]),
    (413, &["request_too_large"]),
    (429, &["rate_limit_error", "rate_limit_exceeded", "insufficient_quota", "RESOURCE_EXHAUSTED"]),
    (503, &["server_is_overloaded", "UNAVAILABLE"]),
    (529, &["overloaded_error"]),
];

pub(super) fn status_of(code: &str) -> StatusCode {
    let known = CODES.iter().find(|(_, codes)| codes.contains(&code));
    known
        .and_then(|(status, _)| StatusCode::from_u16(*status).ok())
        .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
