//! Compaction: drops the deltas of finished items, and merges small blocks of raw frames.
//!
//! Compaction reads on its own connection and gives the writer small changes, between which appends continue.
//! A crash at any point leaves a legal log: events go first, a raw frame without an event is never shown, and
//! the marks in the session's row move only at the end. So the next compaction finishes the work of this one.

use std::collections::HashSet;

use longshore_model::event::Raw;
use longshore_model::id::{ItemId, Seq, TurnId};
use longshore_model::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::batch::{DELTA, FINAL, write_block};
use super::place::{self, place};
use super::raw_block::{self, BLOCK_BYTES};
use super::reader;
use super::sqlite_error::SqliteError;
use super::tidy::Tidy;
use crate::CompactionReport;
use crate::superseded::EndedTurns;

/// How many events a piece covers.
const PIECE: i64 = 2_000;
/// The most frames of a merged block, whatever their size.
const BLOCK_FRAMES: usize = 4_096;

/// A session with ended turns that compaction has not covered yet.
struct RipeSession {
    key: i64,
    left_from: Seq,
    /// The end of the last of these turns.
    upto: Seq,
}

pub(super) fn run(tidy: &Tidy, ended_before: Timestamp) -> Result<CompactionReport, SqliteError> {
    let mut compacted = CompactionReport::default();
    for ripe in ripe(&tidy.reader, ended_before)? {
        let (events, left) = drop_deltas(tidy, &ripe, ended_before)?;
        compacted.events += events;
        compacted.sessions += u64::from(events > 0);
        compacted.blocks += merge_blocks(tidy, &ripe)?;
        let RipeSession { key, upto, .. } = ripe;
        let left_from = left.map_or(upto, |left| Seq(left.0 - 1));
        tidy.change(move |writer| {
            writer.execute(
                "UPDATE sessions SET compacted_to = ?2, left_from = ?3 WHERE key = ?1",
                params![key, upto.0 as i64, left_from.0 as i64],
            )?;
            Ok(0)
        })?;
    }
    Ok(compacted)
}

fn ripe(reader: &Connection, ended_before: Timestamp) -> rusqlite::Result<Vec<RipeSession>> {
    let mut statement = reader.prepare(
        "SELECT key, left_from, max(ended) FROM turns JOIN sessions ON key = session \
         WHERE at < ?1 AND ended > compacted_to GROUP BY key",
    )?;
    let ripe = statement.query_map([ended_before.micros()], |row| {
        let (left_from, upto): (i64, i64) = (row.get(1)?, row.get(2)?);
        Ok(RipeSession { key: row.get(0)?, left_from: Seq(left_from as u64), upto: Seq(upto as u64) })
    })?;
    ripe.collect()
}

/// Drops the deltas that compaction may drop. Returns how many, and the first delta that must stay for now.
fn drop_deltas(
    tidy: &Tidy,
    ripe: &RipeSession,
    ended_before: Timestamp,
) -> Result<(u64, Option<Seq>), SqliteError> {
    let key = ripe.key;
    let finished = finished(&tidy.reader, ripe)?;
    let (mut from, upto) = (place(key, ripe.left_from), place(key, ripe.upto));
    let (mut dropped, mut left) = (0, None);
    loop {
        let deltas = deltas(&tidy.reader, from, upto)?;
        let Some(last) = deltas.last() else { break };
        from = last.place;
        let mut going = Vec::new();
        for DeltaRow { place, item, turn } in deltas {
            let seq = place::seq(place);
            if finished.supersedes(seq, item, turn, ended_before) {
                going.push(place);
            } else if item.is_some() && left.is_none() {
                left = Some(seq);
            }
        }
        if going.is_empty() {
            continue;
        }
        dropped += tidy.change(move |writer| {
            let mut delete = writer.prepare_cached("DELETE FROM events WHERE place = ?1")?;
            let mut gone = 0;
            for place in going {
                gone += delete.execute([place])? as u64;
            }
            writer
                .prepare_cached("UPDATE sessions SET dropped = dropped + ?2 WHERE key = ?1")?
                .execute(params![key, gone as i64])?;
            Ok(gone)
        })?;
    }
    Ok((dropped, left))
}

/// The final events of the session, also after the covered turns, because an item may outlive its turn.
fn finished(reader: &Connection, ripe: &RipeSession) -> rusqlite::Result<EndedTurns> {
    let mut finished = EndedTurns::new(reader::head(reader, ripe.key)?);
    let mut statement = reader.prepare_cached(
        "SELECT place, item, at FROM events WHERE place > ?1 AND place <= ?2 AND growth = ?3 \
         AND item IS NOT NULL ORDER BY place",
    )?;
    let from = place(ripe.key, ripe.left_from);
    let mut rows = statement.query([from, *place::all(ripe.key).end(), FINAL])?;
    while let Some(row) = rows.next()? {
        let item = ItemId(Uuid::from_bytes(row.get(1)?));
        finished.note_final(item, place::seq(row.get(0)?), Timestamp::from_micros(row.get(2)?));
    }
    let mut statement = reader.prepare_cached("SELECT turn, at FROM turns WHERE session = ?1")?;
    let mut rows = statement.query([ripe.key])?;
    while let Some(row) = rows.next()? {
        let turn = TurnId(Uuid::from_bytes(row.get(0)?));
        finished.note_turn(turn, Timestamp::from_micros(row.get(1)?));
    }
    Ok(finished)
}

struct DeltaRow {
    place: i64,
    item: Option<ItemId>,
    turn: Option<TurnId>,
}

fn deltas(reader: &Connection, after: i64, upto: i64) -> rusqlite::Result<Vec<DeltaRow>> {
    let mut statement = reader.prepare_cached(
        "SELECT place, item, turn FROM events WHERE place > ?1 AND place <= ?2 AND growth = ?3 \
         ORDER BY place LIMIT ?4",
    )?;
    let deltas = statement.query_map([after, upto, DELTA, PIECE], |row| {
        let (item, turn): (Option<[u8; 16]>, Option<[u8; 16]>) = (row.get(1)?, row.get(2)?);
        Ok(DeltaRow {
            place: row.get(0)?,
            item: item.map(|item| ItemId(Uuid::from_bytes(item))),
            turn: turn.map(|turn| TurnId(Uuid::from_bytes(turn))),
        })
    })?;
    deltas.collect()
}

/// Neighbouring blocks that become one block.
#[derive(Default)]
struct BlockMerge {
    blocks: Vec<i64>,
    frames: Vec<(Seq, Raw)>,
    bytes: usize,
    /// Whether a frame lost its event.
    thinned: bool,
}

/// Rewrites the blocks of ended turns without the frames of dropped events. Returns by how many blocks the
/// session shrank.
fn merge_blocks(tidy: &Tidy, ripe: &RipeSession) -> Result<u64, SqliteError> {
    let (mut from, upto) = (place(ripe.key, ripe.left_from), place(ripe.key, ripe.upto));
    let mut merging = BlockMerge::default();
    let mut fewer = 0;
    // The last block of the previous compaction may be small.
    let reader = &tidy.reader;
    let before: Option<i64> = reader
        .prepare_cached("SELECT max(first) FROM raw_blocks WHERE first BETWEEN ?1 AND ?2")?
        .query_row([*place::all(ripe.key).start(), from], |row| row.get(0))?;
    from = before.unwrap_or(from) - 1;
    while let Some(block) = next_block(reader, from, upto)? {
        from = block.first;
        let kept = events_between(reader, block.first, block.last)?;
        let frames = raw_block::unpack(place::seq(block.first), block.size, &block.bytes);
        let mut frames = frames.map_err(SqliteError::Damaged)?;
        let all = frames.len();
        frames.retain(|(seq, _)| kept.contains(&place(ripe.key, *seq)));
        let thinned = frames.len() < all;
        if merging.bytes + block.size > BLOCK_BYTES || merging.frames.len() + frames.len() > BLOCK_FRAMES {
            fewer += replace(tidy, ripe.key, std::mem::take(&mut merging))?;
        }
        merging.bytes += if thinned { frames.iter().map(|(_, raw)| raw.len()).sum() } else { block.size };
        merging.thinned |= thinned;
        merging.blocks.push(block.first);
        merging.frames.append(&mut frames);
    }
    fewer += replace(tidy, ripe.key, merging)?;
    Ok(fewer)
}

fn replace(tidy: &Tidy, key: i64, merging: BlockMerge) -> Result<u64, SqliteError> {
    if merging.blocks.len() < 2 && !merging.thinned {
        return Ok(0);
    }
    let blocks = raw_block::pack(merging.frames.iter().map(|(seq, raw)| (*seq, raw)));
    let fewer = merging.blocks.len().saturating_sub(blocks.len()) as u64;
    tidy.change(move |writer| {
        let mut delete = writer.prepare_cached("DELETE FROM raw_blocks WHERE first = ?1")?;
        for first in merging.blocks {
            delete.execute([first])?;
        }
        for block in &blocks {
            write_block(writer, key, block)?;
        }
        Ok(fewer)
    })
}

struct StoredBlock {
    first: i64,
    last: i64,
    size: usize,
    bytes: Vec<u8>,
}

/// The next block that lies completely before the end of the last covered turn.
fn next_block(reader: &Connection, after: i64, upto: i64) -> rusqlite::Result<Option<StoredBlock>> {
    let mut statement = reader.prepare_cached(
        "SELECT first, last, size, block FROM raw_blocks WHERE first > ?1 AND first <= ?2 ORDER BY first LIMIT 1",
    )?;
    let mut rows = statement.query([after, upto])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let size = row.get::<_, i64>(2)? as usize;
    let block = StoredBlock { first: row.get(0)?, last: row.get(1)?, size, bytes: row.get(3)? };
    Ok(Some(block).filter(|block| block.last <= upto))
}

fn events_between(reader: &Connection, first: i64, last: i64) -> rusqlite::Result<HashSet<i64>> {
    let mut statement = reader.prepare_cached("SELECT place FROM events WHERE place BETWEEN ?1 AND ?2")?;
    let places = statement.query_map([first, last], |row| row.get(0))?;
    places.collect()
}
