//! Checkpoints: what the write-ahead log holds goes into the database beside the commits, not between them.
//!
//! A thread with a connection of its own copies while the writer goes on appending. Under a load that never pauses it
//! would stay a little behind for ever and the write-ahead log would grow without end; so when that has grown by
//! [`WAL_LIMIT`], the writer waits for the thread, copies the little that is left itself, and SQLite starts the file
//! over. That wait is the only one, and it is what keeps a disk that is slower than the agents from filling up.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::LogError;

/// After how many bytes the thread is woken.
const STEP: usize = 4 * 1024 * 1024;
/// After how many bytes the writer helps. The file is cut back to this when it starts over.
pub(super) const WAL_LIMIT: usize = 64 * 1024 * 1024;
/// What a commit costs beside its content: the pages that it touches are written whole.
const COMMIT_COST: usize = 16 * 1024;

/// The writer's end of it.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Held while somebody copies: SQLite would turn the second one away.
    copying: Arc<Mutex<()>>,
    since_step: usize,
    since_restart: usize,
}

impl Checkpointer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection) -> Result<Self, LogError> {
        // One wake is enough: it copies all that is there.
        let (wake, woken) = sync_channel::<()>(1);
        let copying = Arc::<Mutex<()>>::default();
        let held = copying.clone();
        let work = move || {
            for () in woken {
                run(&connection, &held);
            }
        };
        let thread = std::thread::Builder::new()
            .name("log-checkpoint".into())
            .spawn(work)
            .map_err(|error| LogError::other("starting the log", error))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), copying, since_step: 0, since_restart: 0 })
    }

    /// Tells that a transaction of about this many bytes was committed.
    pub(super) fn wrote(&mut self, writer: &Connection, bytes: usize) {
        self.since_step += bytes + COMMIT_COST;
        self.since_restart += bytes + COMMIT_COST;
        if self.since_step < STEP {
            return;
        }
        self.since_step = 0;
        if self.since_restart >= WAL_LIMIT {
            if run(writer, &self.copying) {
                self.since_restart = 0;
            }
        } else if let Some(wake) = &self.wake {
            let _ = wake.try_send(()); // full: it is awake already
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("checkpoint thread panicked");
        }
    }
}

/// Copies what no reader still needs as it was; says whether that was all.
fn run(connection: &Connection, copying: &Mutex<()>) -> bool {
    let _turn = copying.lock().unwrap_or_else(PoisonError::into_inner);
    let done = connection.query_row("PRAGMA wal_checkpoint(passive)", [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    match done {
        Ok((busy, pages, copied)) => {
            tracing::debug!(busy, pages, copied, "checkpoint");
            busy == 0 && pages == copied
        }
        Err(error) => {
            // Nothing is lost: it stays in the write-ahead log, and the next one tries again.
            tracing::warn!(%error, "checkpoint failed");
            false
        }
    }
}
