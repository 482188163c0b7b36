//! A subscription: first the missing events, then the live ones, without gap or duplicate.

use std::sync::Arc;

use longshore_log::{Journal, WithRaw};
use longshore_model::id::{Seq, SessionId};
use tokio::sync::watch;

use crate::error::HubError;
use crate::tail::{Frames, Tail};

/// How many frames to read from the log at once.
const PAGE: usize = 512;

/// A cursor over one session: over its tail in memory, and over the log behind the tail.
pub struct Subscription {
    session: SessionId,
    cursor: Seq,
    tail: Arc<Tail>,
    head: watch::Receiver<Seq>,
    journal: Arc<dyn Journal>,
    raw: WithRaw,
}

impl Subscription {
    pub(crate) fn new(
        session: SessionId,
        after: Seq,
        tail: Arc<Tail>,
        journal: Arc<dyn Journal>,
        raw: WithRaw,
    ) -> Self {
        let head = tail.watch();
        Self { session, cursor: after, tail, head, journal, raw }
    }

    /// The session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The seq of the last returned frame, after which a reader resumes.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// Whether the frames include the agent's own frames.
    pub fn with_raw(&self) -> bool {
        self.raw == WithRaw::Yes
    }

    /// Whether frames are ready right now.
    pub fn is_behind(&self) -> bool {
        *self.head.borrow() > self.cursor || self.tail.is_erased()
    }

    /// Returns the next frames, and waits for them if necessary. Cancelling it loses nothing. Fails if the
    /// session was erased.
    pub async fn next(&mut self) -> Result<Frames, HubError> {
        let frames = self.peek().await?;
        self.advance(&frames);
        Ok(frames)
    }

    /// Waits until there is a frame after the cursor. Fails if the session was erased.
    pub async fn ready(&mut self) -> Result<(), HubError> {
        loop {
            let head = *self.head.borrow_and_update();
            if self.tail.is_erased() {
                return Err(HubError::UnknownSession);
            }
            if head > self.cursor {
                return Ok(());
            }
            // The sender lives in our own `tail`, so that it cannot be gone.
            let _ = self.head.changed().await;
        }
    }

    /// Whether the next frames are in memory, where all followers share them.
    pub fn is_in_memory(&self) -> bool {
        self.tail.after(self.cursor).is_some()
    }

    /// Returns the next frames like [`Subscription::next`], and returns them again the next time.
    pub async fn peek(&mut self) -> Result<Frames, HubError> {
        loop {
            self.ready().await?;
            let frames = match self.tail.after(self.cursor) {
                Some(frames) => frames,
                None => self.read().await?,
            };
            if !frames.is_empty() {
                return Ok(frames);
            }
            // The log does not have them yet.
            let _ = self.head.changed().await;
        }
    }

    /// Moves the cursor behind these frames.
    pub fn advance(&mut self, frames: &Frames) {
        if let Some(last) = frames.last() {
            self.cursor = last.seq().max(self.cursor);
        }
    }

    async fn read(&self) -> Result<Frames, HubError> {
        let frames = self.journal.read(self.session, self.cursor, PAGE, self.raw).await?;
        Ok(Frames::after(frames.into(), self.cursor))
    }
}
