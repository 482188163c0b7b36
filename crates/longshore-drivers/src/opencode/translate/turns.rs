//! How turns begin, rest and end.
//!
//! A turn is over when OpenCode is idle and every message of the model is complete. If a turn was stopped or
//! failed, OpenCode reports that it is idle before the turn's last messages, and then once more. By the
//! second report, a new turn may have been sent already. So the report counts for a turn only if OpenCode has
//! reported that turn. If a message is incomplete then, the driver waits a moment for its end. If the end
//! does not come, the driver asks OpenCode for its status.

use longshore_model::event::{Body, Draft, NoticeLevel, Raw};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::item::{ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{TurnEnd, TurnErrorCode, TurnOutcome};
use longshore_model::usage::Usage;
use serde_json::Value;

use super::calls::{OpenCodeCall, OutgoingRequest};
use super::conversation::{Author, ModelStep, OpenCodeConversation, OpenCodeMessage, OpenCodeTurn, PartKind};
use super::errors::{error_of, failed, is_abort};
use super::remarks::{usage_changed, usage_of};
use super::{OpenCode, diffs};
use crate::kit::Scribe;
use crate::opencode::wire::{ErrorTold, Info, MessageUpdated, StatusTold};

/// How long a message may stay incomplete after OpenCode reports that it is idle.
const LAST_WORDS_MS: i64 = 2_000;
/// How long the driver waits before it asks again about a silent turn.
const ASK_AGAIN_MS: i64 = 30_000;

impl OpenCode {
    pub(super) fn message_told(&mut self, told: &MessageUpdated, scribe: &mut Scribe<'_>) {
        self.message(&told.info, scribe);
    }

    /// Handles a message: a new message, or a change of a known message.
    pub(super) fn message(&mut self, info: &Info, scribe: &mut Scribe<'_>) {
        match info.role.as_str() {
            "user" => self.said_to_agent(info, scribe),
            "assistant" => self.step_told(info, scribe),
            _ => {}
        }
    }

    fn said_to_agent(&mut self, info: &Info, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(&info.session_id) else { return };
        if !conversation.messages.contains_key(&info.id) {
            if is_past(conversation, info) {
                return;
            }
            conversation.since = info.time.created.unwrap_or(conversation.since);
            let author = if conversation.expected > 0 { Author::Ours } else { Author::Other };
            conversation.expected = conversation.expected.saturating_sub(1);
            // This also applies to our own messages: a prompt for a turn that was being stopped begins a turn
            // of its own.
            if conversation.turn.is_none() {
                begin_by_itself(conversation, scribe);
            }
            if let Some(turn) = &mut conversation.turn {
                turn.heard = true;
                turn.due = None;
            }
            let turn = conversation.turn_id();
            conversation.messages.insert(info.id.clone(), OpenCodeMessage { turn, author });
        }
        let patch = diffs::turn_diff(&info.summary, &conversation.directory);
        let turn = conversation.turn_of(&info.id);
        if let Some(known) = conversation.turn.as_mut().filter(|known| Some(known.id) == turn)
            && !patch.is_empty()
            && known.diff.as_ref() != Some(&patch)
        {
            known.diff = Some(patch.clone());
            scribe.quote(conversation.session, Draft::new(Body::TurnDiff).turn(turn).text(patch));
        }
    }

    /// A message of the model: one step of a turn.
    fn step_told(&mut self, info: &Info, scribe: &mut Scribe<'_>) {
        let native = &info.session_id;
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if !conversation.messages.contains_key(&info.id) {
            if is_past(conversation, info) {
                return;
            }
            // The answer to a prompt of a turn that is over belongs to no other turn.
            let answers = info.parent_id.as_ref().and_then(|parent| conversation.messages.get(parent));
            let turn = match answers {
                Some(message) => message.turn,
                None => {
                    if conversation.turn.is_none() {
                        begin_by_itself(conversation, scribe);
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
        let begins = !turn.steps.contains_key(&info.id) && !done;
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
            // If this event ends the turn, the end of the turn carries the event.
            match is_over {
                true => scribe.say(conversation.session, usage),
                false => scribe.quote(conversation.session, usage),
            }
        }
        if is_over {
            self.finish(native, scribe);
        } else if begins {
            self.works(native, scribe);
        }
    }

    pub(super) fn status_told(&mut self, native: &str, told: &StatusTold, scribe: &mut Scribe<'_>) {
        let status = &told.status;
        if status.kind == "idle" {
            // `session.idle` follows and says the same. Whichever event ends the turn becomes the raw frame
            // of the end.
            return self.rested(native, scribe);
        }
        self.works(native, scribe);
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
            // One notice for all attempts of one request: the newest attempt replaces the previous one.
            let item =
                conversation.retrying.filter(|_| attempt > 1).unwrap_or_else(|| ItemId::mint(&mut scribe.cx));
            conversation.retrying = Some(item);
            let notice = Draft::new(Body::Notice { level: NoticeLevel::Warning })
                .turn(conversation.turn_id())
                .item(item);
            let text = format!("{message}; OpenCode tries again (attempt {attempt})");
            scribe.quote(conversation.session, notice.text(text));
        }
    }

    /// OpenCode reports that a conversation is idle.
    pub(super) fn rested(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(turn) =
            self.conversations.get_mut(native).and_then(|conversation| conversation.turn.as_mut())
        else {
            return;
        };
        if !turn.heard {
            // The last messages of the previous turn.
            return;
        }
        if turn.is_done() {
            return self.finish(native, scribe);
        }
        turn.resting = true;
        turn.due = Some(scribe.cx.now.plus_millis(LAST_WORDS_MS));
    }

    pub(super) fn went_wrong(&mut self, native: &str, told: &ErrorTold, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        match &mut conversation.turn {
            Some(turn) if is_abort(&told.error) => turn.aborted = true,
            Some(turn) => turn.error = Some(error_of(&told.error)),
            None if is_abort(&told.error) => {}
            None => {
                let notice = Body::Notice { level: NoticeLevel::Error };
                let text = error_of(&told.error).message;
                scribe.quote(conversation.session, Draft::new(notice).text(text));
            }
        }
    }

    /// Handles a tick: asks about turns that seem to be over.
    pub(super) fn tick(&mut self, scribe: &mut Scribe<'_>) {
        let mut due: Vec<String> = Vec::new();
        for (native, conversation) in &mut self.conversations {
            if let Some(turn) =
                conversation.turn.as_mut().filter(|turn| turn.due.is_some_and(|due| due <= scribe.cx.now))
            {
                turn.due = None;
                due.push(native.clone());
            }
        }
        due.sort();
        for native in due {
            self.ask_status(&native, scribe);
        }
    }

    pub(super) fn ask_status(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(native) else { return };
        let ask = OutgoingRequest::get("/session/status", &conversation.directory).of(conversation.session);
        self.calls.send(ask, OpenCodeCall::Status { native: native.to_owned() }, scribe);
    }

    /// The status of OpenCode, which lists only conversations that work.
    pub(super) fn status_answered(
        &mut self,
        native: &str,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
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
                turn.due = Some(scribe.cx.now.plus_millis(ASK_AGAIN_MS));
            }
        } else if turn.heard || turn.stopping {
            self.finish(native, scribe);
        } else {
            let (session, id) = (conversation.session, turn.id);
            conversation.turn = None;
            conversation.expected = 0;
            let text = "OpenCode took the prompt and did nothing about it.";
            scribe.quote(session, failed(TurnErrorCode::Timeout, text).turn(id));
        }
    }

    /// Ends the turn.
    pub(super) fn finish(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let Some(turn) = conversation.turn.take() else { return };
        // No tool call outlives its turn.
        for part in conversation.parts.values_mut().filter(|part| part.turn == Some(turn.id) && !part.done) {
            if let PartKind::Tool(_) = part.what {
                part.done = true;
                let left = Body::ToolFinished(ToolOutcome::of(ToolStatus::Cancelled));
                scribe.say(conversation.session, Draft::new(left).turn(turn.id).item(part.item));
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
        scribe.quote(session, draft);
        self.delegated_turn_ended(native, outcome, turn.last_message, scribe);
    }
}

/// Whether an unknown message belongs neither to the running turn nor to a turn that begins.
fn is_past(conversation: &OpenCodeConversation, info: &Info) -> bool {
    info.time.created.is_some_and(|created| created < conversation.since)
}

/// Begins a turn that no session of ours requested.
fn begin_by_itself(conversation: &mut OpenCodeConversation, scribe: &mut Scribe<'_>) {
    let id = TurnId::mint(&mut scribe.cx);
    conversation.begin(OpenCodeTurn::new(id)).heard = true;
    scribe.quote(conversation.session, Draft::new(Body::TurnStarted { prompt: None }).turn(id));
}

/// The usage of a turn, and its cost if OpenCode knows the prices. If it does not, it reports 0.
fn used(turn: &OpenCodeTurn) -> (Option<Usage>, Option<f64>) {
    let cost: f64 = turn.steps.values().map(|step| step.cost).sum();
    (usage_of(&turn.tokens()), (cost > 0.0).then_some(cost))
}
