//! Maintenance beside the running log: reads on a connection of its own, changes in small pieces by the writer.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::sqlite_error::SqliteError;
use super::writer::WriterJob;
use crate::LogError;

/// What compaction and forgetting work with. Lives on a thread that may block.
pub(super) struct Tidy {
    /// For looking.
    pub(super) reader: Connection,
    /// For changing. Weak: maintenance does not keep a log open that everybody else is done with.
    pub(super) jobs: mpsc::WeakSender<WriterJob>,
}

impl Tidy {
    /// Has the writer change something in a transaction of its own, and waits for it.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&Connection) -> Result<u64, SqliteError> + Send + 'static,
    ) -> Result<u64, SqliteError> {
        let closed = || LogError::other("tidying the log", "the log was closed");
        let (ack, answer) = oneshot::channel();
        let jobs = self.jobs.upgrade().ok_or_else(closed)?;
        jobs.blocking_send(WriterJob::Change(Box::new(change), ack)).map_err(|_| closed())?;
        drop(jobs);
        Ok(answer.blocking_recv().map_err(|_| closed())??)
    }
}
