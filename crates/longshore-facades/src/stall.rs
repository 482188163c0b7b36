//! A connection that notices when the other side stops reading, and when another caller needs its place.
//!
//! A slow client is served at its own pace. A client that reads nothing for [`READ_WITHIN`] is cut off,
//! whatever protocol it speaks: it can reconnect and continue from its seq.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::debug;

use crate::berth::Berth;
use crate::serve::READ_WITHIN;

/// A connection that notices when the other side stops reading, with its place among the connections.
pub(crate) struct WatchedStream {
    stream: TcpStream,
    /// Counts down while the other side reads nothing.
    patience: Pin<Box<Sleep>>,
    stalled: bool,
    berth: Arc<Berth>,
    /// Resolves when another caller gets the place.
    left: oneshot::Receiver<()>,
}

impl WatchedStream {
    pub(crate) fn new(stream: TcpStream, berth: Arc<Berth>, left: oneshot::Receiver<()>) -> Self {
        let patience = Box::pin(sleep_until(Instant::now() + READ_WITHIN));
        Self { stream, patience, stalled: false, berth, left }
    }

    /// An error once another caller has the place.
    fn stay(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match Pin::new(&mut self.left).poll(cx) {
            Poll::Pending => Ok(()),
            Poll::Ready(_) => {
                debug!("a connection ends for another one");
                Err(io::ErrorKind::ConnectionAborted.into())
            }
        }
    }

    fn watch(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if wrote.is_ready() {
            self.stalled = false;
            return wrote;
        }
        if !self.stalled {
            self.stalled = true;
            self.patience.as_mut().reset(Instant::now() + READ_WITHIN);
        }
        ready!(self.patience.as_mut().poll(cx));
        debug!("a client that does not read is cut off");
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stay(cx)?;
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        if !self.berth.frames.came(into.filled().len() - before) {
            debug!("a client has more unfinished than there is room for");
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stay(cx)?;
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stay(cx)?;
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.watch(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
