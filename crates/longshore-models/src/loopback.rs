//! Serves programs of this machine on loopback, and refuses pages of browsers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How long a stop waits for connections whose client does not read its answer.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// The reason why a server of this crate could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines could reach the server. They would decide what agents do, or use somebody's key.
    #[error("{server} serves loopback only, not {address}; listen on 127.0.0.1")]
    NotLoopback {
        /// The server.
        server: &'static str,
        /// The address of its listener.
        address: SocketAddr,
    },
    /// The listener reports no address.
    #[error("the listener has no address: {0}")]
    NoAddress(#[source] io::Error),
    /// The file for the requests cannot be written.
    #[error("cannot write requests to {}: {error}", path.display())]
    RequestLog {
        /// The file.
        path: std::path::PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// The server ended by itself.
    #[error("{server} stopped serving: {error}")]
    Stopped {
        /// The server.
        server: &'static str,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
}

/// Serves until `shutdown`, and a little longer for unfinished answers. The listener must be on loopback.
pub(crate) async fn serve(
    server: &'static str,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let address = listener.local_addr().map_err(ServeError::NoAddress)?;
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { server, address });
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let listener = listener.tap_io(|connection| {
        // Without this, the kernel would delay small deltas.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    });
    let served = axum::serve(listener, router).with_graceful_shutdown(async move {
        shutdown.await;
        let _ = stop.send(());
    });
    let given_up = async {
        let _ = stopped.await;
        tokio::time::sleep(STOP_GRACE).await;
    };
    tokio::select! {
        result = served.into_future() => result.map_err(|error| ServeError::Stopped { server, error }),
        () = given_up => Ok(()),
    }
}

/// Whether a page of a browser sent a request. Pages in browsers of this machine can reach loopback, and a request of
/// such a page would steer an agent. Agents and tests send no `Origin` and use a loopback `Host`.
pub(crate) fn is_from_page(request: &Request) -> bool {
    let headers = request.headers();
    let foreign_host = headers.get(HOST).is_some_and(|host| !is_loopback(host));
    foreign_host || headers.contains_key(ORIGIN)
}

fn is_loopback(host: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}
