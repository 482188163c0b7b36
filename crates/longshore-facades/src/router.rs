//! All routes, and what every request passes first: its `Host`, its size, its token.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use longshore_session::Hub;
use serde_json::json;
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;

use crate::auth::{Throttle, Token};
use crate::guard::Names;
use crate::problem::Problem;
use crate::{auth, guard, metrics, native};

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
}

impl App {
    /// An app over a hub, for whoever has the token.
    pub fn new(hub: Hub, token: Token, names: Names) -> Self {
        Self { hub, token: Arc::new(token), names: Arc::new(names), throttle: Arc::default() }
    }
}

/// All routes.
pub fn router(app: App) -> Router {
    let private = native::routes()
        .route("/metrics", get(metrics::metrics))
        .layer(middleware::from_fn_with_state(app.clone(), auth::require));
    Router::new()
        .merge(private)
        .route("/health", get(health))
        .fallback(async || Problem::no_route())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn_with_state(app.clone(), guard::names_only))
        .layer(middleware::from_fn(hardened))
        .layer(CatchPanicLayer::new())
        .with_state(app)
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

/// Serves until told to stop. The caller brings the socket and the stop signal.
pub async fn serve(
    listener: TcpListener,
    app: App,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(|stream| {
        // Small frames must not wait for each other.
        let _ = stream.set_nodelay(true);
    });
    let service = router(app).into_make_service_with_connect_info::<SocketAddr>();
    tokio::select! {
        served = axum::serve(listener, service).into_future() => served,
        // Streams would hold a graceful end back for ever, and every client can resume: so the end is prompt.
        () = stop => Ok(()),
    }
}
