//! How turns begin, fail and end; their plan and their diff.

use longshore_model::capability::Mode;
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::item::{PlanStatus, PlanStep};
use longshore_model::lifecycle::{TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{PromptToSend, ResumeReason};
use super::{Codex, WireError};
use crate::codex::wire;
use crate::kit::Scribe;

/// How long Codex may wait for a missing network. By itself, Codex would never stop waiting.
const NETWORK_WITHIN_MS: i64 = 120_000;
/// Codex's words for this wait.
const WAITING_FOR_NETWORK: &str = "waiting for network";

impl Codex {
    /// The answer to `turn/start`, which names the turn.
    pub(super) fn turn_answered(
        &mut self,
        native: &str,
        said: PromptToSend,
        reloaded: bool,
        answer: Result<&str, String>,
        scribe: &mut Scribe<'_>,
    ) {
        match answer.map(serde_json::from_str::<wire::TurnMoved>) {
            Ok(Ok(moved)) => self.turn_named(native, &moved.turn.id, &said, scribe),
            Ok(Err(error)) => {
                let text = format!("Codex began a turn in words that are not understood: {error}");
                self.turn_lost(native, said.turn, TurnErrorCode::Other, &text, scribe);
            }
            Err(message) if message.starts_with("thread not found") && !reloaded => {
                if let Some(thread) = self.threads.get_mut(native) {
                    thread.loaded = false;
                }
                self.resume(ResumeReason::Say { thread: native.to_owned(), said }, false, scribe);
            }
            Err(message) => {
                self.turn_lost(native, said.turn, TurnErrorCode::Other, &message, scribe);
            }
        }
    }

    fn turn_named(&mut self, native: &str, turn: &str, said: &PromptToSend, scribe: &mut Scribe<'_>) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        thread.story = None;
        thread.changed = false;
        thread.planning = thread.mode == Mode::Plan;
        match (thread.turns.get_mut(turn), said.turn) {
            (None, Some(id)) => {
                // The driver mistook a turn that Codex began by itself for this one.
                if let Some(other) = thread.turns.values_mut().find(|turn| turn.id == Some(id)) {
                    other.id = None;
                }
                thread.begin(turn, id, true);
            }
            (None, None) => {
                // The prompt was meant for a turn that had just ended, so the session does not know this turn
                // yet.
                let id = TurnId::mint(&mut scribe.cx);
                thread.begin(turn, id, true);
                let started = Body::TurnStarted { prompt: Some(said.prompt) };
                scribe.quote(thread.session, Draft::new(started).turn(id));
            }
            (Some(known), Some(id)) if known.id != Some(id) => {
                // Codex was busy with a turn of its own, and took the prompt into that turn. The turn
                // continues under the id that the session gave it.
                for draft in known.cut_short() {
                    scribe.say(thread.session, draft);
                }
                let before = if known.over { Some(id) } else { known.id.replace(id) };
                known.prompted = true;
                if let Some(before) = before {
                    let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed));
                    scribe.quote(thread.session, Draft::new(end).turn(before));
                }
            }
            (Some(_), _) => {}
        }
        self.tell_held(native, scribe);
    }

    pub(super) fn turn_started(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let moved: wire::TurnMoved = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&moved.thread_id) else { return Ok(()) };
        thread.loaded = true;
        if !thread.turns.contains_key(&moved.turn.id) {
            // The answer to `turn/start` usually comes before this, but it may come later.
            let mut starting = self.calls.starting(&moved.thread_id);
            let said = starting.find(|said| said.turn.is_none_or(|id| thread.running(id).is_none()));
            let (id, started) = match said {
                Some(PromptToSend { turn: Some(id), .. }) => (*id, None),
                Some(PromptToSend { turn, prompt, .. }) => (
                    *turn.insert(TurnId::mint(&mut scribe.cx)),
                    Some(Body::TurnStarted { prompt: Some(*prompt) }),
                ),
                None => (TurnId::mint(&mut scribe.cx), Some(Body::TurnStarted { prompt: None })),
            };
            let prompted = !matches!(started, Some(Body::TurnStarted { prompt: None }));
            thread.begin(&moved.turn.id, id, prompted);
            if let Some(started) = started {
                scribe.quote(thread.session, Draft::new(started).turn(id));
            }
        }
        let session = thread.session;
        let stops = thread.turns.get_mut(&moved.turn.id).is_some_and(|turn| {
            turn.begun = true;
            std::mem::take(&mut turn.stops_when_begun)
        });
        if let Some(title) = thread.untold_title.take() {
            self.set_title(session, &moved.thread_id, &title, scribe);
        }
        self.requests.forget_before(&moved.thread_id, &moved.turn.id);
        if stops {
            self.interrupt(moved.thread_id, moved.turn.id, scribe);
        }
        Ok(())
    }

    pub(super) fn turn_completed(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let moved: wire::TurnMoved = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&moved.thread_id) else { return Ok(()) };
        let Some(turn) = thread.turns.get_mut(&moved.turn.id).filter(|turn| !turn.over) else {
            return Ok(());
        };
        let outcome = match moved.turn.status.as_str() {
            "failed" => TurnOutcome::Failed,
            "interrupted" => TurnOutcome::Interrupted,
            _ => TurnOutcome::Completed,
        };
        let error = match (&moved.turn.error, outcome) {
            (Some(error), _) => Some(turn_error(error)),
            (None, TurnOutcome::Failed) => Some(turn_error(&wire::TurnError::default())),
            (None, TurnOutcome::Completed | TurnOutcome::Interrupted) => None,
        };
        let usage = thread.usage.filter(|_| turn.used).map(|total| match &turn.usage_before {
            Some(before) => total.since(before),
            None => total,
        });
        let end = TurnEnd { outcome, error, usage, cost_usd: None, duration_ms: moved.turn.duration_ms };
        let (id, result) = (turn.id, std::mem::take(&mut turn.last_message));
        let mut draft = Draft::new(Body::TurnFinished(end.clone())).turn(id).raw(scribe.raw.cloned());
        draft.text = end.error.map(|error| error.message);
        let result = draft.text.clone().unwrap_or(result);
        thread.end(&moved.turn.id);
        if outcome == TurnOutcome::Interrupted {
            self.end_commands(&moved.thread_id, &moved.turn.id, draft, result, scribe);
            return Ok(());
        }
        scribe.say(thread.session, draft);
        self.delegated_turn_ended(&moved.thread_id, outcome, result, scribe);
        Ok(())
    }

    /// `error`: a failed attempt, or a turn that is about to fail.
    pub(super) fn went_wrong(&mut self, params: &RawValue, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let wrong: wire::ErrorSaid = serde_json::from_str(params.get())?;
        let thread = self.threads.get_mut(&wrong.thread_id);
        let session = thread.as_ref().map(|thread| thread.session);
        let turn = thread.and_then(|thread| thread.turns.get_mut(&wrong.turn_id));
        let id = turn.as_ref().and_then(|turn| turn.id);
        let running = turn.filter(|turn| !turn.over);
        let text = error_text(&wrong.error);
        if wrong.will_retry {
            let mut item = ItemId::mint(&mut scribe.cx);
            if let Some(turn) = running {
                if wrong.error.message.contains(WAITING_FOR_NETWORK) {
                    turn.network_due.get_or_insert(scribe.cx.now.plus_millis(NETWORK_WITHIN_MS));
                }
                // One notice for all attempts of one request: `Reconnecting... 2/5`. A first attempt begins
                // another notice.
                item = turn.retrying.filter(|_| !wrong.error.message.contains(" 1/")).unwrap_or(item);
                turn.retrying = Some(item);
            }
            if let Some(session) = session.or_else(|| self.nearest()) {
                let draft = Draft::new(Body::Notice { level: NoticeLevel::Warning }).turn(id).item(item);
                scribe.quote(session, draft.text(text));
            }
        } else if running.is_none() {
            scribe.notice(session.or_else(|| self.nearest()), id, NoticeLevel::Error, text);
        }
        // The end of the turn reports this error a moment later in the same words.
        Ok(())
    }

    /// Ends turns that have waited too long for the network.
    pub(super) fn stop_waiting_for_network(&mut self, scribe: &mut Scribe<'_>) {
        let mut late: Vec<(String, String)> = Vec::new();
        for (native, thread) in &self.threads {
            for (turn, known) in &thread.turns {
                if known.network_due.is_some_and(|due| due <= scribe.cx.now) {
                    late.push((native.clone(), turn.clone()));
                }
            }
        }
        late.sort_unstable();
        for (native, turn) in late {
            let Some(thread) = self.threads.get_mut(&native) else { continue };
            let id = thread.turns.get(&turn).and_then(|turn| turn.id);
            thread.end(&turn);
            let text = format!("Codex could not reach the model for {} s.", NETWORK_WITHIN_MS / 1_000);
            scribe.say(thread.session, failed(TurnErrorCode::Network, &text).turn(id));
            self.interrupt(native, turn, scribe);
        }
    }

    pub(super) fn plan_updated(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let plan: wire::PlanUpdated = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&plan.thread_id) else { return Ok(()) };
        let session = thread.session;
        let turn = thread.turn(&plan.turn_id);
        turn.network_due = None;
        let item = *turn.plan.get_or_insert_with(|| ItemId::mint(&mut scribe.cx));
        let steps = plan.plan.into_iter().map(|step| PlanStep {
            status: match step.status.as_str() {
                "completed" => PlanStatus::Completed,
                "inProgress" => PlanStatus::InProgress,
                _ => PlanStatus::Pending,
            },
            text: step.step,
        });
        let body = Body::PlanUpdated { steps: steps.collect() };
        let mut draft = Draft::new(body).turn(turn.id).item(item);
        draft.text = plan.explanation;
        scribe.quote(session, draft);
        Ok(())
    }

    pub(super) fn diff_updated(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let update: wire::DiffUpdated = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&update.thread_id) else { return Ok(()) };
        let session = thread.session;
        let turn = thread.turn(&update.turn_id);
        // Codex repeats the diff after every answer of the model.
        if turn.diff.as_deref() != Some(update.diff.as_str()) {
            turn.diff = Some(update.diff.clone());
            scribe.quote(session, Draft::new(Body::TurnDiff).turn(turn.id).text(update.diff));
        }
        Ok(())
    }
}

/// The end of an interrupted turn that Codex itself does not report.
pub(super) fn interrupted() -> Draft {
    Draft::new(Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted)))
}

/// The end of a failed turn, with our own text.
pub(crate) fn failed(code: TurnErrorCode, text: &str) -> Draft {
    let error = TurnError { code, message: text.to_owned(), details: Value::Null };
    let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
    Draft::new(Body::TurnFinished(end)).text(text)
}

/// The error of a failed turn, with a code that is the same for every agent.
pub(crate) fn turn_error(error: &wire::TurnError) -> TurnError {
    let (word, status) = match &error.codex_error_info {
        Value::String(word) => (word.as_str(), None),
        Value::Object(only) => match only.iter().next() {
            Some((word, more)) => (word.as_str(), more["httpStatusCode"].as_u64()),
            None => ("", None),
        },
        _ => ("", None),
    };
    let code = match (word, status) {
        ("usageLimitExceeded" | "sessionBudgetExceeded", _) => TurnErrorCode::UsageLimit,
        ("rateLimitExceeded", _) | (_, Some(429)) => TurnErrorCode::RateLimited,
        ("serverOverloaded" | "flexUnavailable", _) | (_, Some(503 | 529)) => TurnErrorCode::Overloaded,
        ("contextWindowExceeded", _) => TurnErrorCode::ContextWindow,
        ("unauthorized", _) | (_, Some(401 | 403)) => TurnErrorCode::Unauthorized,
        // Codex's text for any HTTP 500.
        _ if error.message.contains("experiencing high demand") => TurnErrorCode::Overloaded,
        (
            "httpConnectionFailed"
            | "responseStreamConnectionFailed"
            | "responseStreamDisconnected"
            | "responseTooManyFailedAttempts",
            None,
        ) => TurnErrorCode::Network,
        // A broken stream, for which Codex only reports `other`.
        _ if error.message.contains("stream closed before response.completed") => TurnErrorCode::Network,
        _ => TurnErrorCode::Other,
    };
    let message = match error_text(error) {
        empty if empty.is_empty() => "Codex did not say why.".to_owned(),
        text => text,
    };
    TurnError { code, message, details: error.codex_error_info.clone() }
}

fn error_text(error: &wire::TurnError) -> String {
    match &error.additional_details {
        Some(details) if !details.is_empty() => format!("{} ({details})", error.message),
        Some(_) | None => error.message.clone(),
    }
}
