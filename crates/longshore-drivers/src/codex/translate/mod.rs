//! The driver: lines of theirs in, words of the waist out, and back.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | requests of ours and what their answers mean |
//! | `conversation` | what is known of threads, turns and items |
//! | `handshake` | from the first line to a session that is ready, or why not |
//! | `commands` | what a session tells its agent |
//! | `turns`, `usage` | turns begin, fail and end, and what they use |
//! | `remarks` | words about a whole thread, and for people |
//! | `items`, `tools`, `diffs` | what a turn is made of |
//! | `delegations` | threads that other threads spawn |
//! | `requests`, `approvals`, `questions` | what codex asks us |
//! | `modes` | what a mode is in their words |
//! | `queries` | models and conversations |
//!
//! Every line that comes while there is a session is kept: a handler says what it has a word for, and
//! `Codex::line` keeps whatever no handler had a word for.

mod approvals;
mod calls;
mod commands;
mod conversation;
pub(crate) mod delegations;
pub(crate) mod diffs;
mod handshake;
pub(crate) mod items;
mod modes;
mod queries;
mod questions;
mod remarks;
mod requests;
mod terminals;
pub(crate) mod tools;
pub(crate) mod turns;
pub(crate) mod usage;

use std::collections::{HashMap, VecDeque};

use longshore_model::anchor::{Launch, Query};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, NoticeLevel, Raw, RawFault};
use longshore_model::id::{Context, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::value::RawValue;

use self::calls::CodexCalls;
use self::conversation::Thread;
use self::requests::CodexRequests;
use super::wire::{Head, Place};
use crate::phase::Phase;
use crate::wire_error::WireError;

/// The driver of one `codex app-server`.
#[derive(Debug, Default)]
pub struct Codex {
    phase: Phase,
    /// What codex calls its version.
    version: Option<String>,
    /// Sessions that wait for the handshake.
    openings: VecDeque<Launch>,
    /// Questions that wait for the handshake.
    queries: VecDeque<(QueryId, Query)>,
    calls: CodexCalls,
    /// By their name.
    threads: HashMap<String, Thread>,
    /// Their name of each session's thread.
    natives: HashMap<SessionId, String>,
    /// The session that lines belong to which name no thread.
    home: Option<SessionId>,
    /// That session had an agent before, which has told what is wrong with the installation.
    woken: bool,
    requests: CodexRequests,
    /// Allowances as they were told last, by name.
    limits: HashMap<String, (f64, Option<i64>)>,
}

impl Codex {
    /// A driver for a process that has just been started.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of theirs. What comes of it carries the line; a line that nothing comes of is kept as it is.
    fn line(&mut self, raw: &Raw, cx: &mut Context<'_>, out: &mut Output) {
        let before = out.said.len();
        let head = match serde_json::from_str::<Head<'_>>(raw) {
            Ok(head) => head,
            Err(_) => return self.keep(raw, "malformed", Some(RawFault::Malformed), None, out),
        };
        let mut kind = head.method.as_ref();
        let handled = match (&head.id, head.params) {
            (Some(id), _) if kind.is_empty() => {
                let (method, session) = self.answered(id, head.result, head.error, raw, cx, out);
                if !out.said[before..].iter().any(|(_, draft)| draft.raw.is_some()) {
                    let kind = method.map_or_else(|| "response".to_owned(), |to| format!("response:{to}"));
                    self.keep_in(session, raw, &kind, None, head.result, out);
                }
                return;
            }
            (None, _) if kind.is_empty() => {
                kind = if head.kind.is_empty() { "line" } else { head.kind.as_ref() };
                Ok(())
            }
            (Some(id), params) => self.requested(id, kind, params, raw, cx, out),
            (None, Some(params)) => self.notified(kind, params, raw, cx, out),
            (None, None) => Ok(()),
        };
        if !out.said[before..].iter().any(|(_, draft)| draft.raw.is_some()) {
            self.keep(raw, kind, handled.err().map(|_| RawFault::Malformed), head.params, out);
        }
    }

    /// Something happened that nobody has to answer.
    fn notified(
        &mut self,
        method: &str,
        params: &RawValue,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        match method {
            "item/agentMessage/delta" => return self.item_delta(Body::MessageDelta, params, raw, cx, out),
            "item/commandExecution/outputDelta" | "item/mcpToolCall/progress" => {
                return self.item_delta(Body::ToolOutputDelta, params, raw, cx, out);
            }
            "item/plan/delta" => return self.item_delta(Body::PlanDelta, params, raw, cx, out),
            _ => {}
        }
        self.adopt_stranger(method, params, cx, out);
        match method {
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.thought_delta(method, params, raw, cx, out)
            }
            "item/reasoning/summaryPartAdded" => self.thought_part(params, raw, cx, out),
            "item/started" => self.item_started(params, raw, cx, out),
            "item/completed" => self.item_completed(params, raw, cx, out),
            "item/commandExecution/terminalInteraction" => self.typed(params, raw, cx, out),
            "turn/started" => self.turn_started(params, raw, cx, out),
            "turn/completed" => self.turn_completed(params, raw, cx, out),
            "turn/plan/updated" => self.plan_updated(params, raw, cx, out),
            "turn/diff/updated" => self.diff_updated(params, raw, out),
            "thread/tokenUsage/updated" => self.tokens_used(params, raw, out),
            "account/rateLimits/updated" => self.rate_limits(params, raw, out),
            "error" => self.went_wrong(params, raw, cx, out),
            "serverRequest/resolved" => self.resolved(params, raw, out),
            "thread/started" => self.thread_started(params, raw, cx, out),
            "thread/status/changed"
            | "thread/closed"
            | "thread/name/updated"
            | "thread/archived"
            | "thread/unarchived"
            | "thread/settings/updated"
            | "model/rerouted" => self.thread_changed(method, params, raw, out),
            "configWarning" => self.config_warning(params, raw, out),
            "warning"
            | "guardianWarning"
            | "modelProvider/authRecoveryStarted"
            | "thread/compacted"
            | "mcpServer/startupStatus/updated" => self.remarked(method, params, raw, out),
            _ if method.ends_with("requestApproval") => self.old_approval(method, params, raw, cx, out),
            _ => Ok(()),
        }
    }

    /// Keeps a line as it came, in the session that it names or else in the first one.
    fn keep(
        &self,
        raw: &Raw,
        kind: &str,
        fault: Option<RawFault>,
        params: Option<&RawValue>,
        out: &mut Output,
    ) {
        self.keep_in(None, raw, kind, fault, params, out);
    }

    fn keep_in(
        &self,
        session: Option<SessionId>,
        raw: &Raw,
        kind: &str,
        fault: Option<RawFault>,
        params: Option<&RawValue>,
        out: &mut Output,
    ) {
        let place = params.and_then(|params| serde_json::from_str::<Place<'_>>(params.get()).ok());
        let mut place = place.unwrap_or_default();
        if let Some(native) = session.and_then(|session| self.natives.get(&session)) {
            place.thread_id = native.into();
        }
        let (named, turn) = self.place(&place);
        if let Some(session) = session.or(named).or_else(|| self.nearest()) {
            let body = Body::Raw { kind: kind.to_owned(), fault };
            out.say(session, Draft::new(body).turn(turn).raw(raw.clone()));
        }
    }

    /// Our names for a place of theirs.
    fn place(&self, place: &Place<'_>) -> (Option<SessionId>, Option<TurnId>) {
        let native = if place.thread_id.is_empty() { &place.conversation_id } else { &place.thread_id };
        let Some(thread) = self.threads.get(native.as_ref()) else { return (None, None) };
        let turn = place.turn.as_ref().map_or(&place.turn_id, |turn| &turn.id);
        (Some(thread.session), thread.turns.get(turn.as_ref()).and_then(|turn| turn.id))
    }

    /// The session that a line without a thread is told to: the first one.
    fn nearest(&self) -> Option<SessionId> {
        self.calls.opening().or(self.home)
    }

    /// Says a line to people.
    fn notice(
        session: Option<SessionId>,
        turn: Option<TurnId>,
        level: NoticeLevel,
        text: String,
        raw: &Raw,
        out: &mut Output,
    ) {
        if let Some(session) = session {
            let draft = Draft::new(Body::Notice { level }).turn(turn).text(text).raw(raw.clone());
            out.say(session, draft);
        }
    }
}

impl Driver for Codex {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, cx, out),
            Input::Ask { id, query } => self.ask(id, query, cx, out),
            Input::Line(raw) => self.line(&raw, cx, out),
            Input::Garbled { text, fault } => self.keep(&text, "garbled", Some(fault), None, out),
            Input::Tell { session, command } => self.tell(session, command, cx, out),
            // Codex does its work itself.
            Input::WorkDone { .. } => {}
            Input::Tick => self.tick(cx, out),
            // It is no server, and a child that is let go may go on working for its parent.
            Input::Http(_) | Input::Close { .. } | Input::Ended { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        let turns = self.threads.values().flat_map(|thread| thread.turns.values());
        let dues = turns.flat_map(|turn| {
            [turn.network_due, turn.farewell.as_ref().map(|farewell| farewell.due)].into_iter().flatten()
        });
        dues.chain(self.calls.due()).min()
    }
}
