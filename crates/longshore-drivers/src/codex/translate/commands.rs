//! What a session tells its agent, and what became of requests that nobody answered in time.

use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, NoticeLevel, Raw};
use longshore_model::id::{Context, SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnErrorCode};
use serde_json::{Value, json};

use super::calls::{ANSWER_WITHIN_MS, CodexCall, PromptToSend, ResumeReason};
use super::modes::{Policy, collaboration};
use super::turns::{failed, interrupted};
use super::{Codex, Phase};

/// How much may be told to a turn that codex has not named yet.
const HELD_LIMIT: usize = 64;

impl Codex {
    pub(super) fn tell(
        &mut self,
        session: SessionId,
        command: AgentCommand,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let native = self.natives.get(&session).cloned();
        let Some((native, thread)) =
            native.and_then(|native| self.threads.get_mut(&native).map(|thread| (native, thread)))
        else {
            if let AgentCommand::Prompt { turn, .. } = command {
                let end = failed(TurnErrorCode::AgentUnavailable, "The session has no thread yet.");
                out.say(session, end.turn(turn));
            }
            return;
        };
        match command {
            AgentCommand::Prompt { turn, prompt, text, attachments } => {
                let said = PromptToSend { turn: Some(turn), prompt, text, attachments };
                self.start_turn(&native, said, false, cx, out);
            }
            AgentCommand::Steer { turn, prompt, text, attachments } => {
                if let Some(running) = thread.running(turn).map(str::to_owned) {
                    let said = PromptToSend { turn: None, prompt, text, attachments };
                    self.steer(native, running, said, cx, out);
                } else if self.calls.is_starting(turn) && thread.held.len() < HELD_LIMIT {
                    thread.held.push(AgentCommand::Steer { turn, prompt, text, attachments });
                } else {
                    let said = PromptToSend { turn: None, prompt, text, attachments };
                    self.start_turn(&native, said, false, cx, out);
                }
            }
            AgentCommand::Interrupt { turn } => {
                if let Some(running) = thread.running(turn).map(str::to_owned) {
                    self.interrupt(native, running, cx, out);
                    self.interrupt_children(session, cx, out);
                } else if thread.is_leaving(turn) {
                    // It was interrupted already, and its commands are being ended.
                } else if self.calls.is_starting(turn) && thread.held.len() < HELD_LIMIT {
                    thread.held.push(AgentCommand::Interrupt { turn });
                } else {
                    // It is over, or never was; whoever waits for its end must not wait for ever.
                    out.say(session, interrupted().turn(turn));
                }
            }
            AgentCommand::Decide { approval, decision } => self.decide(approval, decision, cx, out),
            AgentCommand::Answer { question, answer } => self.answer(question, &answer, out),
            AgentCommand::SetMode(mode) => {
                thread.mode = mode;
                thread.changed = true;
                let mut params = json!({"threadId": native});
                Policy::of(mode).put_into(&mut params);
                let planning = mode == Mode::Plan;
                if let Some(model) = thread.model.as_deref().filter(|_| planning || thread.planning) {
                    params["collaborationMode"] = collaboration(planning, model, thread.effort.as_deref());
                }
                self.tell_quietly(session, "thread/settings/update", params, cx, out);
            }
            AgentCommand::SetModel(model) => {
                let params = json!({"threadId": native, "model": model});
                thread.model = Some(model);
                thread.changed = true;
                self.tell_quietly(session, "thread/settings/update", params, cx, out);
            }
            AgentCommand::SetEffort(effort) => thread.effort = Some(effort),
            AgentCommand::Rename(title) => {
                thread.title = Some(title.clone());
                if thread.recorded {
                    self.set_title(session, &native, &title, cx, out);
                } else {
                    thread.untold_title = Some(title);
                }
            }
            AgentCommand::Archive(archived) => {
                thread.archived = archived;
                let method = if archived { "thread/archive" } else { "thread/unarchive" };
                let call = CodexCall::Tell { session, vital: true };
                self.calls.send(method, json!({"threadId": native}), call, cx, out);
            }
            // It delegates to its own sub-agents and not through us.
            AgentCommand::Child { .. } => {}
        }
    }

    /// What the next turn says again needs no fuss when an older codex does not know it.
    fn tell_quietly(
        &mut self,
        session: SessionId,
        method: &'static str,
        params: Value,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        self.calls.send(method, params, CodexCall::Tell { session, vital: false }, cx, out);
    }

    pub(super) fn set_title(
        &mut self,
        session: SessionId,
        native: &str,
        title: &str,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let params = json!({"threadId": native, "name": title});
        self.calls.send("thread/name/set", params, CodexCall::Tell { session, vital: true }, cx, out);
    }

    pub(super) fn start_turn(
        &mut self,
        native: &str,
        said: PromptToSend,
        reloaded: bool,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        if !thread.loaded && !reloaded {
            return self.resume(ResumeReason::Say { thread: native.to_owned(), said }, false, cx, out);
        }
        let mut input = Vec::new();
        if let Some(story) = &thread.story {
            input.push(json!({"type": "text", "text": story}));
        }
        put_input(&said, &mut input, thread.session, out);
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
        self.calls.send("turn/start", params, call, cx, out);
    }

    fn steer(
        &mut self,
        thread: String,
        turn: String,
        said: PromptToSend,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let mut input = Vec::new();
        if let Some(known) = self.threads.get(&thread) {
            put_input(&said, &mut input, known.session, out);
        }
        let params = json!({
            "threadId": thread,
            "expectedTurnId": turn,
            "clientUserMessageId": said.prompt.to_string(),
            "input": input,
        });
        self.calls.send("turn/steer", params, CodexCall::Steer { thread, turn, said }, cx, out);
    }

    pub(super) fn interrupt(&mut self, thread: String, turn: String, cx: &mut Context<'_>, out: &mut Output) {
        let params = json!({"threadId": thread, "turnId": turn});
        self.calls.send("turn/interrupt", params, CodexCall::Interrupt { thread, turn }, cx, out);
    }

    /// Codex did not take what was said into a turn: mostly since the turn had just ended.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn not_steered(
        &mut self,
        native: &str,
        turn: &str,
        said: PromptToSend,
        message: &str,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(thread) = self.threads.get(native) else { return };
        if !message.contains("active turn") {
            let fault = Body::SessionError(SessionFault { code: FaultCode::Refused });
            let text = format!("Codex did not take the message into the turn: {message}");
            out.say(thread.session, Draft::new(fault).text(text).raw(raw.clone()));
            return;
        }
        match thread.active.clone().filter(|active| active != turn) {
            Some(active) => self.steer(native.to_owned(), active, said, cx, out),
            None => self.start_turn(native, said, false, cx, out),
        }
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        while let Some(late) = self.calls.overdue(cx.now) {
            if let Phase::Refused(_) = self.phase {
                continue;
            }
            let text = format!("Codex did not answer {} within {} s.", late.method, ANSWER_WITHIN_MS / 1_000);
            match late.call {
                CodexCall::Greet => self.refuse(FaultCode::Timeout, text, None, out),
                CodexCall::Open(launch)
                | CodexCall::Resume { reason: ResumeReason::Open(launch), .. }
                | CodexCall::Unarchive { reason: ResumeReason::Open(launch) } => {
                    self.not_opened(launch.session, FaultCode::Timeout, text, None, out);
                }
                CodexCall::Start { thread, said, .. }
                | CodexCall::Resume { reason: ResumeReason::Say { thread, said }, .. }
                | CodexCall::Unarchive { reason: ResumeReason::Say { thread, said } } => {
                    self.turn_lost(&thread, said.turn, TurnErrorCode::Timeout, &text, None, out);
                }
                CodexCall::Steer { thread, .. } | CodexCall::Interrupt { thread, .. } => {
                    if let Some(thread) = self.threads.get(&thread) {
                        timed_out(thread.session, text, out);
                    }
                }
                CodexCall::Tell { session, .. } => timed_out(session, text, out),
                // The end of the turn was told long ago.
                CodexCall::Terminals { .. } | CodexCall::Terminate { .. } => {}
                CodexCall::Models { query, .. } | CodexCall::Sessions { query } => {
                    out.answers.push((query, Err(text)));
                    self.finish_if_idle(out);
                }
            }
        }
        self.stop_waiting_for_commands(cx.now, out);
        self.stop_waiting_for_network(cx, out);
    }

    /// Whatever was told to a turn that now has a name of theirs, or never will.
    pub(super) fn tell_held(&mut self, native: &str, cx: &mut Context<'_>, out: &mut Output) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let session = thread.session;
        for command in std::mem::take(&mut thread.held) {
            self.tell(session, command, cx, out);
        }
    }

    /// A turn that was asked for does not come to be.
    pub(super) fn turn_lost(
        &mut self,
        native: &str,
        turn: Option<TurnId>,
        code: TurnErrorCode,
        text: &str,
        raw: Option<&Raw>,
        out: &mut Output,
    ) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let unheard = |text: String| {
            Draft::new(Body::SessionError(SessionFault { code: FaultCode::Refused })).text(text)
        };
        let draft = match turn {
            Some(turn) => failed(code, text).turn(turn),
            None => unheard(text.to_owned()),
        };
        out.say(thread.session, draft.raw(raw.cloned()));
        for command in std::mem::take(&mut thread.held) {
            if let AgentCommand::Steer { text, .. } = command {
                out.say(thread.session, unheard(format!("Codex never heard this: {text}")));
            }
        }
    }
}

fn timed_out(session: SessionId, text: String, out: &mut Output) {
    let fault = SessionFault { code: FaultCode::Timeout };
    out.say(session, Draft::new(Body::SessionError(fault)).text(text));
}

/// What was said, as a list of inputs. Codex takes images from anywhere and files of its own machine.
fn put_input(said: &PromptToSend, input: &mut Vec<Value>, session: SessionId, out: &mut Output) {
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
                out.say(session, Draft::new(Body::Notice { level: NoticeLevel::Warning }).text(text));
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
