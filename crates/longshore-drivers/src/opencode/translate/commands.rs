//! The commands of a session to its agent.

use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnErrorCode};
use serde_json::{Value, json};

use super::calls::{OpenCodeCall, OutgoingRequest};
use super::conversation::{OpenCodeConversation, OpenCodeTurn};
use super::errors::failed;
use super::{OpenCode, modes};
use crate::kit::Scribe;

/// How long OpenCode may report nothing about a prompt before the driver asks.
const HEARD_WITHIN_MS: i64 = 30_000;

impl OpenCode {
    pub(super) fn tell(&mut self, session: SessionId, command: AgentCommand, scribe: &mut Scribe<'_>) {
        let native = self.natives.get(&session).cloned();
        let Some((native, conversation)) = native.and_then(|native| {
            self.conversations.get_mut(&native).map(|conversation| (native, conversation))
        }) else {
            if let AgentCommand::Prompt { turn, .. } = command {
                let end = failed(TurnErrorCode::AgentUnavailable, "The session has no conversation yet.");
                scribe.say(session, end.turn(turn));
            }
            return;
        };
        let path = format!("/session/{native}");
        match command {
            AgentCommand::Prompt { turn, text, attachments, .. } => {
                let begun = conversation.begin(OpenCodeTurn::new(turn));
                begun.due = Some(scribe.cx.now.plus_millis(HEARD_WITHIN_MS));
                self.speak(&native, Some(turn), &text, &attachments, scribe);
            }
            AgentCommand::Steer { turn, text, attachments, .. } => {
                // OpenCode takes a steering prompt after its present step, in the same turn.
                if conversation.turn.is_none() {
                    conversation.begin(OpenCodeTurn::new(turn)).due =
                        Some(scribe.cx.now.plus_millis(HEARD_WITHIN_MS));
                }
                self.speak(&native, None, &text, &attachments, scribe);
            }
            AgentCommand::Interrupt { turn } => self.interrupt(&native, turn, scribe),
            AgentCommand::Decide { approval, decision } => self.decide(approval, decision, scribe),
            AgentCommand::Answer { question, answer } => self.answer(question, &answer, scribe),
            AgentCommand::SetMode(mode) => {
                conversation.mode = mode;
                self.set_rules(&native, mode, scribe);
            }
            AgentCommand::SetModel(model) => {
                if modes::split(&model).is_none() {
                    let text = format!("OpenCode names models provider/model; `{model}` is left aside.");
                    scribe.say(session, Draft::new(Body::Notice { level: NoticeLevel::Warning }).text(text));
                }
                conversation.model = Some(model);
            }
            AgentCommand::Rename(title) => {
                conversation.title = Some(title.clone());
                let ask = OutgoingRequest::patch(path, &conversation.directory, json!({"title": title}))
                    .of(session);
                self.calls.send(ask, OpenCodeCall::Tell { vital: false }, scribe);
            }
            AgentCommand::SetEffort(effort) => conversation.effort = Some(effort),
            AgentCommand::Archive(archived) => {
                // A conversation that leaves the archive has the archive time zero.
                let at = if archived { scribe.cx.now.micros() / 1_000 } else { 0 };
                let ask =
                    OutgoingRequest::patch(path, &conversation.directory, json!({"time": {"archived": at}}))
                        .of(session);
                self.calls.send(ask, OpenCodeCall::Tell { vital: false }, scribe);
            }
            // OpenCode delegates to its own sub-agents, and not through the hub.
            AgentCommand::Child { .. } => {}
        }
    }

    /// Sends a prompt, which steers the running turn or begins a turn.
    fn speak(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        text: &str,
        attachments: &[Attachment],
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        conversation.expected += 1;
        let mut body = json!({});
        if conversation.mode == Mode::Plan {
            conversation.planning = true;
            body["agent"] = json!("plan");
        } else if std::mem::take(&mut conversation.planning) {
            body["agent"] = json!("build");
        }
        if let Some(effort) = &conversation.effort {
            body["variant"] = json!(effort);
        }
        let model = conversation.model.as_deref().and_then(modes::split);
        let command = command_of(conversation, text);
        let files = attachments.iter().map(file_part);
        let (path, patient) = match command {
            Some((name, arguments)) => {
                body["command"] = json!(name);
                body["arguments"] = json!(arguments);
                body["parts"] = files.collect();
                if let Some((provider, model)) = model {
                    body["model"] = json!(format!("{provider}/{model}"));
                }
                (format!("/session/{native}/command"), true)
            }
            None => {
                let story = conversation.story.take();
                let words = story.as_deref().into_iter().chain((!text.is_empty()).then_some(text));
                let words = words.map(|text| json!({"type": "text", "text": text}));
                body["parts"] = words.chain(files).collect();
                if let Some((provider, model)) = model {
                    body["model"] = json!({"providerID": provider, "modelID": model});
                }
                (format!("/session/{native}/prompt_async"), false)
            }
        };
        let ask = OutgoingRequest {
            patient,
            ..OutgoingRequest::post(path, &conversation.directory, body).of(conversation.session)
        };
        self.calls.send(ask, OpenCodeCall::Say { native: native.to_owned(), turn }, scribe);
    }

    /// Handles a prompt that OpenCode did not take.
    pub(super) fn not_said(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        why: &str,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        conversation.expected = conversation.expected.saturating_sub(1);
        let text = format!("OpenCode did not take the prompt: {why}");
        match turn.filter(|turn| conversation.turn_id() == Some(*turn)) {
            Some(turn) => {
                conversation.turn = None;
                scribe.quote(conversation.session, failed(TurnErrorCode::Other, &text).turn(turn));
            }
            None => {
                let fault = Body::SessionError(SessionFault { code: FaultCode::Refused });
                scribe.quote(conversation.session, Draft::new(fault).text(text));
            }
        }
    }
}

/// The slash command in a prompt, and its arguments.
fn command_of<'a>(conversation: &OpenCodeConversation, text: &'a str) -> Option<(&'a str, &'a str)> {
    let words = text.strip_prefix('/')?;
    let (name, arguments) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    conversation.commands.iter().any(|known| known == name).then_some((name, arguments.trim()))
}

/// A file of any kind. The model decides what it can read.
fn file_part(attachment: &Attachment) -> Value {
    let Attachment { name, media_type, source } = attachment;
    let url = match source {
        AttachmentSource::Data(data) => format!("data:{media_type};base64,{data}"),
        AttachmentSource::Path(path) => format!("file://{path}"),
        AttachmentSource::Url(url) => url.clone(),
    };
    let mut part = json!({"type": "file", "mime": media_type, "url": url});
    if let Some(name) = name {
        part["filename"] = json!(name);
    }
    part
}
