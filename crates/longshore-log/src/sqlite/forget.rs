//! Retention: whole sessions go, at once for everybody who looks, and piece by piece on disk.

use std::path::Path;
use std::time::{Duration, SystemTime};

use longshore_model::id::SessionId;
use longshore_model::time::Timestamp;
use rusqlite::{Connection, params};

use super::sqlite_error::SqliteError;
use super::tidy::Tidy;
use super::{LogSettings, place, schema, search};
use crate::LogError;

/// How often the write-ahead log is tried to be emptied, and the pause between.
const EMPTIED_TRIES: usize = 50;
const EMPTIED_PACE: Duration = Duration::from_millis(20);
/// How many events go in one piece.
const PIECE: i64 = 1_000;

pub(super) fn run(tidy: &Tidy, file: &Path, updated_before: Timestamp) -> Result<u64, SqliteError> {
    let forgotten = tidy.change(move |writer| part_with(writer, updated_before))?;
    drop_all(tidy)?;
    let micros = u64::try_from(updated_before.micros()).unwrap_or_default();
    drop_copies(file, Some(SystemTime::UNIX_EPOCH + Duration::from_micros(micros)))?;
    Ok(forgotten)
}

/// One session, so that nothing of it can be read any more: what it leaves in the file is overwritten, also in the index
/// and in the write-ahead log. Copies of the log in an older format may hold it, and go as a whole.
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
    // Somebody who reads right now keeps it from being emptied. Whoever reads for longer than we wait leaves it to the next
    // checkpoint.
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

/// Whether what goes is overwritten wherever it lies. It costs writes, so it is done only where somebody wants it gone.
fn overwrite(writer: &Connection, yes: bool) -> Result<u64, SqliteError> {
    writer.pragma_update(None, "secure_delete", if yes { "on" } else { "fast" })?;
    writer.execute("INSERT INTO search (search, rank) VALUES ('secure-delete', ?1)", [yes])?;
    Ok(0)
}

/// Also what a crash kept an earlier one from finishing.
fn drop_all(tidy: &Tidy) -> Result<(), SqliteError> {
    while let Some(key) = next(&tidy.reader)? {
        while tidy.change(move |writer| drop_piece(writer, key))? > 0 {}
    }
    Ok(())
}

fn part_with_one(writer: &Connection, session: SessionId) -> Result<u64, SqliteError> {
    let Some(key) = super::reader::key_of(writer, session)? else { return Ok(0) };
    writer.execute(
        "INSERT OR IGNORE INTO erased SELECT agent, native FROM sessions \
         WHERE key = ?1 AND agent IS NOT NULL AND native IS NOT NULL",
        [key],
    )?;
    writer.execute("INSERT INTO forgotten VALUES (?1)", [key])?;
    writer.execute("DELETE FROM asks WHERE session = ?1", [key])?;
    Ok(writer.execute("DELETE FROM sessions WHERE key = ?1", [key])? as u64)
}

/// From here on nobody finds these sessions.
fn part_with(writer: &Connection, updated_before: Timestamp) -> Result<u64, SqliteError> {
    let moment = params![updated_before.micros()];
    writer.execute(
        "INSERT INTO forgotten SELECT key FROM sessions WHERE unfinished = 0 AND updated_at < ?1",
        moment,
    )?;
    writer.execute("DELETE FROM asks WHERE session IN (SELECT key FROM forgotten)", [])?;
    let gone = writer.execute("DELETE FROM sessions WHERE key IN (SELECT key FROM forgotten)", [])?;
    Ok(gone as u64)
}

fn next(reader: &Connection) -> rusqlite::Result<Option<i64>> {
    reader.query_row("SELECT min(key) FROM forgotten", [], |row| row.get(0))
}

/// Drops the next events of a session that is gone; 0 when that was all.
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
