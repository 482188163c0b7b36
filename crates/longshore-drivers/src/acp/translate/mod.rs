//! The driver: lines of theirs in, words of the waist out, and back.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | requests of ours and what their answers mean |
//! | `conversation` | what is known of each conversation |
//! | `handshake`, `login` | from the first line to a session that is ready, or why not |
//! | `settings` | modes, models and options |
//! | `commands` | what a session tells its agent |
//! | `turns`, `errors`, `usage` | turns begin, fail and end, and what they use |
//! | `updates` | what the agent says, thinks and plans |
//! | `tools`, `outputs`, `diffs` | what it does |
//! | `requests`, `approvals`, `held`, `questions`, `works` | what it asks us |
//! | `queries` | models and conversations |
//!
//! Every line that comes while there is a session is kept. Handlers say what they have a word for; the last thing that
//! a line made them say carries the line, and a line of which nothing came is kept as it is.

mod approvals;
mod calls;
mod commands;
mod conversation;
mod diffs;
mod errors;
mod handshake;
mod held;
mod login;
mod outputs;
mod queries;
mod questions;
mod requests;
mod settings;
mod tools;
mod turns;
mod updates;
mod usage;
mod works;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use longshore_model::anchor::{Launch, Query};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, NoticeLevel, Raw, RawFault};
use longshore_model::id::{Context, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

use self::calls::AcpCalls;
use self::conversation::AcpConversation;
use self::held::DeferredApproval;
use self::requests::AcpRequests;
pub(crate) use self::settings::mode_told;
use self::works::Works;
use super::rows::AcpRow;
use super::wire::{AgentCapabilities, AuthMethod, Head, Place, RpcId, Tag, Updated};
use crate::phase::Phase;
use crate::wire_error::WireError;

/// How many lines are held for sessions that have no name yet.
const EARLY_LIMIT: usize = 256;

/// The driver of one process that speaks ACP.
#[derive(Debug)]
pub struct Acp {
    row: Arc<AcpRow>,
    phase: Phase,
    /// What it says of itself.
    version: Option<String>,
    /// What it is told beside the protocol whenever a session opens.
    aside: Option<Value>,
    can: AgentCapabilities,
    logins: Vec<AuthMethod>,
    /// Sessions that wait for the handshake.
    openings: VecDeque<Launch>,
    /// Questions that wait for the handshake.
    queries: VecDeque<(QueryId, Query)>,
    calls: AcpCalls,
    /// By their name.
    conversations: HashMap<String, AcpConversation>,
    /// Their name of each session.
    natives: HashMap<SessionId, String>,
    /// The session that lines belong to which name none.
    home: Option<SessionId>,
    requests: AcpRequests,
    /// What is asked as soon as the files are looked at that it is about.
    held: Vec<DeferredApproval>,
    works: Works,
    /// Lines of sessions that have no name yet: some agents speak before they have answered.
    early: Vec<(String, Raw)>,
    /// Those of a session that has got its name.
    timely: VecDeque<Raw>,
}

impl Acp {
    /// A driver for a process of this agent that has just been started.
    pub fn new(row: Arc<AcpRow>) -> Self {
        Self {
            row,
            phase: Phase::Silent,
            version: None,
            aside: None,
            can: AgentCapabilities::default(),
            logins: Vec::new(),
            openings: VecDeque::new(),
            queries: VecDeque::new(),
            calls: AcpCalls::default(),
            conversations: HashMap::new(),
            natives: HashMap::new(),
            home: None,
            requests: AcpRequests::default(),
            held: Vec::new(),
            works: Works::default(),
            early: Vec::new(),
            timely: VecDeque::new(),
        }
    }

    fn title(&self) -> &str {
        &self.row.title
    }

    fn line(&mut self, raw: &Raw, cx: &mut Context<'_>, out: &mut Output) {
        self.one_line(raw, cx, out);
        self.hear_timely(cx, out);
    }

    /// Lines that were held for a session without a name, now that it has one or never will.
    fn hear_timely(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        while let Some(early) = self.timely.pop_front() {
            if let Ok(head) = serde_json::from_str::<Head<'_>>(&early) {
                // A line that makes no sense is kept already, and a request of theirs is answered even so.
                let _ = self.heard(&head, cx, out);
            }
        }
    }

    /// A line of theirs. What comes of it carries the line; a line that nothing comes of is kept as it is.
    fn one_line(&mut self, raw: &Raw, cx: &mut Context<'_>, out: &mut Output) {
        let before = out.said.len();
        let head = match serde_json::from_str::<Head<'_>>(raw) {
            Ok(head) => head,
            Err(_) => return self.keep(raw, "malformed", Some(RawFault::Malformed), None, out),
        };
        let method = head.method.as_ref();
        if method.is_empty() {
            let Some(id) = head.id else {
                let kind = if head.error.is_some() { "error" } else { "line" };
                return self.keep(raw, kind, None, None, out);
            };
            let (to, session) = self.answered(id, head.result, head.error, cx, out);
            if !carry(raw, before, out) {
                let kind = to.map_or_else(|| "response".to_owned(), |to| format!("response:{to}"));
                self.keep_in(session, raw, kind, None, None, out);
            }
            return;
        }
        let mut handled = Ok(());
        if self.is_early(&head) {
            // Kept at once, so that nothing is lost if the session never comes to be; heard when it has.
            self.early.push((native_in(head.params), raw.clone()));
        } else {
            handled = self.heard(&head, cx, out);
        }
        if !carry(raw, before, out) {
            let params = head.params.unwrap_or(RawValue::NULL);
            let kind = match serde_json::from_str::<Updated<'_>>(params.get()) {
                Ok(updated) if method == "session/update" => {
                    let tag = serde_json::from_str::<Tag<'_>>(updated.update.get());
                    format!("{method}:{}", tag.as_ref().map_or("?", |tag| tag.kind.as_ref()))
                }
                Ok(_) | Err(_) => method.to_owned(),
            };
            let fault = handled.err().map(|_| RawFault::Malformed);
            self.keep_in(None, raw, kind, fault, head.params, out);
        }
    }

    /// A request or a notification.
    fn heard(&mut self, head: &Head<'_>, cx: &mut Context<'_>, out: &mut Output) -> Result<(), WireError> {
        let params = head.params.unwrap_or(RawValue::NULL);
        match head.id {
            Some(id) => self.requested(RpcId::of(id), &head.method, params, cx, out),
            None => self.notified(&head.method, params, cx, out),
        }
    }

    /// Whether a line is of a session that is about to get its name.
    fn is_early(&self, head: &Head<'_>) -> bool {
        if self.early.len() >= EARLY_LIMIT || !self.calls.awaits_name() {
            return false;
        }
        let native = native_in(head.params);
        !native.is_empty() && !self.conversations.contains_key(&native)
    }

    /// Something happened that nobody has to answer.
    fn notified(
        &mut self,
        method: &str,
        params: &RawValue,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        match method {
            "session/update" => self.updated(params, cx, out),
            "elicitation/complete" => self.elicitation_completed(params, out),
            "$/cancel_request" => self.withdrawn(params, out),
            _ => Ok(()),
        }
    }

    fn keep(
        &self,
        raw: &Raw,
        kind: &str,
        fault: Option<RawFault>,
        params: Option<&RawValue>,
        out: &mut Output,
    ) {
        self.keep_in(None, raw, kind.to_owned(), fault, params, out);
    }

    /// Keeps a line as it came, in the session that it names or else in the first one.
    fn keep_in(
        &self,
        session: Option<SessionId>,
        raw: &Raw,
        kind: String,
        fault: Option<RawFault>,
        params: Option<&RawValue>,
        out: &mut Output,
    ) {
        let conversation = match session {
            Some(session) => self.natives.get(&session).and_then(|native| self.conversations.get(native)),
            None => self.conversations.get(&native_in(params)),
        };
        let session =
            session.or(conversation.map(|conversation| conversation.session)).or_else(|| self.nearest());
        if let Some(session) = session {
            let turn = conversation.and_then(AcpConversation::turn_id);
            out.say(session, Draft::new(Body::Raw { kind, fault }).turn(turn).raw(raw.clone()));
        }
    }

    /// The session that a line without a name is told to: the first one.
    fn nearest(&self) -> Option<SessionId> {
        self.home
    }

    /// Says a line to people.
    fn notice(
        session: SessionId,
        turn: Option<TurnId>,
        level: NoticeLevel,
        text: impl Into<String>,
        out: &mut Output,
    ) {
        out.say(session, Draft::new(Body::Notice { level }).turn(turn).text(text));
    }
}

/// The last thing that was said since `before` carries the line that made it so. False when nothing was said.
fn carry(raw: &Raw, before: usize, out: &mut Output) -> bool {
    match out.said.get_mut(before..).and_then(<[_]>::last_mut) {
        Some((_, draft)) => {
            draft.raw = Some(raw.clone());
            true
        }
        None => false,
    }
}

/// The session that parameters name.
fn native_in(params: Option<&RawValue>) -> String {
    let place = params.and_then(|params| serde_json::from_str::<Place<'_>>(params.get()).ok());
    place.map(|place| place.session_id.into_owned()).unwrap_or_default()
}

impl Driver for Acp {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, cx, out),
            Input::Ask { id, query } => self.ask(id, query, cx, out),
            Input::Line(raw) => self.line(&raw, cx, out),
            Input::Garbled { text, fault } => self.keep(&text, "garbled", Some(fault), None, out),
            Input::Tell { session, command } => self.tell(session, command, cx, out),
            Input::WorkDone { id, result } => self.work_done(id, result, out),
            Input::Tick => self.tick(cx, out),
            // It is a process with sessions of its own, and no server.
            Input::Http(_) | Input::Close { .. } | Input::Ended { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.calls.due().into_iter().chain(self.held_until()).min()
    }
}
