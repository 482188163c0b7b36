//! How turns begin, fail and end. A turn ends with a line that says so, or with its process.

use std::collections::HashMap;

use longshore_model::anchor::Start;
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{Context, ItemId, TurnId};
use longshore_model::item::{PlanStep, ToolCall, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{
    FaultCode, Ready, SessionFault, Sleep, TurnEnd, TurnErrorCode, TurnOutcome,
};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;

use super::ExecConversation;
use crate::codex::exec::wire::Tokens;
use crate::codex::translate::turns::{failed, turn_error};
use crate::codex::wire::TurnError;
use crate::kit::Scribe;

/// How long a process may take to end after its turn.
const ENDS_WITHIN_MS: i64 = 10_000;
/// How Codex's text begins when it tries again.
const TRIES_AGAIN: &str = "Reconnecting";
/// Codex's texts on stderr for a thread that it does not find.
const NOT_FOUND: [&str; 2] = ["thread/resume failed", "thread/fork failed"];

/// How many lines of stderr are quoted if the turn did not begin.
const QUOTED_LINES: usize = 8;

/// A process and its turn.
#[derive(Debug)]
pub(super) struct ExecRun {
    pub(super) turn: TurnId,
    /// The usage of the thread before this turn.
    used: Option<Usage>,
    /// The items, by Codex's ids in this process.
    pub(super) items: HashMap<String, ExecItem>,
    /// Whether the process has named the thread.
    named: bool,
    /// Whether the turn is over. The process may still run.
    over: bool,
    halted: bool,
    /// An error that may fail the turn with the next line.
    pub(super) untold: Option<String>,
    /// When the process must be stopped.
    pub(super) due: Option<Timestamp>,
}

/// An item of a turn.
#[derive(Debug)]
pub(super) struct ExecItem {
    pub(super) id: ItemId,
    pub(super) open: bool,
    /// The call or the list of steps that was last reported.
    pub(super) call: Option<ToolCall>,
    pub(super) plan: Option<Vec<PlanStep>>,
}

impl ExecRun {
    pub(super) fn new(turn: TurnId, used: Option<Usage>) -> Self {
        let items = HashMap::new();
        Self { turn, used, items, named: false, over: false, halted: false, untold: None, due: None }
    }

    /// The item with this id, and whether it is new.
    pub(super) fn item(&mut self, name: &str, cx: &mut Context<'_>) -> (&mut ExecItem, bool) {
        let fresh = !self.items.contains_key(name);
        let new = || ExecItem { id: ItemId::mint(cx), open: true, call: None, plan: None };
        (self.items.entry(name.to_owned()).or_insert_with(new), fresh)
    }
}

impl ExecConversation {
    /// Handles the id of the thread. From now on, processes resume this thread.
    pub(super) fn named(&mut self, thread: String, scribe: &mut Scribe<'_>) {
        let Some(running) = &mut self.running else { return };
        running.named = true;
        let resumes = Start::Resume { native: thread.clone() };
        if self.launch.start != resumes {
            self.launch.start = resumes;
            let model = self.launch.model.clone();
            let ready = Ready { native: Some(thread), version: None, model, transcript: None };
            let draft = Draft::new(Body::SessionReady(ready)).turn(running.turn);
            scribe.quote(self.launch.session, draft);
        }
    }

    pub(super) fn turn_completed(&mut self, usage: Option<Tokens>, scribe: &mut Scribe<'_>) {
        let Some(running) = self.running.as_ref().filter(|running| !running.over) else { return };
        let mut end = TurnEnd::of(TurnOutcome::Completed);
        if let Some(total) = usage.map(total_of) {
            end.usage = running.used.map(|before| total.since(&before));
            self.used = Some(total);
            scribe.say(self.session(), Draft::new(Body::UsageUpdated(total)).turn(running.turn));
        }
        self.turn_over(Draft::new(Body::TurnFinished(end)), scribe);
    }

    pub(super) fn turn_failed(&mut self, message: String, scribe: &mut Scribe<'_>) {
        let error = turn_error(&TurnError { message, ..TurnError::default() });
        let text = error.message.clone();
        let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
        self.turn_over(Draft::new(Body::TurnFinished(end)).text(text), scribe);
    }

    /// Ends the turn. Its process should end soon.
    fn turn_over(&mut self, end: Draft, scribe: &mut Scribe<'_>) {
        let Some(running) = self.running.as_mut().filter(|running| !running.over) else { return };
        running.over = true;
        running.due = Some(scribe.cx.now.plus_millis(ENDS_WITHIN_MS));
        scribe.quote(self.launch.session, end.turn(running.turn));
    }

    /// `error`: a failed attempt, or a turn that is about to fail.
    pub(super) fn went_wrong(&mut self, message: String, scribe: &mut Scribe<'_>) {
        if message.starts_with(TRIES_AGAIN) {
            self.notice(NoticeLevel::Warning, message, scribe);
        } else if let Some(running) = self.running.as_mut().filter(|running| !running.over) {
            running.untold = Some(message);
        } else {
            self.notice(NoticeLevel::Error, message, scribe);
        }
    }

    pub(super) fn interrupt(&mut self, turn: TurnId, scribe: &mut Scribe<'_>) {
        if let Some(running) = self.running.as_mut().filter(|running| running.turn == turn && !running.over) {
            running.halted = true;
            scribe.out.halt = true;
            return;
        }
        // The prompt waits for the process, or the turn is over, or never was. Without an event, a client
        // would wait for the end of the turn for ever.
        self.next.take_if(|next| next.turn == turn);
        let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
        scribe.say(self.session(), Draft::new(end).turn(turn));
    }

    /// Handles the end of the process.
    pub(super) fn ended(&mut self, sleep: &Sleep, reason: String, scribe: &mut Scribe<'_>) {
        let Some(running) = self.running.take() else { return };
        let session = self.session();
        if !running.over {
            let began = running.named;
            let text = running.untold.unwrap_or_else(|| if began { reason } else { refusal(sleep, reason) });
            let forgot = !began && NOT_FOUND.iter().any(|words| sleep.stderr.contains(words));
            if forgot && !running.halted {
                // The turn stays. The session starts a new agent, and sends the prompt again with the content
                // of the log.
                let fault = Body::SessionError(SessionFault { code: FaultCode::ResumeFailed });
                scribe.say(session, Draft::new(fault).text(text.clone()));
                scribe.out.finished = Some(text);
                return;
            }
            let end = if running.halted {
                Draft::new(Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted)))
            } else if began {
                failed(TurnErrorCode::AgentGone, &text)
            } else {
                failed(TurnErrorCode::AgentUnavailable, &text)
            };
            scribe.say(session, end.turn(running.turn));
        }
        // The commands that the turn left running have ended with the process.
        let mut left: Vec<ItemId> = running.items.into_values().filter_map(open_call).collect();
        left.sort_unstable();
        for item in left.into_iter().filter(|_| running.over) {
            let body = Body::ToolFinished(ToolOutcome::of(ToolStatus::Cancelled));
            scribe.say(session, Draft::new(body).turn(running.turn).item(item));
        }
        if let Some(next) = self.next.take() {
            self.prompt(next, scribe);
        }
    }

    /// Stops a process that does not end after its turn.
    pub(super) fn tick(&mut self, scribe: &mut Scribe<'_>) {
        if let Some(running) =
            self.running.as_mut().filter(|running| running.due.is_some_and(|due| due <= scribe.cx.now))
        {
            running.due = None;
            scribe.out.halt = true;
        }
    }
}

/// Why a process ended before its turn began. Codex writes the reason to stderr, in several lines.
fn refusal(sleep: &Sleep, reason: String) -> String {
    let lines: Vec<&str> = sleep.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.get(lines.len().saturating_sub(QUOTED_LINES)..) {
        Some(last) if !last.is_empty() => format!("codex exec did not begin: {}", last.join("\n")),
        Some(_) | None => reason,
    }
}

fn open_call(item: ExecItem) -> Option<ItemId> {
    (item.open && item.call.is_some()).then_some(item.id)
}

fn total_of(tokens: Tokens) -> Usage {
    Usage {
        input: tokens.input_tokens,
        cached_input: tokens.cached_input_tokens,
        output: tokens.output_tokens,
        reasoning: tokens.reasoning_output_tokens,
        ..Usage::default()
    }
}
