//! The catalog in a file, which is either written with the events or fed by another journal.

use std::sync::atomic::Ordering;

use longshore_model::event::AgentName;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::batch::PreparedBatch;
use super::sqlite_error::SqliteError;
use super::{SqliteLog, forget, reader, search, writer};
use crate::{
    Batch, Catalog, FeedCursor, FeedEntry, Hit, JournalChange, LogFuture, SessionFilter, SessionPage, Stats,
};

impl Catalog for SqliteLog {
    fn apply(&self, entry: FeedEntry) -> LogFuture<'_, ()> {
        Box::pin(async move { self.change(move |writer| apply(writer, entry)).await.map(drop) })
    }

    fn applied(&self, session: SessionId) -> LogFuture<'_, Seq> {
        Box::pin(self.readers.run("reading a session's head", move |reader| end_of(reader, session)))
    }

    fn cursor(&self) -> LogFuture<'_, FeedCursor> {
        Box::pin(self.readers.run("reading how far the journal was followed", cursor))
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

    fn cut(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        Box::pin(self.readers.run("listing sessions that were cut", reader::cut))
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

    fn is_erased(&self, native: NativeId) -> LogFuture<'_, bool> {
        let query = move |reader: &_| reader::is_erased(reader, &native);
        Box::pin(self.readers.run("asking for an erased conversation", query))
    }

    fn usage(&self, since: Timestamp) -> LogFuture<'_, Vec<DayUsage>> {
        Box::pin(self.readers.run("adding up what was used", move |reader| reader::usage(reader, since)))
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

fn end_of(connection: &Connection, session: SessionId) -> Result<Seq, SqliteError> {
    Ok(match reader::key_of(connection, session)? {
        Some(key) => reader::head(connection, key)?,
        None => Seq::ZERO,
    })
}

fn cursor(reader: &Connection) -> Result<FeedCursor, SqliteError> {
    let words: Option<String> =
        reader.query_row("SELECT cursor FROM followed", [], |row| row.get(0)).optional()?;
    Ok(words.map(FeedCursor::new).unwrap_or_default())
}

fn apply(writer: &Connection, entry: FeedEntry) -> Result<u64, SqliteError> {
    match entry.change {
        JournalChange::Block(block) => take_in(writer, block)?,
        JournalChange::Gone { session, erased } => forget::take_out(writer, session, erased.as_ref())?,
    }
    writer
        .prepare_cached("INSERT OR REPLACE INTO followed (one, cursor) VALUES (1, ?1)")?
        .execute([entry.cursor.as_str()])?;
    Ok(0)
}

/// Writes the new events of a batch. Events that the other journal has compacted away count as dropped here,
/// too.
fn take_in(writer: &Connection, block: Batch) -> Result<(), SqliteError> {
    let session = block.session;
    let applied = end_of(writer, session)?;
    let Some(news) = block.beyond(applied) else { return Ok(()) };
    let key = match reader::key_of(writer, session)? {
        Some(key) => key,
        None => writer::begin_session(writer, session)?,
    };
    let news = PreparedBatch::sparse(news)?;
    news.write(writer, key, None)?;
    let reached = news.frames.last().map_or(applied, |frame| frame.seq());
    let holes = (reached.0 - applied.0).saturating_sub(news.frames.len() as u64);
    if holes > 0 {
        writer
            .prepare_cached("UPDATE sessions SET dropped = dropped + ?2 WHERE key = ?1")?
            .execute(params![key, holes as i64])?;
    }
    match &news.row {
        Some(row) => Ok(row.write(writer, key)?),
        None => Ok(()),
    }
}
