//! Retention: deletes whole sessions, at once for all readers and piece by piece on disk.

use std::path::Path;
use std::time::{Duration, SystemTime};

use longshore_model::id::SessionId;
use longshore_model::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::feed::{self, Notice};
use super::sqlite_error::SqliteError;
use super::tidy::Tidy;
use super::{LogSettings, place, schema, search};
use crate::{ErasedConversation, LogError};

/// How often the log tries to empty the write-ahead log, and the pause between the tries.
const EMPTIED_TRIES: usize = 50;
const EMPTIED_PACE: Duration = Duration::from_millis(20);
/// How many events a piece has.
const PIECE: i64 = 1_000;

pub(super) fn run(tidy: &Tidy, file: &Path, updated_before: Timestamp) -> Result<u64, SqliteError> {
    let forgotten = tidy.change(move |writer| part_with(writer, updated_before))?;
    drop_all(tidy)?;
    let micros = u64::try_from(updated_before.micros()).unwrap_or_default();
    drop_copies(file, Some(SystemTime::UNIX_EPOCH + Duration::from_micros(micros)))?;
    Ok(forgotten)
}

/// Erases a session so that nobody can read any of it: the file, the index and the write-ahead log are
/// overwritten. Copies of the log in an older format may contain the session, so they are deleted.
pub(super) fn erase(tidy: &Tidy, file: &Path, session: SessionId) -> Result<bool, SqliteError> {
    tidy.change(|writer| overwrite(writer, true))?;
    let dropped = tidy.change(move |writer| part_with_one(writer, session)).and_then(|found| {
        drop_all(tidy)?;
        Ok(found > 0)
    });
    tidy.change(|writer| overwrite(writer, false))?;
    let found = dropped?;
    if found {
        drop_copies(file, None)?;
    }
    let beside = schema::open_beside(file, &LogSettings::default())?;
    // A reader at this moment keeps the write-ahead log from being emptied. If a reader takes longer than we
    // wait, the next checkpoint empties it.
    for _ in 0..EMPTIED_TRIES {
        let is_busy: bool = beside.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if !is_busy {
            break;
        }
        std::thread::park_timeout(EMPTIED_PACE);
    }
    Ok(found)
}

fn drop_copies(file: &Path, made_before: Option<SystemTime>) -> Result<(), SqliteError> {
    let failed = |error: std::io::Error| LogError::other("deleting the copy of an older log", error);
    schema::drop_copies(file, made_before).map_err(|error| failed(error).into())
}

/// Turns overwriting of deleted data on or off. It costs writes, so it is on only for an erasure.
fn overwrite(writer: &Connection, yes: bool) -> Result<u64, SqliteError> {
    writer.pragma_update(None, "secure_delete", if yes { "on" } else { "fast" })?;
    writer.execute("INSERT INTO search (search, rank) VALUES ('secure-delete', ?1)", [yes])?;
    Ok(0)
}

/// Deletes all hidden sessions, also sessions that a crash left half deleted.
fn drop_all(tidy: &Tidy) -> Result<(), SqliteError> {
    while let Some(key) = next(&tidy.reader)? {
        while tidy.change(move |writer| drop_piece(writer, key))? > 0 {}
    }
    Ok(())
}

fn part_with_one(writer: &Connection, session: SessionId) -> Result<u64, SqliteError> {
    let Some((key, erased)) = named(writer, session)? else { return Ok(0) };
    if let Some(erased) = &erased {
        note_erased(writer, erased)?;
    }
    part(writer, key, session, Notice::Erased, erased.as_ref())?;
    Ok(1)
}

/// Hides these sessions from all readers.
fn part_with(writer: &Connection, updated_before: Timestamp) -> Result<u64, SqliteError> {
    let mut statement =
        writer.prepare("SELECT key, id FROM sessions WHERE unfinished = 0 AND updated_at < ?1")?;
    let old = statement.query_map([updated_before.micros()], |row| {
        Ok((row.get::<_, i64>(0)?, SessionId(Uuid::from_bytes(row.get(1)?))))
    })?;
    let old = old.collect::<rusqlite::Result<Vec<_>>>()?;
    for (key, session) in &old {
        part(writer, *key, *session, Notice::Forgotten, None)?;
    }
    Ok(old.len() as u64)
}

/// Removes sessions that are gone from the journal that this catalog follows: at once, also on disk.
pub(super) fn take_out(
    writer: &Connection,
    session: SessionId,
    erased: Option<&ErasedConversation>,
) -> Result<(), SqliteError> {
    if let Some(erased) = erased {
        note_erased(writer, erased)?;
    }
    let Some((key, _)) = named(writer, session)? else { return Ok(()) };
    let what = if erased.is_some() { Notice::Erased } else { Notice::Forgotten };
    part(writer, key, session, what, erased)?;
    while drop_piece(writer, key)? > 0 {}
    Ok(())
}

fn part(
    writer: &Connection,
    key: i64,
    session: SessionId,
    what: Notice,
    erased: Option<&ErasedConversation>,
) -> Result<(), SqliteError> {
    feed::note(writer, feed::last_number(writer)? + 1, session, what, erased)?;
    writer.prepare_cached("INSERT INTO forgotten VALUES (?1)")?.execute([key])?;
    writer.prepare_cached("DELETE FROM asks WHERE session = ?1")?.execute([key])?;
    writer.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([key])?;
    Ok(())
}

fn note_erased(writer: &Connection, erased: &ErasedConversation) -> rusqlite::Result<()> {
    writer
        .prepare_cached("INSERT OR IGNORE INTO erased (agent, native) VALUES (?1, ?2)")?
        .execute(params![&*erased.agent, &*erased.native])?;
    Ok(())
}

/// A session's key, and its conversation.
fn named(
    connection: &Connection,
    session: SessionId,
) -> rusqlite::Result<Option<(i64, Option<ErasedConversation>)>> {
    connection
        .prepare_cached("SELECT key, agent, native FROM sessions WHERE id = ?1")?
        .query_row([session.0.as_bytes()], |row| {
            let (agent, native): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
            let named = agent.zip(native);
            let named = named.map(|(agent, native)| ErasedConversation { agent: agent.into(), native });
            Ok((row.get(0)?, named))
        })
        .optional()
}

fn next(reader: &Connection) -> rusqlite::Result<Option<i64>> {
    reader.query_row("SELECT min(key) FROM forgotten", [], |row| row.get(0))
}

/// Deletes the next events of a hidden session; returns 0 at the end.
fn drop_piece(writer: &Connection, key: i64) -> Result<u64, SqliteError> {
    let all = place::all(key);
    let last: Option<i64> = writer
        .prepare_cached(
            "SELECT max(place) FROM (SELECT place FROM events WHERE place BETWEEN ?1 AND ?2 \
             ORDER BY place LIMIT ?3)",
        )?
        .query_row([*all.start(), *all.end(), PIECE], |row| row.get(0))?;
    let Some(last) = last else {
        writer.execute("DELETE FROM raw_blocks WHERE first BETWEEN ?1 AND ?2", [all.start(), all.end()])?;
        writer.execute("DELETE FROM turns WHERE session = ?1", [key])?;
        writer.execute("DELETE FROM forgotten WHERE key = ?1", [key])?;
        return Ok(0);
    };
    search::unindex(writer, *all.start(), last)?;
    let gone = writer.execute("DELETE FROM events WHERE place BETWEEN ?1 AND ?2", [*all.start(), last])?;
    writer.execute("DELETE FROM raw_blocks WHERE first >= ?1 AND last <= ?2", [*all.start(), last])?;
    Ok(gone as u64)
}
