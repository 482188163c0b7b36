//! Nothing lost: the durable log behind Longshore.
//!
//! A log holds the events of all sessions, each session's dense from 1, and one row per session for lists,
//! and the devices that were paired. When
//! [`Log::append`] resolves, its events survive a crash; only then may anyone see them.
//!
//! | module | holds |
//! |---|---|
//! | [`sqlite`] | the log in a folder: one SQLite file, one writer, group commit |
//! | [`memory`] | the log that lasts as long as its process, for tests and `--ephemeral` |
//! | [`list`] | which sessions a list shows, and where its next page begins |
//! | [`search`] | what was found, and how the words of a person become a query |
//! | [`error`] | what can go wrong, one variant per thing that a caller can do about it |

#![deny(clippy::wildcard_enum_match_arm)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use longshore_model::device::{StoredDevice, StoredPush};
use longshore_model::event::{AgentName, Body};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use uuid::Uuid;

pub mod error;
pub mod list;
pub mod memory;
pub mod search;
pub mod sqlite;

mod snippet;
mod superseded;
mod usage;

pub use error::LogError;
pub use list::{SessionFilter, SessionPage};
pub use memory::MemoryLog;
pub use search::Hit;
pub use sqlite::{Durability, LogSettings, SqliteLog, Unsound, quick_check};

/// What every call returns. Boxed, so that a hub can hold `Arc<dyn Log>`.
pub type LogFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LogError>> + Send + 'a>>;

/// How much a page of events holds, raw frames included, unless a single event is larger. Whoever pages, however many at once,
/// has the hub hold no more than that.
pub const PAGE_BYTES: usize = 8 << 20;

/// Cuts events to the page that they begin.
fn cut_to_page(frames: &mut Vec<Frame>) {
    let mut bytes = 0;
    let ends = frames.iter().position(|frame| {
        bytes += frame.json().len() + frame.raw().map_or(0, |raw| raw.len());
        bytes > PAGE_BYTES
    });
    frames.truncate(ends.map_or(frames.len(), |at| at.max(1)));
}

/// The log. One story test runs against every implementation.
pub trait Log: Send + Sync + 'static {
    /// Writes a batch; it is durable when this resolves. All of the batch is written or nothing of it.
    ///
    /// Refuses with [`LogError::Gap`] what does not continue the session densely. Once polled, dropping the future
    /// does not take the batch back: whoever gave up reads [`Log::head`] to learn what became of it.
    fn append(&self, batch: Batch) -> LogFuture<'_, ()>;

    /// The events of a session that follow `after`, ascending, at most `limit` and [`PAGE_BYTES`] of them, but one at least.
    /// Compaction leaves holes: the next page begins after the last seq of this one, and the end is where a page is empty.
    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>>;

    /// The last seq of a session; [`Seq::ZERO`] when it is unknown.
    fn head(&self, session: SessionId) -> LogFuture<'_, Seq>;

    /// The row of a session.
    fn session(&self, session: SessionId) -> LogFuture<'_, Option<SessionInfo>>;

    /// A page of sessions, the one that changed last first.
    fn sessions(&self, filter: SessionFilter) -> LogFuture<'_, SessionPage>;

    /// The sessions that recovery after a crash must look at: an agent ran, or something waits.
    fn unfinished(&self) -> LogFuture<'_, Vec<SessionInfo>>;

    /// The sessions of which a restart of the hub cut a turn that nobody has dealt with since, the latest first.
    fn cut(&self) -> LogFuture<'_, Vec<SessionInfo>>;

    /// Which session asked the approval or question of this id.
    fn session_of(&self, ask: Uuid) -> LogFuture<'_, Option<SessionId>>;

    /// The row of the session that is this conversation of this agent; else of one that is the same conversation of
    /// another agent, as one program can be driven in several ways.
    fn native(&self, agent: AgentName, native: NativeId) -> LogFuture<'_, Option<SessionInfo>>;

    /// Finds words in what people and agents said and in what tools ran and printed, the best hits first. Every
    /// word must be there, the last one may be unfinished. Any text is a legal query.
    fn search(&self, query: String, limit: usize) -> LogFuture<'_, Vec<Hit>>;

    /// Drops deltas that a later final event of their item repeats and whose turn ended before that moment
    /// (outside of a turn: whose final event is older), with their raw frames. Never the last event of a session.
    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, Compacted>;

    /// Drops whole sessions that sleep or are closed, wait for nothing, and did not change since that moment. Says
    /// how many.
    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64>;

    /// Drops one session for good, whatever it does: its events and its row, and from the index. Says whether there was
    /// one. The conversation that it was is remembered as erased.
    fn erase(&self, session: SessionId) -> LogFuture<'_, bool>;

    /// Whether somebody erased this conversation, in whichever way its agent was driven.
    fn is_erased(&self, native: NativeId) -> LogFuture<'_, bool>;

    /// What turns that ended since that moment have used, by day, agent and project, the earliest first.
    fn usage(&self, since: Timestamp) -> LogFuture<'_, Vec<DayUsage>>;

    /// All devices, in the order in which they were paired; revoked ones too.
    fn devices(&self) -> LogFuture<'_, Vec<StoredDevice>>;

    /// Keeps a device, in place of what was kept under its id. It is durable when this resolves.
    fn put_device(&self, device: StoredDevice) -> LogFuture<'_, ()>;

    /// Where browsers want to be woken.
    fn pushes(&self) -> LogFuture<'_, Vec<StoredPush>>;

    /// Keeps where a browser wants to be woken, in place of what was kept for the same endpoint.
    fn put_push(&self, push: StoredPush) -> LogFuture<'_, ()>;

    /// Forgets an endpoint; one that is not known is no fault.
    fn drop_push(&self, endpoint: String) -> LogFuture<'_, ()>;

    /// How much there is.
    fn stats(&self) -> LogFuture<'_, Stats>;
}

/// Events of one session in the order of their seq.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The session.
    pub session: SessionId,
    /// Its next events; may be empty when only the row changed.
    pub frames: Arc<[Frame]>,
    /// Its row as it stands after these events, written with them.
    pub info: Option<Arc<SessionInfo>>,
}

impl Batch {
    /// Whether the batch continues a session that ends at `head`.
    pub(crate) fn follows(&self, head: Seq) -> Result<(), LogError> {
        let mut expected = head.next();
        for frame in self.frames.iter() {
            if frame.seq() != expected {
                return Err(LogError::Gap { session: self.session, expected, found: frame.seq() });
            }
            expected = expected.next();
        }
        Ok(())
    }
}

/// Whether a read brings the agents' own frames, which are most of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WithRaw {
    Yes,
    No,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// The sessions that lost something.
    pub sessions: u64,
    /// The deltas that went.
    pub events: u64,
    /// The blocks of raw frames that went or were merged into others.
    pub blocks: u64,
}

/// How much there is. Bytes are 0 where a backend has no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions in the log.
    pub sessions: u64,
    /// Events in the log.
    pub events: u64,
    /// Size of the database file.
    pub file_bytes: u64,
    /// Of that, space that waits to be used again.
    pub free_bytes: u64,
    /// Size of the write-ahead log.
    pub wal_bytes: u64,
    /// Events appended since the log was opened.
    pub appended: u64,
    /// Batches appended since the log was opened.
    pub batches: u64,
    /// Transactions that took; fewer than batches when several shared one.
    pub commits: u64,
}

/// The id under which an event asks a person something.
pub(crate) fn asked(body: &Body) -> Option<Uuid> {
    if let Body::ApprovalRequested(request) = body {
        Some(request.approval.0)
    } else if let Body::QuestionAsked(request) = body {
        Some(request.question.0)
    } else {
        None
    }
}

pub(crate) fn unreadable(error: serde_json::Error) -> LogError {
    LogError::other("reading an event", error)
}
