//! The server: a listener on loopback that only programs of this machine may use.

use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::api::Api;
use super::model::Model;
use super::step::Script;
use super::{routes, steering, stream};

/// The largest request body. Agents send their whole history with every request, images in it.
pub const BODY_LIMIT: usize = 32 * 1024 * 1024;
/// How long a stop waits for connections that do not read what they asked for.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// Serves a script until `shutdown`, with every request appended to `log` as a line of JSON. The listener must
/// be on loopback.
pub async fn serve(
    listener: TcpListener,
    script: Script,
    log: Option<PathBuf>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let model = match &log {
        Some(path) => Model::with_log(script, path)
            .with_context(|| format!("cannot write requests to {}", path.display()))?,
        None => Model::new(script),
    };
    model.serve(listener, shutdown).await
}

impl Model {
    /// Serves this model until `shutdown`. Streams that still play then are cut.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let address = listener.local_addr().context("the listener has no address")?;
        // Whoever reaches it decides what the agents on this machine do.
        anyhow::ensure!(
            address.ip().is_loopback(),
            "the scripted model serves loopback only, not {address}; listen on 127.0.0.1"
        );
        let (stop, mut stopped) = watch::channel(false);
        let router = router(Serving { model: self, stop: stopped.clone() });
        let listener = listener.tap_io(|connection| {
            // Without this, the kernel would hold back small deltas and spoil the script's pace.
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
        });
        let served = axum::serve(listener, router).with_graceful_shutdown(async move {
            shutdown.await;
            stop.send_replace(true);
        });
        let given_up = async {
            stream::stopped(&mut stopped).await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        tokio::select! {
            result = served.into_future() => result.context("the scripted model stopped serving"),
            () = given_up => Ok(()),
        }
    }
}

/// What every route has at hand.
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

/// A page in a browser of this machine can reach loopback too, and what it posted here would steer an agent.
/// Agents and tests send no `Origin` and ask for a loopback `Host`.
pub(crate) async fn refuse_browsers(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let foreign_host = headers.get(HOST).is_some_and(|host| !is_loopback(host));
    if foreign_host || headers.contains_key(ORIGIN) {
        let why = "only programs on this machine may ask: no Origin header, and a loopback Host";
        return routes::error(Api::Responses, StatusCode::FORBIDDEN, why);
    }
    next.run(request).await
}

fn is_loopback(host: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}
