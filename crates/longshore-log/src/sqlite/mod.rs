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
//! | `folder`, `schema`, `fault` | the files and their lock; the format; what SQLite's errors mean |
//! | `sum` | what tells a harmed event from the one that was written |
//! | `place` | the one integer that is an event's session and seq |
//! | `batch`, `writer`, `checkpoint` | the way in |
//! | `raw_block` | the agents' own frames, compressed |
//! | `reader`, `search` | the way out |
//! | `devices` | paired clients, and where they want to be woken |
//! | `tidy`, `compact`, `forget` | what goes, and when |

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use longshore_model::device::{StoredDevice, StoredPush};
use longshore_model::event::AgentName;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::{Batch, Compacted, Hit, Log, LogError, LogFuture, SessionFilter, SessionPage, Stats, WithRaw};
use batch::Prepared;
use checkpoint::Checkpointer;
use data_dir::DataDir;
use reader::Readers;
use sqlite_error::SqliteError;
use tidy::Tidy;
use writer::{Counters, LogWriter, WriterJob};

mod batch;
mod check;
mod checkpoint;
mod compact;
mod data_dir;
mod devices;
mod forget;
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

/// A batch with more raw bytes than this is compressed on a thread that may block.
const PREPARE_INLINE: usize = 1024 * 1024;

/// How the log is kept.
#[derive(Clone, Debug, Default)]
pub struct LogSettings {
    /// What an acknowledged event survives.
    pub durability: Durability,
    /// The database refuses to grow past this, as if the disk were full. None: the disk is the limit.
    pub max_bytes: Option<u64>,
}

/// What an acknowledged event survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power.
    #[default]
    Full,
    /// A crash of the program, not always loss of power. About a fifth faster.
    Normal,
}

/// A log in a folder. Dropping it writes what was given to it, then lets the folder go.
pub struct SqliteLog {
    file: Arc<Path>,
    jobs: Option<mpsc::Sender<WriterJob>>,
    writer: Option<JoinHandle<()>>,
    readers: Readers,
    counters: Arc<Counters>,
    /// Compaction and forgetting take turns.
    tidying: Arc<Mutex<()>>,
    _folder: DataDir,
}

impl SqliteLog {
    /// Opens the log of a folder, and makes both when they are missing. Blocks.
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
            tidying: Arc::default(),
            _folder: folder,
        })
    }

    /// Looks for harm in the log of a folder, also while a hub has it: what is wrong, in the words of SQLite, at most
    /// `most` findings. Reads the whole file, and blocks.
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

    /// The database.
    pub fn file(&self) -> &Path {
        &self.file
    }

    async fn write(&self, batch: Batch) -> Result<(), LogError> {
        let raw: usize = batch.frames.iter().filter_map(|frame| Some(frame.raw()?.len())).sum();
        let prepared = if raw < PREPARE_INLINE {
            Prepared::new(batch)?
        } else {
            let prepare = tokio::task::spawn_blocking(|| Prepared::new(batch)).await;
            prepare.map_err(|error| LogError::other("preparing a batch", error))??
        };
        let gone = || LogError::other("appending to the log", "the log's writer is gone");
        let (ack, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(WriterJob::Append(prepared, ack)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// A small change that is no event, in a transaction of its own.
    async fn change(
        &self,
        change: impl FnOnce(&rusqlite::Connection) -> Result<u64, SqliteError> + Send + 'static,
    ) -> Result<(), LogError> {
        let gone = || LogError::other("changing the log", "the log's writer is gone");
        let (ack, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(WriterJob::Change(Box::new(change), ack)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.map(drop)
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

impl Log for SqliteLog {
    fn append(&self, batch: Batch) -> LogFuture<'_, ()> {
        Box::pin(self.write(batch))
    }

    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>> {
        let query = move |reader: &_| reader::read(reader, session, after, limit, raw);
        Box::pin(self.readers.run("reading events", query))
    }

    fn head(&self, session: SessionId) -> LogFuture<'_, Seq> {
        Box::pin(self.readers.run("reading a session's head", move |reader| {
            Ok(match reader::key_of(reader, session)? {
                Some(key) => reader::head(reader, key)?,
                None => Seq::ZERO,
            })
        }))
    }

    fn session(&self, session: SessionId) -> LogFuture<'_, Option<SessionInfo>> {
        Box::pin(self.readers.run("reading a session", move |reader| reader::session(reader, session)))
    }

    fn sessions(&self, filter: SessionFilter) -> LogFuture<'_, SessionPage> {
        Box::pin(self.readers.run("listing sessions", move |reader| reader::sessions(reader, &filter)))
    }

    fn unfinished(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        Box::pin(self.readers.run("listing unfinished sessions", reader::unfinished))
    }

    fn session_of(&self, ask: Uuid) -> LogFuture<'_, Option<SessionId>> {
        Box::pin(self.readers.run("finding who asked", move |reader| reader::session_of(reader, ask)))
    }

    fn native(&self, agent: AgentName, native: NativeId) -> LogFuture<'_, Option<SessionInfo>> {
        Box::pin(
            self.readers.run("finding a conversation", move |reader| reader::native(reader, &agent, &native)),
        )
    }

    fn search(&self, query: String, limit: usize) -> LogFuture<'_, Vec<Hit>> {
        Box::pin(self.readers.run("searching", move |reader| search::find(reader, &query, limit)))
    }

    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, Compacted> {
        Box::pin(self.tidy(move |tidy| compact::run(tidy, ended_before)))
    }

    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64> {
        let file = self.file.clone();
        Box::pin(self.tidy(move |tidy| forget::run(tidy, &file, updated_before)))
    }

    fn cut(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        Box::pin(self.readers.run("listing sessions that were cut", reader::cut))
    }

    fn erase(&self, session: SessionId) -> LogFuture<'_, bool> {
        let file = self.file.clone();
        Box::pin(self.tidy(move |tidy| forget::erase(tidy, &file, session)))
    }

    fn is_erased(&self, native: NativeId) -> LogFuture<'_, bool> {
        let query = move |reader: &_| reader::is_erased(reader, &native);
        Box::pin(self.readers.run("asking for an erased conversation", query))
    }

    fn usage(&self, since: Timestamp) -> LogFuture<'_, Vec<DayUsage>> {
        Box::pin(self.readers.run("adding up what was used", move |reader| reader::usage(reader, since)))
    }

    fn devices(&self) -> LogFuture<'_, Vec<StoredDevice>> {
        Box::pin(self.readers.run("listing devices", devices::all))
    }

    fn put_device(&self, device: StoredDevice) -> LogFuture<'_, ()> {
        Box::pin(self.change(move |writer| devices::put(writer, &device)))
    }

    fn pushes(&self) -> LogFuture<'_, Vec<StoredPush>> {
        Box::pin(self.readers.run("listing push subscriptions", devices::pushes))
    }

    fn put_push(&self, push: StoredPush) -> LogFuture<'_, ()> {
        Box::pin(self.change(move |writer| devices::put_push(writer, &push)))
    }

    fn drop_push(&self, endpoint: String) -> LogFuture<'_, ()> {
        Box::pin(self.change(move |writer| devices::drop_push(writer, &endpoint)))
    }

    fn stats(&self) -> LogFuture<'_, Stats> {
        Box::pin(async move {
            let counted = self.readers.run("counting", reader::stats).await?;
            Ok(Stats {
                wal_bytes: self.wal_bytes(),
                appended: self.counters.appended.load(Ordering::Relaxed),
                batches: self.counters.batches.load(Ordering::Relaxed),
                commits: self.counters.commits.load(Ordering::Relaxed),
                ..counted
            })
        })
    }
}
