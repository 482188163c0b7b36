//! The calls as HTTP.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use axum::{Json, Router};
use longshore_model::command::Command;
use longshore_model::id::{ApprovalId, PromptId, QuestionId, SessionId};
use longshore_model::info::SessionInfo;
use serde_json::Value;

use super::params::{
    Answer, ByName, Decide, List, Open, Prompted, Revive, Rewrite, Say, Search, TimelinePage, Update,
};
use super::{call, events, openapi, socket};
use crate::auth::Principal;
use crate::problem::Problem;
use crate::router::App;

type By = Extension<Principal>;
type Id<T> = Result<Path<T>, PathRejection>;
type Body<T> = Result<Json<ByName<T>>, JsonRejection>;
type Asked<T> = Result<Query<T>, QueryRejection>;
type Answered<T> = Result<Json<T>, Problem>;

/// All of `/api/v1`. [`openapi`] describes the same list; a test holds them together.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/agents", get(agents))
        .route("/api/v1/sessions", get(sessions).post(open))
        .route("/api/v1/sessions/{id}", get(session).patch(update).delete(close))
        .route("/api/v1/sessions/{id}/prompts", post(prompt))
        .route("/api/v1/sessions/{id}/prompts/{prompt}", patch(rewrite).delete(cancel))
        .route("/api/v1/sessions/{id}/interrupt", post(interrupt))
        .route("/api/v1/sessions/{id}/fork", post(fork))
        .route("/api/v1/sessions/{id}/revive", post(revive))
        .route("/api/v1/sessions/{id}/events", get(events::events))
        .route("/api/v1/sessions/{id}/timeline", get(timeline))
        .route("/api/v1/approvals", get(inbox))
        .route("/api/v1/approvals/{id}", post(decide))
        .route("/api/v1/questions/{id}", post(answer))
        .route("/api/v1/search", get(search))
        .route("/api/v1/socket", get(socket::upgrade))
        .route("/api/v1/openapi.json", get(async || Json(openapi::document())))
}

async fn agents(State(app): State<App>) -> Answered<Value> {
    Ok(Json(call::agents(&app.hub).await?))
}

async fn open(State(app): State<App>, Extension(by): By, body: Body<Open>) -> Result<Response, Problem> {
    let session = call::open(&app.hub, body?.0.0, &by).await?;
    let place = format!("/api/v1/sessions/{}", session.session_id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(session)).into_response())
}

async fn sessions(State(app): State<App>, query: Asked<List>) -> Answered<Value> {
    Ok(Json(call::sessions(&app.hub, query?.0).await?))
}

async fn session(State(app): State<App>, id: Id<SessionId>) -> Answered<SessionInfo> {
    Ok(Json(app.hub.session(id?.0).await?))
}

async fn update(
    State(app): State<App>,
    Extension(by): By,
    id: Id<SessionId>,
    body: Body<Update>,
) -> Answered<SessionInfo> {
    Ok(Json(call::update(&app.hub, id?.0, body?.0.0, &by).await?))
}

async fn close(State(app): State<App>, Extension(by): By, id: Id<SessionId>) -> Answered<SessionInfo> {
    Ok(Json(call::wish(&app.hub, id?.0, Command::Close, &by).await?))
}

async fn prompt(
    State(app): State<App>,
    Extension(by): By,
    id: Id<SessionId>,
    body: Body<Say>,
) -> Result<(StatusCode, Json<Prompted>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(call::prompt(&app.hub, id?.0, body?.0.0, &by).await?)))
}

async fn rewrite(
    State(app): State<App>,
    Extension(by): By,
    ids: Id<(SessionId, PromptId)>,
    body: Body<Rewrite>,
) -> Answered<SessionInfo> {
    let Path((session, prompt)) = ids?;
    Ok(Json(call::wish(&app.hub, session, call::rewrite(prompt, body?.0.0), &by).await?))
}

async fn cancel(
    State(app): State<App>,
    Extension(by): By,
    ids: Id<(SessionId, PromptId)>,
) -> Answered<SessionInfo> {
    let Path((session, prompt)) = ids?;
    Ok(Json(call::wish(&app.hub, session, Command::CancelPrompt { prompt }, &by).await?))
}

async fn interrupt(State(app): State<App>, Extension(by): By, id: Id<SessionId>) -> Answered<SessionInfo> {
    Ok(Json(call::wish(&app.hub, id?.0, Command::Interrupt, &by).await?))
}

async fn fork(State(app): State<App>, id: Id<SessionId>) -> Result<Response, Problem> {
    let session = app.hub.fork(id?.0).await?;
    let place = format!("/api/v1/sessions/{}", session.session_id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(session)).into_response())
}

async fn revive(
    State(app): State<App>,
    Extension(by): By,
    id: Id<SessionId>,
    body: Result<Option<Json<ByName<Revive>>>, JsonRejection>,
) -> Answered<SessionInfo> {
    let command = call::revive(body?.map(|Json(ByName(params))| params).unwrap_or_default());
    Ok(Json(call::wish(&app.hub, id?.0, command, &by).await?))
}

async fn timeline(State(app): State<App>, id: Id<SessionId>, query: Asked<TimelinePage>) -> Answered<Value> {
    Ok(Json(call::timeline(&app.hub, id?.0, query?.0).await?))
}

async fn inbox(State(app): State<App>) -> Answered<Value> {
    Ok(Json(call::inbox(&app.hub).await?))
}

async fn decide(
    State(app): State<App>,
    Extension(by): By,
    id: Id<ApprovalId>,
    body: Body<Decide>,
) -> Answered<Value> {
    Ok(Json(call::decide(&app.hub, id?.0, body?.0.0, &by).await?))
}

async fn answer(
    State(app): State<App>,
    Extension(by): By,
    id: Id<QuestionId>,
    body: Body<Answer>,
) -> Answered<Value> {
    Ok(Json(call::answer(&app.hub, id?.0, body?.0.0, &by).await?))
}

async fn search(State(app): State<App>, query: Asked<Search>) -> Answered<Value> {
    Ok(Json(call::search(&app.hub, query?.0).await?))
}
