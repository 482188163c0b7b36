//! The routes. Each one is there with and without a slash at its end, below `/api/v1` and `/api/v2`.

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, patch, post};
use axum::{Json, Router};
use longshore_model::command::Command;
use longshore_model::id::SessionId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::calls::ObjectsWanted;
use super::wire::{
    AgentRequest, ConversationInfoResponse, CreateConversation, MessageQuery, PageQuery, RenameRequest,
    StopQuery, TaskStatus,
};
use super::{calls, form};
use crate::auth::Access;
use crate::gate::Gate;
use crate::outgo::{OutgoShare, OutgoText};
use crate::problem::Problem;
use crate::router::App;

/// The most messages of one page.
const PAGE: usize = 1_000;

/// The routes that change nothing although their verb is POST.
pub(crate) const LOOKS: &[&str] = &[
    "/api/v1/conversations/{id}/resume/{session_id}",
    "/api/v1/conversations/{id}/resume/{session_id}/",
    "/api/v2/conversations/{id}/resume/{session_id}",
    "/api/v2/conversations/{id}/resume/{session_id}/",
];

type RouteAnswer = Result<Response, Problem>;

/// All routes.
pub(super) fn routes() -> Router<App> {
    let table: [(&str, MethodRouter<App>); 13] = [
        ("conversations", post(create)),
        ("conversations/{id}", delete(erase)),
        ("conversations/{id}/message", post(message)),
        ("conversations/{id}/regenerate", post(regenerate)),
        ("conversations/{id}/resume/{session_id}", post(resume).get(resume)),
        ("conversations/{id}/active-session", get(active_session)),
        ("conversations/{id}/task-status", get(task_status)),
        ("conversations/{id}/stop", post(stop)),
        ("conversations/{id}/info", get(info)),
        ("conversations/{id}/messages", get(messages)),
        ("conversations/{id}/rename", patch(rename)),
        ("conversations/{id}/agent", patch(agent)),
        ("project/{id}/message", post(project_message)),
    ];
    let routes = table.into_iter().fold(Router::new(), |routes, (path, methods)| {
        ["v1", "v2"].into_iter().fold(routes, |routes, version| {
            routes
                .route(&format!("/api/{version}/{path}"), methods.clone())
                .route(&format!("/api/{version}/{path}/"), methods.clone())
        })
    });
    routes.method_not_allowed_fallback(async || Problem::wrong_verb())
}

async fn create(gate: Gate, body: Bytes) -> RouteAnswer {
    let request: CreateConversation = read(&body)?;
    let opened = calls::create(&gate, request).await?;
    let made =
        json!({ "message": "Conversation created successfully.", "conversation_id": opened.session_id });
    Ok(Json(made).into_response())
}

async fn message(
    gate: Gate,
    Path(id): Path<String>,
    query: Result<Query<MessageQuery>, QueryRejection>,
    headers: HeaderMap,
    body: Bytes,
) -> RouteAnswer {
    let (session, Query(query)) = (calls::conversation(&id)?, query?);
    let wanted = ObjectsWanted::of(&query, &headers)?;
    let message = form::read(&headers, &body).map_err(Problem::invalid)?;
    drop(body);
    let start = calls::send(&gate, session, message, query.session_id.as_deref()).await?;
    answer(gate, session, start, query.stream, &wanted).await
}

async fn regenerate(
    gate: Gate,
    Path(id): Path<String>,
    query: Result<Query<MessageQuery>, QueryRejection>,
    headers: HeaderMap,
) -> RouteAnswer {
    let (session, Query(query)) = (calls::conversation(&id)?, query?);
    let wanted = ObjectsWanted::of(&query, &headers)?;
    let start = calls::regenerate(&gate, session).await?;
    answer(gate, session, start, query.stream, &wanted).await
}

async fn resume(
    gate: Gate,
    Path((id, name)): Path<(String, String)>,
    query: Result<Query<MessageQuery>, QueryRejection>,
    headers: HeaderMap,
) -> RouteAnswer {
    let (session, Query(query)) = (calls::conversation(&id)?, query?);
    let wanted = ObjectsWanted::of(&query, &headers)?;
    match calls::find(&gate, session, &name).await? {
        Some(start) => answer(gate, session, start, query.stream, &wanted).await,
        None => {
            let said = json!(format!("Session {name} not found or expired"));
            Ok(calls::detail(StatusCode::NOT_FOUND, &said))
        }
    }
}

/// A message that opens its own conversation, and whose answer comes at once.
async fn project_message(
    gate: Gate,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> RouteAnswer {
    let message = form::read(&headers, &body).map_err(Problem::invalid)?;
    drop(body);
    let request = CreateConversation {
        title: None,
        project_ids: vec![project],
        agent_ids: message.request.agent_id.clone().into_iter().collect(),
    };
    if message.request.content.trim().is_empty() {
        return Err(Problem::invalid("Message content cannot be empty"));
    }
    let session = calls::create(&gate, request).await?.session_id;
    let start = calls::send(&gate, session, message, None).await?;
    answer(gate, session, start, false, &ObjectsWanted::default()).await
}

/// The answer of a turn: as a stream, or in one object.
async fn answer(
    gate: Gate,
    session: SessionId,
    start: calls::TurnStart,
    streams: bool,
    wanted: &ObjectsWanted,
) -> RouteAnswer {
    let turn = calls::follow(&gate, session, start, wanted).await?;
    if streams {
        return Ok(turn.response(gate.caller().clone()));
    }
    let whole = tokio::select! {
        biased;
        denial = gate.caller().put_out() => return Err(denial.into()),
        whole = turn.whole() => whole,
    };
    let json = text_of(&whole)?;
    let share = gate.outgo().room(json.len()).await;
    Ok(text_response(json, share))
}

async fn active_session(gate: Gate, Path(id): Path<String>) -> RouteAnswer {
    match calls::active(&gate, calls::conversation(&id)?).await? {
        Some(active) => Ok(Json(active).into_response()),
        None => {
            let nothing = json!({ "error": "No active session found", "conversationId": id });
            Ok(calls::detail(StatusCode::NOT_FOUND, &nothing))
        }
    }
}

async fn task_status(gate: Gate, Path(id): Path<String>) -> RouteAnswer {
    let active = calls::active(&gate, calls::conversation(&id)?).await?;
    let status = TaskStatus {
        is_active: active.is_some(),
        session_id: active.map(|active| active.session_id),
        estimated_completion: None,
        conversation_id: id,
    };
    Ok(Json(status).into_response())
}

async fn stop(
    gate: Gate,
    Path(id): Path<String>,
    query: Result<Query<StopQuery>, QueryRejection>,
) -> RouteAnswer {
    let Query(StopQuery { session_id }) = query?;
    let said = calls::stop(&gate, calls::conversation(&id)?, session_id.as_deref()).await?;
    Ok(success(said))
}

async fn info(gate: Gate, Path(id): Path<String>) -> RouteAnswer {
    let session = calls::conversation(&id)?;
    let info = gate.session(session).await?;
    let total = calls::messages(&gate, session).await?.len();
    let may_write = gate.caller().may(Access::Act);
    let answer = ConversationInfoResponse {
        id,
        title: info.title,
        status: if info.archived { "archived" } else { "active" },
        project_ids: vec![info.cwd],
        created_at: info.created_at.to_string(),
        updated_at: info.updated_at.to_string(),
        total_messages: total,
        agent_ids: vec![info.provider.to_string()],
        access_type: if may_write { "write" } else { "read" },
        is_creator: may_write,
        creator_id: "owner",
        visibility: "private",
    };
    Ok(Json(answer).into_response())
}

async fn messages(
    gate: Gate,
    Path(id): Path<String>,
    page: Result<Query<PageQuery>, QueryRejection>,
) -> RouteAnswer {
    let (session, Query(page)) = (calls::conversation(&id)?, page?);
    let account = gate.outgo();
    let mut share = account.room(0).await;
    // A page for which there is no room is dropped, and made again when there is.
    loop {
        let all = calls::messages(&gate, session).await?;
        let part: Vec<_> = all.into_iter().skip(page.start).take(page.limit.min(PAGE)).collect();
        let json = text_of(&part)?;
        if share.resize(json.len()) {
            return Ok(text_response(json, share));
        }
        let bytes = json.len();
        drop((part, json, share));
        share = account.room(bytes).await;
    }
}

async fn rename(gate: Gate, Path(id): Path<String>, body: Bytes) -> RouteAnswer {
    let RenameRequest { title } = read(&body)?;
    if title.trim().is_empty() {
        return Err(Problem::invalid("Title cannot be empty"));
    }
    gate.command(calls::conversation(&id)?, Command::Rename(title)).await?;
    Ok(success("Conversation renamed"))
}

/// A session keeps its agent. To name the one that it has is no change.
async fn agent(gate: Gate, Path(id): Path<String>, body: Bytes) -> RouteAnswer {
    let AgentRequest { agent_id } = read(&body)?;
    gate.check(Access::Act)?;
    let info = gate.session(calls::conversation(&id)?).await?;
    match info.provider.eq_ignore_ascii_case(&agent_id) {
        true => Ok(success("Agent updated")),
        false => {
            let said = format!("This conversation keeps its agent ({}); open another one", info.provider);
            Err(Problem::invalid(said))
        }
    }
}

async fn erase(gate: Gate, Path(id): Path<String>) -> RouteAnswer {
    gate.erase(calls::conversation(&id)?).await?;
    Ok(success("Conversation deleted"))
}

fn success(message: &str) -> Response {
    Json(json!({ "status": "success", "message": message })).into_response()
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let value: Value = serde_json::from_slice(body).map_err(|error| Problem::invalid(error.to_string()))?;
    if !value.is_object() {
        return Err(Problem::invalid("the body is no object"));
    }
    serde_json::from_value(value).map_err(|error| Problem::invalid(error.to_string()))
}

fn text_of(answer: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(answer).map_err(|_| Problem::our_fault())
}

fn text_response(json: String, share: OutgoShare) -> Response {
    let body = Bytes::from_owner(OutgoText::new(json, share));
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
