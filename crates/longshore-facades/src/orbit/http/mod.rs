//! The HTTP half of Codex Pocket's protocol: its administration, its settings, its files, its metrics.
//!
//! Routes that the protocol shares with ours answer both clients: `/health`, `/pair/consume`, `/admin/pair/...`,
//! `/admin/token/rotate`. The rest is here. What needs words of the hub's own (no anchor to start, no settings to change
//! while it runs) says so, and what to do instead.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | what clients send, and what they get |
//! | [`status`] | the state of the hub, checks, repairs |
//! | [`tokens`] | devices, under the name of token sessions |
//! | [`files`] | files of clients, and how long they are kept |
//! | [`traces`] | the log, the newest events, what people did |
//! | [`verbs`] | a few verbs of the program, answered by the hub itself |
//! | [`providers`] | agents, under the name of providers, with their settings |
//! | [`custom_agents`] | agents that people describe in the web app |
//! | [`metrics`] | what was used |
//! | [`titles`] | the title of a session |

mod custom_agents;
mod files;
mod metrics;
mod providers;
mod status;
mod titles;
mod tokens;
mod traces;
mod verbs;
mod wire;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::auth;
use crate::problem::Problem;
use crate::router::App;

/// The largest JSON of a request here.
const BODY_BYTES: usize = 256 << 10;

/// The routes of callers with a token.
pub(crate) fn private() -> Router<App> {
    Router::new()
        .route("/admin/status", get(status::status))
        .route("/admin/validate", get(status::validate))
        .route("/admin/repair", post(status::repair))
        .route("/admin/anchor/start", post(status::start_anchor))
        .route("/admin/anchor/stop", post(status::stop_anchor))
        .route("/admin/logs", get(traces::logs))
        .route("/admin/debug/events", get(traces::events))
        .route("/admin/ops", get(traces::deeds))
        .route("/admin/uploads/stats", get(files::stats))
        .route("/admin/uploads/prune", post(files::prune))
        .route("/admin/uploads/retention", post(files::retain))
        .route("/admin/token/sessions", get(tokens::list))
        .route("/admin/token/sessions/new", post(tokens::add))
        .route("/admin/token/sessions/revoke", post(tokens::revoke))
        .route("/admin/cli/commands", get(verbs::list))
        .route("/admin/cli/run", post(verbs::run))
        .route("/admin/thread/title", post(titles::rename))
        .route("/api/config/providers", get(providers::settings).patch(providers::change))
        .route("/api/config/opencode/detect-credentials", get(providers::credentials))
        .route("/api/providers/opencode/capabilities", get(providers::capabilities))
        .route("/api/metrics", get(metrics::metrics))
        .route("/api/agents", get(custom_agents::list))
        .route("/api/agents/import", post(custom_agents::import))
        .route("/api/agents/sync-all-vscode", post(custom_agents::sync_all))
        .route("/api/agents/{id}", delete(custom_agents::delete))
        .route("/api/agents/{id}/export", get(custom_agents::export))
        .route("/api/agents/{id}/sync-vscode", post(custom_agents::sync))
        .route("/uploads/new", post(files::announce))
        .route("/uploads/{token}", put(files::send))
        .method_not_allowed_fallback(async || Problem::wrong_verb())
}

/// The routes that need no token.
pub(crate) fn open() -> Router<App> {
    Router::new()
        .route("/u/{token}", get(files::show))
        .method_not_allowed_fallback(async || Problem::wrong_verb())
}

/// A problem as the web app reads it.
pub(crate) fn in_its_form(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status == StatusCode::UNAUTHORIZED {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (status, challenge, "Unauthorised").into_response();
    }
    let error = match &problem.hint {
        Some(hint) => format!("{}; {hint}", problem.title),
        None => problem.title.clone(),
    };
    let mut body = failed(error);
    body["code"] = problem.code.into();
    if let Some(wait) = problem.wait_seconds() {
        body["error"] = problem.title.as_str().into();
        body["retryAfterSec"] = wait.into();
    }
    let mut response = (status, Json(body)).into_response();
    if let Some(wait) = problem.wait_seconds() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
    }
    response
}

/// The body of a failure. Some pages look for `ok`, others for `success`.
fn failed(error: impl Into<String>) -> Value {
    json!({ "ok": false, "success": false, "error": error.into() })
}

/// The JSON of a request; none is an empty object.
async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    if auth::longer_than(request.headers(), BODY_BYTES) {
        return Err(Problem::too_large(BODY_BYTES));
    }
    let bytes = Bytes::from_request(request, &()).await?;
    if bytes.len() > BODY_BYTES {
        return Err(Problem::too_large(BODY_BYTES));
    }
    let json: &[u8] = if bytes.trim_ascii().is_empty() { b"{}" } else { &bytes };
    serde_json::from_slice(json).map_err(|fault| Problem::invalid(fault.to_string()))
}

/// An id without anything that means something in an address.
fn plain(id: &str) -> String {
    id.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_:.".contains(*letter)).collect()
}
