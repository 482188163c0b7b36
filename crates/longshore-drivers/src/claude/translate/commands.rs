//! The commands of a session to its agent, and requests whose deadline has passed.

use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{PromptId, SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnEnd, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use super::calls::ClaudeCall;
use super::conversation::MAIN;
use super::turns::{ClaudeTurn, Steer, failed};
use super::{Claude, Phase};
use crate::claude::flag_settings;
use crate::kit::{Call, Scribe};

/// How long a turn that only waits for an answer may continue after a stop.
const STOPPED_WITHIN_MS: i64 = 5_000;

impl Claude {
    pub(super) fn tell(&mut self, session: SessionId, command: AgentCommand, scribe: &mut Scribe<'_>) {
        let at = self.conversation_of_session(session);
        match command {
            AgentCommand::Prompt { turn, prompt, text, attachments } => match at {
                Some(MAIN) => self.prompt(turn, prompt, &text, &attachments, scribe),
                Some(_) => {
                    let text = "A sub-agent works on what it was given and hears nothing else.";
                    scribe.say(session, failed(TurnErrorCode::Other, text).turn(turn));
                }
                None => {
                    let text = "The session has no conversation yet.";
                    scribe.say(session, failed(TurnErrorCode::AgentUnavailable, text).turn(turn));
                }
            },
            AgentCommand::Steer { turn, prompt, text, attachments } => {
                if at == Some(MAIN) {
                    self.steer(turn, prompt, text, &attachments, scribe);
                }
            }
            AgentCommand::Interrupt { turn } => self.interrupt(session, turn, scribe),
            AgentCommand::Decide { approval, decision } => self.decide(approval, decision, scribe),
            AgentCommand::Answer { question, answer } => self.answer(question, &answer, scribe),
            AgentCommand::SetMode(mode) => {
                if at == Some(MAIN) {
                    self.set_mode(mode, scribe);
                }
            }
            AgentCommand::SetModel(model) => {
                if let Some(home) = self.home.as_mut().filter(|_| at == Some(MAIN)) {
                    let request = json!({"model": model});
                    home.model = Some(model);
                    self.calls.send("set_model", request, ClaudeCall::Set, scribe);
                }
            }
            AgentCommand::SetEffort(effort) => {
                if let Some(home) = self.home.as_mut().filter(|_| at == Some(MAIN)) {
                    let request = json!({"settings": flag_settings(Some(&effort))});
                    home.effort = Some(effort);
                    self.calls.send("apply_flag_settings", request, ClaudeCall::Set, scribe);
                }
            }
            // A client cannot set the title of Claude's conversations, and cannot archive them.
            AgentCommand::Rename(_) | AgentCommand::Archive(_) => {}
            // Claude delegates to its own sub-agents, and not through the hub.
            AgentCommand::Child { .. } => {}
        }
    }

    fn prompt(
        &mut self,
        turn: TurnId,
        prompt: PromptId,
        text: &str,
        attachments: &[Attachment],
        scribe: &mut Scribe<'_>,
    ) {
        if let Phase::Refused(reason) = &self.phase {
            let draft = failed(TurnErrorCode::AgentUnavailable, reason).turn(turn);
            if let Some(conversation) = self.conversations.first() {
                scribe.say(conversation.session, draft);
            }
            return;
        }
        if let (Some(running), Some(conversation)) = (self.running.take(), self.conversations.first()) {
            // Claude began a turn by itself while this prompt was on its way. For the session, that beginning
            // ended the prompt's turn. So the driver begins the prompt's turn once more, and Claude's turn
            // continues under its id.
            let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed));
            scribe.say(conversation.session, Draft::new(end).turn(running.id));
            let began = Body::TurnStarted { prompt: Some(prompt) };
            scribe.say(conversation.session, Draft::new(began).turn(turn));
        }
        self.run(ClaudeTurn::new(turn, Some(prompt)));
        let story = self.home.as_mut().and_then(|home| home.story.take());
        self.say_to_agent(prompt, story, text, attachments, scribe);
    }

    /// Adds a prompt to the running turn. If the turn is over by now, Claude begins another one.
    fn steer(
        &mut self,
        turn: TurnId,
        prompt: PromptId,
        text: String,
        attachments: &[Attachment],
        scribe: &mut Scribe<'_>,
    ) {
        self.say_to_agent(prompt, None, &text, attachments, scribe);
        match &mut self.running {
            Some(running) if running.id == turn => running.steers.push(Steer { prompt, text }),
            Some(_) | None => {}
        }
    }

    fn say_to_agent(
        &mut self,
        prompt: PromptId,
        story: Option<String>,
        text: &str,
        attachments: &[Attachment],
        scribe: &mut Scribe<'_>,
    ) {
        let content = if story.is_none() && attachments.is_empty() {
            json!(text)
        } else {
            let mut blocks: Vec<Value> = story.iter().map(|story| text_block(story)).collect();
            if !text.is_empty() {
                blocks.push(text_block(text));
            }
            for attachment in attachments {
                self.put_attachment(attachment, &mut blocks, scribe);
            }
            json!(blocks)
        };
        let line = json!({
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": null,
            "session_id": "",
            "uuid": prompt.to_string(),
        });
        scribe.out.lines.push(line.to_string());
    }

    /// Adds an attachment to a message. Images and documents go into the message itself; Claude reads files
    /// of its own machine by their paths.
    fn put_attachment(&self, attachment: &Attachment, blocks: &mut Vec<Value>, scribe: &mut Scribe<'_>) {
        let Attachment { name, media_type, source } = attachment;
        let kind = match media_type.as_str() {
            "application/pdf" => Some("document"),
            image if image.starts_with("image/") => Some("image"),
            _ => None,
        };
        blocks.push(match (source, kind) {
            (AttachmentSource::Data(data), Some(kind)) => {
                json!({"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}})
            }
            (AttachmentSource::Data(_), None) => {
                let name = name.as_deref().unwrap_or(media_type);
                let text = format!(
                    "Claude Code takes images, PDF documents and files of its own machine; {name} was not passed on."
                );
                return self.notice(MAIN, NoticeLevel::Warning, text, scribe);
            }
            (AttachmentSource::Url(url), Some(kind)) => {
                json!({"type": kind, "source": {"type": "url", "url": url}})
            }
            (AttachmentSource::Url(url), None) => text_block(url),
            (AttachmentSource::Path(path), _) => text_block(&format!("@{path}")),
        });
    }

    fn interrupt(&mut self, session: SessionId, turn: TurnId, scribe: &mut Scribe<'_>) {
        if let Some(running) = self.running.as_mut().filter(|running| running.id == turn) {
            running.stopping = true;
            // After a stop, Claude would continue with the prompts that it has not taken yet.
            let mut untaken = std::mem::take(&mut running.steers);
            if let Some(prompt) = running.prompt.filter(|_| !running.taken) {
                untaken.push(Steer { prompt, text: String::new() });
            }
            if running.held_until.is_some() {
                running.held_until = Some(scribe.cx.now.plus_millis(STOPPED_WITHIN_MS));
            }
            for Steer { prompt, text } in untaken {
                let request = json!({"message_uuid": prompt.to_string()});
                let call = ClaudeCall::TakeBack { prompt, text };
                self.calls.send("cancel_async_message", request, call, scribe);
            }
            return self.calls.send("interrupt", json!({}), ClaudeCall::Interrupt, scribe);
        }
        let child = self
            .conversations
            .iter()
            .find(|conversation| conversation.session == session && conversation.turn == Some(turn));
        let task = child
            .and_then(|conversation| conversation.parent.as_ref())
            .and_then(|parent| parent.task.clone());
        match task {
            Some(task) => {
                self.calls.send("stop_task", json!({"task_id": task}), ClaudeCall::Interrupt, scribe);
            }
            None => {
                // The turn is over, or never was. Without an event, a client would wait for its end for ever.
                let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
                scribe.say(session, Draft::new(end).turn(turn));
            }
        }
    }

    /// Handles a prompt that Claude gave back before it read it. If the prompt began a turn, this turn no
    /// longer exists.
    pub(super) fn taken_back(&mut self, prompt: PromptId, text: String, scribe: &mut Scribe<'_>) {
        if self.running.as_ref().is_some_and(|running| running.prompt == Some(prompt)) {
            self.finish_turn(None, scribe);
        } else if !text.is_empty() {
            let text = format!("Claude Code never heard this: {text}");
            self.notice(MAIN, NoticeLevel::Warning, text, scribe);
        }
    }

    /// Handles a tick.
    pub(super) fn tick(&mut self, scribe: &mut Scribe<'_>) {
        while let Some(late) = self.calls.overdue(scribe.cx.now) {
            if let Phase::Refused(_) = self.phase {
                continue;
            }
            let seconds = late.call.within_ms().unwrap_or_default() / 1_000;
            let text = format!("Claude Code did not answer {} within {seconds} s.", late.method);
            match late.call {
                ClaudeCall::Greet => self.not_greeted(text, scribe),
                ClaudeCall::Interrupt | ClaudeCall::Set => {
                    if let Some(conversation) = self.conversations.first() {
                        let fault = Body::SessionError(SessionFault { code: FaultCode::Timeout });
                        scribe.say(conversation.session, Draft::new(fault).text(text));
                    }
                }
                // Nothing depends on these requests. An older Claude may not know them.
                ClaudeCall::Version | ClaudeCall::Settle | ClaudeCall::TakeBack { .. } => {}
            }
        }
        self.give_up_reading(scribe);
        let held = self.running.as_ref().and_then(|running| running.held_until);
        if held.is_some_and(|until| until <= scribe.cx.now) {
            self.finish_turn(None, scribe);
        }
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
