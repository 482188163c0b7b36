//! Errors as `application/problem+json`, each with a stable code. `docs/errors.md` lists them all.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{BytesRejection, JsonRejection, QueryRejection, RawPathParamsRejection};
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use longshore_model::command::Refusal;
use longshore_session::{HubError, LogError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::auth::Denial;
use crate::gate::GateError;

/// An error, for programs and for people.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Problem {
    /// A stable code.
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What happened.
    pub title: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the same request may succeed later.
    pub retry: bool,
    /// Data for programs.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schemars(with = "Map<String, Value>")]
    pub details: Value,
    #[serde(skip)]
    wait: Option<Duration>,
}

impl Problem {
    fn new(code: &'static str, status: StatusCode, title: impl Into<String>) -> Self {
        Self {
            code,
            status: status.as_u16(),
            title: title.into(),
            hint: None,
            retry: false,
            details: Value::Null,
            wait: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    fn retryable(mut self) -> Self {
        self.retry = true;
        self
    }

    /// The request has no token and no cookie.
    pub fn no_token() -> Self {
        Self::new("no_token", StatusCode::UNAUTHORIZED, "this request needs a token")
            .hint("send `Authorization: Bearer TOKEN`; `longshore token` prints it")
    }

    /// The token is not a token of this hub.
    pub fn wrong_token() -> Self {
        Self::new("wrong_token", StatusCode::UNAUTHORIZED, "this token is not a token of this hub")
            .hint("`longshore token` prints the right token")
    }

    /// A client asks for a proof of a token that this hub does not know.
    pub fn unknown_key() -> Self {
        Self::new("unknown_key", StatusCode::NOT_FOUND, "this hub does not know this token")
            .hint("this may be the hub of another data folder; check LONGSHORE_HOME and LONGSHORE_URL")
    }

    /// The token belongs to a revoked device.
    pub fn revoked_token() -> Self {
        Self::new("revoked_token", StatusCode::UNAUTHORIZED, "this device was revoked")
            .hint("pair it again with `longshore pair`")
    }

    /// A cookie alone does not say which page uses it.
    pub fn no_origin() -> Self {
        let what = "a request with a cookie must name the page that sends it";
        Self::new("no_origin", StatusCode::FORBIDDEN, what)
            .hint("send `Origin` with this hub's own address, or send `Authorization` instead of the cookie")
    }

    /// The caller guesses tokens or codes.
    pub fn too_many_attempts(wait: Duration) -> Self {
        Self::too_many("too many wrong tokens or codes", wait)
    }

    /// The caller makes too many pairing codes.
    pub fn too_many_codes(wait: Duration) -> Self {
        Self::too_many("too many pairing codes within a minute", wait)
    }

    /// The caller announces too many files.
    pub fn too_many_uploads(wait: Duration) -> Self {
        Self::too_many("rate limit exceeded", wait)
    }

    /// How many seconds to wait before the next try, if that helps.
    pub(crate) fn wait_seconds(&self) -> Option<u64> {
        self.wait.map(|wait| wait.as_secs_f64().ceil().max(1.0) as u64)
    }

    fn too_many(what: &str, wait: Duration) -> Self {
        let mut problem = Self::new("too_many_attempts", StatusCode::TOO_MANY_REQUESTS, what);
        problem.wait = Some(wait);
        problem.retryable()
    }

    /// The pairing code is wrong, used or too old.
    pub fn bad_code() -> Self {
        Self::new("bad_code", StatusCode::BAD_REQUEST, "this pairing code is wrong, used or expired")
            .hint("`longshore pair` makes a new code")
    }

    /// No device has this id.
    pub fn unknown_device() -> Self {
        Self::new("unknown_device", StatusCode::NOT_FOUND, "no device has this id")
            .hint("`longshore devices` lists the devices")
    }

    /// The device is revoked, but the log did not record it.
    pub fn unsaved_revocation(error: HubError) -> Self {
        let problem = Self::from(error);
        let title = format!("the device is revoked, but the hub could not save this yet: {}", problem.title);
        Self { title, ..problem }
            .hint("the hub keeps trying; do not restart it before `longshore devices` shows that the revocation is saved")
            .retryable()
    }

    /// The hub cannot store the owner's new token. The old token stays valid.
    pub fn token_not_kept(error: &std::io::Error) -> Self {
        let title = format!("the hub cannot save the new token ({error}); the old token still works");
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::new("log_full", StatusCode::INSUFFICIENT_STORAGE, title)
                    .hint("free some space on the disk of the data folder, then rotate the token again")
                    .retryable()
            }
            _ => Self::new("internal", StatusCode::INTERNAL_SERVER_ERROR, title)
                .hint("check the data folder, then rotate the token again"),
        }
    }

    /// The owner's token comes from outside, so the hub cannot change it.
    pub fn token_fixed() -> Self {
        Self::new(
            "token_fixed",
            StatusCode::CONFLICT,
            "the hub got the owner's token from its environment, so it cannot replace it",
        )
        .hint("change `LONGSHORE_TOKEN` where you start the hub, then restart the hub")
    }

    /// No browser of the caller has subscribed to pushes.
    pub fn no_push() -> Self {
        Self::new("no_push", StatusCode::CONFLICT, "no browser of this device has subscribed to pushes")
            .hint("turn notifications on in the browser first")
    }

    /// Another device gets pushes at this endpoint.
    pub fn push_taken() -> Self {
        let what = "another device gets pushes at this endpoint, and it has other keys";
        Self::new("push_taken", StatusCode::CONFLICT, what)
            .hint("unsubscribe in the browser and subscribe again: the browser then gets another endpoint")
    }

    /// The request was meant for another host.
    pub fn foreign_host(host: &str) -> Self {
        Self::new(
            "foreign_host",
            StatusCode::FORBIDDEN,
            format!("this hub does not answer to the host `{host}`"),
        )
        .hint("if this host is yours, name it with `longshore up --allow-host HOST`")
    }

    /// The request comes from a page of another site.
    pub fn foreign_origin(origin: &str) -> Self {
        Self::new(
            "foreign_origin",
            StatusCode::FORBIDDEN,
            format!("pages of `{origin}` may not use this hub"),
        )
        .hint("if this site is yours, name its host with `longshore up --allow-host HOST`")
    }

    /// No call has this address.
    pub fn no_route() -> Self {
        Self::new("no_route", StatusCode::NOT_FOUND, "there is nothing at this address")
            .hint("`/api/v1/openapi.json` lists all calls")
    }

    /// The address exists, but not with this method.
    pub fn wrong_verb() -> Self {
        Self::new("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED, "this address has no such method")
            .hint("`/api/v1/openapi.json` lists all calls")
    }

    /// The body is too large.
    pub fn too_large(limit: usize) -> Self {
        Self::new("too_large", StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
            .hint("send less, or name a file by its path")
            .details(json!({ "limit": limit }))
    }

    /// The head of the request is too long.
    pub fn long_head(limit: usize) -> Self {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        Self::new("head_too_large", status, "the head of the request is too long")
            .hint("send less in the headers and in the address")
            .details(json!({ "limit": limit }))
    }

    /// The body takes too long to arrive.
    pub fn too_slow() -> Self {
        Self::new("too_slow", StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive")
            .hint("send the body at once")
            .retryable()
    }

    /// The hub holds too many unfinished requests.
    pub fn too_much_at_once() -> Self {
        Self::new("busy", StatusCode::SERVICE_UNAVAILABLE, "the hub handles too many large requests at once")
            .hint("try again in a moment")
            .retryable()
    }

    /// The hub panicked, which is never the caller's fault.
    pub fn our_fault() -> Self {
        Self::new("internal", StatusCode::INTERNAL_SERVER_ERROR, "the hub failed at this request")
            .hint("the hub's log says where; please report it")
    }

    /// The hub does not understand the request.
    pub fn invalid(title: impl Into<String>) -> Self {
        Self::new("invalid_request", StatusCode::BAD_REQUEST, title)
    }

    /// The socket has no such method.
    pub fn no_method(method: &str) -> Self {
        Self::new("no_method", StatusCode::NOT_FOUND, format!("no method is called `{method}`"))
            .hint("docs/api.md lists the methods of the socket")
    }

    /// The socket has too many requests under way.
    pub fn too_many_requests() -> Self {
        Self::new("busy", StatusCode::SERVICE_UNAVAILABLE, "this socket has too many requests at once")
            .hint("wait for an answer, then try again")
            .retryable()
    }

    /// The socket follows too many sessions.
    pub fn too_many_subscriptions(most: usize) -> Self {
        Self::new(
            "too_many_subscriptions",
            StatusCode::CONFLICT,
            format!("this socket follows {most} sessions already"),
        )
        .hint("unsubscribe from some sessions, or open another socket")
        .details(json!({ "limit": most }))
    }
}

/// A problem over HTTP: clients of Codex Pocket share some calls with ours, and read what happened as `error`.
#[derive(Serialize)]
struct SharedForm<'a> {
    #[serde(flatten)]
    problem: &'a Problem,
    error: &'a str,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let wait = self.wait_seconds().map(HeaderValue::from);
        let mut response = (status, Json(SharedForm { error: &self.title, problem: &self })).into_response();
        // A facade says it in the form of its protocol.
        response.extensions_mut().insert(self);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = wait {
            headers.insert(header::RETRY_AFTER, wait);
        }
        response
    }
}

impl From<GateError> for Problem {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Denied(denial) => denial.into(),
            GateError::Hub(error) => error.into(),
        }
    }
}

impl From<Denial> for Problem {
    fn from(denial: Denial) -> Self {
        match denial {
            Denial::NotAllowed { mode, .. } => {
                Self::new("not_allowed", StatusCode::FORBIDDEN, denial.to_string())
                    .hint("use a device with more permissions, or the owner's token")
                    .details(json!({ "mode": mode }))
            }
            Denial::Rotated => Self::wrong_token(),
            Denial::Revoked => Self::revoked_token(),
        }
    }
}

impl From<HubError> for Problem {
    fn from(error: HubError) -> Self {
        let title = error.to_string();
        match error {
            HubError::UnknownSession => Self::new("unknown_session", StatusCode::NOT_FOUND, title)
                .hint("`longshore ls` lists the sessions"),
            HubError::UnknownAsk => unknown_ask(title),
            HubError::UnknownAgent(_) => Self::new("unknown_agent", StatusCode::UNPROCESSABLE_ENTITY, title),
            HubError::NotInstalled { install, .. } => {
                Self::new("agent_not_installed", StatusCode::UNPROCESSABLE_ENTITY, title).hint(install)
            }
            HubError::BadCwd { .. } => Self::new("bad_cwd", StatusCode::UNPROCESSABLE_ENTITY, title)
                .hint("name an existing folder by its absolute path"),
            HubError::UnknownEffort { efforts, .. } => {
                Self::new("unknown_effort", StatusCode::UNPROCESSABLE_ENTITY, title)
                    .details(json!({ "efforts": efforts }))
            }
            HubError::Refused(refusal) => refused(&refusal, title),
            HubError::SessionExists(_) => Self::new("session_exists", StatusCode::CONFLICT, title),
            HubError::CannotFork(_) => Self::new("cannot_fork", StatusCode::CONFLICT, title),
            HubError::Ahead { head, .. } => {
                Self::new("after_ahead", StatusCode::CONFLICT, title).details(json!({ "head": head }))
            }
            HubError::Busy => Self::new("busy", StatusCode::SERVICE_UNAVAILABLE, title).retryable(),
            HubError::NoAnchor => Self::new("no_anchor", StatusCode::SERVICE_UNAVAILABLE, title).retryable(),
            HubError::Anchor(_) => Self::new("agent_failed", StatusCode::BAD_GATEWAY, title),
            HubError::Invalid(_) => Self::invalid(title),
            HubError::Log(error) => log_failed(&error, title),
            HubError::Unreadable { .. } => {
                Self::new("log_unreadable", StatusCode::INTERNAL_SERVER_ERROR, title)
                    .hint("`longshore doctor` checks the log")
            }
        }
    }
}

fn refused(refusal: &Refusal, title: String) -> Problem {
    match refusal {
        Refusal::Closed => Problem::new("session_closed", StatusCode::CONFLICT, title),
        Refusal::NoTurn => Problem::new("no_turn", StatusCode::CONFLICT, title),
        Refusal::BusyTurn => Problem::new("busy_turn", StatusCode::CONFLICT, title)
            .hint("interrupt the turn or wait for its end; send or discard the held prompts")
            .retryable(),
        Refusal::NotInterrupted => Problem::new("not_interrupted", StatusCode::CONFLICT, title),
        Refusal::QueueTooLarge(_) => Problem::new("queue_full", StatusCode::CONFLICT, title).retryable(),
        Refusal::QueueFull(_) => Problem::new("queue_full", StatusCode::CONFLICT, title).retryable(),
        Refusal::UnknownPrompt => Problem::new("unknown_prompt", StatusCode::NOT_FOUND, title),
        Refusal::UnknownApproval | Refusal::UnknownQuestion => unknown_ask(title),
        Refusal::AlreadyDecided(first) => {
            Problem::new("already_decided", StatusCode::CONFLICT, title).details(json!({ "decision": first }))
        }
        Refusal::AlreadyAnswered(first) => {
            Problem::new("already_answered", StatusCode::CONFLICT, title).details(json!({ "answer": first }))
        }
        Refusal::Expired(reason) => {
            Problem::new("ask_expired", StatusCode::GONE, title).details(json!({ "reason": reason }))
        }
        Refusal::NotAnOption(options) => {
            Problem::new("not_an_option", StatusCode::UNPROCESSABLE_ENTITY, title)
                .details(json!({ "options": options }))
        }
        Refusal::BadAnswer { field, .. } => {
            Problem::new("bad_answer", StatusCode::UNPROCESSABLE_ENTITY, title)
                .details(json!({ "field": field }))
        }
        Refusal::NotSupported { .. } => {
            Problem::new("not_supported", StatusCode::UNPROCESSABLE_ENTITY, title)
        }
        Refusal::EmptyPrompt => Problem::new("empty_prompt", StatusCode::UNPROCESSABLE_ENTITY, title)
            .hint("write what the agent should do"),
    }
}

fn unknown_ask(title: String) -> Problem {
    Problem::new("unknown_ask", StatusCode::NOT_FOUND, title)
        .hint("`longshore inbox` lists the open approvals and questions")
}

fn log_failed(error: &LogError, title: String) -> Problem {
    match error {
        LogError::Full { .. } => {
            Problem::new("log_full", StatusCode::INSUFFICIENT_STORAGE, title).retryable()
        }
        // Somebody else was first, or it is not known yet: whoever asks again hears how it stands.
        LogError::Fenced { .. } | LogError::Unknown { .. } => {
            Problem::new("busy", StatusCode::SERVICE_UNAVAILABLE, title).retryable()
        }
        LogError::BadCursor { .. } => Problem::new("bad_cursor", StatusCode::BAD_REQUEST, title),
        LogError::NewerVersion { .. }
        | LogError::Corrupt { .. }
        | LogError::Lost { .. }
        | LogError::NotAFile { .. }
        | LogError::Gap { .. }
        | LogError::Locked { .. }
        | LogError::Other { .. } => Problem::new("log_failed", StatusCode::INTERNAL_SERVER_ERROR, title)
            .hint("`longshore doctor` checks the log"),
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::too_large(crate::intake::LARGE);
        }
        Self::invalid(rejection.body_text())
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        match rejection {
            JsonRejection::BytesRejection(rejection) => rejection.into(),
            other => Self::invalid(other.body_text()),
        }
    }
}

impl From<WebSocketUpgradeRejection> for Problem {
    fn from(rejection: WebSocketUpgradeRejection) -> Self {
        Self::invalid(format!("this address needs a WebSocket connection: {}", rejection.body_text()))
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::invalid(rejection.body_text())
    }
}

impl From<RawPathParamsRejection> for Problem {
    fn from(rejection: RawPathParamsRejection) -> Self {
        Self::invalid(rejection.body_text())
    }
}
