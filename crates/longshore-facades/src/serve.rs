//! Connections: how many there may be, and how long each may take over what it has to say and to read.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`CONNECTIONS`] | a further client waits until another leaves |
//! | [`HEAD_WITHIN`] | a client that takes longer to begin or to end the head of a request is cut off |
//! | [`HEAD_BYTES`] | a longer head is refused with 431 |
//! | [`READ_WITHIN`] | a client that takes nothing for so long of what waits for it is cut off |

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::serve::Listener;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tracing::debug;

use crate::router::{App, router};
use crate::stall::Watched;

/// How many connections there may be at once: well below the usual limit of open files.
pub const CONNECTIONS: usize = 512;
/// How long a client may be silent between requests, and how long it may take over the head of one.
pub const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// How long the head of a request may be.
pub const HEAD_BYTES: usize = 64 << 10;
/// How long a client may take nothing of what waits for it.
pub const READ_WITHIN: Duration = Duration::from_secs(30);

/// Serves until told to stop. The caller brings the socket and the stop signal.
pub async fn serve(
    listener: TcpListener,
    app: App,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    tokio::select! {
        never = accept(listener, app) => match never {},
        // Streams would hold a graceful end back for ever, and every client can resume: so the end is prompt.
        () = stop => Ok(()),
    }
}

async fn accept(mut listener: TcpListener, app: App) -> std::convert::Infallible {
    let router = TowerToHyperService::new(router(app));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&room).acquire_owned().await.ok();
        // This one waits and tries again when the system has no more sockets to give.
        let (stream, from) = Listener::accept(&mut listener).await;
        // Small frames must not wait for each other.
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo::<SocketAddr>(from));
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(Watched::new(stream, place)), service)
            .with_upgrades();
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                debug!(%from, %error, "a connection ends");
            }
        });
    }
}
