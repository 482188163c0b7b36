//! Turns of a record that were held elsewhere while the session is one of ours: how much of the record there is, and what
//! of it our own driver did not tell.

use std::sync::Arc;

use longshore_model::event::{Body, Draft};
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use tokio::sync::oneshot;

use super::index::Key;
use super::told::millis;
use super::watch::{Inner, Kept, Watcher, lock};

/// Lets through what was told of turns that began after a moment. Everything up to the first of them is left out: our own
/// driver told it.
pub(super) struct OutsideTurns {
    since: Option<Timestamp>,
}

impl OutsideTurns {
    pub(super) fn since(since: Option<Timestamp>) -> Self {
        Self { since }
    }

    /// Takes what was told before out of what was told last.
    pub(super) fn sift(&mut self, drafts: &mut Vec<(Timestamp, Draft)>) {
        if let Some(since) = self.since {
            let begins = |(at, draft): &(Timestamp, Draft)| {
                matches!(draft.body, Body::TurnStarted { .. }) && *at > since
            };
            let first = drafts.iter().position(begins);
            drafts.drain(..first.unwrap_or(drafts.len()));
            if first.is_some() {
                self.since = None;
            }
        }
    }
}

impl Watcher {
    /// How much there is of a record, now. An agent that has to be asked is asked.
    pub(crate) async fn size(&self, agent: &str, native: NativeId) -> Option<u64> {
        let place = self.inner.watched.iter().position(|watched| watched.agent.name() == agent)?;
        let key = Key { agent: place, native };
        match self.inner.watched.get(place)?.kept {
            Kept::Files(_) => {
                let size =
                    |key: Key| Arc::clone(&self.inner).on_a_thread(move |inner: &Inner| inner.size_now(&key));
                if let Some(size) = size(key.clone()).await.flatten() {
                    return Some(size);
                }
                // It may have come since somebody last looked. Whoever tells of all that was found may take long; this
                // one is only looked for.
                Arc::clone(&self.inner).on_a_thread(Inner::changed).await?;
                size(key).await.flatten()
            }
            Kept::Served(_) => {
                let asking = self.asking.get(self.inner.served_before(place))?;
                let (caller, done) = oneshot::channel();
                asking.send(caller).await.ok()?;
                // Dropped when it is done.
                let _ = done.await;
                lock(&self.inner.shelf).times(&key).map(|(_, updated_at)| millis(updated_at))
            }
        }
    }
}

impl Inner {
    fn size_now(&self, key: &Key) -> Option<u64> {
        let records = self.watched.get(key.agent)?.records()?;
        lock(&self.index).size_now(key, records)
    }

    /// How many of the agents before this one are asked.
    fn served_before(&self, agent: usize) -> usize {
        let before = self.watched.iter().take(agent);
        before.filter(|watched| matches!(watched.kept, Kept::Served(_))).count()
    }
}
