//! The driver: events and answers of theirs in, words of the waist out, and back.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | requests of ours and what their answers mean |
//! | `conversation` | what is known of conversations, turns and parts |
//! | `handshake` | from a launch to a session that is ready, or why not; and the end of one |
//! | `commands` | what a session tells its agent |
//! | `turns`, `errors` | turns begin, rest and end, and why they fail |
//! | `items`, `tools`, `diffs` | what messages are made of |
//! | `approvals`, `questions`, `waiting` | what OpenCode asks us |
//! | `delegations` | conversations that other conversations begin |
//! | `past` | conversations that were held elsewhere |
//! | `remarks` | words about a whole conversation |
//! | `modes` | what a mode is in their words |
//! | `resync` | what was missed while the stream of events was broken |
//! | `queries` | models and conversations |
//!
//! Every event and every answer that comes while there is a session is kept: a handler says what it has a word for,
//! and `OpenCode::event` and `OpenCode::answered` keep whatever no handler had a word for.

mod approvals;
mod calls;
mod commands;
mod conversation;
mod delegations;
mod diffs;
mod errors;
mod handshake;
mod items;
mod modes;
mod past;
mod queries;
mod questions;
mod remarks;
mod resync;
mod tools;
mod turns;
mod waiting;

use std::collections::{BTreeMap, HashMap};

use longshore_model::driver::{Driver, Http, Input, Output};
use longshore_model::event::{Body, Draft, Raw, RawFault};
use longshore_model::id::{Context, SessionId};
use longshore_model::time::Timestamp;
use serde_json::value::RawValue;

use self::approvals::Approvals;
use self::calls::OpenCodeCalls;
use self::conversation::OpenCodeConversation;
use self::questions::Questions;
use super::wire::{Head, Place};
use crate::wire_error::WireError;

pub use self::past::Conversation;

/// The driver of one `opencode serve`.
#[derive(Debug, Default)]
pub struct OpenCode {
    calls: OpenCodeCalls,
    /// By their name.
    conversations: BTreeMap<String, OpenCodeConversation>,
    /// Their name of each session's conversation.
    natives: HashMap<SessionId, String>,
    /// Sessions that have no conversation yet.
    opening: Vec<SessionId>,
    approvals: Approvals,
    questions: Questions,
    /// The stream of events was open before.
    connected: bool,
    /// How much models can hold, as far as somebody asked for models.
    windows: HashMap<String, u64>,
    /// It is told of what is past, and each conversation by another one of its kind.
    past: bool,
}

impl OpenCode {
    /// A driver for a process that has just been started.
    pub fn new() -> Self {
        Self::default()
    }

    /// An event of theirs. What comes of it carries it; an event that nothing comes of is kept as it is.
    fn event(&mut self, raw: &Raw, cx: &mut Context<'_>, out: &mut Output) {
        let before = out.said.len();
        let read = serde_json::from_str::<Head<'_>>(raw).and_then(|head| match head.payload {
            Some(payload) => {
                let inner = serde_json::from_str::<Head<'_>>(payload.get())?;
                Ok(Head { directory: head.directory, ..inner })
            }
            None => Ok(head),
        });
        let Ok(head) = read else {
            return self.keep(raw, "malformed", Some(RawFault::Malformed), None, out);
        };
        let kind = if head.kind.is_empty() { "event" } else { head.kind.as_ref() };
        let handled = match head.properties {
            Some(properties) => self.happened(kind, properties, raw, cx, out),
            None => Ok(()),
        };
        if !out.said[before..].iter().any(|(_, draft)| draft.raw.is_some()) {
            self.keep(raw, kind, handled.err().map(|_| RawFault::Malformed), Some(&head), out);
        }
    }

    fn happened(
        &mut self,
        kind: &str,
        properties: &RawValue,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let text = properties.get();
        match kind {
            "message.part.delta" => self.part_delta(&serde_json::from_str(text)?, raw, cx, out),
            "message.part.updated" => self.part_told(&serde_json::from_str(text)?, raw, cx, out),
            "message.updated" => self.message_told(&serde_json::from_str(text)?, raw, cx, out),
            "session.status" => self.status_told(&place(text)?, &serde_json::from_str(text)?, raw, cx, out),
            "session.idle" => self.rested(&place(text)?, Some(raw), cx, out),
            "session.error" => self.went_wrong(&place(text)?, &serde_json::from_str(text)?, raw, out),
            "session.created" => self.session_made(&serde_json::from_str(text)?, raw, cx, out),
            "session.updated" => self.session_changed(&serde_json::from_str(text)?, raw, out),
            "session.deleted" => self.session_deleted(&serde_json::from_str(text)?, raw, out),
            "session.compacted" => self.compacted(&place(text)?, Some(raw), out),
            "todo.updated" => {
                self.todos_told(&place(text)?, &serde_json::from_str(text)?, Some(raw), cx, out);
            }
            "permission.asked" => self.approval_requested(serde_json::from_str(text)?, Some(raw), cx, out),
            "permission.replied" => self.permission_settled(&serde_json::from_str(text)?, raw, out),
            "question.asked" => self.asks_user(serde_json::from_str(text)?, Some(raw), cx, out),
            "question.replied" | "question.rejected" => {
                self.question_settled(&serde_json::from_str(text)?, raw, out);
            }
            _ => {}
        }
        Ok(())
    }

    /// Keeps an event as it came, in the session that it names or else in the nearest one.
    fn keep(
        &self,
        raw: &Raw,
        kind: &str,
        fault: Option<RawFault>,
        head: Option<&Head<'_>>,
        out: &mut Output,
    ) {
        let named = head.and_then(|head| head.properties).and_then(|properties| place(properties.get()).ok());
        let in_folder = |conversation: &&OpenCodeConversation| {
            head.and_then(|head| head.directory.as_deref()) == Some(&conversation.directory)
        };
        let mut there: Vec<&OpenCodeConversation> = self.conversations.values().filter(in_folder).collect();
        // The one that works, else the one that was there first.
        there.sort_by_key(|conversation| (conversation.turn.is_none(), conversation.session));
        let conversation =
            named.and_then(|native| self.conversations.get(&native)).or_else(|| there.first().copied());
        let session = conversation.map(|conversation| conversation.session).or_else(|| self.nearest());
        if let Some(session) = session {
            let turn = conversation.and_then(OpenCodeConversation::turn_id);
            let body = Body::Raw { kind: kind.to_owned(), fault };
            out.say(session, Draft::new(body).turn(turn).raw(raw.clone()));
        }
    }

    /// The session for whatever names none: the one that is being opened, or the one that was there first.
    fn nearest(&self) -> Option<SessionId> {
        self.opening.first().copied().or_else(|| self.natives.keys().min().copied())
    }
}

/// Their name of the conversation that an event is of.
fn place(properties: &str) -> Result<String, WireError> {
    serde_json::from_str::<Place<'_>>(properties).map(|place| place.session_id.into_owned())
}

/// Says several things of one frame; the last one carries it.
fn say_all(session: SessionId, drafts: Vec<Draft>, raw: Option<&Raw>, out: &mut Output) {
    let last = drafts.len().saturating_sub(1);
    for (at, draft) in drafts.into_iter().enumerate() {
        let raw = raw.filter(|_| at == last).cloned();
        out.say(session, draft.raw(raw));
    }
}

impl Driver for OpenCode {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, out),
            Input::Ask { id, query } => self.ask(id, query, out),
            Input::Line(raw) => self.keep(&raw, "stdout", None, None, out),
            Input::Garbled { text, fault } => self.keep(&text, "garbled", Some(fault), None, out),
            Input::Tell { session, command } => self.tell(session, command, cx, out),
            Input::Http(Http::Connected) => self.connected(out),
            Input::Http(Http::Disconnected) => {}
            Input::Http(Http::Event(raw)) => self.event(&raw, cx, out),
            Input::Http(Http::Response { id, result }) => self.answered(id, result, cx, out),
            Input::Close { session } => self.close(session, out),
            // It does its own work.
            Input::WorkDone { .. } | Input::Ended { .. } => {}
            Input::Tick => self.tick(cx, out),
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.conversations.values().filter_map(|conversation| conversation.turn.as_ref()?.due).min()
    }
}
