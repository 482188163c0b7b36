//! The commands of a session to its agent, and requests whose deadline has passed.

use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnErrorCode};
use serde_json::{Value, json};

use super::calls::{ANSWER_WITHIN_MS, CodexCall, PromptToSend, ResumeReason};
use super::modes::{Policy, collaboration};
use super::turns::{failed, interrupted};
use super::{Codex, Phase};
use crate::kit::Scribe;

/// The most commands that wait for Codex's id of a turn.
const HELD_LIMIT: usize = 64;

impl Codex {
    pub(super) fn tell(&mut self, session: SessionId, command: AgentCommand, scribe: &mut Scribe<'_>) {
        let native = self.natives.get(&session).cloned();
        let Some((native, thread)) =
            native.and_then(|native| self.threads.get_mut(&native).map(|thread| (native, thread)))
        else {
            if let AgentCommand::Prompt { turn, .. } = command {
                let end = failed(TurnErrorCode::AgentUnavailable, "The session has no thread yet.");
                scribe.say(session, end.turn(turn));
            }
            return;
        };
        match command {
            AgentCommand::Prompt { turn, prompt, text, attachments } => {
                let said = PromptToSend { turn: Some(turn), prompt, text, attachments };
                self.start_turn(&native, said, false, scribe);
            }
            AgentCommand::Steer { turn, prompt, text, attachments } => {
                if let Some(running) = thread.running(turn).map(str::to_owned) {
                    let said = PromptToSend { turn: None, prompt, text, attachments };
                    self.steer(native, running, said, scribe);
                } else if self.calls.is_starting(turn) && thread.held.len() < HELD_LIMIT {
                    thread.held.push(AgentCommand::Steer { turn, prompt, text, attachments });
                } else {
                    let said = PromptToSend { turn: None, prompt, text, attachments };
                    self.start_turn(&native, said, false, scribe);
                }
            }
            AgentCommand::Interrupt { turn } => {
                if let Some(running) = thread.running(turn).map(str::to_owned) {
                    self.interrupt(native, running, scribe);
                    self.interrupt_children(session, scribe);
                } else if thread.is_leaving(turn) {
                    // The turn was interrupted already, and the driver is ending its commands.
                } else if self.calls.is_starting(turn) && thread.held.len() < HELD_LIMIT {
                    thread.held.push(AgentCommand::Interrupt { turn });
                } else {
                    // The turn is over, or never was. Without an event, a client would wait for its end for
                    // ever.
                    scribe.say(session, interrupted().turn(turn));
                }
            }
            AgentCommand::Decide { approval, decision } => self.decide(approval, decision, scribe),
            AgentCommand::Answer { question, answer } => self.answer(question, &answer, scribe),
            AgentCommand::SetMode(mode) => {
                thread.mode = mode;
                thread.changed = true;
                let mut params = json!({"threadId": native});
                Policy::of(mode).put_into(&mut params);
                let planning = mode == Mode::Plan;
                if let Some(model) = thread.model.as_deref().filter(|_| planning || thread.planning) {
                    params["collaborationMode"] = collaboration(planning, model, thread.effort.as_deref());
                }
                self.tell_quietly(session, "thread/settings/update", params, scribe);
            }
            AgentCommand::SetModel(model) => {
                let params = json!({"threadId": native, "model": model});
                thread.model = Some(model);
                thread.changed = true;
                self.tell_quietly(session, "thread/settings/update", params, scribe);
            }
            AgentCommand::SetEffort(effort) => thread.effort = Some(effort),
            AgentCommand::Rename(title) => {
                thread.title = Some(title.clone());
                if thread.recorded {
                    self.set_title(session, &native, &title, scribe);
                } else {
                    thread.untold_title = Some(title);
                }
            }
            AgentCommand::Archive(archived) => {
                thread.archived = archived;
                let method = if archived { "thread/archive" } else { "thread/unarchive" };
                let call = CodexCall::Tell { session, vital: true };
                self.calls.send(method, json!({"threadId": native}), call, scribe);
            }
            // Codex delegates to its own sub-agents, and not through the hub.
            AgentCommand::Child { .. } => {}
        }
    }

    /// Changes a setting that the next turn repeats. A refusal by an older Codex needs no notice.
    fn tell_quietly(
        &mut self,
        session: SessionId,
        method: &'static str,
        params: Value,
        scribe: &mut Scribe<'_>,
    ) {
        self.calls.send(method, params, CodexCall::Tell { session, vital: false }, scribe);
    }

    pub(super) fn set_title(
        &mut self,
        session: SessionId,
        native: &str,
        title: &str,
        scribe: &mut Scribe<'_>,
    ) {
        let params = json!({"threadId": native, "name": title});
        self.calls.send("thread/name/set", params, CodexCall::Tell { session, vital: true }, scribe);
    }

    pub(super) fn start_turn(
        &mut self,
        native: &str,
        said: PromptToSend,
        reloaded: bool,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        if !thread.loaded && !reloaded {
            return self.resume(ResumeReason::Say { thread: native.to_owned(), said }, false, scribe);
        }
        let mut input = Vec::new();
        if let Some(story) = &thread.story {
            input.push(json!({"type": "text", "text": story}));
        }
        put_input(&said, &mut input, thread.session, scribe);
        let mut params =
            json!({"threadId": native, "clientUserMessageId": said.prompt.to_string(), "input": input});
        if thread.changed {
            Policy::of(thread.mode).put_into(&mut params);
            if let Some(model) = &thread.model {
                params["model"] = json!(model);
            }
        }
        if let Some(effort) = &thread.effort {
            params["effort"] = json!(effort);
        }
        let planning = thread.mode == Mode::Plan;
        if let Some(model) = thread.model.as_deref().filter(|_| planning || thread.planning) {
            params["collaborationMode"] = collaboration(planning, model, thread.effort.as_deref());
        }
        let call = CodexCall::Start { thread: native.to_owned(), said, reloaded };
        self.calls.send("turn/start", params, call, scribe);
    }

    fn steer(&mut self, thread: String, turn: String, said: PromptToSend, scribe: &mut Scribe<'_>) {
        let mut input = Vec::new();
        if let Some(known) = self.threads.get(&thread) {
            put_input(&said, &mut input, known.session, scribe);
        }
        let params = json!({
            "threadId": thread,
            "expectedTurnId": turn,
            "clientUserMessageId": said.prompt.to_string(),
            "input": input,
        });
        self.calls.send("turn/steer", params, CodexCall::Steer { thread, turn, said }, scribe);
    }

    pub(super) fn interrupt(&mut self, thread: String, turn: String, scribe: &mut Scribe<'_>) {
        let params = json!({"threadId": thread, "turnId": turn});
        self.calls.send("turn/interrupt", params, CodexCall::Interrupt { thread, turn }, scribe);
    }

    /// Codex did not take a steering prompt, usually because the turn had just ended.
    pub(super) fn not_steered(
        &mut self,
        native: &str,
        turn: &str,
        said: PromptToSend,
        message: &str,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(thread) = self.threads.get(native) else { return };
        if !message.contains("active turn") {
            let fault = Body::SessionError(SessionFault { code: FaultCode::Refused });
            let text = format!("Codex did not take the message into the turn: {message}");
            scribe.quote(thread.session, Draft::new(fault).text(text));
            return;
        }
        match thread.active.clone().filter(|active| active != turn) {
            Some(active) => self.steer(native.to_owned(), active, said, scribe),
            None => self.start_turn(native, said, false, scribe),
        }
    }

    /// Handles a tick.
    pub(super) fn tick(&mut self, scribe: &mut Scribe<'_>) {
        while let Some(late) = self.calls.overdue(scribe.cx.now) {
            if let Phase::Refused(_) = self.phase {
                continue;
            }
            let text = format!("Codex did not answer {} within {} s.", late.method, ANSWER_WITHIN_MS / 1_000);
            match late.call {
                CodexCall::Greet => self.refuse(FaultCode::Timeout, text, scribe),
                CodexCall::Open(launch)
                | CodexCall::Resume { reason: ResumeReason::Open(launch), .. }
                | CodexCall::Unarchive { reason: ResumeReason::Open(launch) } => {
                    self.not_opened(launch.session, FaultCode::Timeout, text, scribe);
                }
                CodexCall::Start { thread, said, .. }
                | CodexCall::Resume { reason: ResumeReason::Say { thread, said }, .. }
                | CodexCall::Unarchive { reason: ResumeReason::Say { thread, said } } => {
                    self.turn_lost(&thread, said.turn, TurnErrorCode::Timeout, &text, scribe);
                }
                CodexCall::Steer { thread, .. } | CodexCall::Interrupt { thread, .. } => {
                    if let Some(thread) = self.threads.get(&thread) {
                        timed_out(thread.session, text, scribe);
                    }
                }
                CodexCall::Tell { session, .. } => timed_out(session, text, scribe),
                // The driver emitted the end of the turn long ago.
                CodexCall::Terminals { .. } | CodexCall::Terminate { .. } => {}
                CodexCall::Models { query, .. } | CodexCall::Sessions { query } => {
                    scribe.out.answers.push((query, Err(text)));
                    self.finish_if_idle(scribe);
                }
            }
        }
        self.stop_waiting_for_commands(scribe);
        self.stop_waiting_for_network(scribe);
    }

    /// Sends the commands that waited for Codex's id of a turn, now that the turn has its id or never will.
    pub(super) fn tell_held(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let session = thread.session;
        for command in std::mem::take(&mut thread.held) {
            self.tell(session, command, scribe);
        }
    }

    /// A requested turn does not begin.
    pub(super) fn turn_lost(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        code: TurnErrorCode,
        text: &str,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let unheard = |text: String| {
            Draft::new(Body::SessionError(SessionFault { code: FaultCode::Refused })).text(text)
        };
        let draft = match turn {
            Some(turn) => failed(code, text).turn(turn),
            None => unheard(text.to_owned()),
        };
        scribe.quote(thread.session, draft);
        for command in std::mem::take(&mut thread.held) {
            if let AgentCommand::Steer { text, .. } = command {
                scribe.say(thread.session, unheard(format!("Codex never heard this: {text}")));
            }
        }
    }
}

fn timed_out(session: SessionId, text: String, scribe: &mut Scribe<'_>) {
    let fault = SessionFault { code: FaultCode::Timeout };
    scribe.say(session, Draft::new(Body::SessionError(fault)).text(text));
}

/// Adds a prompt to a list of inputs. Codex takes images from anywhere, and files of its own machine.
fn put_input(said: &PromptToSend, input: &mut Vec<Value>, session: SessionId, scribe: &mut Scribe<'_>) {
    if !said.text.is_empty() {
        input.push(json!({"type": "text", "text": said.text}));
    }
    for attachment in &said.attachments {
        let Attachment { name, media_type, source } = attachment;
        let is_image = media_type.starts_with("image/");
        input.push(match source {
            AttachmentSource::Data(data) if is_image => {
                json!({"type": "image", "url": format!("data:{media_type};base64,{data}")})
            }
            AttachmentSource::Data(_) => {
                let name = name.as_deref().unwrap_or(media_type);
                let text =
                    format!("Codex takes images and files of its own machine; {name} was not passed on.");
                scribe.say(session, Draft::new(Body::Notice { level: NoticeLevel::Warning }).text(text));
                continue;
            }
            AttachmentSource::Path(path) if is_image => json!({"type": "localImage", "path": path}),
            AttachmentSource::Path(path) => {
                json!({"type": "mention", "name": name.as_deref().unwrap_or(path), "path": path})
            }
            AttachmentSource::Url(url) if is_image => json!({"type": "image", "url": url}),
            AttachmentSource::Url(url) => json!({"type": "text", "text": url}),
        });
    }
}
