//! Connections: how many there may be, and how long each may take over what it has to say and to read.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`CONNECTIONS`] | a further client waits until another leaves |
//! | [`HEAD_WITHIN`] | a client that takes longer over TLS, or to begin or to end the head of a request, is cut off |
//! | [`HEAD_BYTES`] | a longer head is refused with 431 |
//! | [`READ_WITHIN`] | a client that takes nothing for so long of what waits for it is cut off |

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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use crate::guard::Here;
use crate::router::{App, callback_router, router};
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

/// Serves nothing but the door for programs of this machine that call back, without TLS: they could not know whom to
/// trust. For a listener on loopback.
pub async fn serve_callbacks(listener: TcpListener, app: App) -> std::convert::Infallible {
    accept(listener, None, callback_router(app)).await
}

async fn accept(
    mut listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
) -> std::convert::Infallible {
    let router = TowerToHyperService::new(router);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&room).acquire_owned().await.ok();
        // This one waits and tries again when the system has no more sockets to give.
        let (stream, from) = Listener::accept(&mut listener).await;
        // Small frames must not wait for each other.
        let _ = stream.set_nodelay(true);
        let here = stream.local_addr().ok().map(|here| Here(here.ip()));
        let stream = Watched::new(stream, place);
        let (router, tls) = (router.clone(), tls.clone());
        tokio::spawn(async move {
            let ended = match tls {
                None => converse(stream, from, here, router).await,
                Some(tls) => match tokio::time::timeout(HEAD_WITHIN, tls.accept(stream)).await {
                    Ok(Ok(stream)) => converse(stream, from, here, router).await,
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

/// Serves one connection until it ends.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    from: SocketAddr,
    here: Option<Here>,
    router: TowerToHyperService<Router>,
) -> hyper::Result<()> {
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>(from));
        here.map(|here| request.extensions_mut().insert(here));
        router.call(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await
}
