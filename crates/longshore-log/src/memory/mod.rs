//! The log that lives as long as its process, for tests and `--ephemeral`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::event::{Body, Growth};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use tokio::sync::watch;
use uuid::Uuid;

use crate::journal::BlockHints;
use crate::keyring::KeyHints;
use crate::list::{Position, haystack, is_put_away, is_unfinished};
use crate::search::{MOST_HITS, QueryWords, text_of};
use crate::snippet::plain;
use crate::superseded::EndedTurns;
use crate::usage::UsageSum;
use crate::{
    Batch, CompactionReport, ErasedConversation, FeedCursor, Hit, LogError, Mark, SessionFilter, SessionHead,
    SessionPage, asked, unreadable,
};

mod catalog;
mod journal;
mod keyring;

/// A log without a file. It never waits, so its futures are ready at once.
#[derive(Debug, Default)]
pub struct MemoryLog {
    state: Arc<Mutex<MemoryState>>,
    blocks: BlockHints,
    keys: KeyHints,
    grown: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct MemoryState {
    sessions: HashMap<SessionId, MemorySession>,
    asks: HashMap<Uuid, SessionId>,
    erased: HashSet<NativeId>,
    keys: BTreeMap<String, MemoryKey>,
    revision: u64,
    /// What happened, in order, for feeds.
    past: Vec<PastChange>,
    /// How far this log's catalog has followed another journal.
    cursor: FeedCursor,
    marks: u64,
    appended: u64,
    batches: u64,
}

#[derive(Debug, Default)]
struct MemorySession {
    frames: Vec<Frame>,
    info: Option<SessionInfo>,
    mark: Mark,
    /// The nonce of the last append.
    nonce: Option<Uuid>,
}

#[derive(Debug)]
struct MemoryKey {
    value: String,
    revision: u64,
    until: Option<Timestamp>,
}

#[derive(Debug)]
enum PastChange {
    Block { session: SessionId, first: Seq, last: Seq },
    Gone { session: SessionId, erased: Option<ErasedConversation> },
}

impl MemorySession {
    fn head(&self) -> SessionHead {
        SessionHead { seq: self.frames.last().map(Frame::seq).unwrap_or_default(), mark: self.mark }
    }
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryState {
    fn head(&self, session: SessionId) -> SessionHead {
        self.sessions.get(&session).map(MemorySession::head).unwrap_or_default()
    }

    fn append(&mut self, batch: Batch, after: Mark, nonce: Uuid) -> Result<Mark, LogError> {
        batch.is_dense()?;
        let known = self.sessions.get(&batch.session);
        let head = known.map(MemorySession::head).unwrap_or_default();
        if head.mark != after {
            return match known.is_some_and(|known| known.nonce == Some(nonce)) {
                true => Ok(head.mark),
                false => Err(LogError::Fenced { session: batch.session }),
            };
        }
        batch.follows(head.seq)?;
        self.marks += 1;
        let mark = Mark::new(self.marks);
        self.batches += 1;
        self.take_in(batch)?.mark_with(mark, nonce);
        Ok(mark)
    }

    /// Adds the new events of a batch, and sends them to everybody who watches.
    fn take_in(&mut self, batch: Batch) -> Result<&mut MemorySession, LogError> {
        let Batch { session: id, frames, info } = batch;
        for frame in frames.iter() {
            if let Some(ask) = asked(&frame.event().map_err(unreadable)?.body) {
                self.asks.insert(ask, id);
            }
        }
        self.appended += frames.len() as u64;
        let session = self.sessions.entry(id).or_default();
        let first = session.head().seq.next();
        session.frames.extend_from_slice(&frames);
        if let Some(info) = info {
            session.info = Some((*info).clone());
        }
        self.past.push(PastChange::Block { session: id, first, last: session.head().seq });
        Ok(session)
    }

    fn part_with(&mut self, session: SessionId, is_erased: bool) -> bool {
        let Some(gone) = self.sessions.remove(&session) else { return false };
        self.asks.retain(|_, of| *of != session);
        let named = gone.info.filter(|_| is_erased);
        let erased =
            named.and_then(|info| Some(ErasedConversation { agent: info.provider, native: info.native? }));
        self.erased.extend(erased.iter().map(|erased| erased.native.clone()));
        self.past.push(PastChange::Gone { session, erased });
        true
    }

    fn infos(&self) -> impl Iterator<Item = &SessionInfo> {
        self.sessions.values().filter_map(|session| session.info.as_ref())
    }

    fn list(&self, filter: &SessionFilter) -> Result<SessionPage, LogError> {
        let after = filter.begins_after()?.map(Position::key);
        let needle = filter.needle();
        let shown = self.infos().filter(|info| {
            filter.status.is_none_or(|status| info.status == status)
                && filter.agent.as_deref().is_none_or(|agent| *info.provider == *agent)
                && filter.archived.is_none_or(|archived| is_put_away(info) == archived)
                && needle.as_deref().is_none_or(|needle| haystack(info).contains(needle))
                && after.is_none_or(|after| Position::of(info).key() > after)
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort_by_key(|info| Position::of(info).key());
        let size = filter.page_size();
        Ok(SessionPage::of(shown.into_iter().take(size + 1).cloned().collect(), size))
    }

    /// Reads every event: there is no index here. The newest hits come first.
    fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, LogError> {
        let words = QueryWords::of(query);
        let mut hits = Vec::new();
        if words.is_empty() {
            return Ok(hits);
        }
        for frame in self.sessions.values().flat_map(|session| &session.frames) {
            let event = frame.event().map_err(unreadable)?;
            if !event.body.is_searchable() {
                continue;
            }
            hits.extend(words.find_in(&text_of(event)).map(|snippet| Hit {
                session: event.session,
                seq: event.seq,
                item: event.item,
                snippet: plain(&snippet),
                at: event.at,
            }));
        }
        hits.sort_by_key(|hit| (std::cmp::Reverse(hit.at), hit.session, hit.seq));
        hits.truncate(limit.min(MOST_HITS));
        Ok(hits)
    }

    fn compact(&mut self, ended_before: Timestamp) -> Result<CompactionReport, LogError> {
        let mut compacted = CompactionReport::default();
        for session in self.sessions.values_mut() {
            let mut finished = EndedTurns::new(session.head().seq);
            for frame in &session.frames {
                let event = frame.event().map_err(unreadable)?;
                if let (Growth::Final, Some(item)) = (event.body.growth(), event.item) {
                    finished.note_final(item, event.seq, event.at);
                }
                if let (Body::TurnFinished(_), Some(turn)) = (&event.body, event.turn) {
                    finished.note_turn(turn, event.at);
                }
            }
            let before = session.frames.len();
            session.frames.retain(|frame| {
                !frame.event().is_ok_and(|event| {
                    event.body.growth() == Growth::Delta
                        && finished.supersedes(event.seq, event.item, event.turn, ended_before)
                })
            });
            let dropped = (before - session.frames.len()) as u64;
            compacted.events += dropped;
            compacted.sessions += u64::from(dropped > 0);
        }
        Ok(compacted)
    }

    fn usage(&self, since: Timestamp) -> Result<Vec<DayUsage>, LogError> {
        let mut ends = Vec::new();
        for session in self.sessions.values() {
            let Some(info) = &session.info else { continue };
            for frame in &session.frames {
                let event = frame.event().map_err(unreadable)?;
                if let (Body::TurnFinished(end), Some(turn)) = (&event.body, event.turn)
                    && event.at >= since
                {
                    ends.push((event.at, turn, info, end));
                }
            }
        }
        ends.sort_by_key(|(at, ..)| *at);
        let mut used = UsageSum::default();
        for (at, turn, info, end) in ends {
            used.add(turn, at, &info.provider, info.project.as_deref(), end);
        }
        Ok(used.days())
    }

    fn forget(&mut self, updated_before: Timestamp) -> u64 {
        let is_old = |info: &&SessionInfo| !is_unfinished(info) && info.updated_at < updated_before;
        let old: Vec<SessionId> = self.infos().filter(is_old).map(|info| info.session_id).collect();
        for session in &old {
            self.part_with(*session, false);
        }
        old.len() as u64
    }
}

impl MemorySession {
    fn mark_with(&mut self, mark: Mark, nonce: Uuid) {
        (self.mark, self.nonce) = (mark, Some(nonce));
    }
}
