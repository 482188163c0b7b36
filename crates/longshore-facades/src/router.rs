//! All routes, and what every request passes first: its `Host`, its size, its token.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use longshore_session::Hub;
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;

use crate::auth::{Throttle, Token};
use crate::callback::Callbacks;
use crate::guard::Names;
use crate::problem::Problem;
use crate::{auth, callback, guard, metrics, native};

/// How large a request may be. Attachments come inside, in base64.
pub const BODY_LIMIT: usize = 32 << 20;

/// What every handler gets.
#[derive(Clone)]
pub struct App {
    /// The waist.
    pub hub: Hub,
    pub(crate) token: Arc<Token>,
    pub(crate) names: Arc<Names>,
    pub(crate) throttle: Arc<Throttle>,
    pub(crate) callbacks: Arc<dyn Callbacks>,
}

impl App {
    /// An app over a hub, for whoever has the token.
    pub fn new(hub: Hub, token: Token, names: Names) -> Self {
        let callbacks = Arc::new(callback::Nobody);
        Self { hub, token: Arc::new(token), names: Arc::new(names), throttle: Arc::default(), callbacks }
    }

    /// With programs that call back.
    #[must_use]
    pub fn with_callbacks(self, callbacks: Arc<dyn Callbacks>) -> Self {
        Self { callbacks, ..self }
    }
}

/// All routes.
pub fn router(app: App) -> Router {
    let private = native::routes()
        .route("/metrics", get(metrics::metrics))
        .method_not_allowed_fallback(async || Problem::wrong_verb())
        .layer(middleware::from_fn_with_state(app.clone(), auth::require));
    Router::new()
        .route("/health", get(health))
        .route("/ws/cli/{session}", get(callback::upgrade))
        .method_not_allowed_fallback(async || Problem::wrong_verb())
        .merge(private)
        .fallback(async || Problem::no_route())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(small_enough))
        .layer(middleware::from_fn_with_state(app.clone(), guard::names_only))
        .layer(CatchPanicLayer::custom(|_| Problem::our_fault().into_response()))
        .layer(middleware::from_fn(hardened))
        .with_state(app)
}

/// Refuses a body that says itself that it is too large, before any of it is sent.
async fn small_enough(request: Request, next: Next) -> Result<Response, Problem> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match length.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > BODY_LIMIT as u64 => Err(Problem::too_large()),
        Some(_) | None => Ok(next.run(request).await),
    }
}

/// Says that the hub is there, and nothing else.
async fn health() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok" }))
}

/// Nothing that we answer is to be cached, framed or guessed at.
async fn hardened(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}
