//! The driver: translates Claude's lines into events, and commands into lines.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | the driver's requests, and what their answers mean |
//! | `conversation` | the state of the conversation, of its sub-agents' conversations, and of their tool calls |
//! | `handshake` | from the first line to a session that is ready, or the reason why not; questions without a session |
//! | `commands` | the commands of a session to its agent |
//! | `turns`, `usage` | how turns begin, are steered, fail and end, and their usage |
//! | `stream`, `messages` | messages while they grow, and complete messages |
//! | `tools`, `diffs`, `plans` | tool calls, their changes, and the to-do lists of some tools |
//! | `announced_calls` | announced calls that have not begun |
//! | `approvals`, `questions` | Claude's requests to the hub |
//! | `delegations` | sub-agents |
//! | `remarks` | remarks about everything else |
//! | `modes` | Claude's counterparts of our modes |
//!
//! While there is a session, the driver keeps every line. Handlers emit drafts for what they understand, and
//! `Claude::line` keeps every line for which no handler emitted a draft.

mod announced_calls;
mod approvals;
mod calls;
mod commands;
mod conversation;
mod delegations;
pub(crate) mod diffs;
mod handshake;
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

use longshore_model::anchor::AgentQuestion;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{NoticeLevel, RawFault};
use longshore_model::id::{Context, QueryId, SessionId};
use longshore_model::time::Timestamp;

use self::announced_calls::AnnouncedCall;
use self::approvals::ClaudeRequests;
use self::calls::ClaudeCall;
use self::conversation::{ClaudeConversation, ClaudeToolCall, MAIN};
use self::handshake::HomeSession;
use self::plans::Tasks;
use self::turns::ClaudeTurn;
use self::usage::Ledger;
use super::wire::Line;
use crate::kit::{Pending, Phase, Scribe, WireError};

pub use modes::native_mode;

/// The driver of one `claude` process.
#[derive(Debug, Default)]
pub struct Claude {
    phase: Phase,
    /// The session for which the process was started.
    home: Option<HomeSession>,
    /// Questions that wait for the handshake.
    queries: Vec<(QueryId, AgentQuestion)>,
    calls: Pending<ClaudeCall>,
    /// The main conversation, then the conversations of its sub-agents. Empty before there is a session.
    conversations: Vec<ClaudeConversation>,
    /// The sub-agents, by the calls that delegated to them and by the ids of their tasks.
    children: HashMap<String, usize>,
    /// Tool calls without a result, by their ids.
    tools: HashMap<String, ClaudeToolCall>,
    /// Announced calls that have not begun, in order.
    lined: VecDeque<AnnouncedCall>,
    requests: ClaudeRequests,
    /// The running turn of the main conversation.
    running: Option<ClaudeTurn>,
    /// Whether Claude repeats our prompts. If it does, it has not yet taken a prompt that it has not
    /// repeated.
    echoes: bool,
    tasks: Tasks,
    ledger: Ledger,
}

impl Claude {
    /// A driver for a new process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles a line. A draft from the line carries the line; a line without a draft is kept unchanged.
    fn line(&mut self, text: &str, scribe: &mut Scribe<'_>) {
        let line = match serde_json::from_str::<Line<'_>>(text) {
            Ok(line) => line,
            Err(_) => return self.keep(MAIN, "malformed", Some(RawFault::Malformed), scribe),
        };
        let (mut at, handled) = match line.kind.as_ref() {
            "stream_event" => (self.conversation_of(&line), self.streamed(&line, scribe)),
            "assistant" => {
                self.child_speaks(&line, scribe);
                (self.conversation_of(&line), self.assistant(&line, scribe))
            }
            "user" => {
                self.child_speaks(&line, scribe);
                (self.conversation_of(&line), self.user(&line, scribe))
            }
            "system" => (MAIN, self.system(&line, text, scribe)),
            "result" => (MAIN, self.result(text, scribe)),
            "control_request" => (MAIN, self.requested(&line, scribe)),
            "control_response" => (MAIN, self.responded(&line, scribe)),
            "control_cancel_request" => (MAIN, self.cancelled(&line, scribe)),
            "command_lifecycle" => {
                if line.state.is_some_and(|state| state.get() == "\"started\"") {
                    self.taken(&line.command_uuid);
                }
                (MAIN, Ok(()))
            }
            _ => (MAIN, Ok(())),
        };
        if scribe.has_quoted() {
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
        self.keep(at, &kind, handled.err().map(|_| RawFault::Malformed), scribe);
    }

    /// Keeps a line unchanged.
    fn keep(&self, at: usize, kind: &str, fault: Option<RawFault>, scribe: &mut Scribe<'_>) {
        if let Some(conversation) = self.conversations.get(at) {
            scribe.keep(conversation.session, conversation.turn, kind, fault);
        }
    }

    /// The conversation of a line. A line of an unknown sub-agent belongs to the main conversation.
    fn conversation_of(&self, line: &Line<'_>) -> usize {
        match line.parent_tool_use_id.as_ref() {
            "" => MAIN,
            call => self.children.get(call).copied().unwrap_or(MAIN),
        }
    }

    /// Emits a notice for people.
    fn notice(&self, at: usize, level: NoticeLevel, text: String, scribe: &mut Scribe<'_>) {
        if let Some(conversation) = self.conversations.get(at) {
            scribe.notice(conversation.session, conversation.turn, level, text);
        }
    }

    /// The conversation of this session.
    fn conversation_of_session(&self, session: SessionId) -> Option<usize> {
        self.conversations.iter().position(|conversation| conversation.session == session)
    }
}

impl Driver for Claude {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, &mut Scribe::new(cx, out)),
            Input::Ask { id, query } => self.ask(id, query, &mut Scribe::new(cx, out)),
            Input::Line(raw) => self.line(&raw, &mut Scribe::hearing(&raw, cx, out)),
            Input::Garbled { text, fault } => {
                self.keep(MAIN, "garbled", Some(fault), &mut Scribe::hearing(&text, cx, out));
            }
            Input::Tell { session, command } => self.tell(session, command, &mut Scribe::new(cx, out)),
            Input::WorkDone { id, result } => self.file_read(id, result, &mut Scribe::new(cx, out)),
            Input::Tick => self.tick(&mut Scribe::new(cx, out)),
            // The agent is a process with one conversation, and not an HTTP server.
            Input::Http(_) | Input::Close { .. } | Input::Ended { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        let held = self.running.as_ref().and_then(|running| running.held_until);
        [self.calls.due(), held, self.reading_due()].into_iter().flatten().min()
    }
}
