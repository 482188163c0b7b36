//! What was said elsewhere: taken in from the agent's own record, for as long as nobody takes the conversation over.

use super::agent::kept_raw;
use super::{Outcome, Session};
use crate::event::{Body, Draft};
use crate::id::Context;
use crate::lifecycle::TurnOutcome;
use crate::time::Timestamp;

impl Session {
    /// A session of a conversation that was held elsewhere. Its agent is not started.
    pub fn open_past(
        id: crate::id::SessionId,
        opened: crate::lifecycle::Opened,
        native: crate::lifecycle::NativeId,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Self {
        let mut session = Self::open(id, opened, cx, out);
        session.record(Draft::new(Body::Imported { until: 0 }).text(native), cx, out);
        session
    }

    /// Takes in what was said. It must follow on what was taken in before, so that nothing is there twice and nothing is
    /// left out; and once the conversation goes on here, nothing changes it any more: from then on our own driver tells.
    pub(super) fn past(
        &mut self,
        after: u64,
        drafts: Vec<(Timestamp, Draft)>,
        until: u64,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) {
        if self.imported != Some(after) || until <= after {
            return;
        }
        for (at, mut draft) in drafts {
            if self.comes_too_late(&draft) {
                draft = kept_raw(draft);
            }
            let mut then = Context { now: at.max(self.updated_at), ids: cx.ids };
            self.begin_first(&draft, &mut then, out);
            if let Body::TurnFinished(end) = &draft.body {
                self.close_turn(draft.turn, end.outcome, None, &mut then, out);
            }
            self.record(draft, &mut then, out);
        }
        let mut then = Context { now: self.updated_at, ids: cx.ids };
        self.record(Draft::new(Body::Imported { until }), &mut then, out);
    }

    /// Somebody goes on here with what was held elsewhere: a turn that still ran there is no concern of ours.
    pub(super) fn take_over_from_elsewhere(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        if let Some(turn) = self.turn.filter(|_| self.is_elsewhere()) {
            self.finish_unsaid(turn.id, TurnOutcome::Interrupted, None, cx, out);
        }
    }
}
