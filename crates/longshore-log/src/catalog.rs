//! The catalog: the store that answers every question about sessions. It is a projection of a journal, and a
//! journal can rebuild it.

use longshore_model::event::AgentName;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use uuid::Uuid;

use crate::{FeedCursor, FeedEntry, Hit, Journal, LogError, LogFuture, SessionFilter, SessionPage, WithRaw};

/// A store of what is known about sessions. The same story tests every implementation.
pub trait Catalog: Send + Sync + 'static {
    /// Applies an entry of a journal's feed, and stores the entry's cursor with it. Events that the catalog
    /// already has change nothing. A catalog that is written together with its journal is never fed from the
    /// journal.
    fn apply(&self, entry: FeedEntry) -> LogFuture<'_, ()>;

    /// The seq of the last event of a session that the catalog has applied.
    fn applied(&self, session: SessionId) -> LogFuture<'_, Seq>;

    /// The cursor from which to follow the journal.
    fn cursor(&self) -> LogFuture<'_, FeedCursor>;

    /// The row of a session.
    fn session(&self, session: SessionId) -> LogFuture<'_, Option<SessionInfo>>;

    /// A page of sessions; the session that changed last comes first.
    fn sessions(&self, filter: SessionFilter) -> LogFuture<'_, SessionPage>;

    /// The sessions that recovery after a crash must check: sessions whose agent ran, or in which something
    /// waits.
    fn unfinished(&self) -> LogFuture<'_, Vec<SessionInfo>>;

    /// The sessions in which a restart of the hub cut a turn, if nobody has dealt with it since. The latest
    /// comes first.
    fn cut(&self) -> LogFuture<'_, Vec<SessionInfo>>;

    /// The session that asked the approval or question with this id.
    fn session_of(&self, ask: Uuid) -> LogFuture<'_, Option<SessionId>>;

    /// The row of the session that holds this conversation of this agent. If there is none: the row of a
    /// session that holds the same conversation under another agent's name, because one program can be driven
    /// in several ways.
    fn native(&self, agent: AgentName, native: NativeId) -> LogFuture<'_, Option<SessionInfo>>;

    /// Searches what people and agents said, and what tools ran and printed. The best hits come first. A hit
    /// contains every word of the query; the last word may be incomplete. Any text is a legal query.
    fn search(&self, query: String, limit: usize) -> LogFuture<'_, Vec<Hit>>;

    /// Whether somebody erased this conversation, no matter through which driver its agent ran.
    fn is_erased(&self, native: NativeId) -> LogFuture<'_, bool>;

    /// The usage of all turns that ended since that time, by day, agent and project. The earliest day comes
    /// first.
    fn usage(&self, since: Timestamp) -> LogFuture<'_, Vec<DayUsage>>;

    /// The size of the log, in numbers.
    fn stats(&self) -> LogFuture<'_, Stats>;
}

/// Brings a catalog up to date with a journal. A catalog that lives apart from its journal does this when it
/// starts, and after each [`crate::Feed::ready`].
pub async fn catch_up(catalog: &dyn Catalog, journal: &dyn Journal) -> Result<(), LogError> {
    let mut feed = journal.follow(catalog.cursor().await?, WithRaw::No)?;
    while let Some(entry) = feed.next().await? {
        catalog.apply(entry).await?;
    }
    Ok(())
}

/// The size of a log, in numbers. A backend without a file reports 0 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions in the log.
    pub sessions: u64,
    /// Events in the log.
    pub events: u64,
    /// Size of the database file.
    pub file_bytes: u64,
    /// The part of the file that is free for reuse.
    pub free_bytes: u64,
    /// Size of the write-ahead log.
    pub wal_bytes: u64,
    /// Events appended since the log was opened.
    pub appended: u64,
    /// Batches appended since the log was opened.
    pub batches: u64,
    /// Transactions that were committed. There are fewer transactions than batches if batches shared
    /// transactions.
    pub commits: u64,
}
