//! A batch on its way into the database: everything that can be computed before the writer takes it.

use std::sync::Arc;

use longshore_model::event::{Body, Growth};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::{SessionInfo, Status};
use longshore_model::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::place::place;
use super::raw_block::{self, RawBlock};
use super::{search, sum};
use crate::list::{haystack, is_cut, is_unfinished};
use crate::{Batch, LogError, Mark, asked, unreadable};

/// The approximate bytes of an event besides its JSON.
const EVENT_COST: usize = 64;

/// A batch that is ready to be written. The appending session makes it, so sessions compress in parallel and
/// the one writer only writes.
#[derive(Debug)]
pub(super) struct PreparedBatch {
    pub(super) session: SessionId,
    pub(super) frames: Arc<[Frame]>,
    pub(super) row: Option<SessionRow>,
    blocks: Vec<RawBlock>,
    asks: Vec<Uuid>,
    turns: Vec<(TurnId, Seq, Timestamp)>,
    findable: Vec<Seq>,
    /// The mark after which the batch goes, and the nonce that identifies this append.
    pub(super) after: Mark,
    pub(super) nonce: Uuid,
    /// The last event that is no delta.
    pub(super) last_said: Option<Seq>,
    /// How many bytes the batch adds to the file, roughly.
    pub(super) bytes: usize,
}

/// A session's row.
#[derive(Debug)]
pub(super) struct SessionRow {
    info: Arc<SessionInfo>,
    haystack: String,
    json: String,
}

impl PreparedBatch {
    /// Compresses and encodes a batch. Refuses a batch that is not dense.
    pub(super) fn new(batch: Batch, after: Mark, nonce: Uuid) -> Result<Self, LogError> {
        batch.is_dense()?;
        Ok(Self { after, nonce, ..Self::sparse(batch)? })
    }

    /// Prepares a batch that may have gaps, which compaction leaves. Nobody appends such a batch.
    pub(super) fn sparse(batch: Batch) -> Result<Self, LogError> {
        let (mut asks, mut turns, mut findable) = (Vec::new(), Vec::new(), Vec::new());
        let mut last_said = None;
        for frame in batch.frames.iter() {
            let event = frame.event().map_err(unreadable)?;
            asks.extend(asked(&event.body));
            if let (Body::TurnFinished(_), Some(turn)) = (&event.body, event.turn) {
                turns.push((turn, event.seq, event.at));
            }
            if event.body.is_searchable() {
                findable.push(event.seq);
            }
            if event.body.growth() != Growth::Delta {
                last_said = Some(event.seq);
            }
        }
        let raws = batch.frames.iter().filter_map(|frame| Some((frame.seq(), frame.raw()?)));
        let blocks = raw_block::pack(raws);
        let row = batch.info.map(SessionRow::new).transpose()?;
        let bytes = batch.frames.iter().map(|frame| frame.json().len() + EVENT_COST).sum::<usize>()
            + blocks.iter().map(|block| block.bytes.len()).sum::<usize>()
            + row.as_ref().map_or(0, |row| row.json.len());
        Ok(Self {
            session: batch.session,
            frames: batch.frames,
            row,
            blocks,
            asks,
            turns,
            findable,
            after: Mark::default(),
            nonce: Uuid::nil(),
            last_said,
            bytes,
        })
    }

    /// Writes everything except the row, which is written once per transaction. `number` is the number of the
    /// block, if it has one.
    pub(super) fn write(
        &self,
        connection: &Connection,
        key: i64,
        number: Option<i64>,
    ) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO events (place, at, growth, findable, item, turn, json, sum, block, nonce) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?;
        let last = self.frames.last().map(Frame::seq).filter(|_| !self.nonce.is_nil());
        for frame in self.frames.iter() {
            // `new` has read every event.
            let Ok(event) = frame.event() else { continue };
            insert.execute(params![
                place(key, frame.seq()),
                event.at.micros(),
                growth_number(event.body.growth()),
                event.body.is_searchable(),
                event.item.as_ref().map(|item| item.0.as_bytes().as_slice()),
                event.turn.as_ref().map(|turn| turn.0.as_bytes().as_slice()),
                frame.json(),
                sum::of(frame.json()),
                number.filter(|_| self.last_said == Some(event.seq)),
                (last == Some(event.seq)).then_some(self.nonce.as_bytes().as_slice()),
            ])?;
        }
        for block in &self.blocks {
            write_block(connection, key, block)?;
        }
        for (turn, seq, at) in &self.turns {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO turns (session, turn, ended, at) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![key, turn.0.as_bytes(), seq.0 as i64, at.micros()])?;
        }
        for ask in &self.asks {
            connection
                .prepare_cached("INSERT OR REPLACE INTO asks (id, session) VALUES (?1, ?2)")?
                .execute(params![ask.as_bytes(), key])?;
        }
        for seq in &self.findable {
            search::index(connection, place(key, *seq))?;
        }
        Ok(())
    }
}

/// Writes a block of raw frames.
pub(super) fn write_block(connection: &Connection, key: i64, block: &RawBlock) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO raw_blocks (first, last, size, block) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![place(key, block.first), place(key, block.last), block.size as i64, block.bytes])?;
    Ok(())
}

impl SessionRow {
    fn new(info: Arc<SessionInfo>) -> Result<Self, LogError> {
        let json = serde_json::to_string(&*info)
            .map_err(|error| LogError::other("writing a session's row", error))?;
        Ok(Self { haystack: haystack(&info), json, info })
    }

    pub(super) fn write(&self, connection: &Connection, key: i64) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "UPDATE sessions SET updated_at = ?2, status = ?3, agent = ?4, archived = ?5, unfinished = ?6, \
                 haystack = ?7, info = ?8, native = ?9, cut = ?10 WHERE key = ?1",
            )?
            .execute(params![
                key,
                self.info.updated_at.micros(),
                status_word(self.info.status),
                &*self.info.provider,
                self.info.archived,
                is_unfinished(&self.info),
                self.haystack,
                self.json,
                self.info.native,
                is_cut(&self.info),
            ])?;
        Ok(())
    }
}

pub(super) const DELTA: i64 = growth_number(Growth::Delta);
pub(super) const FINAL: i64 = growth_number(Growth::Final);

const fn growth_number(growth: Growth) -> i64 {
    match growth {
        Growth::Fact => 0,
        Growth::Delta => 1,
        Growth::Final => 2,
    }
}

/// The status as the column `status` has it.
pub(super) fn status_word(status: Status) -> &'static str {
    match status {
        Status::Active => "active",
        Status::Idle => "idle",
        Status::Completed => "completed",
        Status::Error => "error",
        Status::Interrupted => "interrupted",
    }
}
