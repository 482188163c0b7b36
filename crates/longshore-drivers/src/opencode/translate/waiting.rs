//! What OpenCode waits for people to say: by our names, and found by its own.

use std::collections::BTreeMap;

use longshore_model::id::{SessionId, TurnId};

/// All that it waits for of one kind.
#[derive(Debug)]
pub(super) struct Waits<K, T>(pub BTreeMap<K, PendingAnswer<T>>);

/// One thing that it waits for.
#[derive(Debug)]
pub(super) struct PendingAnswer<T> {
    /// Their name of the question, and of the conversation.
    pub id: String,
    pub native: String,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// What is peculiar to its kind.
    pub about: T,
}

impl<K, T> Default for Waits<K, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Copy + Ord, T> Waits<K, T> {
    /// A session no longer waits for anything.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.0.retain(|_, waiting| waiting.session != session);
    }

    pub(super) fn knows(&self, id: &str) -> bool {
        self.0.values().any(|waiting| waiting.id == id)
    }

    pub(super) fn take(&mut self, id: &str) -> Option<(K, PendingAnswer<T>)> {
        let ours = self.0.iter().find(|(_, waiting)| waiting.id == id).map(|(ours, _)| *ours)?;
        self.0.remove(&ours).map(|waiting| (ours, waiting))
    }

    /// Those of a set of conversations that are not among `listed`.
    pub(super) fn missing(&self, natives: &[String], listed: &[&str]) -> Vec<String> {
        let gone = |waiting: &&PendingAnswer<T>| {
            natives.contains(&waiting.native) && !listed.contains(&waiting.id.as_str())
        };
        self.0.values().filter(gone).map(|waiting| waiting.id.clone()).collect()
    }
}
