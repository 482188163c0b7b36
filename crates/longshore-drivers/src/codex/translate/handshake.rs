//! From the first line to a session that is ready, or to the reason why it never will be.

use longshore_model::anchor::{Launch, Start};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::{FaultCode, Ready, SessionFault, TurnErrorCode};
use longshore_model::mcp::{McpServer, McpTransport};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::calls::{CodexCall, Concerns, ResumeReason};
use super::conversation::Thread;
use super::modes::Policy;
use super::{Codex, Phase, WireError};
use crate::codex::wire::{Greeting, Opened, RemarkParams, RpcError, RpcId};
use crate::kit::Scribe;

/// The beginning of a warning that Codex has discarded its configuration. Codex would continue with its
/// defaults, which means another model at another provider.
const INVALID_CONFIGURATION: &str = "Invalid configuration";
/// Words in Codex's refusal of a thread whose rollout is missing or unreadable: Codex has forgotten the
/// thread. Any other refusal is temporary, and the thread still exists afterwards.
const FORGOTTEN: [&str; 4] = ["rollout", "not found", "invalid session id", "invalid thread id"];
/// Words in Codex's refusal of a thread that another Codex process holds.
const HELD_ELSEWHERE: &str = "already has an active writer";

impl Codex {
    pub(super) fn open(&mut self, launch: Launch, scribe: &mut Scribe<'_>) {
        if self.home.is_none() {
            self.home = Some(launch.session);
            self.woken = matches!(launch.start, Start::Resume { .. } | Start::Told { .. });
        }
        match &self.phase {
            Phase::Listening => self.begin(launch, scribe),
            Phase::Refused(reason) => {
                let fault = SessionFault { code: FaultCode::StartFailed };
                let draft = Draft::new(Body::SessionError(fault)).text(reason.clone());
                scribe.say(launch.session, draft);
                scribe.out.finished = Some(reason.clone());
            }
            Phase::Silent | Phase::Greeting => {
                self.openings.push_back(launch);
                self.greet(scribe);
            }
        }
    }

    /// Sends `initialize`, once.
    pub(super) fn greet(&mut self, scribe: &mut Scribe<'_>) {
        if self.phase != Phase::Silent {
            return;
        }
        self.phase = Phase::Greeting;
        let params = json!({
            "clientInfo": {"name": "longshore", "title": "Longshore", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {"experimentalApi": true, "requestAttestation": false},
        });
        self.calls.send("initialize", params, CodexCall::Greet, scribe);
    }

    /// Handles an answer. Returns the method of the request and its session.
    pub(super) fn answered(
        &mut self,
        id: &RpcId,
        result: Option<&RawValue>,
        error: Option<RpcError>,
        scribe: &mut Scribe<'_>,
    ) -> (Option<&'static str>, Option<SessionId>) {
        let Some(pending) = self.calls.answered(id) else { return (None, None) };
        let session = match pending.call.concerns() {
            Concerns::Session(session) => Some(session),
            Concerns::Thread(native) => self.threads.get(native).map(|thread| thread.session),
            Concerns::Nobody => None,
        };
        if let Phase::Refused(_) = self.phase {
            return (Some(pending.method), session);
        }
        let answer = match error {
            Some(error) => Err(error.message),
            None => Ok(result.map_or("null", RawValue::get)),
        };
        match pending.call {
            CodexCall::Greet => self.greeted(answer, scribe),
            CodexCall::Open(launch) => self.opened(*launch, answer, scribe),
            CodexCall::Resume { reason, unarchived } => self.resumed(reason, unarchived, answer, scribe),
            CodexCall::Unarchive { reason } => match answer {
                Ok(_) => self.resume(reason, true, scribe),
                Err(message) => self.not_resumed(reason, message, scribe),
            },
            CodexCall::Start { thread, said, reloaded } => {
                self.turn_answered(&thread, said, reloaded, answer, scribe);
            }
            CodexCall::Steer { thread, turn, said } => {
                if let Err(message) = answer {
                    self.not_steered(&thread, &turn, said, &message, scribe);
                }
            }
            CodexCall::Interrupt { thread, turn } => {
                if answer.is_err() {
                    self.not_interrupted(&thread, &turn, scribe);
                }
            }
            CodexCall::Terminals { thread, turn } => self.terminals_listed(&thread, &turn, answer, scribe),
            CodexCall::Terminate { thread, turn } => self.terminal_ended(&thread, &turn, scribe),
            CodexCall::Tell { session, vital } => {
                if let (Err(message), true) = (answer, vital) {
                    let text = format!("Codex refused {}: {message}", pending.method);
                    scribe.notice(session, None, NoticeLevel::Warning, text);
                }
            }
            CodexCall::Models { query, models, pages } => {
                self.models_answered(query, models, pages, answer, scribe);
            }
            CodexCall::Sessions { query } => self.sessions_answered(query, answer, scribe),
        }
        (Some(pending.method), session)
    }

    fn greeted(&mut self, answer: Result<&str, String>, scribe: &mut Scribe<'_>) {
        let greeting = match answer {
            Ok(greeting) => serde_json::from_str::<Greeting>(greeting).unwrap_or_default(),
            Err(message) => {
                return self.refuse(
                    FaultCode::StartFailed,
                    format!("Codex refused to begin: {message}"),
                    scribe,
                );
            }
        };
        self.version = version_in(&greeting.user_agent);
        self.phase = Phase::Listening;
        scribe.out.lines.push(json!({"method": "initialized"}).to_string());
        while let Some(launch) = self.openings.pop_front() {
            self.begin(launch, scribe);
        }
        while let Some((id, query)) = self.queries.pop_front() {
            self.ask(id, query, scribe);
        }
    }

    /// Requests the thread of a session.
    fn begin(&mut self, launch: Launch, scribe: &mut Scribe<'_>) {
        match &launch.start {
            Start::New | Start::Told { .. } | Start::Lines { .. } => {
                let params = thread_params(&launch, None);
                self.calls.send("thread/start", params, CodexCall::Open(Box::new(launch)), scribe);
            }
            Start::Fork { native } => {
                let params = thread_params(&launch, Some(native));
                self.calls.send("thread/fork", params, CodexCall::Open(Box::new(launch)), scribe);
            }
            Start::Resume { .. } => self.resume(ResumeReason::Open(Box::new(launch)), false, scribe),
        }
    }

    /// Lets Codex load a thread into memory.
    pub(super) fn resume(&mut self, reason: ResumeReason, unarchived: bool, scribe: &mut Scribe<'_>) {
        let params = match &reason {
            ResumeReason::Open(launch) => thread_params(launch, native_of(&launch.start)),
            ResumeReason::Say { thread: native, .. } => {
                let mut params = json!({"threadId": native, "excludeTurns": true});
                if let Some(thread) = self.threads.get(native) {
                    let policy = Policy::of(thread.mode);
                    params["cwd"] = json!(thread.cwd);
                    params["approvalPolicy"] = json!(policy.approval);
                    params["sandbox"] = json!(policy.sandbox);
                }
                params
            }
        };
        self.calls.send("thread/resume", params, CodexCall::Resume { reason, unarchived }, scribe);
    }

    fn opened(&mut self, launch: Launch, answer: Result<&str, String>, scribe: &mut Scribe<'_>) {
        match answer.map(serde_json::from_str::<Opened>) {
            Ok(Ok(opened)) => self.ready(launch, opened, scribe),
            Ok(Err(error)) => {
                let text = format!("Codex opened a thread in words that are not understood: {error}");
                self.not_opened(launch.session, FaultCode::StartFailed, text, scribe);
            }
            Err(message) => {
                let code = match launch.start {
                    Start::Fork { .. } => FaultCode::ResumeFailed,
                    Start::Resume { .. } => why_not_resumed(&message),
                    Start::New | Start::Told { .. } | Start::Lines { .. } => FaultCode::StartFailed,
                };
                self.not_opened(launch.session, code, told(message), scribe);
            }
        }
    }

    fn resumed(
        &mut self,
        reason: ResumeReason,
        unarchived: bool,
        answer: Result<&str, String>,
        scribe: &mut Scribe<'_>,
    ) {
        match (answer, reason) {
            (Ok(answer), ResumeReason::Open(launch)) => self.opened(*launch, Ok(answer), scribe),
            (Ok(_), ResumeReason::Say { thread, said }) => {
                if let Some(known) = self.threads.get_mut(&thread) {
                    known.loaded = true;
                }
                self.start_turn(&thread, said, true, scribe);
            }
            (Err(message), reason) if message.contains("is archived") && !unarchived => {
                let thread = match &reason {
                    ResumeReason::Open(launch) => native_of(&launch.start).unwrap_or_default().to_owned(),
                    ResumeReason::Say { thread, .. } => thread.clone(),
                };
                let params = json!({"threadId": thread});
                self.calls.send("thread/unarchive", params, CodexCall::Unarchive { reason }, scribe);
            }
            (Err(message), reason) => self.not_resumed(reason, message, scribe),
        }
    }

    fn not_resumed(&mut self, reason: ResumeReason, message: String, scribe: &mut Scribe<'_>) {
        match reason {
            ResumeReason::Open(launch) => self.opened(*launch, Err(message), scribe),
            ResumeReason::Say { thread, said } => {
                let message = told(message);
                self.turn_lost(&thread, said.turn, TurnErrorCode::Other, &message, scribe);
            }
        }
    }

    fn ready(&mut self, launch: Launch, opened: Opened, scribe: &mut Scribe<'_>) {
        let Opened { thread: told, model, cwd, collaboration_mode } = opened;
        let model = model.or(told.model);
        let cwd = cwd.or(told.cwd).unwrap_or(launch.cwd);
        let mut thread = Thread::new(launch.session, cwd, launch.mode, model.clone());
        thread.planning = collaboration_mode.is_some_and(|mode| mode.mode == "plan");
        thread.title = told.name;
        thread.effort = launch.effort;
        match launch.start {
            Start::New | Start::Lines { .. } => {}
            Start::Told { story } => thread.story = Some(story),
            Start::Resume { .. } | Start::Fork { .. } => thread.recorded = true,
        }
        self.natives.insert(launch.session, told.id.clone());
        self.threads.insert(told.id.clone(), thread);
        let ready =
            Ready { native: Some(told.id), version: self.version.clone(), model, transcript: told.path };
        scribe.quote(launch.session, Draft::new(Body::SessionReady(ready)));
    }

    /// A session cannot be opened. If it is the only session, the process is no longer needed.
    pub(super) fn not_opened(
        &mut self,
        session: SessionId,
        code: FaultCode,
        text: String,
        scribe: &mut Scribe<'_>,
    ) {
        let draft = Draft::new(Body::SessionError(SessionFault { code })).text(text.clone());
        scribe.quote(session, draft);
        if self.threads.is_empty() && self.calls.is_empty() && self.openings.is_empty() {
            scribe.out.finished = Some(text);
        }
    }

    /// The process cannot be used at all.
    pub(super) fn refuse(&mut self, code: FaultCode, text: String, scribe: &mut Scribe<'_>) {
        let mut sessions: Vec<SessionId> = self.natives.keys().copied().collect();
        sessions.extend(self.openings.drain(..).map(|launch| launch.session));
        sessions.extend(self.calls.openings());
        sessions.sort_unstable();
        sessions.dedup();
        for session in sessions {
            let draft = Draft::new(Body::SessionError(SessionFault { code })).text(text.clone());
            scribe.quote_once(session, draft);
        }
        for (id, _) in self.queries.drain(..) {
            scribe.out.answers.push((id, Err(text.clone())));
        }
        self.calls.fail_queries(&text, scribe.out);
        self.phase = Phase::Refused(text.clone());
        scribe.out.finished = Some(text);
    }

    pub(super) fn config_warning(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let words: RemarkParams = serde_json::from_str(params.get())?;
        let summary = words.summary.unwrap_or_default();
        let text = match words.details {
            Some(details) if !details.is_empty() => format!("{summary}\n{details}"),
            Some(_) | None => summary,
        };
        if text.starts_with(INVALID_CONFIGURATION) {
            self.refuse(FaultCode::BadConfiguration, text, scribe);
        } else if !self.woken {
            // Codex repeats this at every start; each session reports it once.
            scribe.notice(self.nearest(), None, NoticeLevel::Warning, text);
        }
        Ok(())
    }
}

/// The parameters of `thread/start`, `thread/resume` and `thread/fork`.
fn thread_params(launch: &Launch, native: Option<&str>) -> Value {
    let policy = Policy::of(launch.mode);
    let mut params = json!({"cwd": launch.cwd, "approvalPolicy": policy.approval, "sandbox": policy.sandbox});
    if let Some(native) = native {
        params["threadId"] = json!(native);
        // Our log already has the turns.
        params["excludeTurns"] = json!(true);
    }
    if let Some(model) = &launch.model {
        params["model"] = json!(model);
    }
    if !launch.mcp_servers.is_empty() {
        // By their paths in the settings, so that the person's own MCP servers stay.
        let path =
            |server: &McpServer| (format!("mcp_servers.{}", server.name), mcp_settings(&server.transport));
        params["config"] = launch.mcp_servers.iter().map(path).collect::<serde_json::Map<_, _>>().into();
    }
    params
}

/// An MCP server in the form of `config.toml`.
fn mcp_settings(transport: &McpTransport) -> Value {
    match transport {
        McpTransport::Stdio { command, args, env } => json!({"command": command, "args": args, "env": env}),
        McpTransport::Http { url, headers } => json!({"url": url, "http_headers": headers}),
    }
}

fn native_of(start: &Start) -> Option<&str> {
    match start {
        Start::Resume { native } | Start::Fork { native } => Some(native),
        Start::New | Start::Told { .. } | Start::Lines { .. } => None,
    }
}

/// Whether Codex has forgotten a thread that it does not resume.
fn why_not_resumed(message: &str) -> FaultCode {
    match FORGOTTEN.iter().any(|words| message.contains(words)) {
        true => FaultCode::ResumeFailed,
        false => FaultCode::StartFailed,
    }
}

/// A refusal as text for people, with advice where they can do something.
fn told(message: String) -> String {
    match message.contains(HELD_ELSEWHERE) {
        true => format!(
            "The conversation is open in another Codex: close it there, then send the prompt again. ({message})"
        ),
        false => message,
    }
}

/// `longshore/0.166.0 (Debian ...)` becomes 0.166.0.
fn version_in(user_agent: &str) -> Option<String> {
    let version = user_agent.split_once('/')?.1.split_whitespace().next()?;
    (!version.is_empty()).then(|| version.to_owned())
}
