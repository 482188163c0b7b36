//! The child sessions of a session, with their last report on whether they wait for a person.

use longshore_model::event::{Body, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::recent::Recent;
use longshore_model::session::{DELEGATIONS_LIMIT, Input};

#[derive(Debug)]
pub(crate) struct Children {
    /// Where each stood then, and whether it waited.
    known: Recent<SessionId, (Seq, bool)>,
}

impl Default for Children {
    fn default() -> Self {
        Self { known: Recent::of(DELEGATIONS_LIMIT) }
    }
}

impl Children {
    /// One tells, and what follows for the session, unless something newer is known: they come on tasks of their own, and so
    /// in any order.
    pub(crate) fn note(&mut self, child: SessionId, waiting: bool, at: Seq) -> Option<Input> {
        if self.known.get(&child).is_some_and(|(known, _)| *known >= at) {
            return None;
        }
        self.known.insert(child, (at, waiting));
        Some(Input::ChildWaits { child, waiting })
    }

    /// The earlier report of a child whose beginning the agent reports only now: a quick child may wait for a
    /// person before that.
    pub(crate) fn begun(&self, draft: &Draft) -> Option<Input> {
        let Body::DelegationStarted(delegation) = &draft.body else { return None };
        let child = delegation.child;
        self.known.get(&child).map(|(_, waiting)| Input::ChildWaits { child, waiting: *waiting })
    }
}
