//! The log in a folder: one SQLite file, one writer, group commit, readers that never wait for it.
//!
//! ```text
//! append ── prepare (compress, encode) ── queue of 256 ──> writer thread: one transaction, COMMIT, then all acks
//!                                                              └─ wakes ──> checkpoint thread
//! read, list, search ── 4 read-only connections on blocking threads
//! compact, forget ───── plan on a connection of their own ── small changes ──> writer thread
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `data_dir`, `schema`, `sqlite_error` | the files and their lock; the format; what SQLite's errors mean |
//! | `sum`, `check` | the checksum of an event; whether a log is sound |
//! | `place` | an event's session and seq in one integer |
//! | `batch`, `writer`, `checkpoint` | the way in |
//! | `raw_block` | the agents' own frames, compressed |
//! | `reader`, `search` | the way out |
//! | `journal`, `catalog`, `keyring` | the three traits |
//! | `feed` | what happened in all sessions, by number |
//! | `tidy`, `compact`, `forget` | maintenance: compaction and retention |

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::journal::BlockHints;
use crate::keyring::KeyHints;
use crate::{Batch, LogError, Mark};
use batch::PreparedBatch;
use checkpoint::Checkpointer;
use data_dir::DataDir;
use reader::Readers;
use sqlite_error::SqliteError;
use tidy::Tidy;
use writer::{Counters, LogWriter, WriterJob};

mod batch;
mod catalog;
mod check;
mod checkpoint;
mod compact;
mod data_dir;
mod feed;
mod forget;
mod journal;
mod keyring;
mod place;
mod raw_block;
mod reader;
mod schema;
mod search;
mod sqlite_error;
mod sum;
mod tidy;
mod writer;

pub use check::{Unsound, quick_check};

/// The raw bytes from which on a batch is compressed on a blocking thread.
const PREPARE_INLINE: usize = 1024 * 1024;

/// The settings of a log.
#[derive(Clone, Debug, Default)]
pub struct LogSettings {
    /// What an acknowledged event survives.
    pub durability: Durability,
    /// The size at which the database refuses to grow, as if the disk were full. None: the disk is the limit.
    pub max_bytes: Option<u64>,
}

/// What an acknowledged event survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power.
    #[default]
    Full,
    /// A crash of the program, but not always loss of power. About a fifth faster.
    Normal,
}

/// A log in a folder. Dropping it writes everything that was appended, then releases the folder.
pub struct SqliteLog {
    file: Arc<Path>,
    jobs: Option<mpsc::Sender<WriterJob>>,
    writer: Option<JoinHandle<()>>,
    readers: Readers,
    counters: Arc<Counters>,
    blocks: BlockHints,
    keys: KeyHints,
    /// Locked by compaction or deletion, one at a time.
    tidying: Arc<Mutex<()>>,
    _folder: DataDir,
}

impl SqliteLog {
    /// Opens the log of a folder, and creates both if they are missing. Blocks.
    pub fn open(folder: &Path, settings: &LogSettings) -> Result<Self, LogError> {
        let folder = DataDir::take(folder)?;
        let file = folder.file.clone();
        let connection = schema::open(&file, settings)?;
        folder.mark_used();
        let beside =
            schema::open_beside(&file, settings).map_err(|fault| fault.at(&file, "opening the log"))?;
        let counters = Arc::<Counters>::default();
        let writer = LogWriter::new(connection, file.clone(), counters.clone(), Checkpointer::start(beside)?);
        let (jobs, waiting) = mpsc::channel(writer::QUEUE);
        let thread = std::thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || writer.run(waiting))
            .map_err(|error| LogError::other("starting the log", error))?;
        Ok(Self {
            readers: Readers::new(file.clone()),
            file,
            jobs: Some(jobs),
            writer: Some(thread),
            counters,
            blocks: BlockHints::default(),
            keys: KeyHints::default(),
            tidying: Arc::default(),
            _folder: folder,
        })
    }

    /// Checks the log of a folder, also while a hub uses it. Returns at most `most` findings, in SQLite's
    /// words. Reads the whole file, and blocks.
    pub fn quick_check(folder: &Path, most: u32) -> Result<Vec<String>, LogError> {
        let file = folder.join("log.db");
        let check = || -> Result<Vec<String>, SqliteError> {
            let reader = schema::open_reading(&file)?;
            let mut statement = reader.prepare(&format!("PRAGMA quick_check({most})"))?;
            let found = statement.query_map([], |row| row.get::<_, String>(0))?;
            Ok(found.collect::<rusqlite::Result<Vec<_>>>()?)
        };
        let found = check().map_err(|fault| fault.at(&file, "checking the log"))?;
        Ok(found.into_iter().filter(|line| line != "ok").collect())
    }

    /// The path of the database.
    pub fn file(&self) -> &Path {
        &self.file
    }

    async fn write(&self, batch: Batch, after: Mark, nonce: Uuid) -> Result<Mark, LogError> {
        let session = batch.session;
        let raw: usize = batch.frames.iter().filter_map(|frame| Some(frame.raw()?.len())).sum();
        let prepared = if raw < PREPARE_INLINE {
            PreparedBatch::new(batch, after, nonce)?
        } else {
            let prepare = tokio::task::spawn_blocking(move || PreparedBatch::new(batch, after, nonce)).await;
            prepare.map_err(|error| LogError::other("preparing a batch", error))??
        };
        let gone = || LogError::other("appending to the log", "the log's writer is gone");
        let (ack, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(WriterJob::Append(Box::new(prepared), ack)).await.map_err(|_| gone())?;
        // The writer may have written the batch before it ended.
        let unknown = |_| LogError::Unknown { session, detail: "the log's writer is gone".to_owned() };
        answer.await.map_err(unknown)?
    }

    /// Makes a small change that is no event, in its own transaction.
    async fn change(
        &self,
        change: impl FnOnce(&rusqlite::Connection) -> Result<u64, SqliteError> + Send + 'static,
    ) -> Result<u64, LogError> {
        let gone = || LogError::other("changing the log", "the log's writer is gone");
        let (ack, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(WriterJob::Change(Box::new(change), ack)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    async fn tidy<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tidy) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, LogError> {
        let doing = "tidying the log";
        let (file, tidying) = (self.file.clone(), self.tidying.clone());
        let jobs = self.jobs.as_ref().map(mpsc::Sender::downgrade);
        let jobs = jobs.ok_or_else(|| LogError::other(doing, "the log was closed"))?;
        let run = move || {
            let _turn = tidying.lock().unwrap_or_else(PoisonError::into_inner);
            let tidied = || work(&Tidy { reader: schema::open_reading(&file)?, jobs });
            tidied().map_err(|fault| fault.at(&file, doing))
        };
        tokio::task::spawn_blocking(run).await.map_err(|error| LogError::other(doing, error))?
    }

    fn wal_bytes(&self) -> u64 {
        let mut wal = self.file.as_os_str().to_owned();
        wal.push("-wal");
        std::fs::metadata(PathBuf::from(wal)).map(|wal| wal.len()).unwrap_or_default()
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.readers.close_idle();
        self.jobs = None;
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("log writer panicked");
        }
    }
}
