//! Maintenance beside the running log: reads on its own connection, changes in small pieces by the writer.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::sqlite_error::SqliteError;
use super::writer::WriterJob;
use crate::LogError;

/// The tools of compaction and retention. They live on a blocking thread.
pub(super) struct Tidy {
    /// The reading connection.
    pub(super) reader: Connection,
    /// The way to the writer. It is weak, so that maintenance does not keep the log open.
    pub(super) jobs: mpsc::WeakSender<WriterJob>,
}

impl Tidy {
    /// Lets the writer change something in its own transaction, and waits for it.
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
