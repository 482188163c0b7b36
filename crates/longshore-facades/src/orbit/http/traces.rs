//! What people look at to find a fault: the log, the newest events, what was done. Secrets are hidden in all of it.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use longshore_model::id::Seq;
use longshore_model::time::Timestamp;
use longshore_session::{SessionFilter, WithRaw};
use serde_json::{Value, json};

use super::wire::{Limit, Service};
use crate::gate::Gate;
use crate::kernel::redact::redacted;
use crate::log_tail::LogTail;
use crate::problem::Problem;

/// The default and the largest number of events, and of deeds.
const EVENTS: (usize, usize) = (50, 200);
const DEEDS: (usize, usize) = (80, 500);
/// How many sessions may have the newest events.
const SESSIONS: usize = 20;
/// How much of an event is read and how much of it is shown, in bytes.
const EVENT_BYTES: (usize, usize) = (64 << 10, 8 << 10);

/// The newest lines of the hub's log. The hub runs its agents itself, so its log is theirs.
pub(super) async fn logs(query: Result<Query<Service>, QueryRejection>) -> Result<Response, Problem> {
    let Query(Service { service }) = query?;
    match service.as_deref().unwrap_or("anchor") {
        "anchor" | "orbit" | "hub" => {
            let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
            Ok((kind, redacted(&LogTail::of_this_process().text())).into_response())
        }
        _ => Err(Problem::no_route()),
    }
}

/// The newest events of all sessions, the oldest first.
pub(super) async fn events(
    gate: Gate,
    query: Result<Query<Limit>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let limit = query?.within(EVENTS.0, EVENTS.1);
    let recent = gate.sessions(SessionFilter { limit: SESSIONS, ..SessionFilter::default() }).await?;
    let mut found: Vec<(Timestamp, String)> = Vec::new();
    for session in recent.sessions {
        let after = Seq(session.head.0.saturating_sub(limit as u64));
        for frame in gate.events(session.session_id, after, limit, WithRaw::No).await? {
            let Ok(event) = frame.event() else { continue };
            found.push((event.at, frame.json().to_owned()));
        }
        found.sort_by_key(|(at, _)| *at);
        found.drain(..found.len().saturating_sub(limit));
    }
    let line = |(at, json): (Timestamp, String)| {
        let message = cut(&redacted(cut(&json, EVENT_BYTES.0)), EVENT_BYTES.1).to_owned();
        // An event that is cut is no JSON any more.
        let message = serde_json::from_str::<Value>(&message).unwrap_or(Value::String(message));
        json!({ "ts": at, "direction": "server", "message": message }).to_string()
    };
    let data: Vec<String> = found.into_iter().map(line).collect();
    Ok(Json(json!({ "limit": limit, "data": data })))
}

/// What people did to the hub since its start, the oldest first.
pub(super) async fn deeds(
    gate: Gate,
    query: Result<Query<Limit>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let limit = query?.within(DEEDS.0, DEEDS.1);
    let deeds = gate.app().diary.deeds(limit).into_iter().map(|deed| {
        let message = json!({ "type": "admin.log", "message": redacted(&deed.what) });
        json!({ "ts": deed.at, "direction": "admin", "message": message }).to_string()
    });
    Ok(Json(json!({ "limit": limit, "data": deeds.collect::<Vec<_>>() })))
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
