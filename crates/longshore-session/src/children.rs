//! The sessions that work for one, as they last told that they wait for a person, or no longer do.

use std::collections::HashMap;

use longshore_model::event::{Body, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::session::Input;

#[derive(Debug, Default)]
pub(crate) struct Children {
    /// Where each stood then, and whether it waited.
    known: HashMap<SessionId, (Seq, bool)>,
}

impl Children {
    /// One tells, and what follows for the session, unless something newer is known: they come on tasks of their own, and so
    /// in any order.
    pub(crate) fn told(&mut self, child: SessionId, waiting: bool, at: Seq) -> Option<Input> {
        if self.known.get(&child).is_some_and(|(known, _)| *known >= at) {
            return None;
        }
        self.known.insert(child, (at, waiting));
        Some(Input::ChildWaits { child, waiting })
    }

    /// What was told already by the one that an agent now says has begun: one that is quick may wait for a person before.
    pub(crate) fn begun(&self, draft: &Draft) -> Option<Input> {
        let Body::DelegationStarted(delegation) = &draft.body else { return None };
        let child = delegation.child;
        self.known.get(&child).map(|(_, waiting)| Input::ChildWaits { child, waiting: *waiting })
    }
}
