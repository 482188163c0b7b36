//! The driver: translates the agent's lines into events, and commands into requests.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | the driver's requests, and what their answers mean |
//! | `conversation` | the state of each conversation |
//! | `handshake`, `login` | from the first line to a session that is ready, or the reason why not |
//! | `settings` | modes, models and options |
//! | `commands` | the commands of a session to its agent |
//! | `turns`, `errors`, `usage` | how turns begin, fail and end, and their usage |
//! | `updates` | the agent's messages, thoughts and plans |
//! | `tools`, `outputs`, `diffs` | the agent's tool calls |
//! | `requests`, `approvals`, `deferred_approvals`, `questions`, `works` | the agent's requests to the hub |
//! | `queries` | models and conversations |
//!
//! While there is a session, the driver keeps every line. Handlers emit drafts for what they understand, and
//! the last draft of a line carries the line. A line without a draft is kept unchanged.

mod approvals;
mod calls;
mod commands;
mod conversation;
mod deferred_approvals;
mod diffs;
mod errors;
mod handshake;
mod host_requests;
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

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use longshore_model::anchor::{AgentQuestion, Launch};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Raw, RawFault};
use longshore_model::id::{Context, QueryId, SessionId};
use longshore_model::time::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

use self::calls::AcpCall;
use self::conversation::AcpConversation;
use self::deferred_approvals::DeferredApproval;
use self::host_requests::HostRequests;
use self::requests::AcpRequests;
pub(crate) use self::settings::mode_told;
use super::rows::AcpRow;
use super::wire::{AgentCapabilities, AuthMethod, Head, Place, RpcId, Tag, Updated};
use crate::kit::{Pending, Phase, Scribe, WireError};

/// The most lines that the driver holds for sessions without an id.
const EARLY_LIMIT: usize = 256;

/// The driver of one process that speaks ACP.
#[derive(Debug)]
pub struct Acp {
    row: Arc<AcpRow>,
    phase: Phase,
    /// The version that the agent reports.
    version: Option<String>,
    /// Additional parameters for the agent whenever a session opens.
    aside: Option<Value>,
    can: AgentCapabilities,
    logins: Vec<AuthMethod>,
    /// Sessions that wait for the handshake.
    openings: VecDeque<Launch>,
    /// Questions that wait for the handshake.
    queries: VecDeque<(QueryId, AgentQuestion)>,
    calls: Pending<AcpCall>,
    /// The conversations, by the agent's ids.
    conversations: HashMap<String, AcpConversation>,
    /// The agent's id of each session's conversation.
    natives: HashMap<SessionId, String>,
    /// The session for lines that name no session.
    home: Option<SessionId>,
    requests: AcpRequests,
    /// Approvals that wait for files or for a plan.
    held: Vec<DeferredApproval>,
    host_requests: HostRequests,
    /// Lines of sessions that have no id yet, because some agents send notifications before their response.
    early: Vec<(String, Raw)>,
    /// The early lines of sessions that have their id now.
    timely: VecDeque<Raw>,
}

impl Acp {
    /// A driver for a new process of this agent.
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
            calls: Pending::default(),
            conversations: HashMap::new(),
            natives: HashMap::new(),
            home: None,
            requests: AcpRequests::default(),
            held: Vec::new(),
            host_requests: HostRequests::default(),
            early: Vec::new(),
            timely: VecDeque::new(),
        }
    }

    fn title(&self) -> &str {
        &self.row.title
    }

    fn line(&mut self, line: &str, scribe: &mut Scribe<'_>) {
        self.one_line(line, scribe);
        self.hear_timely(&mut scribe.bare());
    }

    /// Handles the lines of a session that had no id, now that it has one or never will.
    fn hear_timely(&mut self, scribe: &mut Scribe<'_>) {
        while let Some(early) = self.timely.pop_front() {
            if let Ok(head) = serde_json::from_str::<Head<'_>>(&early) {
                // The driver has already kept a line that it cannot read. It still answers a request of the
                // agent.
                let _ = self.heard(&head, scribe);
            }
        }
    }

    /// Handles a line. A draft from the line carries the line; a line without a draft is kept unchanged.
    fn one_line(&mut self, line: &str, scribe: &mut Scribe<'_>) {
        let head = match serde_json::from_str::<Head<'_>>(line) {
            Ok(head) => head,
            Err(_) => return self.keep("malformed", Some(RawFault::Malformed), None, scribe),
        };
        let method = head.method.as_ref();
        if method.is_empty() {
            let Some(id) = head.id else {
                let kind = if head.error.is_some() { "error" } else { "line" };
                return self.keep(kind, None, None, scribe);
            };
            let (to, session) = self.answered(id, head.result, head.error, &mut scribe.bare());
            if !scribe.quote_last() {
                let kind = to.map_or_else(|| "response".to_owned(), |to| format!("response:{to}"));
                self.keep_in(session, kind, None, None, scribe);
            }
            return;
        }
        let mut handled = Ok(());
        if self.is_early(&head) {
            // The driver keeps the line at once, so that it is not lost if the session never opens. It
            // handles the line when the session has opened.
            self.early.extend(scribe.raw.map(|raw| (native_in(head.params), raw.clone())));
        } else {
            handled = self.heard(&head, &mut scribe.bare());
        }
        if !scribe.quote_last() {
            let params = head.params.unwrap_or(RawValue::NULL);
            let kind = match serde_json::from_str::<Updated<'_>>(params.get()) {
                Ok(updated) if method == "session/update" => {
                    let tag = serde_json::from_str::<Tag<'_>>(updated.update.get());
                    format!("{method}:{}", tag.as_ref().map_or("?", |tag| tag.kind.as_ref()))
                }
                Ok(_) | Err(_) => method.to_owned(),
            };
            let fault = handled.err().map(|_| RawFault::Malformed);
            self.keep_in(None, kind, fault, head.params, scribe);
        }
    }

    /// Handles a request or a notification.
    fn heard(&mut self, head: &Head<'_>, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let params = head.params.unwrap_or(RawValue::NULL);
        match head.id {
            Some(id) => self.requested(RpcId::of(id), &head.method, params, scribe),
            None => self.notified(&head.method, params, scribe),
        }
    }

    /// Whether a line belongs to a session that will soon get its id.
    fn is_early(&self, head: &Head<'_>) -> bool {
        if self.early.len() >= EARLY_LIMIT || !self.calls.awaits_name() {
            return false;
        }
        let native = native_in(head.params);
        !native.is_empty() && !self.conversations.contains_key(&native)
    }

    /// Handles a notification.
    fn notified(
        &mut self,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        match method {
            "session/update" => self.updated(params, scribe),
            "elicitation/complete" => self.elicitation_completed(params, scribe),
            "$/cancel_request" => self.withdrawn(params, scribe),
            _ => Ok(()),
        }
    }

    fn keep(&self, kind: &str, fault: Option<RawFault>, params: Option<&RawValue>, scribe: &mut Scribe<'_>) {
        self.keep_in(None, kind.to_owned(), fault, params, scribe);
    }

    /// Keeps a line unchanged, in the session that it names, or else in the first session.
    fn keep_in(
        &self,
        session: Option<SessionId>,
        kind: String,
        fault: Option<RawFault>,
        params: Option<&RawValue>,
        scribe: &mut Scribe<'_>,
    ) {
        let conversation = match session {
            Some(session) => self.natives.get(&session).and_then(|native| self.conversations.get(native)),
            None => self.conversations.get(&native_in(params)),
        };
        let named = conversation.map(|conversation| conversation.session);
        let session = session.or(named).or(self.home);
        scribe.keep(session, conversation.and_then(AcpConversation::turn_id), kind, fault);
    }
}

/// The session that the parameters name.
fn native_in(params: Option<&RawValue>) -> String {
    let place = params.and_then(|params| serde_json::from_str::<Place<'_>>(params.get()).ok());
    place.map(|place| place.session_id.into_owned()).unwrap_or_default()
}

impl Driver for Acp {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, &mut Scribe::new(cx, out)),
            Input::Ask { id, query } => self.ask(id, query, &mut Scribe::new(cx, out)),
            Input::Line(raw) => self.line(&raw, &mut Scribe::hearing(&raw, cx, out)),
            Input::Garbled { text, fault } => {
                self.keep("garbled", Some(fault), None, &mut Scribe::hearing(&text, cx, out));
            }
            Input::Tell { session, command } => self.tell(session, command, &mut Scribe::new(cx, out)),
            Input::WorkDone { id, result } => self.work_done(id, result, &mut Scribe::new(cx, out)),
            Input::Tick => self.tick(&mut Scribe::new(cx, out)),
            // The agent is a process for several sessions, and not an HTTP server.
            Input::Http(_) | Input::Close { .. } | Input::Ended { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.calls.due().into_iter().chain(self.held_until()).min()
    }
}
