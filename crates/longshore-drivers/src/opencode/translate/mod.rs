//! The driver: translates OpenCode's events and responses into our events, and commands into requests.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | the driver's requests, and what their answers mean |
//! | `conversation` | the state of conversations, turns and parts |
//! | `handshake` | from a launch to a session that is ready, or the reason why not; and the end of a session |
//! | `commands` | the commands of a session to its agent |
//! | `turns`, `errors` | how turns begin, rest and end, and why they fail |
//! | `stops` | how a client stops a turn |
//! | `items`, `tools`, `diffs` | the parts of messages |
//! | `approvals`, `questions`, `pending_answers` | OpenCode's requests to the hub |
//! | `delegations` | conversations that other conversations begin |
//! | `import` | conversations from elsewhere |
//! | `remarks` | remarks about a whole conversation |
//! | `modes` | OpenCode's counterparts of our modes |
//! | `resync` | what the driver missed while the stream of events was broken |
//! | `queries` | models and conversations |
//!
//! While there is a session, the driver keeps every event and every answer. Handlers emit drafts for what
//! they understand. `OpenCode::event` and `OpenCode::answered` keep everything for which no handler emitted a
//! draft.

mod approvals;
mod calls;
mod commands;
mod conversation;
mod delegations;
mod diffs;
mod errors;
mod handshake;
mod import;
mod items;
mod modes;
mod pending_answers;
mod queries;
mod questions;
mod remarks;
mod resync;
mod stops;
mod tools;
mod turns;

use std::collections::{BTreeMap, HashMap};

use longshore_model::driver::{Driver, Http, Input, Output};
use longshore_model::event::RawFault;
use longshore_model::id::{Context, SessionId};
use longshore_model::time::Timestamp;
use serde_json::value::RawValue;

use self::approvals::Approvals;
use self::calls::OpenCodeRequest;
use self::conversation::OpenCodeConversation;
use self::questions::Questions;
use super::wire::{Head, Place};
use crate::kit::{Pending, Scribe, WireError};

pub use self::import::Conversation;

/// The driver of one `opencode serve` process.
#[derive(Debug, Default)]
pub struct OpenCode {
    calls: Pending<OpenCodeRequest>,
    /// The conversations, by OpenCode's ids.
    conversations: BTreeMap<String, OpenCodeConversation>,
    /// OpenCode's id of each session's conversation.
    natives: HashMap<SessionId, String>,
    /// Sessions without a conversation yet.
    opening: Vec<SessionId>,
    approvals: Approvals,
    questions: Questions,
    /// Whether the stream of events was open before.
    connected: bool,
    /// The context sizes of models. Known once a client has asked for the models.
    windows: HashMap<String, u64>,
    /// Whether the driver replays a past conversation. A separate driver of this kind replays each
    /// conversation.
    past: bool,
}

impl OpenCode {
    /// A driver for a new process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles an event. A draft from the event carries the event; an event without a draft is kept
    /// unchanged.
    fn event(&mut self, line: &str, scribe: &mut Scribe<'_>) {
        let read = serde_json::from_str::<Head<'_>>(line).and_then(|head| match head.payload {
            Some(payload) => {
                let inner = serde_json::from_str::<Head<'_>>(payload.get())?;
                Ok(Head { directory: head.directory, ..inner })
            }
            None => Ok(head),
        });
        let Ok(head) = read else {
            return self.keep("malformed", Some(RawFault::Malformed), None, scribe);
        };
        let kind = if head.kind.is_empty() { "event" } else { head.kind.as_ref() };
        let handled = match head.properties {
            Some(properties) => self.happened(kind, properties, scribe),
            None => Ok(()),
        };
        if !scribe.has_quoted() {
            self.keep(kind, handled.err().map(|_| RawFault::Malformed), Some(&head), scribe);
        }
    }

    fn happened(
        &mut self,
        kind: &str,
        properties: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let text = properties.get();
        match kind {
            "message.part.delta" => self.part_delta(&serde_json::from_str(text)?, scribe),
            "message.part.updated" => self.part_told(&serde_json::from_str(text)?, scribe),
            "message.updated" => self.message_told(&serde_json::from_str(text)?, scribe),
            "session.status" => self.status_told(&place(text)?, &serde_json::from_str(text)?, scribe),
            "session.idle" => self.rested(&place(text)?, scribe),
            "session.error" => self.went_wrong(&place(text)?, &serde_json::from_str(text)?, scribe),
            "session.created" => self.session_made(&serde_json::from_str(text)?, scribe),
            "session.updated" => self.session_changed(&serde_json::from_str(text)?, scribe),
            "session.deleted" => self.session_deleted(&serde_json::from_str(text)?, scribe),
            "session.compacted" => self.compacted(&place(text)?, scribe),
            "todo.updated" => {
                self.todos_told(&place(text)?, &serde_json::from_str(text)?, scribe);
            }
            "permission.asked" => self.approval_requested(serde_json::from_str(text)?, scribe),
            "permission.replied" => self.permission_settled(&serde_json::from_str(text)?, scribe),
            "question.asked" => self.asks_user(serde_json::from_str(text)?, scribe),
            "question.replied" | "question.rejected" => {
                self.question_settled(&serde_json::from_str(text)?, scribe);
            }
            _ => {}
        }
        Ok(())
    }

    /// Keeps an event unchanged, in the session that it names, or else in the nearest session.
    fn keep(&self, kind: &str, fault: Option<RawFault>, head: Option<&Head<'_>>, scribe: &mut Scribe<'_>) {
        let named = head.and_then(|head| head.properties).and_then(|properties| place(properties.get()).ok());
        let in_folder = |conversation: &&OpenCodeConversation| {
            head.and_then(|head| head.directory.as_deref()) == Some(&conversation.directory)
        };
        let mut there: Vec<&OpenCodeConversation> = self.conversations.values().filter(in_folder).collect();
        // A conversation that works, or else the oldest conversation.
        there.sort_by_key(|conversation| (conversation.turn.is_none(), conversation.session));
        let conversation =
            named.and_then(|native| self.conversations.get(&native)).or_else(|| there.first().copied());
        let session = conversation.map(|conversation| conversation.session).or_else(|| self.nearest());
        scribe.keep(session, conversation.and_then(OpenCodeConversation::turn_id), kind, fault);
    }

    /// The session for an event that names none: the session that is opening, or the oldest session.
    fn nearest(&self) -> Option<SessionId> {
        self.opening.first().copied().or_else(|| self.natives.keys().min().copied())
    }
}

/// OpenCode's id of an event's conversation.
fn place(properties: &str) -> Result<String, WireError> {
    serde_json::from_str::<Place<'_>>(properties).map(|place| place.session_id.into_owned())
}

impl Driver for OpenCode {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, &mut Scribe::new(cx, out)),
            Input::Ask { id, query } => self.ask(id, query, &mut Scribe::new(cx, out)),
            Input::Line(raw) => self.keep("stdout", None, None, &mut Scribe::hearing(&raw, cx, out)),
            Input::Garbled { text, fault } => {
                self.keep("garbled", Some(fault), None, &mut Scribe::hearing(&text, cx, out));
            }
            Input::Tell { session, command } => self.tell(session, command, &mut Scribe::new(cx, out)),
            Input::Http(Http::Connected) => self.connected(&mut Scribe::new(cx, out)),
            Input::Http(Http::Disconnected) => {}
            Input::Http(Http::Event(raw)) => self.event(&raw, &mut Scribe::hearing(&raw, cx, out)),
            Input::Http(Http::Response { id, result }) => self.answered(id, result, cx, out),
            Input::Close { session } => self.close(session, &mut Scribe::new(cx, out)),
            // OpenCode reads its files and runs its commands itself.
            Input::WorkDone { .. } | Input::Ended { .. } => {}
            Input::Tick => self.tick(&mut Scribe::new(cx, out)),
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.conversations.values().filter_map(|conversation| conversation.turn.as_ref()?.due).min()
    }
}
