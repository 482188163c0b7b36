//! The catalog without an index: every question reads all rows.

use longshore_model::event::AgentName;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use uuid::Uuid;

use super::{MemoryLog, MemoryState};
use crate::list::{Position, is_cut, is_unfinished};
use crate::{
    Batch, Catalog, FeedCursor, FeedEntry, Hit, JournalChange, LogError, LogFuture, SessionFilter,
    SessionPage, Stats,
};

impl Catalog for MemoryLog {
    fn apply(&self, entry: FeedEntry) -> LogFuture<'_, ()> {
        Box::pin(async move {
            let mut state = self.state();
            state.apply(entry.change)?;
            state.cursor = entry.cursor;
            Ok(())
        })
    }

    fn applied(&self, session: SessionId) -> LogFuture<'_, Seq> {
        Box::pin(async move { Ok(self.state().head(session).seq) })
    }

    fn cursor(&self) -> LogFuture<'_, FeedCursor> {
        Box::pin(async move { Ok(self.state().cursor.clone()) })
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

    fn cut(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        Box::pin(async move {
            let mut cut: Vec<_> = self.state().infos().filter(|info| is_cut(info)).cloned().collect();
            cut.sort_by_key(|info| Position::of(info).key());
            Ok(cut)
        })
    }

    fn session_of(&self, ask: Uuid) -> LogFuture<'_, Option<SessionId>> {
        Box::pin(async move { Ok(self.state().asks.get(&ask).copied()) })
    }

    fn native(&self, agent: AgentName, native: NativeId) -> LogFuture<'_, Option<SessionInfo>> {
        Box::pin(async move {
            let state = self.state();
            let same = state.infos().filter(|info| info.native.as_ref() == Some(&native));
            Ok(same.max_by_key(|info| info.provider == agent).cloned())
        })
    }

    fn search(&self, query: String, limit: usize) -> LogFuture<'_, Vec<Hit>> {
        Box::pin(async move { self.state().search(&query, limit) })
    }

    fn is_erased(&self, native: NativeId) -> LogFuture<'_, bool> {
        Box::pin(async move { Ok(self.state().erased.contains(&native)) })
    }

    fn usage(&self, since: Timestamp) -> LogFuture<'_, Vec<DayUsage>> {
        Box::pin(async move { self.state().usage(since) })
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

impl MemoryState {
    fn apply(&mut self, change: JournalChange) -> Result<(), LogError> {
        match change {
            JournalChange::Block(block) => {
                let applied = self.head(block.session).seq;
                let known = self.sessions.get(&block.session).and_then(|session| session.info.as_ref());
                let is_news = |news: &Batch| !news.frames.is_empty() || news.info.as_deref() != known;
                if let Some(news) = block.beyond(applied).filter(is_news) {
                    self.take_in(news)?;
                }
            }
            JournalChange::Gone { session, erased } => {
                self.part_with(session, false);
                self.erased.extend(erased.map(|erased| erased.native));
            }
        }
        Ok(())
    }
}
