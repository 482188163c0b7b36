//! Checkpoints: a thread copies the write-ahead log into the database beside the commits, not between them.
//!
//! The thread has its own connection and copies while the writer appends. Under a constant load the thread
//! would always stay a little behind, and the write-ahead log would grow without end. So when the write-ahead
//! log has grown by [`WAL_LIMIT`], the writer waits for the thread and copies the rest itself; SQLite then
//! starts the file over. The writer waits only there. This wait keeps a disk that is slower than the agents
//! from filling up.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::LogError;

/// The thread copies each time this many bytes were written.
const STEP: usize = 4 * 1024 * 1024;
/// The size at which the writer helps. SQLite cuts the file back to this size when it starts the file over.
pub(super) const WAL_LIMIT: usize = 64 * 1024 * 1024;
/// The approximate bytes of a commit besides its content, because SQLite writes whole pages.
const COMMIT_COST: usize = 16 * 1024;

/// The writer's handle of the thread.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Locked while somebody copies, because SQLite refuses a second copier.
    copying: Arc<Mutex<()>>,
    since_step: usize,
    since_restart: usize,
}

impl Checkpointer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection) -> Result<Self, LogError> {
        // One wake is enough: the thread copies everything that is there.
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

    /// Reports a committed transaction of about this many bytes.
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

/// Copies everything that no reader still needs. Returns whether that was everything.
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
            // Nothing is lost: the data stays in the write-ahead log, and the next checkpoint tries again.
            tracing::warn!(%error, "checkpoint failed");
            false
        }
    }
}
