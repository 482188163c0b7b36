//! The server: a listener on loopback that only programs of this machine may use.

use std::path::PathBuf;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::api::Api;
use super::model::Model;
use super::step::Script;
use super::{routes, steering};
use crate::loopback::{self, ServeError, is_from_page};

/// The largest request body. Agents send their whole history with every request, including images.
pub const BODY_LIMIT: usize = 32 * 1024 * 1024;

/// Serves a script until `shutdown`. Appends every request to `log`, as a line of JSON. The listener must be on
/// loopback.
pub async fn serve(
    listener: TcpListener,
    script: Script,
    log: Option<PathBuf>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let model = match log {
        Some(path) => {
            Model::with_log(script, &path).map_err(|error| ServeError::RequestLog { path, error })?
        }
        None => Model::new(script),
    };
    model.serve(listener, shutdown).await
}

impl Model {
    /// Serves this model until `shutdown`, which cuts the streams that still play.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let (stop, stopped) = watch::channel(false);
        let router = router(Serving { model: self, stop: stopped });
        let shutdown = async move {
            shutdown.await;
            stop.send_replace(true);
        };
        loopback::serve("the scripted model", listener, router, shutdown).await
    }
}

/// The state of every route.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) model: Model,
    pub(super) stop: watch::Receiver<bool>,
}

fn router(serving: Serving) -> Router {
    routes::of_the_apis()
        .merge(steering::routes())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(refuse_browsers))
        .with_state(serving)
}

/// Refuses requests of pages in browsers.
pub(crate) async fn refuse_browsers(request: Request, next: Next) -> Response {
    if is_from_page(&request) {
        let why = "only programs on this machine may ask: no Origin header, and a loopback Host";
        return routes::error(Api::Responses, StatusCode::FORBIDDEN, why);
    }
    next.run(request).await
}
