//! Connections: how many there may be, and how long each may take to send and to read.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`CONNECTIONS`] | a new connection gets a place, and the oldest one of the caller with the most ends (`berth.rs`) |
//! | [`HEAD_WITHIN`] | the hub cuts off a client that takes longer over TLS, or over the head of a request |
//! | [`HEAD_BYTES`], [`HEAD_FIELDS`] | the hub refuses a longer head with 431 |
//! | [`READ_WITHIN`] | the hub cuts off a client that reads nothing of what waits for it for so long |

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::serve::Listener;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use longshore_model::id::DeviceId;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

pub use crate::berth::CONNECTIONS;
use crate::berth::{Berth, Berths};
use crate::facade::FacadeListener;
use crate::guard::Here;
use crate::router::{App, callback_router, facade_router, router};
use crate::stall::WatchedStream;

/// How long a client may be silent between requests, and how long the head of a request may take.
pub const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// The longest head of a request: its address, and its headers with their separators.
pub const HEAD_BYTES: usize = 64 << 10;
/// The most headers of a request.
pub const HEAD_FIELDS: usize = 100;
/// How much to read ahead. Heads that are slightly too long are read, so that their senders get the reason.
const READ_AHEAD: usize = 2 * HEAD_BYTES;
/// How long a client may read nothing of what waits for it.
pub const READ_WITHIN: Duration = Duration::from_secs(30);

/// Serves until told to stop. The caller brings the socket and the stop signal.
pub async fn serve(
    listener: TcpListener,
    app: App,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let tls = app.tls.as_ref().map(|tls| tls.acceptor.clone());
    let push = Arc::clone(&app.push);
    tokio::select! {
        never = accept(listener, tls, router(app)) => match never {},
        // Streams would hold a graceful end back for ever, and every client can resume: so the end is prompt.
        () = stop => {
            push.stop();
            Ok(())
        }
    }
}

/// Serves only the route for programs of this machine that call back, without TLS, because such programs
/// could not know whom to trust. For a listener on loopback.
pub async fn serve_callbacks(listener: TcpListener, app: App) -> std::convert::Infallible {
    accept(listener, None, callback_router(app)).await
}

/// Serves a facade's own listener, without TLS, for callers that all are this device. Its clients know no TLS and no
/// token.
pub async fn serve_facade(
    listener: TcpListener,
    facade: &FacadeListener,
    device: DeviceId,
    app: App,
) -> std::convert::Infallible {
    accept(listener, None, facade_router(app, facade, device)).await
}

async fn accept(
    mut listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
) -> std::convert::Infallible {
    let router = TowerToHyperService::new(router);
    let berths = Arc::<Berths>::default();
    loop {
        // This one waits and tries again when the system has no more sockets to give.
        let (stream, from) = Listener::accept(&mut listener).await;
        // Small frames must not wait for each other.
        let _ = stream.set_nodelay(true);
        let here = stream.local_addr().ok().map(|here| Here(here.ip()));
        let (berth, left) = berths.enter(from.ip());
        let stream = WatchedStream::new(stream, Arc::clone(&berth), left);
        let peer = Peer { from, here, berth };
        let (router, tls) = (router.clone(), tls.clone());
        tokio::spawn(async move {
            let ended = match tls {
                None => converse(stream, peer, router).await,
                Some(tls) => match tokio::time::timeout(HEAD_WITHIN, tls.accept(stream)).await {
                    Ok(Ok(stream)) => converse(stream, peer, router).await,
                    Ok(Err(error)) => return debug!(%from, %error, "a client speaks no TLS that we know"),
                    Err(_) => return debug!(%from, "a client takes too long over TLS"),
                },
            };
            if let Err(error) = ended {
                debug!(%from, %error, "a connection ends");
            }
        });
    }
}

/// The other side of a connection.
struct Peer {
    from: SocketAddr,
    here: Option<Here>,
    berth: Arc<Berth>,
}

/// Serves one connection until it ends.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: Peer,
    router: TowerToHyperService<Router>,
) -> hyper::Result<()> {
    let Peer { from, here, berth } = peer;
    let service = service_fn(move |mut request: Request<Incoming>| {
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo::<SocketAddr>(from));
        extensions.insert(Arc::clone(&berth));
        here.map(|here| extensions.insert(here));
        router.call(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(READ_AHEAD)
        .max_headers(HEAD_FIELDS)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await
}
