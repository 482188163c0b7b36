//! Plays frames on a socket. No other file of the scripted model waits.

use std::io;
use std::time::Duration;
use std::vec::IntoIter;

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::watch;

use super::frame::ScriptFrame;
use super::record::{Outcome, Ticket};

/// The body of a response that plays frames until they end, the client leaves or the server stops. `last` follows the
/// frames.
pub(super) fn body(
    frames: Vec<ScriptFrame>,
    last: Option<Bytes>,
    stop: watch::Receiver<bool>,
    ticket: Ticket,
) -> Body {
    let playing = Playing { frames: frames.into_iter(), last, stop, ticket };
    Body::from_stream(stream::unfold(playing, Playing::next))
}

struct Playing {
    frames: IntoIter<ScriptFrame>,
    last: Option<Bytes>,
    stop: watch::Receiver<bool>,
    ticket: Ticket,
}

impl Playing {
    /// The next bytes of the body. Returns none at its end. An error makes the server drop the connection without the
    /// end mark of the body, so the client sees a broken network.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while let Some(frame) = self.frames.next() {
            match frame {
                ScriptFrame::Event(event) => {
                    // Clients leave when they read the last event, often before the body ends.
                    if self.frames.as_slice().is_empty() {
                        self.ticket.ends(Outcome::Played);
                    }
                    return Some((Ok(event.encode().into()), self));
                }
                ScriptFrame::Wait(wait) => {
                    if self.stopped_within(wait).await {
                        return Some(self.drop_connection(Outcome::Stopped));
                    }
                }
                ScriptFrame::Cut => {
                    // The server flushes earlier data only when the body has nothing ready for a moment.
                    tokio::task::yield_now().await;
                    return Some(self.drop_connection(Outcome::Cut));
                }
                ScriptFrame::Hang => {
                    stopped(&mut self.stop).await;
                    return Some(self.drop_connection(Outcome::Stopped));
                }
            }
        }
        self.ticket.ends(Outcome::Played);
        let last = self.last.take()?;
        Some((Ok(last), self))
    }

    async fn stopped_within(&mut self, wait: Duration) -> bool {
        let stopped = stopped(&mut self.stop);
        tokio::time::timeout(wait, stopped).await.is_ok()
    }

    fn drop_connection(mut self, outcome: Outcome) -> (io::Result<Bytes>, Self) {
        self.frames = Vec::new().into_iter();
        self.last = None;
        self.ticket.ends(outcome);
        (Err(io::ErrorKind::ConnectionAborted.into()), self)
    }
}

/// Waits until the server stops. A dropped sender means the same.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}
