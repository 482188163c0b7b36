//! Errors in the form of each API.

use crate::api::{Failure, FailureKind};
use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use longshore_model::service::ModelApi;
use serde_json::{Value, json};

use super::model_request::Unreadable;

/// The refusal of a request.
#[derive(Debug)]
pub(super) struct GatewayRefusal {
    pub(super) status: StatusCode,
    pub(super) failure: Failure,
    /// The service's headers that say when to try again.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl GatewayRefusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let failure = Failure::new(FailureKind::Refused, message);
        Self { status, failure, headers: Vec::new() }
    }

    /// The header that says when to try again. The service may have said it only in its text, but clients read the
    /// header.
    pub(super) fn in_header(failure: &Failure) -> Vec<(HeaderName, HeaderValue)> {
        let seconds = failure.retry_after.map(|time| HeaderValue::from(time.as_secs_f64().ceil() as u64));
        seconds.map(|seconds| (RETRY_AFTER, seconds)).into_iter().collect()
    }

    pub(super) fn response(self, api: ModelApi) -> Response {
        let Self { status, failure, headers } = self;
        tracing::warn!(status = status.as_u16(), message = failure.message, "a request was not answered");
        let body = match api {
            ModelApi::Chat | ModelApi::Responses => openai(status, &failure),
            ModelApi::Messages => anthropic(status, &failure),
        };
        (status, AppendHeaders(headers), Json(body)).into_response()
    }
}

impl From<Failure> for GatewayRefusal {
    fn from(failure: Failure) -> Self {
        Self { status: status(failure.kind), headers: Self::in_header(&failure), failure }
    }
}

impl From<Unreadable> for GatewayRefusal {
    fn from(why: Unreadable) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why.to_string())
    }
}

/// The status of a failure without a status of its own.
pub(super) fn status(kind: FailureKind) -> StatusCode {
    match kind {
        FailureKind::RateLimited | FailureKind::UsageLimit => StatusCode::TOO_MANY_REQUESTS,
        FailureKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::Network | FailureKind::Cut | FailureKind::Garbled => StatusCode::BAD_GATEWAY,
        FailureKind::TooLong | FailureKind::Refused => StatusCode::BAD_REQUEST,
        FailureKind::Unauthorized => StatusCode::UNAUTHORIZED,
    }
}

/// The code by which clients of OpenAI's APIs decide.
pub(super) fn code(kind: FailureKind) -> Option<&'static str> {
    match kind {
        FailureKind::RateLimited => Some("rate_limit_exceeded"),
        FailureKind::UsageLimit => Some("insufficient_quota"),
        FailureKind::TooLong => Some("context_length_exceeded"),
        FailureKind::Unauthorized => Some("invalid_api_key"),
        FailureKind::Unavailable | FailureKind::Network | FailureKind::Cut | FailureKind::Garbled => {
            Some("server_error")
        }
        FailureKind::Refused => None,
    }
}

/// The error in the form of OpenAI's APIs.
pub(super) fn openai(status: StatusCode, failure: &Failure) -> Value {
    let kind = match failure.kind {
        FailureKind::RateLimited => "rate_limit_error",
        FailureKind::UsageLimit => "insufficient_quota",
        FailureKind::TooLong
        | FailureKind::Unauthorized
        | FailureKind::Refused
        | FailureKind::Unavailable
        | FailureKind::Network
        | FailureKind::Cut
        | FailureKind::Garbled => match status.is_server_error() {
            true => "server_error",
            false => "invalid_request_error",
        },
    };
    let code = code(failure.kind);
    json!({ "error": { "message": failure.message, "type": kind, "param": null, "code": code } })
}

/// The error in the form of Anthropic's API.
pub(super) fn anthropic(status: StatusCode, failure: &Failure) -> Value {
    let kind = match (failure.kind, status.as_u16()) {
        (FailureKind::RateLimited | FailureKind::UsageLimit, _) => "rate_limit_error",
        (FailureKind::Unauthorized, 403) => "permission_error",
        (FailureKind::Unauthorized, _) => "authentication_error",
        (FailureKind::Unavailable, 503 | 529) => "overloaded_error",
        (_, 404) => "not_found_error",
        (_, 413) => "request_too_large",
        (_, 500..) => "api_error",
        (_, _) => "invalid_request_error",
    };
    // Clients recognise by this phrase that the conversation is too long.
    let message = match failure.kind {
        FailureKind::TooLong if !failure.message.contains("prompt is too long") => {
            format!("prompt is too long: {}", failure.message)
        }
        FailureKind::TooLong
        | FailureKind::RateLimited
        | FailureKind::UsageLimit
        | FailureKind::Unavailable
        | FailureKind::Network
        | FailureKind::Cut
        | FailureKind::Garbled
        | FailureKind::Unauthorized
        | FailureKind::Refused => failure.message.clone(),
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
