//! The routes: the socket, and a thread over HTTP.

use axum::body::{Body, Bytes};
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, patch, post};
use axum::{Json, Router};
use longshore_model::command::Command;
use longshore_model::id::SessionId;
use longshore_model::info::SessionInfo;
use longshore_model::timeline::Item;
use longshore_session::HubError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::newest;
use super::records::{ThreadRecord, found, markdown, records, snapshot};
use super::{http, import, socket};
use crate::auth::Access;
use crate::gate::Gate;
use crate::outgo::OutgoText;
use crate::problem::Problem;
use crate::router::App;

/// The most events of one answer.
const EVENTS: usize = 5_000;
/// The most hits of one search.
const HITS: usize = 100;

/// Routes of callers with a token.
pub(super) fn private() -> Router<App> {
    Router::new()
        .route("/ws", get(socket::upgrade))
        .route("/ws/client", get(socket::upgrade))
        .route("/threads/{thread}/events", get(events))
        .route("/api/threads/{thread}/search", get(search))
        .route("/api/threads/{thread}/export", get(export))
        .route("/api/threads/{thread}/archive", patch(archive))
        .route("/api/threads/import", post(import))
        .merge(http::private())
}

/// Routes without a token: the address to which the UI goes after an import is none of its own pages.
pub(super) fn open() -> Router<App> {
    Router::new().route("/threads/{thread}", get(page)).merge(http::open())
}

async fn page(Path(thread): Path<String>) -> Response {
    match thread.parse::<SessionId>() {
        Ok(thread) => Redirect::temporary(&format!("/thread/{thread}")).into_response(),
        Err(_) => Problem::no_route().into_response(),
    }
}

/// The thread with this id. No thread has an id of another form.
fn named(thread: &str) -> Result<SessionId, Problem> {
    thread.parse().map_err(|_| HubError::UnknownSession.into())
}

#[derive(Deserialize)]
struct ThreadEventsQuery {
    #[serde(default)]
    order: String,
    limit: Option<usize>,
}

/// The messages of a thread, one per line.
async fn events(
    gate: Gate,
    Path(thread): Path<String>,
    query: Result<Query<ThreadEventsQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let (thread, Query(query)) = (named(&thread)?, query?);
    let most = query.limit.unwrap_or(EVENTS).clamp(1, EVENTS);
    let text = |info: &SessionInfo, items: &[Item]| {
        let mut all = records(info, items);
        all.extend(snapshot(info, items));
        let count = all.len();
        let line = |record: ThreadRecord| format!("{}\n", record.entry());
        match query.order.as_str() {
            "desc" => all.into_iter().rev().take(most).map(line).collect(),
            _ if query.limit.is_some() => all.into_iter().take(most).map(line).collect(),
            _ => all.into_iter().skip(count.saturating_sub(most)).map(line).collect::<String>(),
        }
    };
    let body = whole(&gate, thread, text).await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// The answer that is made of a whole thread, once there is room for it.
async fn whole(
    gate: &Gate,
    thread: SessionId,
    make: impl Fn(&SessionInfo, &[Item]) -> String,
) -> Result<Body, Problem> {
    let (account, mut known) = (gate.outgo(), 0);
    loop {
        let mut share = account.room(known).await;
        let (info, timeline) = (gate.session(thread).await?, gate.timeline(thread).await?);
        let text = make(&info, newest(&timeline.items));
        if share.resize(text.len()) {
            return Ok(Body::from(Bytes::from_owner(OutgoText::new(text, share))));
        }
        known = text.len();
    }
}

#[derive(Deserialize)]
struct ThreadSearchQuery {
    #[serde(default)]
    q: String,
}

async fn search(
    gate: Gate,
    Path(thread): Path<String>,
    query: Result<Query<ThreadSearchQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let (thread, Query(query)) = (named(&thread)?, query?);
    let words = query.q.trim().to_owned();
    if words.is_empty() {
        return Err(Problem::invalid("`q` is empty"));
    }
    let text = |info: &SessionInfo, items: &[Item]| {
        let hits: Vec<Value> = found(info, items, &words)
            .iter()
            .rev()
            .take(HITS)
            .map(|record| row(info, record, None))
            .collect();
        json!({ "query": words, "threadId": thread, "count": hits.len(), "results": hits }).to_string()
    };
    let body = whole(&gate, thread, text).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// A message as a row of a search, or with its `payload` as a row of an export.
fn row(info: &SessionInfo, record: &ThreadRecord, payload: Option<String>) -> Value {
    let mut row = json!({
        "id": record.seq,
        "direction": record.direction(),
        "role": record.role,
        "method": record.method(),
        "created_at": record.at.micros() / 1_000_000,
    });
    let more = match payload {
        Some(payload) => json!({ "thread_id": info.session_id, "turn_id": record.turn, "payload": payload }),
        // The UI shows the hits among the messages that it has, by their ids.
        None => {
            json!({ "id": record.message["params"]["item"]["id"], "ts": record.at, "message": record.message })
        }
    };
    if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
        row.extend(more);
    }
    row
}

#[derive(Deserialize)]
struct ThreadExportQuery {
    #[serde(default)]
    format: String,
}

async fn export(
    gate: Gate,
    Path(thread): Path<String>,
    query: Result<Query<ThreadExportQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let (thread, Query(query)) = (named(&thread)?, query?);
    let (kind, end) = match query.format.as_str() {
        "json" | "" => ("application/json", "json"),
        "markdown" => ("text/markdown; charset=utf-8", "md"),
        other => {
            return Err(Problem::invalid(format!(
                "`{other}` is no format; the formats are json and markdown"
            )));
        }
    };
    let now = gate.now();
    let text = |info: &SessionInfo, items: &[Item]| {
        if end == "md" {
            return markdown(info, items);
        }
        let events: Vec<Value> = records(info, items)
            .iter()
            .map(|record| row(info, record, Some(record.entry().to_string())))
            .collect();
        json!({ "threadId": thread, "exportedAt": now, "version": "1.0", "title": info.title, "events": events })
            .to_string()
    };
    let body = whole(&gate, thread, text).await?;
    let name = format!("attachment; filename=\"thread-{thread}.{end}\"");
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name.as_str())], body).into_response())
}

#[derive(Deserialize)]
struct ThreadArchiveBody {
    archived: bool,
}

async fn archive(
    gate: Gate,
    Path(thread): Path<String>,
    body: Result<Json<ThreadArchiveBody>, JsonRejection>,
) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let (thread, Json(body)) = (named(&thread)?, body?);
    gate.command(thread, Command::Archive(body.archived)).await?;
    Ok(Json(json!({ "success": true, "threadId": thread, "archived": body.archived })).into_response())
}

#[derive(Deserialize)]
struct ThreadImportBody {
    events: Vec<Value>,
}

async fn import(
    gate: Gate,
    body: Result<Json<ThreadImportBody>, JsonRejection>,
) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let Json(ThreadImportBody { events }) = body?;
    let original = events.len();
    let imported = import::import(&gate, &events, gate.now()).await?;
    let answer = json!({
        "success": true, "threadId": imported.thread, "eventCount": imported.events, "originalEventCount": original,
    });
    Ok(Json(answer).into_response())
}
