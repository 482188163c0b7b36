//! What a session tells its agent, and what became of requests that nobody answered in time.

use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, NoticeLevel, Raw};
use longshore_model::id::{Context, PromptId, SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnEnd, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use super::calls::ClaudeCall;
use super::conversation::MAIN;
use super::turns::{ClaudeTurn, Steer, failed};
use super::{Claude, Phase};
use crate::claude::flag_settings;

/// How long a turn that only waits for an answer may go on once it was asked to stop.
const STOPPED_WITHIN_MS: i64 = 5_000;

impl Claude {
    pub(super) fn tell(
        &mut self,
        session: SessionId,
        command: AgentCommand,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let at = self.conversation_of_session(session);
        match command {
            AgentCommand::Prompt { turn, prompt, text, attachments } => match at {
                Some(MAIN) => self.prompt(turn, prompt, &text, &attachments, out),
                Some(_) => {
                    let text = "A sub-agent works on what it was given and hears nothing else.";
                    out.say(session, failed(TurnErrorCode::Other, text).turn(turn));
                }
                None => {
                    let text = "The session has no conversation yet.";
                    out.say(session, failed(TurnErrorCode::AgentUnavailable, text).turn(turn));
                }
            },
            AgentCommand::Steer { turn, prompt, text, attachments } => {
                if at == Some(MAIN) {
                    self.steer(turn, prompt, text, &attachments, out);
                }
            }
            AgentCommand::Interrupt { turn } => self.interrupt(session, turn, cx, out),
            AgentCommand::Decide { approval, decision } => self.decide(approval, decision, out),
            AgentCommand::Answer { question, answer } => self.answer(question, &answer, out),
            AgentCommand::SetMode(mode) => {
                if at == Some(MAIN) {
                    self.set_mode(mode, cx, out);
                }
            }
            AgentCommand::SetModel(model) => {
                if let Some(home) = self.home.as_mut().filter(|_| at == Some(MAIN)) {
                    let request = json!({"model": model});
                    home.model = Some(model);
                    self.calls.send("set_model", request, ClaudeCall::Set, cx, out);
                }
            }
            AgentCommand::SetEffort(effort) => {
                if let Some(home) = self.home.as_mut().filter(|_| at == Some(MAIN)) {
                    let request = json!({"settings": flag_settings(Some(&effort))});
                    home.effort = Some(effort);
                    self.calls.send("apply_flag_settings", request, ClaudeCall::Set, cx, out);
                }
            }
            // Its conversations have no titles that others may give, and are never put away.
            AgentCommand::Rename(_) | AgentCommand::Archive(_) => {}
            // It delegates to its own sub-agents and not through us.
            AgentCommand::Child { .. } => {}
        }
    }

    fn prompt(
        &mut self,
        turn: TurnId,
        prompt: PromptId,
        text: &str,
        attachments: &[Attachment],
        out: &mut Output,
    ) {
        if let Phase::Refused(reason) = &self.phase {
            let draft = failed(TurnErrorCode::AgentUnavailable, reason).turn(turn);
            if let Some(conversation) = self.conversations.first() {
                out.say(conversation.session, draft);
            }
            return;
        }
        if let (Some(running), Some(conversation)) = (self.running.take(), self.conversations.first()) {
            // A turn that it began by itself crossed this prompt on the way. The session took that beginning for the
            // end of the prompt's turn, so that one begins once more, and the other goes on under its name.
            let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed));
            out.say(conversation.session, Draft::new(end).turn(running.id));
            let began = Body::TurnStarted { prompt: Some(prompt) };
            out.say(conversation.session, Draft::new(began).turn(turn));
        }
        self.run(ClaudeTurn::new(turn, Some(prompt)));
        let story = self.home.as_mut().and_then(|home| home.story.take());
        self.say_to_agent(prompt, story, text, attachments, out);
    }

    /// Said into the turn that runs; when it is over by now, the agent begins another.
    fn steer(
        &mut self,
        turn: TurnId,
        prompt: PromptId,
        text: String,
        attachments: &[Attachment],
        out: &mut Output,
    ) {
        self.say_to_agent(prompt, None, &text, attachments, out);
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
        out: &mut Output,
    ) {
        let content = if story.is_none() && attachments.is_empty() {
            json!(text)
        } else {
            let mut blocks: Vec<Value> = story.iter().map(|story| text_block(story)).collect();
            if !text.is_empty() {
                blocks.push(text_block(text));
            }
            for attachment in attachments {
                self.put_attachment(attachment, &mut blocks, out);
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
        out.lines.push(line.to_string());
    }

    /// It takes images and documents in the message itself; files of its own machine it reads when they are named.
    fn put_attachment(&self, attachment: &Attachment, blocks: &mut Vec<Value>, out: &mut Output) {
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
                return self.notice(MAIN, NoticeLevel::Warning, text, None, out);
            }
            (AttachmentSource::Url(url), Some(kind)) => {
                json!({"type": kind, "source": {"type": "url", "url": url}})
            }
            (AttachmentSource::Url(url), None) => text_block(url),
            (AttachmentSource::Path(path), _) => text_block(&format!("@{path}")),
        });
    }

    fn interrupt(&mut self, session: SessionId, turn: TurnId, cx: &mut Context<'_>, out: &mut Output) {
        if let Some(running) = self.running.as_mut().filter(|running| running.id == turn) {
            running.stopping = true;
            // What it has not taken yet it would take up as soon as it has stopped.
            let mut untaken = std::mem::take(&mut running.steers);
            if let Some(prompt) = running.prompt.filter(|_| !running.taken) {
                untaken.push(Steer { prompt, text: String::new() });
            }
            if running.held_until.is_some() {
                running.held_until = Some(cx.now.plus_millis(STOPPED_WITHIN_MS));
            }
            for Steer { prompt, text } in untaken {
                let request = json!({"message_uuid": prompt.to_string()});
                let call = ClaudeCall::TakeBack { prompt, text };
                self.calls.send("cancel_async_message", request, call, cx, out);
            }
            return self.calls.send("interrupt", json!({}), ClaudeCall::Interrupt, cx, out);
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
                self.calls.send("stop_task", json!({"task_id": task}), ClaudeCall::Interrupt, cx, out);
            }
            None => {
                // It is over, or never was; whoever waits for its end must not wait for ever.
                let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
                out.say(session, Draft::new(end).turn(turn));
            }
        }
    }

    /// What was said was taken back before it was heard. When it was the prompt, there is no turn any more.
    pub(super) fn taken_back(&mut self, prompt: PromptId, text: String, raw: &Raw, out: &mut Output) {
        if self.running.as_ref().is_some_and(|running| running.prompt == Some(prompt)) {
            self.finish_turn(None, Some(raw), out);
        } else if !text.is_empty() {
            let text = format!("Claude Code never heard this: {text}");
            self.notice(MAIN, NoticeLevel::Warning, text, Some(raw), out);
        }
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        while let Some(late) = self.calls.overdue(cx.now) {
            if let Phase::Refused(_) = self.phase {
                continue;
            }
            let seconds = late.within_ms / 1_000;
            let text = format!("Claude Code did not answer {} within {seconds} s.", late.subtype);
            match late.call {
                ClaudeCall::Greet => self.not_greeted(text, out),
                ClaudeCall::Interrupt | ClaudeCall::Set => {
                    if let Some(conversation) = self.conversations.first() {
                        let fault = Body::SessionError(SessionFault { code: FaultCode::Timeout });
                        out.say(conversation.session, Draft::new(fault).text(text));
                    }
                }
                // Nothing depends on them: an older one may not know them at all.
                ClaudeCall::Version | ClaudeCall::Settle | ClaudeCall::TakeBack { .. } => {}
            }
        }
        self.give_up_reading(cx.now, out);
        let held = self.running.as_ref().and_then(|running| running.held_until);
        if held.is_some_and(|until| until <= cx.now) {
            self.finish_turn(None, None, out);
        }
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
