//! Retention: whole sessions go, at once for everybody who looks, and piece by piece on disk.

use longshore_model::time::Timestamp;
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::tidy::Tidy;
use super::{place, search};

/// How many events go in one piece.
const PIECE: i64 = 1_000;

pub(super) fn run(tidy: &Tidy, updated_before: Timestamp) -> Result<u64, Fault> {
    let forgotten = tidy.change(move |writer| part_with(writer, updated_before))?;
    // Also what a crash kept an earlier one from finishing.
    while let Some(key) = next(&tidy.reader)? {
        while tidy.change(move |writer| drop_piece(writer, key))? > 0 {}
    }
    Ok(forgotten)
}

/// From here on nobody finds these sessions.
fn part_with(writer: &Connection, updated_before: Timestamp) -> Result<u64, Fault> {
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
fn drop_piece(writer: &Connection, key: i64) -> Result<u64, Fault> {
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
