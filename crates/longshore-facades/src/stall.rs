//! A connection that notices when the other side stops reading.
//!
//! A client that is slow is served at its pace. One that takes nothing at all for [`READ_WITHIN`] is cut off,
//! whatever protocol it speaks: it can come back and go on from its seq.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::debug;

use crate::serve::READ_WITHIN;

/// A connection that notices when the other side stops reading, with its place among the connections.
pub(crate) struct Watched {
    stream: TcpStream,
    /// Counts down while the other side takes nothing.
    patience: Pin<Box<Sleep>>,
    stalled: bool,
    _place: Option<OwnedSemaphorePermit>,
}

impl Watched {
    pub(crate) fn new(stream: TcpStream, place: Option<OwnedSemaphorePermit>) -> Self {
        let patience = Box::pin(sleep_until(Instant::now() + READ_WITHIN));
        Self { stream, patience, stalled: false, _place: place }
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

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
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
