//! What was missed while the stream of events was broken: the messages of turns that run, what waits for an answer,
//! and whether the turns still run at all.
//!
//! The messages come first and the question whether the turn is over after them, so that nothing of it is told
//! after its end.

use std::collections::BTreeSet;

use longshore_model::driver::Output;
use longshore_model::event::Raw;
use longshore_model::id::Context;

use super::OpenCode;
use super::calls::{OpenCodeCall, OutgoingRequest};
use super::conversation::OpenCodeConversation;
use crate::opencode::wire::{Asked, Message, Permission};

/// How many messages of a conversation are read again. A turn has one for each step of the model.
const MESSAGES: usize = 200;

impl OpenCode {
    /// The stream of events is open.
    pub(super) fn connected(&mut self, out: &mut Output) {
        if !std::mem::replace(&mut self.connected, true) {
            return;
        }
        let works = |(_, conversation): &(&String, &OpenCodeConversation)| conversation.turn.is_some();
        let working: Vec<String> =
            self.conversations.iter().filter(works).map(|(native, _)| native.clone()).collect();
        for native in working {
            let Some(conversation) = self.conversations.get(&native) else { continue };
            let path = format!("/session/{native}/message?limit={MESSAGES}");
            let ask = OutgoingRequest::get(path, &conversation.directory).of(conversation.session);
            self.calls.send(ask, OpenCodeCall::Messages { native }, out);
        }
        let folders: BTreeSet<String> =
            self.conversations.values().map(|conversation| conversation.directory.clone()).collect();
        for directory in folders {
            let ask = OutgoingRequest::get("/permission", &directory);
            self.calls.send(ask, OpenCodeCall::Permissions { directory: directory.clone() }, out);
            let ask = OutgoingRequest::get("/question", &directory);
            self.calls.send(ask, OpenCodeCall::Questions { directory: directory.clone() }, out);
        }
    }

    pub(super) fn messages_read(
        &mut self,
        native: &str,
        answer: Result<Raw, String>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let read = answer.ok().and_then(|body| serde_json::from_str::<Vec<Message>>(&body).ok());
        for message in self.of_running_turn(native, read.unwrap_or_default()) {
            self.message(&message.info, None, cx, out);
            for part in &message.parts {
                self.part(part, None, cx, out);
            }
        }
        self.ask_status(native, out);
    }

    /// Those from the first message of the running turn on.
    fn of_running_turn(&self, native: &str, messages: Vec<Message>) -> Vec<Message> {
        let Some(conversation) =
            self.conversations.get(native).filter(|conversation| conversation.turn.is_some())
        else {
            return Vec::new();
        };
        let running = conversation.turn_id();
        let is_of_it = |message: &Message| {
            conversation.messages.get(&message.info.id).map(|known| known.turn) == Some(running)
        };
        let is_unheard = |message: &Message| {
            message.info.role == "user" && !conversation.messages.contains_key(&message.info.id)
        };
        let first = messages.iter().position(is_of_it);
        // A turn of which nothing was heard begins with what was said last.
        let first =
            first.or_else(|| messages.iter().rposition(is_unheard).filter(|_| conversation.expected > 0));
        messages.into_iter().skip(first.unwrap_or(usize::MAX)).collect()
    }

    pub(super) fn permissions_read(
        &mut self,
        directory: &str,
        answer: Result<Raw, String>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let read = answer.ok().and_then(|body| serde_json::from_str::<Vec<Permission>>(&body).ok());
        let Some(listed) = read else { return };
        let ids: Vec<&str> = listed.iter().map(|asked| asked.id.as_str()).collect();
        for id in self.approvals.missing(&self.natives_in(directory), &ids) {
            self.withdrawn(&id, "OpenCode no longer waits for it", None, out);
        }
        for asked in listed {
            // What a turn that was stopped waited for stays in the list for ever.
            let message = asked.tool.as_ref().map(|tool| tool.message_id.as_str());
            if self.is_running(&asked.session_id, message) {
                self.approval_requested(asked, None, cx, out);
            }
        }
    }

    pub(super) fn questions_read(
        &mut self,
        directory: &str,
        answer: Result<Raw, String>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let read = answer.ok().and_then(|body| serde_json::from_str::<Vec<Asked>>(&body).ok());
        let Some(listed) = read else { return };
        let ids: Vec<&str> = listed.iter().map(|asked| asked.id.as_str()).collect();
        for id in self.questions.missing(&self.natives_in(directory), &ids) {
            self.question_withdrawn(&id, None, out);
        }
        for asked in listed {
            if self.is_running(&asked.session_id, None) {
                self.asks_user(asked, None, cx, out);
            }
        }
    }

    fn natives_in(&self, directory: &str) -> Vec<String> {
        let there = self.conversations.iter().filter(|(_, conversation)| conversation.directory == directory);
        there.map(|(native, _)| native.clone()).collect()
    }

    /// Whether a conversation is in a turn, and this message is of it, as far as it is known.
    fn is_running(&self, native: &str, message: Option<&str>) -> bool {
        let Some(conversation) =
            self.conversations.get(native).filter(|conversation| conversation.turn.is_some())
        else {
            return false;
        };
        message.is_none_or(|message| conversation.turn_of(message) == conversation.turn_id())
    }
}
