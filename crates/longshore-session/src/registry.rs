//! The sessions that are awake in memory, and how to reach each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::id::SessionId;
use tokio::sync::{mpsc, watch};

use crate::message::{FromAgent, FromClient};
use crate::tail::Tail;

/// The most messages of clients that may wait for a session. The hub refuses more as busy.
pub(crate) const MESSAGES: usize = 64;
/// The most batches of an agent that may wait for its session. Beyond them, the anchor does not read the
/// agent's pipe.
pub(crate) const BATCHES: usize = 8;

/// How to reach a session that is awake.
#[derive(Clone)]
pub(crate) struct SessionHandle {
    pub(crate) clients: mpsc::Sender<FromClient>,
    pub(crate) agent: mpsc::Sender<FromAgent>,
    pub(crate) tail: Arc<Tail>,
    /// The position up to which the agent's own record was read since the session is awake.
    pub(crate) looked_at: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct Registry {
    awake: Mutex<HashMap<SessionId, SessionHandle>>,
}

impl Registry {
    pub(crate) fn find(&self, session: SessionId) -> Option<SessionHandle> {
        self.lock().get(&session).filter(|handle| !handle.clients.is_closed()).cloned()
    }

    /// Adds a handle unless the session already has one. Returns the valid handle, and whether it is the new
    /// one.
    pub(crate) fn insert(&self, session: SessionId, fresh: SessionHandle) -> (SessionHandle, bool) {
        let mut awake = self.lock();
        match awake.get(&session).filter(|handle| !handle.clients.is_closed()) {
            Some(handle) => (handle.clone(), false),
            None => {
                awake.insert(session, fresh.clone());
                (fresh, true)
            }
        }
    }

    /// Removes a session if nobody has reached for it meanwhile. `quiet` is called under the lock.
    pub(crate) fn remove_if(&self, session: SessionId, quiet: impl FnOnce() -> bool) -> bool {
        let mut awake = self.lock();
        let removed = quiet();
        if removed {
            awake.remove(&session);
        }
        removed
    }

    pub(crate) fn remove(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    pub(crate) fn all(&self) -> Vec<SessionHandle> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionHandle>> {
        self.awake.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
