//! What the driver missed while the stream of events was broken: messages of running turns, requests, and
//! whether the turns still run.
//!
//! The driver first asks for the messages, and then whether the turn is over. So it emits nothing of a turn
//! after the turn's end.

use std::collections::BTreeSet;

use longshore_model::event::Raw;

use super::OpenCode;
use super::calls::{OpenCodeCall, OutgoingRequest};
use super::conversation::OpenCodeConversation;
use crate::kit::Scribe;
use crate::opencode::wire::{Message, OpenCodeQuestion, Permission};

/// How many messages of a conversation the driver reads again. A turn has one message for each step of the
/// model.
const MESSAGES: usize = 200;

impl OpenCode {
    /// The stream of events is open.
    pub(super) fn connected(&mut self, scribe: &mut Scribe<'_>) {
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
            self.calls.send(ask, OpenCodeCall::Messages { native }, scribe);
        }
        let folders: BTreeSet<String> =
            self.conversations.values().map(|conversation| conversation.directory.clone()).collect();
        for directory in folders {
            let ask = OutgoingRequest::get("/permission", &directory);
            self.calls.send(ask, OpenCodeCall::Permissions { directory: directory.clone() }, scribe);
            let ask = OutgoingRequest::get("/question", &directory);
            self.calls.send(ask, OpenCodeCall::Questions { directory: directory.clone() }, scribe);
        }
    }

    pub(super) fn messages_read(
        &mut self,
        native: &str,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let read = answer.ok().and_then(|body| serde_json::from_str::<Vec<Message>>(&body).ok());
        for message in self.of_running_turn(native, read.unwrap_or_default()) {
            self.message(&message.info, scribe);
            for part in &message.parts {
                self.part(part, scribe);
            }
        }
        self.ask_status(native, scribe);
    }

    /// The messages from the first message of the running turn on.
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
        // If the driver knows no message of the turn, the turn begins with the last prompt.
        let first =
            first.or_else(|| messages.iter().rposition(is_unheard).filter(|_| conversation.expected > 0));
        messages.into_iter().skip(first.unwrap_or(usize::MAX)).collect()
    }

    pub(super) fn permissions_read(
        &mut self,
        directory: &str,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let read = answer.ok().and_then(|body| serde_json::from_str::<Vec<Permission>>(&body).ok());
        let Some(listed) = read else { return };
        let ids: Vec<&str> = listed.iter().map(|asked| asked.id.as_str()).collect();
        for id in self.approvals.missing(&self.natives_in(directory), &ids) {
            self.withdrawn(&id, "OpenCode no longer waits for it", scribe);
        }
        for asked in listed {
            // The requests of a stopped turn stay in OpenCode's list for ever.
            let message = asked.tool.as_ref().map(|tool| tool.message_id.as_str());
            if self.is_running(&asked.session_id, message) {
                self.approval_requested(asked, scribe);
            }
        }
    }

    pub(super) fn questions_read(
        &mut self,
        directory: &str,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let read = answer.ok().and_then(|body| serde_json::from_str::<Vec<OpenCodeQuestion>>(&body).ok());
        let Some(listed) = read else { return };
        let ids: Vec<&str> = listed.iter().map(|asked| asked.id.as_str()).collect();
        for id in self.questions.missing(&self.natives_in(directory), &ids) {
            self.question_withdrawn(&id, scribe);
        }
        for asked in listed {
            if self.is_running(&asked.session_id, None) {
                self.asks_user(asked, scribe);
            }
        }
    }

    fn natives_in(&self, directory: &str) -> Vec<String> {
        let there = self.conversations.iter().filter(|(_, conversation)| conversation.directory == directory);
        there.map(|(native, _)| native.clone()).collect()
    }

    /// Whether the conversation has a running turn, and this message belongs to the turn, as far as the
    /// driver knows.
    fn is_running(&self, native: &str, message: Option<&str>) -> bool {
        let Some(conversation) =
            self.conversations.get(native).filter(|conversation| conversation.turn.is_some())
        else {
            return false;
        };
        message.is_none_or(|message| conversation.turn_of(message) == conversation.turn_id())
    }
}
