//! The approvals and questions that wait for people: stored by our ids, found by OpenCode's ids.

use std::collections::BTreeMap;

use longshore_model::id::{SessionId, TurnId};

/// All open approvals, or all open questions.
#[derive(Debug)]
pub(super) struct PendingAnswers<K, T>(pub BTreeMap<K, PendingAnswer<T>>);

/// One open approval or question.
#[derive(Debug)]
pub(super) struct PendingAnswer<T> {
    /// OpenCode's ids of the request and of its conversation.
    pub id: String,
    pub native: String,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// The facts that only this kind has.
    pub about: T,
}

impl<K, T> Default for PendingAnswers<K, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Copy + Ord, T> PendingAnswers<K, T> {
    /// Forgets everything that a session waits for.
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

    /// The requests of these conversations that are not among `listed`.
    pub(super) fn missing(&self, natives: &[String], listed: &[&str]) -> Vec<String> {
        let gone = |waiting: &&PendingAnswer<T>| {
            natives.contains(&waiting.native) && !listed.contains(&waiting.id.as_str())
        };
        self.0.values().filter(gone).map(|waiting| waiting.id.clone()).collect()
    }
}
