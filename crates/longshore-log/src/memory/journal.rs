//! The journal without a file. Its marks count all appends, so that nobody mistakes a mark for a seq.

use std::sync::{Arc, Mutex, PoisonError};

use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;
use tokio::sync::watch;
use uuid::Uuid;

use super::{MemoryLog, MemoryState, PastChange};
use crate::{
    Batch, CompactionReport, Feed, FeedCursor, FeedEntry, Journal, JournalChange, LogError, LogFuture, Mark,
    SessionHead, SessionWatch, WithRaw, cut_to_page,
};

impl Journal for MemoryLog {
    fn append(&self, batch: Batch, after: Mark, nonce: Uuid) -> LogFuture<'_, Mark> {
        Box::pin(async move {
            let hint = self.blocks.of(&batch);
            let mark = self.state().append(batch, after, nonce)?;
            self.blocks.tell(hint);
            self.grown.send_replace(());
            Ok(mark)
        })
    }

    fn head(&self, session: SessionId) -> LogFuture<'_, SessionHead> {
        Box::pin(async move { Ok(self.state().head(session)) })
    }

    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>> {
        Box::pin(async move { Ok(self.state().read(session, after, limit, raw)) })
    }

    fn follow(&self, from: FeedCursor, raw: WithRaw) -> Result<Box<dyn Feed>, LogError> {
        let next = match from.as_str() {
            "" => 0,
            words => {
                words.parse().map_err(|_| LogError::BadCursor { cursor: words.chars().take(80).collect() })?
            }
        };
        let (state, grown) = (Arc::clone(&self.state), self.grown.subscribe());
        Ok(Box::new(MemoryFeed { state, grown, next, raw }))
    }

    fn watch(&self, session: SessionId) -> SessionWatch {
        self.blocks.watch(session)
    }

    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, CompactionReport> {
        Box::pin(async move { self.state().compact(ended_before) })
    }

    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64> {
        Box::pin(async move {
            let forgotten = self.state().forget(updated_before);
            self.grown.send_replace(());
            Ok(forgotten)
        })
    }

    fn erase(&self, session: SessionId) -> LogFuture<'_, bool> {
        Box::pin(async move {
            let erased = self.state().part_with(session, true);
            self.grown.send_replace(());
            Ok(erased)
        })
    }
}

struct MemoryFeed {
    state: Arc<Mutex<MemoryState>>,
    grown: watch::Receiver<()>,
    /// The index of the next change.
    next: usize,
    raw: WithRaw,
}

impl Feed for MemoryFeed {
    fn next(&mut self) -> LogFuture<'_, Option<FeedEntry>> {
        Box::pin(async move {
            self.grown.mark_unchanged();
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let Some(past) = state.past.get(self.next) else { return Ok(None) };
                self.next += 1;
                if let Some(change) = state.change_of(past, self.raw) {
                    return Ok(Some(FeedEntry { cursor: FeedCursor::new(self.next.to_string()), change }));
                }
            }
        })
    }

    fn ready(&mut self) -> LogFuture<'_, ()> {
        Box::pin(async move {
            let closed = |error| LogError::other("following the log", error);
            self.grown.changed().await.map_err(closed)
        })
    }
}

impl MemoryState {
    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> Vec<Frame> {
        let Some(session) = self.sessions.get(&session) else { return Vec::new() };
        let start = session.frames.partition_point(|frame| frame.seq() <= after);
        let page = session.frames.iter().skip(start).take(limit);
        let mut frames = page.map(|frame| with_raw(frame, raw)).collect();
        cut_to_page(&mut frames);
        frames
    }

    /// Returns `None` if the session is gone.
    fn change_of(&self, past: &PastChange, raw: WithRaw) -> Option<JournalChange> {
        match past {
            PastChange::Gone { session, erased } => {
                Some(JournalChange::Gone { session: *session, erased: erased.clone() })
            }
            PastChange::Block { session, first, last } => {
                let known = self.sessions.get(session)?;
                let start = known.frames.partition_point(|frame| frame.seq() < *first);
                let frames = known.frames.iter().skip(start).take_while(|frame| frame.seq() <= *last);
                let frames = frames.map(|frame| with_raw(frame, raw)).collect();
                let info = known.info.clone().map(Arc::new);
                Some(JournalChange::Block(Batch { session: *session, frames, info }))
            }
        }
    }
}

fn with_raw(frame: &Frame, raw: WithRaw) -> Frame {
    match raw {
        WithRaw::Yes => frame.clone(),
        WithRaw::No => Frame::stored(frame.seq(), frame.json(), None),
    }
}
