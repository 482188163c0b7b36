//! The driver: translates Codex's lines into events, and commands into requests.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | the driver's requests, and what their answers mean |
//! | `conversation` | the state of threads, turns and items |
//! | `handshake` | from the first line to a session that is ready, or the reason why not |
//! | `commands` | the commands of a session to its agent |
//! | `turns`, `terminals`, `usage` | how turns begin, fail and end, and their usage |
//! | `remarks` | remarks about a whole thread, and for people |
//! | `items`, `tools`, `diffs` | the parts of a turn |
//! | `delegations` | threads that other threads spawn |
//! | `requests`, `approvals`, `questions` | Codex's requests to the hub |
//! | `modes` | Codex's counterparts of our modes |
//! | `queries` | models and conversations |
//!
//! While there is a session, the driver keeps every line. Handlers emit drafts for what they understand, and
//! `Codex::line` keeps every line for which no handler emitted a draft.

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

use longshore_model::anchor::{AgentQuestion, Launch};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, RawFault};
use longshore_model::id::{Context, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::value::RawValue;

use self::calls::CodexCall;
use self::conversation::Thread;
use self::requests::CodexRequests;
use super::wire::{Head, Place};
use crate::kit::{Pending, Phase, Scribe, WireError};

/// The driver of one `codex app-server` process.
#[derive(Debug, Default)]
pub struct Codex {
    phase: Phase,
    /// The version that Codex reports.
    version: Option<String>,
    /// Sessions that wait for the handshake.
    openings: VecDeque<Launch>,
    /// Questions that wait for the handshake.
    queries: VecDeque<(QueryId, AgentQuestion)>,
    calls: Pending<CodexCall>,
    /// The threads, by Codex's ids.
    threads: HashMap<String, Thread>,
    /// Codex's id of each session's thread.
    natives: HashMap<SessionId, String>,
    /// The session for lines that name no thread.
    home: Option<SessionId>,
    /// Whether this session had an agent before, which has already reported what is wrong with the
    /// installation.
    woken: bool,
    requests: CodexRequests,
    /// The allowances that were last reported, by name.
    limits: HashMap<String, (f64, Option<i64>)>,
}

impl Codex {
    /// A driver for a new process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles a line. A draft from the line carries the line; a line without a draft is kept unchanged.
    fn line(&mut self, line: &str, scribe: &mut Scribe<'_>) {
        let head = match serde_json::from_str::<Head<'_>>(line) {
            Ok(head) => head,
            Err(_) => return self.keep("malformed", Some(RawFault::Malformed), None, scribe),
        };
        let mut kind = head.method.as_ref();
        let handled = match (&head.id, head.params) {
            (Some(id), _) if kind.is_empty() => {
                let (method, session) = self.answered(id, head.result, head.error, scribe);
                if !scribe.has_quoted() {
                    let kind = method.map_or_else(|| "response".to_owned(), |to| format!("response:{to}"));
                    self.keep_in(session, &kind, None, head.result, scribe);
                }
                return;
            }
            (None, _) if kind.is_empty() => {
                kind = if head.kind.is_empty() { "line" } else { head.kind.as_ref() };
                Ok(())
            }
            (Some(id), params) => self.requested(id, kind, params, scribe),
            (None, Some(params)) => self.notified(kind, params, scribe),
            (None, None) => Ok(()),
        };
        if !scribe.has_quoted() {
            self.keep(kind, handled.err().map(|_| RawFault::Malformed), head.params, scribe);
        }
    }

    /// Handles a notification.
    fn notified(
        &mut self,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        match method {
            "item/agentMessage/delta" => return self.item_delta(Body::MessageDelta, params, scribe),
            "item/commandExecution/outputDelta" | "item/mcpToolCall/progress" => {
                return self.item_delta(Body::ToolOutputDelta, params, scribe);
            }
            "item/plan/delta" => return self.item_delta(Body::PlanDelta, params, scribe),
            _ => {}
        }
        self.adopt_stranger(method, params, scribe);
        match method {
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.thought_delta(method, params, scribe)
            }
            "item/reasoning/summaryPartAdded" => self.thought_part(params, scribe),
            "item/started" => self.item_started(params, scribe),
            "item/completed" => self.item_completed(params, scribe),
            "item/commandExecution/terminalInteraction" => self.typed(params, scribe),
            "turn/started" => self.turn_started(params, scribe),
            "turn/completed" => self.turn_completed(params, scribe),
            "turn/plan/updated" => self.plan_updated(params, scribe),
            "turn/diff/updated" => self.diff_updated(params, scribe),
            "thread/tokenUsage/updated" => self.tokens_used(params, scribe),
            "account/rateLimits/updated" => self.rate_limits(params, scribe),
            "error" => self.went_wrong(params, scribe),
            "serverRequest/resolved" => self.resolved(params, scribe),
            "thread/started" => self.thread_started(params, scribe),
            "thread/status/changed"
            | "thread/closed"
            | "thread/name/updated"
            | "thread/archived"
            | "thread/unarchived"
            | "thread/settings/updated"
            | "model/rerouted" => self.thread_changed(method, params, scribe),
            "configWarning" => self.config_warning(params, scribe),
            "warning"
            | "guardianWarning"
            | "modelProvider/authRecoveryStarted"
            | "thread/compacted"
            | "mcpServer/startupStatus/updated" => self.remarked(method, params, scribe),
            _ if method.ends_with("requestApproval") => self.old_approval(method, params, scribe),
            _ => Ok(()),
        }
    }

    /// Keeps a line unchanged, in the session that it names, or else in the first session.
    fn keep(&self, kind: &str, fault: Option<RawFault>, params: Option<&RawValue>, scribe: &mut Scribe<'_>) {
        self.keep_in(None, kind, fault, params, scribe);
    }

    fn keep_in(
        &self,
        session: Option<SessionId>,
        kind: &str,
        fault: Option<RawFault>,
        params: Option<&RawValue>,
        scribe: &mut Scribe<'_>,
    ) {
        let place = params.and_then(|params| serde_json::from_str::<Place<'_>>(params.get()).ok());
        let mut place = place.unwrap_or_default();
        if let Some(native) = session.and_then(|session| self.natives.get(&session)) {
            place.thread_id = native.into();
        }
        let (named, turn) = self.place(&place);
        scribe.keep(session.or(named).or_else(|| self.nearest()), turn, kind, fault);
    }

    /// Our ids for a place of Codex.
    fn place(&self, place: &Place<'_>) -> (Option<SessionId>, Option<TurnId>) {
        let native = if place.thread_id.is_empty() { &place.conversation_id } else { &place.thread_id };
        let Some(thread) = self.threads.get(native.as_ref()) else { return (None, None) };
        let turn = place.turn.as_ref().map_or(&place.turn_id, |turn| &turn.id);
        (Some(thread.session), thread.turns.get(turn.as_ref()).and_then(|turn| turn.id))
    }

    /// The session for a line without a thread: the first session.
    fn nearest(&self) -> Option<SessionId> {
        self.calls.openings().next().or(self.home)
    }
}

impl Driver for Codex {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, &mut Scribe::new(cx, out)),
            Input::Ask { id, query } => self.ask(id, query, &mut Scribe::new(cx, out)),
            Input::Line(raw) => self.line(&raw, &mut Scribe::hearing(&raw, cx, out)),
            Input::Garbled { text, fault } => {
                self.keep("garbled", Some(fault), None, &mut Scribe::hearing(&text, cx, out));
            }
            Input::Tell { session, command } => self.tell(session, command, &mut Scribe::new(cx, out)),
            // Codex reads its files and runs its commands itself.
            Input::WorkDone { .. } => {}
            Input::Tick => self.tick(&mut Scribe::new(cx, out)),
            // Codex is not an HTTP server, and a closed child may continue to work for its parent.
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
