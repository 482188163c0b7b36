//! Turns begin, rest and end.
//!
//! A turn is over when OpenCode rests and every message of the model is done. It says that it rests before the last
//! words of a turn that was stopped or failed, and then once more; the second time a new turn may be on its way
//! already. So a rest counts for a turn only when the turn was heard of, and a rest with an open message waits a
//! moment for its end; if that does not come, OpenCode is asked what it is at.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, NoticeLevel, Raw};
use longshore_model::id::{Context, ItemId, TurnId};
use longshore_model::item::{ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{TurnEnd, TurnErrorCode, TurnOutcome};
use longshore_model::usage::Usage;
use serde_json::Value;

use super::calls::{OpenCodeCall, OutgoingRequest};
use super::conversation::{Author, ModelStep, OpenCodeConversation, OpenCodeMessage, OpenCodeTurn, PartKind};
use super::errors::{error_of, failed, is_abort};
use super::remarks::{usage_changed, usage_of};
use super::{OpenCode, diffs};
use crate::opencode::wire::{ErrorTold, Info, MessageUpdated, StatusTold};

/// How long a message may stay open after OpenCode says that it rests.
const LAST_WORDS_MS: i64 = 2_000;
/// How long until we ask again about a turn of which nothing is heard.
const ASK_AGAIN_MS: i64 = 30_000;

impl OpenCode {
    pub(super) fn message_told(
        &mut self,
        told: &MessageUpdated,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        self.message(&told.info, Some(raw), cx, out);
    }

    /// A message is there, or more is known of it.
    pub(super) fn message(&mut self, info: &Info, raw: Option<&Raw>, cx: &mut Context<'_>, out: &mut Output) {
        match info.role.as_str() {
            "user" => self.said_to_agent(info, raw, cx, out),
            "assistant" => self.step_told(info, raw, cx, out),
            _ => {}
        }
    }

    fn said_to_agent(&mut self, info: &Info, raw: Option<&Raw>, cx: &mut Context<'_>, out: &mut Output) {
        let Some(conversation) = self.conversations.get_mut(&info.session_id) else { return };
        if !conversation.messages.contains_key(&info.id) {
            if is_past(conversation, info) {
                return;
            }
            conversation.since = info.time.created.unwrap_or(conversation.since);
            let author = if conversation.expected > 0 { Author::Ours } else { Author::Other };
            conversation.expected = conversation.expected.saturating_sub(1);
            // Also of ours: what was said into a turn that was being stopped begins one of its own.
            if conversation.turn.is_none() {
                begin_by_itself(conversation, raw, cx, out);
            }
            if let Some(turn) = &mut conversation.turn {
                turn.heard = true;
                turn.due = None;
            }
            let turn = conversation.turn_id();
            conversation.messages.insert(info.id.clone(), OpenCodeMessage { turn, author });
        }
        let patch = diffs::turn_diff(&info.summary);
        let turn = conversation.turn_of(&info.id);
        if let Some(known) = conversation.turn.as_mut().filter(|known| Some(known.id) == turn)
            && !patch.is_empty()
            && known.diff.as_ref() != Some(&patch)
        {
            known.diff = Some(patch.clone());
            out.say(
                conversation.session,
                Draft::new(Body::TurnDiff).turn(turn).text(patch).raw(raw.cloned()),
            );
        }
    }

    /// A message of the model: one step of a turn.
    fn step_told(&mut self, info: &Info, raw: Option<&Raw>, cx: &mut Context<'_>, out: &mut Output) {
        let native = &info.session_id;
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if !conversation.messages.contains_key(&info.id) {
            if is_past(conversation, info) {
                return;
            }
            // The answer to something that was said in a turn that is over has no turn of its own.
            let answers = info.parent_id.as_ref().and_then(|parent| conversation.messages.get(parent));
            let turn = match answers {
                Some(message) => message.turn,
                None => {
                    if conversation.turn.is_none() {
                        begin_by_itself(conversation, raw, cx, out);
                    }
                    conversation.turn_id()
                }
            };
            conversation.messages.insert(info.id.clone(), OpenCodeMessage { turn, author: Author::Agent });
        }
        let of = conversation.turn_of(&info.id);
        let Some(turn) = conversation.turn.as_mut().filter(|turn| Some(turn.id) == of) else { return };
        turn.heard = true;
        if !turn.resting {
            turn.due = None;
        }
        match &info.error {
            Some(error) if is_abort(error) => turn.aborted = true,
            Some(error) => turn.error = Some(error_of(error)),
            None => {}
        }
        let tokens = info.tokens.unwrap_or_default();
        let done = info.time.completed.is_some();
        turn.steps.insert(info.id.clone(), ModelStep { done, tokens, cost: info.cost.unwrap_or(0.0) });
        let mut total = turn.before;
        total += turn.tokens();
        let is_over = turn.resting && turn.is_done();
        if total.sum() > conversation.tokens.sum() {
            conversation.tokens = total;
            conversation.context = usage_of(&tokens).and_then(|usage| Some(usage.input? + usage.output?));
        }
        let window = conversation.uses.as_ref().and_then(|model| self.windows.get(model)).copied();
        if let Some(usage) = usage_changed(conversation, window) {
            out.say(conversation.session, usage.raw(raw.filter(|_| !is_over).cloned()));
        }
        if is_over {
            self.finish(native, raw, out);
        }
    }

    pub(super) fn status_told(
        &mut self,
        native: &str,
        told: &StatusTold,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let status = &told.status;
        if status.kind == "idle" {
            // `session.idle` follows and says the same; whichever ends the turn carries its end.
            return self.rested(native, Some(raw), cx, out);
        }
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if let Some(turn) = &mut conversation.turn {
            turn.resting = false;
            if turn.heard {
                turn.due = None;
            }
        }
        if status.kind == "retry" {
            let attempt = status.attempt.unwrap_or(1);
            let message = status.message.as_deref().unwrap_or("the model did not answer");
            // One line for all tries of one request: the newest takes the place of the one before.
            let item = conversation.retrying.filter(|_| attempt > 1).unwrap_or_else(|| ItemId::mint(cx));
            conversation.retrying = Some(item);
            let notice = Draft::new(Body::Notice { level: NoticeLevel::Warning })
                .turn(conversation.turn_id())
                .item(item);
            let text = format!("{message}; OpenCode tries again (attempt {attempt})");
            out.say(conversation.session, notice.text(text).raw(raw.clone()));
        }
    }

    /// OpenCode says that a conversation rests.
    pub(super) fn rested(&mut self, native: &str, raw: Option<&Raw>, cx: &mut Context<'_>, out: &mut Output) {
        let Some(turn) =
            self.conversations.get_mut(native).and_then(|conversation| conversation.turn.as_mut())
        else {
            return;
        };
        if !turn.heard {
            // The last words of the turn before.
            return;
        }
        if turn.is_done() {
            return self.finish(native, raw, out);
        }
        turn.resting = true;
        turn.due = Some(cx.now.plus_millis(LAST_WORDS_MS));
    }

    pub(super) fn went_wrong(&mut self, native: &str, told: &ErrorTold, raw: &Raw, out: &mut Output) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        match &mut conversation.turn {
            Some(turn) if is_abort(&told.error) => turn.aborted = true,
            Some(turn) => turn.error = Some(error_of(&told.error)),
            None if is_abort(&told.error) => {}
            None => {
                let notice = Body::Notice { level: NoticeLevel::Error };
                let text = error_of(&told.error).message;
                out.say(conversation.session, Draft::new(notice).text(text).raw(raw.clone()));
            }
        }
    }

    /// Time has passed: turns that seem to be over are asked about.
    pub(super) fn tick(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        let mut due: Vec<String> = Vec::new();
        for (native, conversation) in &mut self.conversations {
            if let Some(turn) =
                conversation.turn.as_mut().filter(|turn| turn.due.is_some_and(|due| due <= cx.now))
            {
                turn.due = None;
                due.push(native.clone());
            }
        }
        due.sort();
        for native in due {
            self.ask_status(&native, out);
        }
    }

    pub(super) fn ask_status(&mut self, native: &str, out: &mut Output) {
        let Some(conversation) = self.conversations.get(native) else { return };
        let ask = OutgoingRequest::get("/session/status", &conversation.directory).of(conversation.session);
        self.calls.send(ask, OpenCodeCall::Status { native: native.to_owned() }, out);
    }

    /// What OpenCode is at; it lists only what works.
    pub(super) fn status_answered(
        &mut self,
        native: &str,
        answer: Result<Raw, String>,
        raw: Option<&Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let Some(turn) = &mut conversation.turn else { return };
        let status = answer.ok().and_then(|body| serde_json::from_str::<Value>(&body).ok());
        let works = status.as_ref().is_none_or(|status| {
            !status.is_object() || status[native]["type"].as_str().is_some_and(|kind| kind != "idle")
        });
        if works {
            turn.resting = false;
            if !turn.heard || status.is_none() {
                turn.due = Some(cx.now.plus_millis(ASK_AGAIN_MS));
            }
        } else if turn.heard || turn.stopping {
            self.finish(native, raw, out);
        } else {
            let (session, id) = (conversation.session, turn.id);
            conversation.turn = None;
            conversation.expected = 0;
            let text = "OpenCode took the prompt and did nothing about it.";
            out.say(session, failed(TurnErrorCode::Timeout, text).turn(id).raw(raw.cloned()));
        }
    }

    /// The turn is over.
    pub(super) fn finish(&mut self, native: &str, raw: Option<&Raw>, out: &mut Output) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let Some(turn) = conversation.turn.take() else { return };
        // None of its tools outlives a turn.
        for part in conversation.parts.values_mut().filter(|part| part.turn == Some(turn.id) && !part.done) {
            if let PartKind::Tool(_) = part.what {
                part.done = true;
                let left = Body::ToolFinished(ToolOutcome::of(ToolStatus::Cancelled));
                out.say(conversation.session, Draft::new(left).turn(turn.id).item(part.item));
            }
        }
        let (usage, cost_usd) = used(&turn);
        let stopped = turn.aborted || turn.cancelled || (turn.stopping && !turn.is_done());
        let (outcome, error) = match turn.error {
            _ if stopped => (TurnOutcome::Interrupted, None),
            Some(error) => (TurnOutcome::Failed, Some(error)),
            None => (TurnOutcome::Completed, None),
        };
        let text = error.as_ref().map(|error| error.message.clone());
        let end = TurnEnd { error, usage, cost_usd, ..TurnEnd::of(outcome) };
        let mut draft = Draft::new(Body::TurnFinished(end)).turn(turn.id);
        draft.text = text;
        let session = conversation.session;
        self.approvals.forget(session);
        self.questions.forget(session);
        out.say(session, draft.raw(raw.cloned()));
        self.delegated_turn_ended(native, outcome, turn.last_message, out);
    }
}

/// Whether a message that is not known is none of the turn that runs or begins.
fn is_past(conversation: &OpenCodeConversation, info: &Info) -> bool {
    info.time.created.is_some_and(|created| created < conversation.since)
}

/// A turn that nobody of ours asked for.
fn begin_by_itself(
    conversation: &mut OpenCodeConversation,
    raw: Option<&Raw>,
    cx: &mut Context<'_>,
    out: &mut Output,
) {
    let id = TurnId::mint(cx);
    conversation.begin(OpenCodeTurn::new(id)).heard = true;
    out.say(conversation.session, Draft::new(Body::TurnStarted { prompt: None }).turn(id).raw(raw.cloned()));
}

/// What a turn used, and what it cost where OpenCode knows prices: it says 0 where it does not.
fn used(turn: &OpenCodeTurn) -> (Option<Usage>, Option<f64>) {
    let cost: f64 = turn.steps.values().map(|step| step.cost).sum();
    (usage_of(&turn.tokens()), (cost > 0.0).then_some(cost))
}
