//! Reading: a few connections that never wait for the writer, and the queries.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::event::Raw;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::TurnEnd;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::batch::status_word;
use super::sqlite_error::SqliteError;
use super::{place, raw_block, schema, sum};
use crate::usage::UsageSum;
use crate::{LogError, PAGE_BYTES, SessionFilter, SessionPage, Stats, WithRaw, cut_to_page};

/// How many reads run at once. Further reads wait for these, never for the writer.
const READERS: usize = 4;

/// Read-only connections, opened on demand.
#[derive(Clone)]
pub(super) struct Readers {
    file: Arc<Path>,
    idle: Arc<Mutex<Vec<Connection>>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(file: Arc<Path>) -> Self {
        Self { file, idle: Arc::default(), turns: Arc::new(Semaphore::new(READERS)) }
    }

    /// Runs a query on a blocking thread. A task of its own waits for the turn: nobody need poll the caller's future, and
    /// a turn given to a future that nobody polls would be lost for all others.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, LogError> {
        let (file, idle, turns) = (self.file.clone(), self.idle.clone(), self.turns.clone());
        let read = move || {
            let run = || -> Result<T, SqliteError> {
                let free = held(&idle).pop();
                let connection = match free {
                    Some(connection) => connection,
                    None => schema::open_reading(&file)?,
                };
                let answer = query(&connection);
                held(&idle).push(connection);
                answer
            };
            let done = run().map_err(|fault| fault.at(&file, doing));
            if let Err(error @ LogError::Corrupt { .. }) = &done {
                tracing::error!(%error, doing, "the log is damaged");
            }
            done
        };
        let waiting = tokio::spawn(async move {
            let turn = turns.acquire_owned().await.map_err(|error| LogError::other(doing, error))?;
            let reading = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                read()
            });
            reading.await.map_err(|error| LogError::other(doing, error))?
        });
        let mut waiting = AbortOnDrop(waiting);
        (&mut waiting.0).await.map_err(|error| LogError::other(doing, error))?
    }

    /// Closes the idle connections.
    pub(super) fn close_idle(&self) {
        held(&self.idle).clear();
    }
}

/// A task that ends with the future that waits for it.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn held(idle: &Mutex<Vec<Connection>>) -> MutexGuard<'_, Vec<Connection>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn key_of(connection: &Connection, session: SessionId) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM sessions WHERE id = ?1")?
        .query_row([session.0.as_bytes()], |row| row.get(0))
        .optional()
}

pub(super) fn head(connection: &Connection, key: i64) -> rusqlite::Result<Seq> {
    let all = place::all(key);
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(place) FROM events WHERE place BETWEEN ?1 AND ?2")?
        .query_row([all.start(), all.end()], |row| row.get(0))?;
    Ok(last.map(place::seq).unwrap_or_default())
}

pub(super) fn read(
    connection: &Connection,
    session: SessionId,
    after: Seq,
    limit: usize,
    raw: WithRaw,
) -> Result<Vec<Frame>, SqliteError> {
    // One snapshot for events and blocks, because compaction may run at the same time.
    let snapshot = connection.unchecked_transaction()?;
    let Some(key) = key_of(&snapshot, session)? else { return Ok(Vec::new()) };
    stretch(&snapshot, (session, key), after, Seq(u64::MAX), limit, raw)
}

/// The events of a session after one seq, up to another seq, as many as a page holds. The caller holds a
/// snapshot.
pub(super) fn stretch(
    snapshot: &Connection,
    (session, key): (SessionId, i64),
    after: Seq,
    last: Seq,
    limit: usize,
    raw: WithRaw,
) -> Result<Vec<Frame>, SqliteError> {
    let mut statement = snapshot.prepare_cached(
        "SELECT place, json, sum FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    )?;
    let end = place::place(key, last);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![place::place(key, after), end, limit], |row| {
        let json: Arc<str> = row.get_ref(1)?.as_str()?.into();
        let whole = row.get::<_, Option<i64>>(2)?.is_none_or(|written| sum::holds(&json, written));
        Ok((place::seq(row.get(0)?), json, whole))
    })?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    for row in rows {
        let (seq, json, whole) = row?;
        if !whole {
            let fault = format!("event {seq} of session {session} is not as it was written");
            return Err(SqliteError::Damaged(fault));
        }
        bytes += json.len();
        events.push((seq, json));
        if bytes > PAGE_BYTES {
            break;
        }
    }
    let raws = match (raw, events.first(), events.last()) {
        (WithRaw::Yes, Some(first), Some(last)) => raws(snapshot, key, first.0, last.0)?,
        (WithRaw::Yes | WithRaw::No, _, _) => Raws::default(),
    };
    let (until, mut raws) = (raws.until, raws.frames.into_iter().peekable());
    let stretch = events.into_iter().take_while(|(seq, _)| until.is_none_or(|until| *seq <= until));
    let mut frames = stretch
        .map(|(seq, json)| {
            while raws.next_if(|(of, _)| *of < seq).is_some() {}
            Frame::stored(seq, json, raws.next_if(|(of, _)| *of == seq).map(|(_, raw)| raw))
        })
        .collect();
    cut_to_page(&mut frames);
    Ok(frames)
}

/// The raw frames of a part of a session.
#[derive(Default)]
struct Raws {
    frames: Vec<(Seq, Raw)>,
    /// The seq at which the frames fill a page, if that is before the end of the part.
    until: Option<Seq>,
}

/// The raw frames from the first to the last seq.
fn raws(connection: &Connection, key: i64, first: Seq, last: Seq) -> Result<Raws, SqliteError> {
    // The block that contains `first` begins at or before `first`.
    let mut statement = connection.prepare_cached(
        "SELECT first, size, block FROM raw_blocks \
         WHERE first >= coalesce((SELECT max(first) FROM raw_blocks WHERE first BETWEEN ?1 AND ?2), ?1) \
         AND first <= ?3 ORDER BY first",
    )?;
    let (all, from, to) = (place::all(key), place::place(key, first), place::place(key, last));
    let mut rows = statement.query([*all.start(), from, to])?;
    let (mut frames, mut held) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let size = row.get::<_, i64>(1)? as usize;
        let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let unpacked =
            raw_block::unpack(place::seq(row.get(0)?), size, bytes).map_err(SqliteError::Damaged)?;
        for (seq, raw) in unpacked.into_iter().filter(|(seq, _)| *seq >= first) {
            held += raw.len();
            frames.push((seq, raw));
        }
        if held > PAGE_BYTES {
            let until = frames.last().map(|(seq, _)| *seq);
            return Ok(Raws { frames, until });
        }
    }
    Ok(Raws { frames, until: None })
}

pub(super) fn session(
    connection: &Connection,
    session: SessionId,
) -> Result<Option<SessionInfo>, SqliteError> {
    let info: Option<Option<String>> = connection
        .prepare_cached("SELECT info FROM sessions WHERE id = ?1")?
        .query_row([session.0.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(info.flatten().map(|info| serde_json::from_str(&info)).transpose()?)
}

pub(super) fn sessions(connection: &Connection, filter: &SessionFilter) -> Result<SessionPage, SqliteError> {
    let after = filter.begins_after()?;
    let size = filter.page_size();
    let mut statement = connection.prepare_cached(
        "SELECT info FROM sessions WHERE info IS NOT NULL \
         AND (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR (archived = 1 OR status = 'completed') = ?3) \
         AND (?4 IS NULL OR instr(haystack, ?4)) \
         AND (?5 IS NULL OR updated_at < ?5 OR (updated_at = ?5 AND id > ?6)) \
         ORDER BY updated_at DESC, id LIMIT ?7",
    )?;
    let infos = statement.query_map(
        params![
            filter.status.map(status_word),
            filter.agent,
            filter.archived,
            filter.needle(),
            after.map(|after| after.updated_at.micros()),
            after.as_ref().map(|after| after.id.0.as_bytes().as_slice()),
            (size + 1) as i64,
        ],
        |row| row.get::<_, String>(0),
    )?;
    Ok(SessionPage::of(decoded(infos)?, size))
}

pub(super) fn unfinished(connection: &Connection) -> Result<Vec<SessionInfo>, SqliteError> {
    let mut statement =
        connection.prepare_cached("SELECT info FROM sessions WHERE unfinished = 1 ORDER BY key")?;
    decoded(statement.query_map([], |row| row.get::<_, String>(0))?)
}

pub(super) fn cut(connection: &Connection) -> Result<Vec<SessionInfo>, SqliteError> {
    let mut statement =
        connection.prepare_cached("SELECT info FROM sessions WHERE cut = 1 ORDER BY updated_at DESC, id")?;
    decoded(statement.query_map([], |row| row.get::<_, String>(0))?)
}

pub(super) fn is_erased(connection: &Connection, native: &str) -> Result<bool, SqliteError> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM erased WHERE native = ?1")?;
    Ok(statement.exists([native])?)
}

fn decoded(infos: impl Iterator<Item = rusqlite::Result<String>>) -> Result<Vec<SessionInfo>, SqliteError> {
    infos.map(|info| Ok(serde_json::from_str(&info?)?)).collect()
}

pub(super) fn session_of(connection: &Connection, ask: Uuid) -> Result<Option<SessionId>, SqliteError> {
    let id: Option<[u8; 16]> = connection
        .prepare_cached(
            "SELECT sessions.id FROM asks JOIN sessions ON sessions.key = asks.session WHERE asks.id = ?1",
        )?
        .query_row([ask.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(id.map(|id| SessionId(Uuid::from_bytes(id))))
}

pub(super) fn native(
    connection: &Connection,
    agent: &str,
    native: &str,
) -> Result<Option<SessionInfo>, SqliteError> {
    let info: Option<String> = connection
        .prepare_cached("SELECT info FROM sessions WHERE native = ?2 ORDER BY agent = ?1 DESC LIMIT 1")?
        .query_row([agent, native], |row| row.get(0))
        .optional()?;
    Ok(info.map(|info| serde_json::from_str(&info)).transpose()?)
}

/// The ends of turns, each found by its place. Turns of deleted sessions do not count.
pub(super) fn usage(connection: &Connection, since: Timestamp) -> Result<Vec<DayUsage>, SqliteError> {
    let mut statement = connection.prepare_cached(
        "SELECT turns.at, turns.turn, sessions.agent, json_extract(sessions.info, '$.project'), \
                json_extract(events.json, '$.payload') \
         FROM turns JOIN sessions ON sessions.key = turns.session \
         JOIN events ON events.place = turns.session << 40 | turns.ended \
         WHERE turns.at >= ?1 AND sessions.info IS NOT NULL ORDER BY turns.at",
    )?;
    let mut rows = statement.query([since.micros()])?;
    let mut used = UsageSum::default();
    while let Some(row) = rows.next()? {
        let (agent, project): (String, Option<String>) = (row.get(2)?, row.get(3)?);
        let end: TurnEnd = serde_json::from_str(&row.get::<_, String>(4)?)?;
        let turn = TurnId(Uuid::from_bytes(row.get(1)?));
        used.add(turn, Timestamp::from_micros(row.get(0)?), &agent, project.as_deref(), &end);
    }
    Ok(used.days())
}

/// Counts without reading the events: a session has as many events as its last seq says, minus the dropped
/// ones.
pub(super) fn stats(connection: &Connection) -> Result<Stats, SqliteError> {
    let (sessions, events): (i64, i64) = connection
        .prepare_cached(
            "SELECT count(*), coalesce(sum(coalesce((SELECT max(place) FROM events \
             WHERE place BETWEEN key << 40 AND (key + 1 << 40) - 1) & ((1 << 40) - 1), 0) - dropped), 0) \
             FROM sessions",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let page = schema::number(connection, "page_size")?;
    let bytes = |pragma| -> rusqlite::Result<u64> { Ok((schema::number(connection, pragma)? * page) as u64) };
    Ok(Stats {
        sessions: sessions as u64,
        events: events as u64,
        file_bytes: bytes("page_count")?,
        free_bytes: bytes("freelist_count")?,
        ..Stats::default()
    })
}
