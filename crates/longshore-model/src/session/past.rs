//! Imports turns that happened elsewhere, from the agent's own record.
//!
//! ```text
//!  held elsewhere from the beginning   imported = Some(place)   the hub reads on from that place
//!  asleep here                         imported = None          the hub imports turns that our driver did not
//!                                                               report; then it is held elsewhere, as above
//!  an idle agent runs here             imported = None          the same, but first the agent ends: its memory
//!                                                               is no longer the whole conversation
//!  a turn runs here                    imported = None          our driver reports; the record is left alone
//! ```

// Only what an agent itself says is named; deltas come in many kinds.
#![allow(clippy::wildcard_enum_match_arm)]

use super::agent::kept_raw;
use super::{AgentState, Effect, Outcome, Session};
use crate::anchor::ToldHere;
use crate::event::{AgentName, Body, Draft, Event, Growth, NoticeLevel};
use crate::id::{Context, SessionId};
use crate::lifecycle::{NativeId, Opened, SleepCause, TurnEnd, TurnErrorCode, TurnOutcome};
use crate::time::Timestamp;

/// The notice for people when an agent ends because the conversation continued elsewhere.
const WENT_ON_ELSEWHERE: &str = "The conversation went on in the agent's own terminal. \
     The agent's process here ends, and resumes from its own record at the next prompt.";

/// The position of a session in the agent's own record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// The agent.
    pub agent: AgentName,
    /// The agent's name of the conversation.
    pub native: NativeId,
    /// How much of the record is imported, while the conversation is held elsewhere.
    pub taken: Option<u64>,
    /// Otherwise: the part of the record that was held here.
    pub told: Option<ToldHere>,
}

/// A piece of an agent's own record, as drafts.
pub(super) struct RecordPiece {
    pub(super) after: u64,
    pub(super) since: Option<Timestamp>,
    pub(super) drafts: Vec<(Timestamp, Draft)>,
    pub(super) until: u64,
}

impl Session {
    /// A session for a conversation that was held elsewhere. Its agent does not start.
    pub fn open_past(
        id: SessionId,
        opened: Opened,
        native: NativeId,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Self {
        let mut session = Self::open(id, opened, cx, out);
        session.record(Draft::new(Body::Imported { until: 0 }).text(native), cx, out);
        session
    }

    /// Imports a piece of the record. The piece must join what is here without gap or duplicate: at the
    /// position up to which the record is imported, or at the time when our own agent last reported
    /// something.
    pub(super) fn past(&mut self, piece: RecordPiece, cx: &mut Context<'_>, out: &mut Outcome) {
        let RecordPiece { after, since, mut drafts, until } = piece;
        match self.imported {
            Some(taken) if taken != after || until <= after => return,
            Some(_) => {}
            None if since != Some(self.heard_at) || self.turn.is_some() || self.closed => return,
            None => {
                self.drop_unheard(&mut drafts);
                if drafts.is_empty() {
                    return;
                }
                match self.agent_state {
                    AgentState::Asleep => {}
                    AgentState::Ready => return self.leave(cx, out),
                    AgentState::Starting { .. } | AgentState::Ending(_) => return,
                }
            }
        }
        for (at, mut draft) in drafts {
            if self.comes_too_late(&draft) {
                draft = kept_raw(draft);
            }
            let mut then = Context { now: at.max(self.updated_at), ids: cx.ids };
            self.begin_first(&draft, &mut then, out);
            // Two terminals may hold turns at the same time; here one follows on the other.
            if let (Body::TurnStarted { .. }, Some(running)) = (&draft.body, self.turn)
                && draft.turn != Some(running.id)
            {
                self.finish_unsaid(running.id, TurnOutcome::Interrupted, None, &mut then, out);
            }
            if let Body::TurnFinished(end) = &draft.body {
                self.close_turn(draft.turn, end.outcome, None, &mut then, out);
            }
            self.record(draft, &mut then, out);
            self.close_surplus(&mut then, out);
        }
        let mut then = Context { now: self.updated_at, ids: cx.ids };
        self.record(Draft::new(Body::Imported { until }), &mut then, out);
    }

    /// Drops a turn that is already here: an agent that got a prompt and ended before it reported anything
    /// may have recorded that prompt later than the hub did.
    fn drop_unheard(&self, drafts: &mut Vec<(Timestamp, Draft)>) {
        let said = |draft: &&(Timestamp, Draft)| matches!(draft.1.body, Body::UserMessage { .. });
        let Some((_, first)) = drafts.iter().find(said) else { return };
        if self.unheard.iter().any(|unheard| first.text.as_deref() == Some(unheard.text.as_str())) {
            let turn = first.turn;
            drafts.retain(|(_, draft)| draft.turn != turn);
            // The anchor lets drafts without a turn pass once a turn happened elsewhere. This turn did not, so
            // what it brought along, such as the name of the model, is here already, too.
            let rest = drafts.iter().position(|(_, draft)| draft.turn.is_some());
            drafts.drain(..rest.unwrap_or(drafts.len()));
        }
    }

    /// Ends an agent that does not know what happened elsewhere. It reads its own record when it starts
    /// again.
    fn leave(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        let notice = Body::Notice { level: NoticeLevel::Info };
        self.record(Draft::new(notice).text(WENT_ON_ELSEWHERE), cx, out);
        self.agent_state = AgentState::Ending(SleepCause::Released);
        out.effects.push(Effect::Stop);
    }

    /// Remembers when the agent last reported something in a turn. The endings that the hub writes for a dead
    /// agent, possibly much later, do not count. An interruption counts: an agent that was stopped before it
    /// answered has recorded its prompt a little later than the hub did, and nothing else tells that this turn
    /// was held here.
    pub(super) fn note_heard_at(&mut self, event: &Event) {
        let is_heard = match &event.body {
            Body::TurnStarted { .. } | Body::UserMessage { .. } => true,
            Body::TurnFinished(end) => is_told_by_agent(end) || was_stopped(end),
            Body::ApprovalRequested(_) | Body::QuestionAsked(_) | Body::ToolStarted(_) => true,
            Body::MessageStarted | Body::ReasoningStarted | Body::PlanStarted => true,
            body => body.growth() == Growth::Delta,
        };
        if is_heard && event.turn.is_some() {
            self.heard_at = event.at;
        }
    }

    /// Continues here a conversation that was held elsewhere. A turn that still ran there is left alone.
    pub(super) fn take_over_from_elsewhere(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        if let Some(turn) = self.turn.filter(|_| self.is_elsewhere()) {
            self.finish_unsaid(turn.id, TurnOutcome::Interrupted, None, cx, out);
        }
    }
}

/// Whether the agent itself reported the end of the turn. The hub may have written an interruption.
pub(super) fn is_told_by_agent(end: &TurnEnd) -> bool {
    let code = end.error.as_ref().map(|error| error.code);
    match end.outcome {
        TurnOutcome::Completed => true,
        TurnOutcome::Failed => {
            !matches!(code, Some(TurnErrorCode::AgentGone | TurnErrorCode::AgentUnavailable))
        }
        TurnOutcome::Interrupted => false,
    }
}

/// Whether the turn was stopped while its agent was there. A restart of the hub also interrupts turns, and
/// says so.
fn was_stopped(end: &TurnEnd) -> bool {
    end.outcome == TurnOutcome::Interrupted && end.error.is_none()
}
