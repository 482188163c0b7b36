//! Full-text search: one FTS5 index over the final texts of the log. Deltas are not indexed.

use longshore_model::id::{ItemId, SessionId};
use longshore_model::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::place;
use super::sqlite_error::SqliteError;
use crate::search::{Hit, MATCH_BEGIN, MATCH_END, MOST_HITS, QueryWords, SNIPPET_TOKENS};
use crate::snippet::plain;

/// Adds a new event to the index. The text comes from the view, so the index, the snippets and [`unindex`]
/// use the same text.
pub(super) fn index(connection: &Connection, place: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO search (rowid, text) SELECT place, text FROM searchable WHERE place = ?1",
        )?
        .execute([place])?;
    Ok(())
}

/// Removes a range of events from the index, before their text is deleted.
pub(super) fn unindex(connection: &Connection, first: i64, last: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO search (search, rowid, text) \
             SELECT 'delete', place, text FROM searchable WHERE place BETWEEN ?1 AND ?2",
        )?
        .execute([first, last])?;
    Ok(())
}

pub(super) fn find(connection: &Connection, query: &str, limit: usize) -> Result<Vec<Hit>, SqliteError> {
    let words = QueryWords::of(query);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT events.place, sessions.id, events.item, events.at, snippet(search, 0, ?2, ?3, '…', ?4) \
         FROM search JOIN events ON events.place = search.rowid \
         JOIN sessions ON sessions.key = search.rowid >> 40 \
         WHERE search MATCH ?1 ORDER BY rank LIMIT ?5",
    )?;
    let marks = (MATCH_BEGIN.to_string(), MATCH_END.to_string());
    let limit = limit.min(MOST_HITS) as i64;
    let hits = statement.query_map(
        params![words.to_fts5(), marks.0, marks.1, SNIPPET_TOKENS as i64, limit],
        |row| {
            let session = Uuid::from_bytes(row.get(1)?);
            let item: Option<[u8; 16]> = row.get(2)?;
            Ok(Hit {
                session: SessionId(session),
                seq: place::seq(row.get(0)?),
                item: item.map(|item| ItemId(Uuid::from_bytes(item))),
                snippet: plain(row.get_ref(4)?.as_str()?),
                at: Timestamp::from_micros(row.get(3)?),
            })
        },
    )?;
    Ok(hits.collect::<rusqlite::Result<_>>()?)
}
