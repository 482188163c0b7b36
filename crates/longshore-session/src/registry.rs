//! Which sessions are awake in memory, and how to reach each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::id::SessionId;
use tokio::sync::{mpsc, watch};

use crate::message::{FromAgent, FromClient};
use crate::tail::Tail;

/// How many wishes of clients may wait for a session. More are refused as busy.
pub(crate) const WISHES: usize = 64;
/// How many batches of an agent may wait for its session. Beyond it the agent's pipe is no longer read.
pub(crate) const SAID: usize = 8;

/// How to reach a session that is awake.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) clients: mpsc::Sender<FromClient>,
    pub(crate) agent: mpsc::Sender<FromAgent>,
    pub(crate) tail: Arc<Tail>,
    /// How much of the agent's own record has been looked at since the session is awake.
    pub(crate) looked_at: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct Registry {
    wake_existing: Mutex<HashMap<SessionId, Entry>>,
}

impl Registry {
    pub(crate) fn find(&self, session: SessionId) -> Option<Entry> {
        self.lock().get(&session).filter(|entry| !entry.clients.is_closed()).cloned()
    }

    /// Puts in an entry unless somebody was first: the entry that counts, and whether it is the new one.
    pub(crate) fn insert(&self, session: SessionId, fresh: Entry) -> (Entry, bool) {
        let mut wake_existing = self.lock();
        match wake_existing.get(&session).filter(|entry| !entry.clients.is_closed()) {
            Some(entry) => (entry.clone(), false),
            None => {
                wake_existing.insert(session, fresh.clone());
                (fresh, true)
            }
        }
    }

    /// Takes a session out if nobody has reached for it meanwhile. `quiet` is asked under the lock.
    pub(crate) fn remove_if(&self, session: SessionId, quiet: impl FnOnce() -> bool) -> bool {
        let mut wake_existing = self.lock();
        let removed = quiet();
        if removed {
            wake_existing.remove(&session);
        }
        removed
    }

    pub(crate) fn remove(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    pub(crate) fn all(&self) -> Vec<Entry> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Entry>> {
        self.wake_existing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
