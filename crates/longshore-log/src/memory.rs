//! The log that lasts as long as its process: for tests and `--ephemeral`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use longshore_model::device::{StoredDevice, StoredPush};
use longshore_model::event::{AgentName, Body, Growth};
use longshore_model::frame::Frame;
use longshore_model::id::{DeviceId, Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use uuid::Uuid;

use crate::list::{Position, haystack, is_cut, is_put_away, is_unfinished};
use crate::search::{MOST_HITS, QueryWords, text_of};
use crate::snippet::plain;
use crate::superseded::Finished;
use crate::usage::UsageSum;
use crate::{
    Batch, Compacted, Hit, Log, LogError, LogFuture, SessionFilter, SessionPage, Stats, WithRaw, asked,
    cut_to_page, unreadable,
};

/// A log without a file. Nothing of it waits, so its futures are ready at once.
#[derive(Debug, Default)]
pub struct MemoryLog {
    state: Mutex<MemoryState>,
}

#[derive(Debug, Default)]
struct MemoryState {
    sessions: HashMap<SessionId, MemorySession>,
    asks: HashMap<Uuid, SessionId>,
    erased: HashSet<NativeId>,
    devices: BTreeMap<DeviceId, StoredDevice>,
    pushes: BTreeMap<String, StoredPush>,
    appended: u64,
    batches: u64,
}

#[derive(Debug, Default)]
struct MemorySession {
    frames: Vec<Frame>,
    info: Option<SessionInfo>,
}

impl MemorySession {
    fn head(&self) -> Seq {
        self.frames.last().map(Frame::seq).unwrap_or_default()
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
    fn append(&mut self, batch: Batch) -> Result<(), LogError> {
        let head = self.sessions.get(&batch.session).map(MemorySession::head).unwrap_or_default();
        batch.follows(head)?;
        let mut asks = Vec::new();
        for frame in batch.frames.iter() {
            asks.extend(asked(&frame.event().map_err(unreadable)?.body));
        }
        self.asks.extend(asks.into_iter().map(|ask| (ask, batch.session)));
        self.appended += batch.frames.len() as u64;
        self.batches += 1;
        let session = self.sessions.entry(batch.session).or_default();
        session.frames.extend_from_slice(&batch.frames);
        if let Some(info) = batch.info {
            session.info = Some((*info).clone());
        }
        Ok(())
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

    fn compact(&mut self, ended_before: Timestamp) -> Result<Compacted, LogError> {
        let mut compacted = Compacted::default();
        for session in self.sessions.values_mut() {
            let mut finished = Finished::new(session.head());
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
        let before = self.sessions.len();
        self.sessions.retain(|_, session| {
            session.info.as_ref().is_none_or(|info| is_unfinished(info) || info.updated_at >= updated_before)
        });
        self.asks.retain(|_, session| self.sessions.contains_key(session));
        (before - self.sessions.len()) as u64
    }
}

impl Log for MemoryLog {
    fn append(&self, batch: Batch) -> LogFuture<'_, ()> {
        Box::pin(async move { self.state().append(batch) })
    }

    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>> {
        Box::pin(async move {
            let state = self.state();
            let Some(session) = state.sessions.get(&session) else { return Ok(Vec::new()) };
            let start = session.frames.partition_point(|frame| frame.seq() <= after);
            let page = session.frames.iter().skip(start).take(limit);
            let mut frames = match raw {
                WithRaw::Yes => page.cloned().collect(),
                WithRaw::No => page.map(|frame| Frame::stored(frame.seq(), frame.json(), None)).collect(),
            };
            cut_to_page(&mut frames);
            Ok(frames)
        })
    }

    fn head(&self, session: SessionId) -> LogFuture<'_, Seq> {
        Box::pin(async move {
            Ok(self.state().sessions.get(&session).map(MemorySession::head).unwrap_or_default())
        })
    }

    fn session(&self, session: SessionId) -> LogFuture<'_, Option<SessionInfo>> {
        Box::pin(
            async move { Ok(self.state().sessions.get(&session).and_then(|session| session.info.clone())) },
        )
    }

    fn sessions(&self, filter: SessionFilter) -> LogFuture<'_, SessionPage> {
        Box::pin(async move { self.state().list(&filter) })
    }

    fn unfinished(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        Box::pin(
            async move { Ok(self.state().infos().filter(|info| is_unfinished(info)).cloned().collect()) },
        )
    }

    fn session_of(&self, ask: Uuid) -> LogFuture<'_, Option<SessionId>> {
        Box::pin(async move { Ok(self.state().asks.get(&ask).copied()) })
    }

    fn native(&self, agent: AgentName, native: NativeId) -> LogFuture<'_, Option<SessionInfo>> {
        Box::pin(async move {
            let state = self.state();
            let infos = state.sessions.values().filter_map(|session| session.info.as_ref());
            let same = infos.filter(|info| info.native.as_ref() == Some(&native));
            Ok(same.max_by_key(|info| info.provider == agent).cloned())
        })
    }

    fn search(&self, query: String, limit: usize) -> LogFuture<'_, Vec<Hit>> {
        Box::pin(async move { self.state().search(&query, limit) })
    }

    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, Compacted> {
        Box::pin(async move { self.state().compact(ended_before) })
    }

    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64> {
        Box::pin(async move { Ok(self.state().forget(updated_before)) })
    }

    fn cut(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        Box::pin(async move {
            let mut cut: Vec<_> = self.state().infos().filter(|info| is_cut(info)).cloned().collect();
            cut.sort_by_key(|info| Position::of(info).key());
            Ok(cut)
        })
    }

    fn erase(&self, session: SessionId) -> LogFuture<'_, bool> {
        Box::pin(async move {
            let mut state = self.state();
            let Some(gone) = state.sessions.remove(&session) else { return Ok(false) };
            state.asks.retain(|_, of| *of != session);
            state.erased.extend(gone.info.and_then(|info| info.native));
            Ok(true)
        })
    }

    fn is_erased(&self, native: NativeId) -> LogFuture<'_, bool> {
        Box::pin(async move { Ok(self.state().erased.contains(&native)) })
    }

    fn usage(&self, since: Timestamp) -> LogFuture<'_, Vec<DayUsage>> {
        Box::pin(async move { self.state().usage(since) })
    }

    fn devices(&self) -> LogFuture<'_, Vec<StoredDevice>> {
        Box::pin(async move { Ok(self.state().devices.values().cloned().collect()) })
    }

    fn put_device(&self, device: StoredDevice) -> LogFuture<'_, ()> {
        Box::pin(async move {
            self.state().devices.insert(device.device.id, device);
            Ok(())
        })
    }

    fn pushes(&self) -> LogFuture<'_, Vec<StoredPush>> {
        Box::pin(async move { Ok(self.state().pushes.values().cloned().collect()) })
    }

    fn put_push(&self, push: StoredPush) -> LogFuture<'_, ()> {
        Box::pin(async move {
            self.state().pushes.insert(push.subscription.endpoint.clone(), push);
            Ok(())
        })
    }

    fn drop_push(&self, endpoint: String) -> LogFuture<'_, ()> {
        Box::pin(async move {
            self.state().pushes.remove(&endpoint);
            Ok(())
        })
    }

    fn stats(&self) -> LogFuture<'_, Stats> {
        Box::pin(async move {
            let state = self.state();
            Ok(Stats {
                sessions: state.sessions.len() as u64,
                events: state.sessions.values().map(|session| session.frames.len() as u64).sum(),
                appended: state.appended,
                batches: state.batches,
                commits: state.batches,
                ..Stats::default()
            })
        })
    }
}
