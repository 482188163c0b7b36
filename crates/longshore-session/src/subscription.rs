//! A subscription: what is missing, then what comes, without gap or double.

use std::sync::Arc;

use longshore_log::{Log, WithRaw};
use longshore_model::id::{Seq, SessionId};
use tokio::sync::watch;

use crate::error::HubError;
use crate::tail::{Frames, Tail};

/// How many frames are read from the log at once.
const PAGE: usize = 512;

/// A cursor over one session: over its tail in memory, and over the log behind that.
pub struct Subscription {
    session: SessionId,
    cursor: Seq,
    tail: Arc<Tail>,
    head: watch::Receiver<Seq>,
    log: Arc<dyn Log>,
    raw: WithRaw,
}

impl Subscription {
    pub(crate) fn new(
        session: SessionId,
        after: Seq,
        tail: Arc<Tail>,
        log: Arc<dyn Log>,
        raw: WithRaw,
    ) -> Self {
        let head = tail.watch();
        Self { session, cursor: after, tail, head, log, raw }
    }

    /// The session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The last frame that was given out: where to go on after a break.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// Whether its frames bring the agent's own.
    pub fn with_raw(&self) -> bool {
        self.raw == WithRaw::Yes
    }

    /// Whether there is something to give out right now.
    pub fn is_behind(&self) -> bool {
        *self.head.borrow() > self.cursor || self.tail.is_erased()
    }

    /// The next frames; waits until there are some. Cancelling it loses nothing. Fails when the session was erased.
    pub async fn next(&mut self) -> Result<Frames, HubError> {
        loop {
            let head = *self.head.borrow_and_update();
            if self.tail.is_erased() {
                return Err(HubError::UnknownSession);
            }
            if head > self.cursor {
                let frames = match self.tail.after(self.cursor) {
                    Some(frames) => frames,
                    None => self.read().await?,
                };
                if let Some(last) = frames.last() {
                    self.cursor = last.seq();
                    return Ok(frames);
                }
            }
            // The sender lives in our own `tail`, so that it cannot be gone.
            let _ = self.head.changed().await;
        }
    }

    async fn read(&self) -> Result<Frames, HubError> {
        let frames = self.log.read(self.session, self.cursor, PAGE, self.raw).await?;
        Ok(Frames::after(frames.into(), self.cursor))
    }
}
