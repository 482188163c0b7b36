//! The driver: lines of theirs in, words of the waist out, and back.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | requests of ours and what their answers mean |
//! | `conversation` | what is known of the conversation, of those of its sub-agents, and of their calls of tools |
//! | `handshake` | from the first line to a session that is ready, or why not; questions that concern no session |
//! | `commands` | what a session tells its agent |
//! | `turns`, `usage` | turns begin, are steered, fail and end, and what they use |
//! | `stream`, `messages` | what is said as it is said, and when it is whole |
//! | `tools`, `diffs`, `plans` | calls of tools, what they change, and the lists that some of them keep |
//! | `lined` | calls that are announced and have not begun |
//! | `approvals`, `questions` | what it asks us |
//! | `delegations` | sub-agents |
//! | `remarks` | words about everything else |
//! | `modes` | what a mode is in their words |
//!
//! Every line that comes while there is a session is kept: a handler says what it has a word for, and
//! `Claude::line` keeps whatever no handler had a word for.

mod approvals;
mod calls;
mod commands;
mod conversation;
mod delegations;
pub(crate) mod diffs;
mod handshake;
mod lined;
mod messages;
mod modes;
mod plans;
mod questions;
mod remarks;
mod stream;
pub(crate) mod tools;
mod turns;
pub(crate) mod usage;

use std::collections::{HashMap, VecDeque};

use longshore_model::anchor::Query;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, NoticeLevel, Raw, RawFault};
use longshore_model::id::{Context, QueryId, SessionId};
use longshore_model::time::Timestamp;

use self::approvals::ClaudeRequests;
use self::calls::ClaudeCalls;
use self::conversation::{ClaudeConversation, ClaudeToolCall, MAIN};
use self::handshake::HomeSession;
use self::lined::Lined;
use self::plans::Tasks;
use self::turns::ClaudeTurn;
use self::usage::Ledger;
use super::wire::Line;
use crate::phase::Phase;
use crate::wire_error::WireError;

pub use modes::native_mode;

/// The driver of one `claude`.
#[derive(Debug, Default)]
pub struct Claude {
    phase: Phase,
    /// The session that the process was started for.
    home: Option<HomeSession>,
    /// Questions that wait for the handshake.
    queries: Vec<(QueryId, Query)>,
    calls: ClaudeCalls,
    /// The conversation itself, then those of its sub-agents. Empty before there is a session.
    conversations: Vec<ClaudeConversation>,
    /// Sub-agents by the calls that gave them work, and by the names of their tasks.
    children: HashMap<String, usize>,
    /// Calls of tools that have no result yet, by their name.
    tools: HashMap<String, ClaudeToolCall>,
    /// Calls that were announced and have not begun, in their order.
    lined: VecDeque<Lined>,
    requests: ClaudeRequests,
    /// The turn of the conversation that runs.
    running: Option<ClaudeTurn>,
    /// Whether it was seen to repeat our prompts, so that one that was not repeated was not taken yet.
    echoes: bool,
    tasks: Tasks,
    ledger: Ledger,
}

impl Claude {
    /// A driver for a process that has just been started.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of theirs. What comes of it carries the line; a line that nothing comes of is kept as it is.
    fn line(&mut self, raw: &Raw, cx: &mut Context<'_>, out: &mut Output) {
        let before = out.said.len();
        let line = match serde_json::from_str::<Line<'_>>(raw) {
            Ok(line) => line,
            Err(_) => return self.keep(MAIN, raw, "malformed", Some(RawFault::Malformed), out),
        };
        let (mut at, handled) = match line.kind.as_ref() {
            "stream_event" => (self.conversation_of(&line), self.streamed(&line, raw, cx, out)),
            "assistant" => {
                self.child_speaks(&line, cx, out);
                (self.conversation_of(&line), self.assistant(&line, raw, cx, out))
            }
            "user" => {
                self.child_speaks(&line, cx, out);
                (self.conversation_of(&line), self.user(&line, raw, cx, out))
            }
            "system" => (MAIN, self.system(&line, raw, cx, out)),
            "result" => (MAIN, self.result(raw, cx, out)),
            "control_request" => (MAIN, self.requested(&line, raw, cx, out)),
            "control_response" => (MAIN, self.responded(&line, raw, out)),
            "control_cancel_request" => (MAIN, self.cancelled(&line, raw, out)),
            "command_lifecycle" => {
                if line.state.is_some_and(|state| state.get() == "\"started\"") {
                    self.taken(&line.command_uuid);
                }
                (MAIN, Ok(()))
            }
            _ => (MAIN, Ok(())),
        };
        if out.said[before..].iter().any(|(_, draft)| draft.raw.is_some()) {
            return;
        }
        let kind = match (line.kind.as_ref(), line.subtype.as_ref()) {
            ("", _) => "line".to_owned(),
            ("stream_event", _) => match &line.event {
                Some(event) if !event.kind.is_empty() => format!("stream_event/{}", event.kind),
                Some(_) | None => "stream_event".to_owned(),
            },
            ("user", _) if line.is_replay => "user/replay".to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, subtype) => format!("{kind}/{subtype}"),
        };
        if at >= self.conversations.len() {
            at = MAIN;
        }
        self.keep(at, raw, &kind, handled.err().map(|_| RawFault::Malformed), out);
    }

    /// Keeps a line as it came.
    fn keep(&self, at: usize, raw: &Raw, kind: &str, fault: Option<RawFault>, out: &mut Output) {
        if let Some(conversation) = self.conversations.get(at) {
            let body = Body::Raw { kind: kind.to_owned(), fault };
            out.say(conversation.session, Draft::new(body).turn(conversation.turn).raw(raw.clone()));
        }
    }

    /// The conversation that a line belongs to; that of a sub-agent which nobody knows is the conversation itself.
    fn conversation_of(&self, line: &Line<'_>) -> usize {
        match line.parent_tool_use_id.as_ref() {
            "" => MAIN,
            call => self.children.get(call).copied().unwrap_or(MAIN),
        }
    }

    /// Says a line to people.
    fn notice(&self, at: usize, level: NoticeLevel, text: String, raw: Option<&Raw>, out: &mut Output) {
        if let Some(conversation) = self.conversations.get(at) {
            let draft = Draft::new(Body::Notice { level }).turn(conversation.turn).text(text);
            out.say(conversation.session, draft.raw(raw.cloned()));
        }
    }

    /// The conversation that is a session.
    fn conversation_of_session(&self, session: SessionId) -> Option<usize> {
        self.conversations.iter().position(|conversation| conversation.session == session)
    }
}

impl Driver for Claude {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, cx, out),
            Input::Ask { id, query } => self.ask(id, query, cx, out),
            Input::Line(raw) => self.line(&raw, cx, out),
            Input::Garbled { text, fault } => self.keep(MAIN, &text, "garbled", Some(fault), out),
            Input::Tell { session, command } => self.tell(session, command, cx, out),
            Input::WorkDone { id, result } => self.file_read(id, result, out),
            Input::Tick => self.tick(cx, out),
            // It is a process with one conversation, and no server.
            Input::Http(_) | Input::Close { .. } | Input::Ended { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        let held = self.running.as_ref().and_then(|running| running.held_until);
        [self.calls.due(), held, self.reading_due()].into_iter().flatten().min()
    }
}
