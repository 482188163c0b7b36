//! Endings: what is still open when a turn ends or an agent stops, and how the session closes it.

use super::{
    AgentState, DELEGATIONS_LIMIT, Effect, OPEN_ITEMS_LIMIT, OpenDelegation, OpenItem, OpenKind, Outcome,
    Session,
};
use crate::event::{Body, Draft};
use crate::id::{Context, ItemId, SessionId, TurnId};
use crate::info::QueuedPrompt;
use crate::item::{FileDiff, ToolOutcome, ToolStatus};
use crate::lifecycle::{DelegationEnd, Sleep, SleepCause, TurnEnd, TurnError, TurnErrorCode, TurnOutcome};

impl Session {
    /// The agent's process is gone: everything that is open ends, and the session sleeps.
    pub(super) fn gone(&mut self, sleep: Sleep, reason: String, cx: &mut Context<'_>, out: &mut Outcome) {
        if self.closed {
            return;
        }
        // An agent that was to remember, and has forgotten, is told what the log holds, for the same prompt.
        let forgot = self.agent_state == AgentState::Starting { from_log: false } && self.forgotten;
        let was_starting = matches!(self.agent_state, AgentState::Starting { .. }) && self.turn.is_none();
        let again = self.noticed_too_late(&sleep);
        let (sleep, reason) = self.as_it_was_meant(sleep, reason);
        let cuts = self.turn.is_some() && sleep.cause == SleepCause::HubRestarted;
        if again {
            self.record(Draft::new(Body::SessionSleeping(sleep)).text(reason), cx, out);
            return self.launch(out);
        }
        self.rest(&sleep, &reason, cx, out);
        // Why it could not go on was said when it was found out, and it is started again at once.
        let sleep = if forgot { Sleep { cause: SleepCause::Stopped, ..Sleep::default() } } else { sleep };
        self.record(Draft::new(Body::SessionSleeping(sleep)).text(reason.clone()), cx, out);
        if self.opened.capabilities.own_record && self.native.is_some() && !self.is_elsewhere() {
            out.effects.push(Effect::FollowRecord);
        }
        if was_starting && !forgot {
            self.fail_first_waiting(&reason, cx, out);
        }
        if cuts {
            self.hold("the hub was restarted in the middle of a turn", cx, out);
        }
        self.pump(cx, out);
    }

    /// Whether the agent has forgotten the conversation, noticed it only at a prompt, and did nothing about
    /// that prompt. The turn then stays, and the agent gets the prompt again after it got what the log holds.
    fn noticed_too_late(&self, sleep: &Sleep) -> bool {
        let by_itself = match sleep.cause {
            SleepCause::Exited | SleepCause::FailedToStart => true,
            SleepCause::Stopped
            | SleepCause::HubRestarted
            | SleepCause::LogFailed
            | SleepCause::Released
            | SleepCause::Idle => false,
        };
        let unheard = self.turn.is_some() && !self.reacted && !self.unheard.is_empty();
        by_itself && unheard && self.forgotten && self.agent_state == AgentState::Ready
    }

    /// The log refused an event and the hub stopped the agent. The session sends the agent nothing more and
    /// ignores its output until it ends.
    pub(super) fn silenced(&mut self, reason: &str, cx: &mut Context<'_>, out: &mut Outcome) {
        let sleep = Sleep { cause: SleepCause::LogFailed, ..Sleep::default() };
        self.rest(&sleep, reason, cx, out);
        self.agent_state = AgentState::Ending(SleepCause::LogFailed);
    }

    /// Stops an agent that nobody needs.
    pub(super) fn idle(&mut self, out: &mut Outcome) {
        if self.is_idle() && !self.closed {
            self.agent_state = AgentState::Ending(SleepCause::Idle);
            out.effects.push(super::Effect::Stop);
        }
    }

    /// Replaces the cause of an agent's end by the cause for which the session stopped it.
    fn as_it_was_meant(&self, mut sleep: Sleep, reason: String) -> (Sleep, String) {
        let AgentState::Ending(meant) = self.agent_state else { return (sleep, reason) };
        if sleep.cause != SleepCause::Stopped {
            return (sleep, reason);
        }
        sleep.cause = meant;
        let reason = match meant {
            SleepCause::Released => "released, and the hub ended the agent's process".to_owned(),
            SleepCause::Idle => "stopped, since nobody needed it for a while".to_owned(),
            SleepCause::Exited
            | SleepCause::FailedToStart
            | SleepCause::Stopped
            | SleepCause::HubRestarted
            | SleepCause::LogFailed => reason,
        };
        (sleep, reason)
    }

    /// Ends the turn, its items and everything that waits for an answer.
    pub(super) fn rest(&mut self, sleep: &Sleep, reason: &str, cx: &mut Context<'_>, out: &mut Outcome) {
        let turn = self.turn;
        let (outcome, code) = match sleep.cause {
            SleepCause::Stopped | SleepCause::Released | SleepCause::Idle => (TurnOutcome::Interrupted, None),
            SleepCause::HubRestarted => (TurnOutcome::Interrupted, Some(TurnErrorCode::HubRestarted)),
            SleepCause::Exited | SleepCause::FailedToStart | SleepCause::LogFailed => {
                (TurnOutcome::Failed, Some(TurnErrorCode::AgentGone))
            }
        };
        if let Some(turn) = turn {
            let message = reason.to_owned();
            let error = code.map(|code| TurnError { code, message, details: serde_json::Value::Null });
            self.finish_unsaid(turn.id, outcome, error, cx, out);
        }
        self.close_items(|_| true, cx, out);
        self.expire(reason, |_| true, cx, out);
        self.end_delegations(reason, |_| true, cx, out);
        if self.agent_state == AgentState::Ready {
            out.effects.push(Effect::LookAtGit);
        }
    }

    /// Ends a turn whose end the agent did not report.
    pub(super) fn finish_unsaid(
        &mut self,
        turn: TurnId,
        outcome: TurnOutcome,
        error: Option<TurnError>,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) {
        let reason = error.as_ref().map(|error| error.message.clone());
        self.close_turn(Some(turn), outcome, reason.as_deref(), cx, out);
        let started = self.turn.map(|turn| turn.started);
        let duration_ms = started.map(|started| cx.now.millis_since(started));
        let end = TurnEnd { error, duration_ms, ..TurnEnd::of(outcome) };
        let mut draft = Draft::new(Body::TurnFinished(end)).turn(turn);
        draft.text = reason;
        self.record(draft, cx, out);
    }

    /// Closes what a turn leaves open. After a good end, only tools may continue in the background.
    pub(super) fn close_turn(
        &mut self,
        turn: Option<TurnId>,
        outcome: TurnOutcome,
        reason: Option<&str>,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) {
        let in_background =
            |open: &OpenItem| open.kind == OpenKind::Tool && outcome == TurnOutcome::Completed;
        self.close_items(|open| open.turn == turn && !in_background(open), cx, out);
        let reason = reason.unwrap_or(match outcome {
            TurnOutcome::Completed => "the turn ended without waiting for it",
            TurnOutcome::Failed => "the turn failed",
            TurnOutcome::Interrupted => "the turn was interrupted",
        });
        self.expire(reason, |of| of == turn, cx, out);
        if outcome != TurnOutcome::Completed {
            self.end_delegations(reason, |of| of == turn, cx, out);
        }
    }

    /// Ends delegations whose end nobody will report any more.
    fn end_delegations(
        &mut self,
        reason: &str,
        of: impl Fn(Option<TurnId>) -> bool,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) {
        let open: Vec<_> = self
            .delegations
            .iter()
            .filter(|(_, open)| of(open.turn))
            .map(|(child, open)| (*child, *open))
            .collect();
        for (child, open) in open {
            self.end_delegation(child, open, reason, cx, out);
        }
    }

    fn end_delegation(
        &mut self,
        child: SessionId,
        open: OpenDelegation,
        reason: &str,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) {
        let OpenDelegation { turn, item, .. } = open;
        let end = DelegationEnd { child, outcome: TurnOutcome::Interrupted };
        self.record(Draft::new(Body::DelegationFinished(end)).turn(turn).item(item).text(reason), cx, out);
    }

    fn close_items(&mut self, ends: impl Fn(&OpenItem) -> bool, cx: &mut Context<'_>, out: &mut Outcome) {
        let ending: Vec<(ItemId, OpenItem)> =
            self.open.iter().filter(|(_, open)| ends(open)).map(|(id, open)| (*id, open.clone())).collect();
        for (item, open) in ending {
            self.close_item(item, open, cx, out);
        }
    }

    /// An agent that begins more items or delegations than it ends has the oldest ended: each that is open is held.
    pub(super) fn close_surplus(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        while self.open.len() > OPEN_ITEMS_LIMIT
            && let Some((item, open)) = self.open.iter().min_by_key(|(_, open)| open.since)
        {
            self.close_item(*item, open.clone(), cx, out);
        }
        while self.delegations.len() > DELEGATIONS_LIMIT
            && let Some((child, open)) = self.delegations.iter().min_by_key(|(_, open)| open.since)
        {
            self.end_delegation(*child, *open, "too many sessions work for this one", cx, out);
        }
    }

    fn close_item(&mut self, item: ItemId, open: OpenItem, cx: &mut Context<'_>, out: &mut Outcome) {
        let OpenItem { turn, kind, text, .. } = open;
        let body = match kind {
            OpenKind::Message => Body::MessageDone { phase: None, partial: true },
            OpenKind::Reasoning => Body::ReasoningDone { partial: true },
            OpenKind::Plan => Body::PlanUpdated { steps: Vec::new() },
            OpenKind::Tool => Body::ToolFinished(ToolOutcome::of(ToolStatus::Cancelled)),
            OpenKind::Diff => Body::FileDiff(FileDiff { status: ToolStatus::Cancelled, changes: Vec::new() }),
        };
        let mut draft = Draft::new(body).turn(turn).item(item);
        draft.text = (kind != OpenKind::Diff).then_some(text);
        self.record(draft, cx, out);
    }

    fn expire(
        &mut self,
        reason: &str,
        of: impl Fn(Option<TurnId>) -> bool,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) {
        let approvals: Vec<_> = self
            .approvals
            .values()
            .map(|ask| &ask.whole)
            .filter(|open| of(open.turn))
            .map(|open| (open.request.approval, open.turn, open.item))
            .collect();
        for (approval, turn, item) in approvals {
            let body = Body::ApprovalExpired { approval };
            self.record(Draft::new(body).turn(turn).item(item).text(reason), cx, out);
        }
        let questions: Vec<_> = self
            .questions
            .values()
            .map(|ask| &ask.whole)
            .filter(|open| of(open.turn))
            .map(|open| (open.request.question, open.turn))
            .collect();
        for (question, turn) in questions {
            let body = Body::QuestionExpired { question };
            self.record(Draft::new(body).turn(turn).text(reason), cx, out);
        }
    }

    /// Fails the first waiting turn, because the agent could not start and a client waits for that turn.
    fn fail_first_waiting(&mut self, reason: &str, cx: &mut Context<'_>, out: &mut Outcome) {
        let Some(QueuedPrompt { prompt, turn, text, attachments, by, held: _, cut: _ }) =
            self.next().cloned()
        else {
            return;
        };
        self.record(Draft::new(Body::TurnStarted { prompt: Some(prompt) }).turn(turn), cx, out);
        let said = Body::UserMessage { prompt: Some(prompt), attachments, by: Some(by) };
        let item = ItemId::mint(cx);
        self.record(Draft::new(said).turn(turn).item(item).text(text), cx, out);
        let error = TurnError {
            code: TurnErrorCode::AgentUnavailable,
            message: reason.to_owned(),
            details: serde_json::Value::Null,
        };
        let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
        self.record(Draft::new(Body::TurnFinished(end)).turn(turn).text(reason), cx, out);
    }
}
