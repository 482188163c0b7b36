//! The feed of the log: its blocks and notices, in the order of their numbers.

use std::collections::VecDeque;
use std::sync::Arc;

use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::watch;
use uuid::Uuid;

use super::place;
use super::reader::{self, Readers};
use super::sqlite_error::SqliteError;
use crate::{
    Batch, ErasedConversation, Feed, FeedCursor, FeedEntry, JournalChange, LogError, LogFuture, WithRaw,
};

/// The most entries of one read, unless they fill a page earlier.
const ENTRIES: usize = 64;

/// How far a reader has followed the log: a number, and for a block that is larger than a page, the seq up to
/// which the reader has its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Followed {
    number: i64,
    seq: Seq,
}

impl Followed {
    pub(super) fn parse(cursor: &FeedCursor) -> Result<Self, LogError> {
        let words = cursor.as_str();
        if words.is_empty() {
            return Ok(Self::default());
        }
        let read = || {
            let (number, seq) = words.split_once('_')?;
            Some(Self { number: number.parse().ok()?, seq: Seq(seq.parse().ok()?) })
        };
        read().ok_or_else(|| LogError::BadCursor { cursor: words.chars().take(80).collect() })
    }

    fn cursor(self) -> FeedCursor {
        FeedCursor::new(format!("{}_{}", self.number, self.seq))
    }
}

/// A change without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    Row,
    Forgotten,
    Erased,
}

/// The last number that was assigned.
pub(super) fn last_number(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(block) FROM events WHERE block IS NOT NULL), 0), \
             coalesce((SELECT max(number) FROM notices), 0))",
        )?
        .query_row([], |row| row.get(0))
}

/// Stores a notice under a number.
pub(super) fn note(
    writer: &Connection,
    number: i64,
    session: SessionId,
    what: Notice,
    conversation: Option<&ErasedConversation>,
) -> rusqlite::Result<()> {
    let what = match what {
        Notice::Row => 0,
        Notice::Forgotten => 1,
        Notice::Erased => 2,
    };
    writer
        .prepare_cached(
            "INSERT INTO notices (number, session, what, agent, native) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            number,
            session.0.as_bytes(),
            what,
            conversation.map(|erased| &*erased.agent),
            conversation.map(|erased| &*erased.native),
        ])?;
    Ok(())
}

/// The next entry of the feed.
enum NextEntry {
    Block { number: i64, place: i64 },
    Notice { number: i64, session: SessionId, what: i64, conversation: Option<ErasedConversation> },
}

impl NextEntry {
    fn number(&self) -> i64 {
        match self {
            NextEntry::Block { number, .. } | NextEntry::Notice { number, .. } => *number,
        }
    }
}

/// The entries after a position, and the new position. Entries of sessions that are gone are skipped.
pub(super) fn page(
    connection: &Connection,
    mut from: Followed,
    raw: WithRaw,
) -> Result<(Vec<FeedEntry>, Followed), SqliteError> {
    let snapshot = connection.unchecked_transaction()?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for next in next_entries(&snapshot, from)? {
        let number = next.number();
        let change = match next {
            NextEntry::Notice { session, what: 0, .. } => row_of(&snapshot, session)?,
            NextEntry::Notice { session, conversation: erased, .. } => {
                Some(JournalChange::Gone { session, erased })
            }
            NextEntry::Block { place, .. } => {
                let (key, last) = (place >> place::SEQ_BITS, place::seq(place));
                let part = if from.number == number { from.seq } else { Seq::ZERO };
                let Some(block) = block_of(&snapshot, key, part, last, raw)? else {
                    from = Followed { number, seq: last };
                    continue;
                };
                let reached = block.frames.last().map_or(last, |frame| frame.seq());
                from = Followed { number, seq: reached };
                let weight = |frame: &Frame| frame.json().len() + frame.raw().map_or(0, |raw| raw.len());
                bytes += block.frames.iter().map(weight).sum::<usize>();
                entries.push(FeedEntry { cursor: from.cursor(), change: JournalChange::Block(block) });
                if reached < last || bytes > crate::PAGE_BYTES {
                    return Ok((entries, from));
                }
                continue;
            }
        };
        from = Followed { number, seq: Seq::ZERO };
        entries.extend(change.map(|change| FeedEntry { cursor: from.cursor(), change }));
    }
    Ok((entries, from))
}

/// Blocks and notices, merged by their numbers.
fn next_entries(connection: &Connection, from: Followed) -> rusqlite::Result<Vec<NextEntry>> {
    let mut statement = connection
        .prepare_cached("SELECT block, place FROM events WHERE block >= ?1 ORDER BY block LIMIT ?2")?;
    let limit = ENTRIES as i64 + 1;
    let blocks = statement.query_map([from.number, limit], |row| {
        Ok(NextEntry::Block { number: row.get(0)?, place: row.get(1)? })
    })?;
    let mut next = blocks.collect::<rusqlite::Result<Vec<_>>>()?;
    next.retain(|entry| match entry {
        NextEntry::Block { number, place } => *number > from.number || place::seq(*place) > from.seq,
        NextEntry::Notice { .. } => true,
    });
    let mut statement = connection.prepare_cached(
        "SELECT number, session, what, agent, native FROM notices WHERE number > ?1 ORDER BY number LIMIT ?2",
    )?;
    let notices = statement.query_map([from.number, limit], |row| {
        let (agent, native): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
        let conversation =
            agent.zip(native).map(|(agent, native)| ErasedConversation { agent: agent.into(), native });
        let session = SessionId(Uuid::from_bytes(row.get(1)?));
        Ok(NextEntry::Notice { number: row.get(0)?, session, what: row.get(2)?, conversation })
    })?;
    for notice in notices {
        next.push(notice?);
    }
    next.sort_by_key(NextEntry::number);
    // One of the two queries may have more entries beyond this point.
    next.truncate(ENTRIES);
    Ok(next)
}

fn row_of(connection: &Connection, session: SessionId) -> Result<Option<JournalChange>, SqliteError> {
    let info = reader::session(connection, session)?;
    Ok(info.map(|info| {
        JournalChange::Block(Batch { session, frames: Arc::default(), info: Some(Arc::new(info)) })
    }))
}

/// The events of a session after the previous block up to this block; `None` if the session is gone.
fn block_of(
    connection: &Connection,
    key: i64,
    part: Seq,
    last: Seq,
    raw: WithRaw,
) -> Result<Option<Batch>, SqliteError> {
    let found: Option<([u8; 16], Option<String>)> = connection
        .prepare_cached("SELECT id, info FROM sessions WHERE key = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, info)) = found else { return Ok(None) };
    let session = SessionId(Uuid::from_bytes(id));
    let before: Option<i64> = connection
        .prepare_cached(
            "SELECT place FROM events NOT INDEXED WHERE place >= ?1 AND place < ?2 AND block IS NOT NULL \
             ORDER BY place DESC LIMIT 1",
        )?
        .query_row([place::place(key, Seq::ZERO), place::place(key, last)], |row| row.get(0))
        .optional()?;
    let after = before.map(place::seq).unwrap_or_default().max(part);
    let info = info.map(|info| serde_json::from_str::<SessionInfo>(&info)).transpose()?.map(Arc::new);
    let frames = reader::stretch(connection, (session, key), after, last, usize::MAX, raw)?;
    Ok(Some(Batch { session, frames: frames.into(), info }))
}

/// A feed of the log.
pub(super) struct SqliteFeed {
    pub(super) readers: Readers,
    pub(super) grown: watch::Receiver<()>,
    pub(super) from: Followed,
    pub(super) raw: WithRaw,
    pub(super) waiting: VecDeque<FeedEntry>,
}

impl Feed for SqliteFeed {
    fn next(&mut self) -> LogFuture<'_, Option<FeedEntry>> {
        Box::pin(async move {
            while self.waiting.is_empty() {
                self.grown.mark_unchanged();
                let (from, raw) = (self.from, self.raw);
                let read = move |reader: &Connection| page(reader, from, raw);
                let (entries, reached) = self.readers.run("following the log", read).await?;
                if entries.is_empty() && reached == from {
                    return Ok(None);
                }
                self.waiting.extend(entries);
                self.from = reached;
            }
            Ok(self.waiting.pop_front())
        })
    }

    fn ready(&mut self) -> LogFuture<'_, ()> {
        Box::pin(async move {
            let closed = |error| LogError::other("following the log", error);
            self.grown.changed().await.map_err(closed)
        })
    }
}
