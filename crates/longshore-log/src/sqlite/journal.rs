//! The journal in a file.

use std::collections::VecDeque;

use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;
use uuid::Uuid;

use super::feed::{Followed, SqliteFeed};
use super::{SqliteLog, compact, forget, reader};
use crate::{
    Batch, CompactionReport, Feed, FeedCursor, Journal, LogError, LogFuture, Mark, SessionHead, SessionWatch,
    WithRaw,
};

impl Journal for SqliteLog {
    fn append(&self, batch: Batch, after: Mark, nonce: Uuid) -> LogFuture<'_, Mark> {
        Box::pin(async move {
            let hint = self.blocks.of(&batch);
            let mark = self.write(batch, after, nonce).await?;
            self.blocks.tell(hint);
            Ok(mark)
        })
    }

    fn head(&self, session: SessionId) -> LogFuture<'_, SessionHead> {
        Box::pin(self.readers.run("reading a session's head", move |reader| {
            let seq = match reader::key_of(reader, session)? {
                Some(key) => reader::head(reader, key)?,
                None => Seq::ZERO,
            };
            Ok(SessionHead { seq, mark: mark_of(seq) })
        }))
    }

    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>> {
        let query = move |reader: &_| reader::read(reader, session, after, limit, raw);
        Box::pin(self.readers.run("reading events", query))
    }

    fn follow(&self, from: FeedCursor, raw: WithRaw) -> Result<Box<dyn Feed>, LogError> {
        Ok(Box::new(SqliteFeed {
            readers: self.readers.clone(),
            grown: self.counters.grown.subscribe(),
            from: Followed::parse(&from)?,
            raw,
            waiting: VecDeque::new(),
        }))
    }

    fn watch(&self, session: SessionId) -> SessionWatch {
        self.blocks.watch(session)
    }

    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, CompactionReport> {
        Box::pin(self.tidy(move |tidy| compact::run(tidy, ended_before)))
    }

    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64> {
        let file = self.file.clone();
        Box::pin(self.tidy(move |tidy| forget::run(tidy, &file, updated_before)))
    }

    fn erase(&self, session: SessionId) -> LogFuture<'_, bool> {
        let file = self.file.clone();
        Box::pin(self.tidy(move |tidy| forget::erase(tidy, &file, session)))
    }
}

/// In this backend the mark is the session's last seq.
pub(super) fn mark_of(seq: Seq) -> Mark {
    Mark::new(seq.0)
}
