//! The calls as HTTP.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, patch, post};
use axum::{Json, Router};
use longshore_model::command::Command;
use longshore_model::id::{ApprovalId, DeviceId, PromptId, QuestionId, SessionId};
use longshore_model::info::SessionInfo;
use serde_json::Value;

use super::params::{
    AnswerParams, ByName, DecideParams, FoldersParams, ForkParams, ListAgentsParams, ListModelsParams,
    ListParams, OpenParams, PairParams, PresenceParams, PromptParams, PromptReceipt, PushSubscribeParams,
    PushUnsubscribeParams, ReviveParams, RewriteParams, SearchParams, SendQueuedParams, TimelineParams,
    UpdateParams, UsageParams,
};
use super::{account, call, events, openapi, socket};
use crate::gate::Gate;
use crate::pair;
use crate::problem::Problem;
use crate::router::App;

type Id<T> = Result<Path<T>, PathRejection>;
type JsonBody<T> = Result<Json<ByName<T>>, JsonRejection>;
type OptionalJsonBody<T> = Result<Option<Json<ByName<T>>>, JsonRejection>;
type QueryParams<T> = Result<Query<T>, QueryRejection>;
type JsonReply<T> = Result<Json<T>, Problem>;

/// All of `/api/v1` and `/admin`. [`openapi`] describes the same list; a test holds them together.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/agents", get(agents))
        .route("/api/v1/agents/{agent}/models", get(models))
        .route("/api/v1/sessions", get(sessions).post(open))
        .route("/api/v1/sessions/{id}", get(session).patch(update).delete(close))
        .route("/api/v1/sessions/{id}/prompts", post(prompt))
        .route("/api/v1/sessions/{id}/prompts/{prompt}", patch(rewrite).delete(cancel))
        .route("/api/v1/sessions/{id}/queue", delete(discard_queue))
        .route("/api/v1/sessions/{id}/queue/send", post(send_queued))
        .route("/api/v1/sessions/{id}/interrupt", post(interrupt))
        .route("/api/v1/sessions/{id}/resume", post(resume))
        .route("/api/v1/sessions/{id}/release", post(release))
        .route("/api/v1/sessions/{id}/history", delete(erase))
        .route("/api/v1/sessions/{id}/fork", post(fork))
        .route("/api/v1/sessions/{id}/revive", post(revive))
        .route("/api/v1/sessions/{id}/events", get(events::events))
        .route("/api/v1/sessions/{id}/timeline", get(timeline))
        .route("/api/v1/resume", post(resume_all))
        .route("/api/v1/approvals", get(inbox))
        .route("/api/v1/approvals/{id}", post(decide))
        .route("/api/v1/questions/{id}", post(answer))
        .route("/api/v1/search", get(search))
        .route("/api/v1/me", get(me))
        .route("/api/v1/devices", get(devices))
        .route("/api/v1/devices/{id}", delete(revoke))
        .route("/api/v1/presence", post(presence))
        .route("/api/v1/push/key", get(push_key))
        .route("/api/v1/push/subscribe", post(push_subscribe).delete(push_unsubscribe))
        .route("/api/v1/push/test", post(push_test))
        .route("/api/v1/usage", get(usage))
        .route("/api/v1/machines", get(machines))
        .route("/api/v1/folders", get(folders))
        .route("/admin/pair/new", post(pair))
        .route("/admin/pair/qr.svg", get(pair::qr))
        .route("/admin/token/rotate", post(rotate))
        .route("/api/v1/socket", get(socket::upgrade))
        .route("/api/v1/openapi.json", get(async || Json(openapi::document())))
}

async fn agents(gate: Gate, query: QueryParams<ListAgentsParams>) -> JsonReply<Value> {
    Ok(Json(call::agents(&gate, query?.0).await?))
}

async fn models(gate: Gate, agent: Id<String>) -> JsonReply<Value> {
    Ok(Json(call::models(&gate, ListModelsParams { agent: agent?.0, anew: false }).await?))
}

async fn open(gate: Gate, body: JsonBody<OpenParams>) -> Result<Response, Problem> {
    let session = call::open(&gate, body?.0.0).await?;
    let place = format!("/api/v1/sessions/{}", session.session_id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(session)).into_response())
}

async fn sessions(gate: Gate, query: QueryParams<ListParams>) -> JsonReply<Value> {
    Ok(Json(call::sessions(&gate, query?.0).await?))
}

async fn session(gate: Gate, id: Id<SessionId>) -> JsonReply<SessionInfo> {
    Ok(Json(gate.session(id?.0).await?))
}

async fn update(gate: Gate, id: Id<SessionId>, body: JsonBody<UpdateParams>) -> JsonReply<SessionInfo> {
    Ok(Json(call::update(&gate, id?.0, body?.0.0).await?))
}

async fn close(gate: Gate, id: Id<SessionId>) -> JsonReply<SessionInfo> {
    Ok(Json(call::wish(&gate, id?.0, Command::Close).await?))
}

async fn prompt(
    gate: Gate,
    id: Id<SessionId>,
    body: JsonBody<PromptParams>,
) -> Result<(StatusCode, Json<PromptReceipt>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(call::prompt(&gate, id?.0, body?.0.0).await?)))
}

async fn rewrite(
    gate: Gate,
    ids: Id<(SessionId, PromptId)>,
    body: JsonBody<RewriteParams>,
) -> JsonReply<SessionInfo> {
    let Path((session, prompt)) = ids?;
    Ok(Json(call::wish(&gate, session, call::rewrite(prompt, body?.0.0)).await?))
}

async fn cancel(gate: Gate, ids: Id<(SessionId, PromptId)>) -> JsonReply<SessionInfo> {
    let Path((session, prompt)) = ids?;
    Ok(Json(call::wish(&gate, session, Command::CancelPrompt { prompt }).await?))
}

async fn interrupt(gate: Gate, id: Id<SessionId>) -> JsonReply<SessionInfo> {
    Ok(Json(call::wish(&gate, id?.0, Command::Interrupt).await?))
}

async fn discard_queue(gate: Gate, id: Id<SessionId>) -> JsonReply<SessionInfo> {
    Ok(Json(call::wish(&gate, id?.0, Command::DiscardQueue).await?))
}

async fn send_queued(
    gate: Gate,
    id: Id<SessionId>,
    body: OptionalJsonBody<SendQueuedParams>,
) -> JsonReply<SessionInfo> {
    let command = call::send_queued(&or_default(body)?);
    Ok(Json(call::wish(&gate, id?.0, command).await?))
}

async fn resume(gate: Gate, id: Id<SessionId>) -> JsonReply<SessionInfo> {
    Ok(Json(call::wish(&gate, id?.0, Command::Resume).await?))
}

async fn resume_all(gate: Gate) -> JsonReply<Value> {
    Ok(Json(call::resume_all(&gate).await?))
}

async fn release(gate: Gate, id: Id<SessionId>) -> JsonReply<Value> {
    Ok(Json(call::release(&gate, id?.0).await?))
}

async fn erase(gate: Gate, id: Id<SessionId>) -> JsonReply<Value> {
    Ok(Json(call::erase(&gate, id?.0).await?))
}

async fn fork(
    gate: Gate,
    id: Id<SessionId>,
    body: OptionalJsonBody<ForkParams>,
) -> Result<Response, Problem> {
    let ForkParams { before } = or_default(body)?;
    let session = gate.fork(id?.0, before).await?;
    let place = format!("/api/v1/sessions/{}", session.session_id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(session)).into_response())
}

async fn revive(
    gate: Gate,
    id: Id<SessionId>,
    body: OptionalJsonBody<ReviveParams>,
) -> JsonReply<SessionInfo> {
    let command = call::revive(or_default(body)?);
    Ok(Json(call::wish(&gate, id?.0, command).await?))
}

async fn timeline(gate: Gate, id: Id<SessionId>, query: QueryParams<TimelineParams>) -> JsonReply<Value> {
    Ok(Json(call::timeline(&gate, id?.0, query?.0).await?))
}

async fn inbox(gate: Gate) -> JsonReply<Value> {
    Ok(Json(call::inbox(&gate).await?))
}

async fn decide(gate: Gate, id: Id<ApprovalId>, body: JsonBody<DecideParams>) -> JsonReply<Value> {
    Ok(Json(call::decide(&gate, id?.0, body?.0.0).await?))
}

async fn answer(gate: Gate, id: Id<QuestionId>, body: JsonBody<AnswerParams>) -> JsonReply<Value> {
    Ok(Json(call::answer(&gate, id?.0, body?.0.0).await?))
}

async fn search(gate: Gate, query: QueryParams<SearchParams>) -> JsonReply<Value> {
    Ok(Json(call::search(&gate, query?.0).await?))
}

async fn me(gate: Gate) -> Json<Value> {
    Json(account::me(gate.caller()))
}

async fn devices(gate: Gate) -> Json<Value> {
    Json(account::devices(&gate))
}

async fn revoke(gate: Gate, id: Id<DeviceId>) -> JsonReply<Value> {
    Ok(Json(account::revoke(&gate, id?.0).await?))
}

async fn presence(gate: Gate, body: JsonBody<PresenceParams>) -> JsonReply<Value> {
    Ok(Json(account::presence(&gate, body?.0.0)))
}

async fn push_key(gate: Gate) -> Json<Value> {
    Json(account::push_key(&gate))
}

async fn push_subscribe(gate: Gate, body: JsonBody<PushSubscribeParams>) -> JsonReply<Value> {
    Ok(Json(account::push_subscribe(&gate, body?.0.0).await?))
}

async fn push_unsubscribe(gate: Gate, body: OptionalJsonBody<PushUnsubscribeParams>) -> JsonReply<Value> {
    Ok(Json(account::push_unsubscribe(&gate, or_default(body)?).await?))
}

async fn push_test(gate: Gate) -> JsonReply<Value> {
    Ok(Json(account::push_test(&gate).await?))
}

async fn usage(gate: Gate, query: QueryParams<UsageParams>) -> JsonReply<Value> {
    Ok(Json(account::usage(&gate, query?.0).await?))
}

async fn machines(gate: Gate, query: QueryParams<ListAgentsParams>) -> JsonReply<Value> {
    Ok(Json(account::machines(&gate, query?.0).await?))
}

async fn folders(gate: Gate, query: QueryParams<FoldersParams>) -> JsonReply<Value> {
    Ok(Json(account::folders(&gate, query?.0).await?))
}

async fn pair(gate: Gate, body: OptionalJsonBody<PairParams>) -> JsonReply<Value> {
    Ok(Json(account::pair(&gate, or_default(body)?)?))
}

async fn rotate(gate: Gate) -> JsonReply<Value> {
    Ok(Json(account::rotate(&gate).await?))
}

fn or_default<T: Default>(body: OptionalJsonBody<T>) -> Result<T, Problem> {
    Ok(body?.map(|Json(ByName(params))| params).unwrap_or_default())
}
