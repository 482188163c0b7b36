//! Records what the agent says, and adds the little order that every agent needs.

// Most of what an agent says is simply recorded; only what needs more is named here.
#![allow(clippy::wildcard_enum_match_arm)]

use super::{AgentState, Effect, Outcome, Session, TOOL_OUTPUT_LIMIT};
use crate::describe;
use crate::event::{Body, Draft};
use crate::id::{Context, ItemId};
use crate::item::ToolCall;
use crate::lifecycle::{TurnErrorCode, TurnOutcome};

impl Session {
    pub(super) fn said(&mut self, mut draft: Draft, cx: &mut Context<'_>, out: &mut Outcome) {
        if self.comes_too_late(&draft) {
            draft = kept_raw(draft);
        }
        if let Some(refused) = self.refuse_surplus(&draft, cx, out) {
            self.record(refused, cx, out);
            return;
        }
        if self.prints_too_much(&draft) {
            return;
        }
        self.begin_first(&draft, cx, out);
        if let (Body::ToolFinished(outcome), Some(open)) =
            (&mut draft.body, draft.item.and_then(|item| self.open.get(&item)))
        {
            // The time that somebody took to decide is not the tool's.
            let took = cx.now.millis_since(open.since).saturating_sub(open.waited_ms);
            outcome.duration_ms.get_or_insert(took);
        }
        if let Body::ToolFinished(outcome) = &mut draft.body
            && let Some(left_out) = outcome.bound_attachments()
        {
            let text = draft.text.take().filter(|text| !text.is_empty());
            draft.text =
                Some(text.map_or_else(|| format!("({left_out})"), |text| format!("{text}\n({left_out})")));
        }
        if let Body::ToolStarted(call) = &draft.body {
            // What the agent itself says of it is better.
            draft.text.get_or_insert_with(|| describe::running(call));
        }
        if matches!(draft.body, Body::TurnStarted { .. }) {
            // An agent that begins a turn while another runs has ended that one without saying so.
            if let Some(running) = self.turn.filter(|running| Some(running.id) != draft.turn) {
                self.finish_unsaid(running.id, TurnOutcome::Completed, None, cx, out);
            }
        }
        if let (Body::TurnFinished(end), Some(turn)) = (&mut draft.body, self.turn) {
            end.duration_ms.get_or_insert(cx.now.millis_since(turn.started));
            self.close_turn(draft.turn, end.outcome, None, cx, out);
        }
        let limited = matches!(&draft.body, Body::TurnFinished(end)
            if end.error.as_ref().is_some_and(|error| error.code == TurnErrorCode::UsageLimit));
        let (finishes, readies) =
            (matches!(draft.body, Body::TurnFinished(_)), matches!(draft.body, Body::SessionReady(_)));
        let from_log = self.forgotten || self.opened.capabilities.memory_in_log;
        let revives = self.woken && self.agent_state != AgentState::Ready;
        let again = readies && matches!(self.agent_state, AgentState::Starting { .. });
        let printed = draft.item.filter(|_| matches!(draft.body, Body::ToolOutputDelta));
        let turn = draft.turn;
        self.record(draft, cx, out);
        if let Some(item) = printed.filter(|item| self.has_printed_enough(*item)) {
            let rest = Draft::new(Body::ToolOutputDelta).turn(turn).item(item);
            self.record(rest.text("\n[... what else it prints is not kept ...]\n"), cx, out);
        }
        self.close_surplus(cx, out);
        if readies && revives {
            self.record(Draft::new(Body::SessionRevived { from_log }), cx, out);
        }
        if let Some(turn) = self.turn.filter(|_| again) {
            out.effects.extend(self.unheard_prompt(turn.id).map(Effect::Tell));
        }
        if finishes || (readies && self.git.is_none()) {
            out.effects.push(Effect::LookAtGit);
        }
        if limited {
            self.hold("the usage limit is reached", cx, out);
        }
        if finishes || readies {
            self.pump(cx, out);
        }
    }

    /// Whether a draft comes too late to count. The log keeps its frame anyway.
    pub(super) fn comes_too_late(&self, draft: &Draft) -> bool {
        // A closed session's agent just has not heard yet that it is over.
        self.closed
            || match &draft.body {
                Body::TurnFinished(_) => self.turn.map(|turn| turn.id) != draft.turn,
                Body::ApprovalExpired { approval } => !self.approvals.contains_key(approval),
                Body::QuestionExpired { question } => !self.questions.contains_key(question),
                Body::DelegationFinished(end) => {
                    self.delegated.contains(&end.child) && !self.delegations.contains_key(&end.child)
                }
                _ => false,
            }
    }

    /// Whether a call has already printed more than the log keeps of one call. The log keeps its result
    /// anyway.
    fn prints_too_much(&self, draft: &Draft) -> bool {
        matches!(draft.body, Body::ToolOutputDelta)
            && draft.item.is_some_and(|item| self.has_printed_enough(item))
    }

    fn has_printed_enough(&self, item: ItemId) -> bool {
        self.open.get(&item).is_some_and(|open| open.printed >= TOOL_OUTPUT_LIMIT)
    }

    /// Gives every item a beginning, so that a log without deltas still has every item in its place.
    pub(super) fn begin_first(&mut self, delta: &Draft, cx: &mut Context<'_>, out: &mut Outcome) {
        if let Some(item) = delta.item.filter(|item| !self.has_begun(*item))
            && let Some(beginning) = beginning_of(&delta.body)
        {
            self.record(Draft::new(beginning).turn(delta.turn).item(item), cx, out);
        }
    }
}

/// The beginning of a delta's item, if the agent did not send one.
fn beginning_of(delta: &Body) -> Option<Body> {
    match delta {
        Body::MessageDelta => Some(Body::MessageStarted),
        Body::ReasoningDelta => Some(Body::ReasoningStarted),
        Body::PlanDelta => Some(Body::PlanStarted),
        Body::ToolOutputDelta => Some(Body::ToolStarted(ToolCall::unknown())),
        _ => None,
    }
}

pub(super) fn kept_raw(draft: Draft) -> Draft {
    let kind = format!("late:{:?}", draft.body.category()).to_lowercase();
    Draft { body: Body::Raw { kind, fault: None }, ..draft }
}
