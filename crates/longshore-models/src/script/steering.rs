//! The routes by which a test or a person controls the model while it runs.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::api::Api;
use super::record::Requests;
use super::routes;
use super::server::Serving;
use super::step::Script;

/// The routes. The underscore separates them from the routes of the APIs.
pub(super) fn routes() -> Router<Serving> {
    Router::new()
        .route("/_script", post(replace_script))
        .route("/_push", post(push_steps))
        .route("/_requests", get(requests))
        .route("/_left", get(left))
}

async fn replace_script(State(serving): State<Serving>, text: String) -> Response {
    steer(&text, |script| serving.model.replace(script))
}

async fn push_steps(State(serving): State<Serving>, text: String) -> Response {
    steer(&text, |script| serving.model.push(script))
}

fn steer(text: &str, apply: impl FnOnce(Script)) -> Response {
    match Script::parse(text) {
        Ok(script) => {
            let steps = script.steps.len();
            apply(script);
            Json(json!({"steps": steps})).into_response()
        }
        Err(fault) => routes::error(Api::Responses, StatusCode::BAD_REQUEST, &fault.to_string()),
    }
}

async fn requests(State(serving): State<Serving>) -> Json<Requests> {
    Json(serving.model.requests())
}

async fn left(State(serving): State<Serving>) -> Json<Value> {
    Json(json!({"steps": serving.model.left()}))
}
