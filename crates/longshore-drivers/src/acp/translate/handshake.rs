//! From the first line to a session that is ready, or to the reason why it never will be.

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::{FaultCode, Ready, SessionFault};
use longshore_model::mcp::{McpServer, McpTransport};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::calls::AcpCall;
use super::conversation::AcpConversation;
use super::errors::{AcpError, error_of};
use super::{Acp, Phase};
use crate::acp::rows::{aside_for, counts_of};
use crate::acp::wire::{AUTH_REQUIRED, Greeting, Opened, PROTOCOL_VERSION};
use crate::kit::{Call, Scribe};

/// Continues a conversation, without reporting its past.
const RESUME: &str = "session/resume";
/// Continues a conversation, and reports its past.
const LOAD: &str = "session/load";

impl Acp {
    pub(super) fn open(&mut self, launch: Launch, scribe: &mut Scribe<'_>) {
        self.home.get_or_insert(launch.session);
        match &self.phase {
            Phase::Listening => self.begin(launch, 0, scribe),
            Phase::Refused(reason) => {
                let fault = SessionFault { code: FaultCode::StartFailed };
                scribe.say(launch.session, Draft::new(Body::SessionError(fault)).text(reason.clone()));
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
        let quirks = self.row.quirks;
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {
                "fs": {"readTextFile": quirks.fs, "writeTextFile": quirks.fs},
                "terminal": quirks.terminal,
                "elicitation": {"form": {}, "url": {}},
            },
            "clientInfo": {"name": "longshore", "title": "Longshore", "version": env!("CARGO_PKG_VERSION")},
        });
        self.calls.send("initialize", params, AcpCall::Greet, scribe);
    }

    /// Handles an answer. Returns the session whose request it answers.
    pub(super) fn answered(
        &mut self,
        id: &RawValue,
        result: Option<&RawValue>,
        error: Option<&RawValue>,
        scribe: &mut Scribe<'_>,
    ) -> (Option<&'static str>, Option<SessionId>) {
        let Some(pending) = self.calls.answered(id) else { return (None, None) };
        let session = match &pending.call {
            AcpCall::Open { .. } | AcpCall::Resume { .. } | AcpCall::Login { .. } => pending.call.opens(),
            AcpCall::Prompt { native } | AcpCall::Past { native } => {
                self.conversations.get(native).map(|conversation| conversation.session)
            }
            AcpCall::Set { session, .. } => Some(*session),
            AcpCall::Greet | AcpCall::Models { .. } | AcpCall::Sessions { .. } => None,
        };
        if let Phase::Refused(_) = self.phase {
            return (Some(pending.method), session);
        }
        let answer = match error {
            Some(error) => Err(error_of(error)),
            None => Ok(result.map_or("null", RawValue::get)),
        };
        match pending.call {
            AcpCall::Greet => self.greeted(answer, scribe),
            AcpCall::Open { launch, logins } => match answer {
                Err(fault) if fault.code == AUTH_REQUIRED => self.log_in(launch, logins, scribe),
                answer => self.opened(*launch, None, answer, scribe),
            },
            // An agent that wants a login has not forgotten the conversation.
            AcpCall::Resume { launch, logins, .. }
                if answer.as_ref().is_err_and(|fault| fault.code == AUTH_REQUIRED) =>
            {
                self.drop_conversation(launch.session);
                self.log_in(launch, logins, scribe);
            }
            // Some agents claim to support `session/resume` and do not. They may support `session/load`.
            AcpCall::Resume { launch, native, logins }
                if answer.is_err() && pending.method == RESUME && self.can.load_session =>
            {
                self.resume(LOAD, *launch, native, logins, scribe);
            }
            AcpCall::Resume { launch, native, .. } => self.opened(*launch, Some(native), answer, scribe),
            AcpCall::Login { launch, logins } => match answer {
                Ok(_) => self.begin(*launch, logins, scribe),
                Err(_) => self.log_in(launch, logins, scribe),
            },
            AcpCall::Past { native } => self.past_told(&native, scribe),
            AcpCall::Prompt { native } => self.turn_ended(&native, pending.number, answer, scribe),
            AcpCall::Set { native, what, .. } => {
                self.was_set(&native, what, answer.map_err(|fault| fault.text), scribe);
            }
            AcpCall::Models { query } => self.models_answered(query, answer, scribe),
            AcpCall::Sessions { query } => self.sessions_answered(query, answer, scribe),
        }
        (Some(pending.method), session)
    }

    fn greeted(&mut self, answer: Result<&str, AcpError>, scribe: &mut Scribe<'_>) {
        let greeting = match answer.map(serde_json::from_str::<Greeting>) {
            Ok(Ok(greeting)) => greeting,
            Ok(Err(error)) => {
                let text = format!("{} begins in words that are not understood: {error}", self.title());
                return self.refuse(FaultCode::StartFailed, text, scribe);
            }
            Err(fault) => {
                let text = format!("{} refused to begin: {}", self.title(), fault.text);
                return self.refuse(FaultCode::StartFailed, text, scribe);
            }
        };
        self.aside = aside_for(&greeting.agent_info.name);
        if let Some(counts) = counts_of(&greeting.agent_info.name) {
            Arc::make_mut(&mut self.row).quirks.counts = counts;
        }
        self.version = greeting.agent_info.version;
        self.can = greeting.agent_capabilities;
        self.logins = greeting.auth_methods;
        self.phase = Phase::Listening;
        while let Some(launch) = self.openings.pop_front() {
            self.begin(launch, 0, scribe);
        }
        while let Some((id, query)) = self.queries.pop_front() {
            self.ask(id, query, scribe);
        }
    }

    /// Requests the conversation for a session.
    fn begin(&mut self, mut launch: Launch, logins: usize, scribe: &mut Scribe<'_>) {
        if !self.can.mcp_capabilities.http {
            let calls = |server: &McpServer| matches!(server.transport, McpTransport::Http { .. });
            for server in launch.mcp_servers.extract_if(.., |server| calls(server)) {
                let text = format!("{} cannot call the MCP server {} over HTTP.", self.title(), server.name);
                scribe.notice(launch.session, None, NoticeLevel::Warning, text);
            }
        }
        match launch.start.clone() {
            Start::New | Start::Told { .. } | Start::Lines { .. } => {
                let params = self.place(&launch, None);
                let call = AcpCall::Open { launch: Box::new(launch), logins };
                self.calls.send("session/new", params, call, scribe);
            }
            Start::Fork { native } if self.can.session_capabilities.fork.is_some() => {
                let params = self.place(&launch, Some(&native));
                let call = AcpCall::Open { launch: Box::new(launch), logins };
                self.calls.send("session/fork", params, call, scribe);
            }
            Start::Fork { .. } => {
                let text = format!("{} cannot copy a conversation.", self.title());
                self.not_opened(launch.session, FaultCode::ResumeFailed, text, scribe);
            }
            Start::Resume { native } => {
                // `session/resume` is better, because it does not report the past, which our log holds.
                let method = match (&self.can.session_capabilities.resume, self.can.load_session) {
                    (Some(_), _) => RESUME,
                    (None, true) => LOAD,
                    (None, false) => {
                        let text = format!("{} does not remember conversations.", self.title());
                        return self.not_opened(launch.session, FaultCode::ResumeFailed, text, scribe);
                    }
                };
                self.resume(method, launch, native, logins, scribe);
            }
        }
    }

    /// Requests a conversation that the agent should remember.
    fn resume(
        &mut self,
        method: &'static str,
        launch: Launch,
        native: String,
        logins: usize,
        scribe: &mut Scribe<'_>,
    ) {
        let params = self.place(&launch, Some(&native));
        // The agent may report the past before it answers.
        let mut conversation = AcpConversation::new(launch.session, launch.cwd.clone(), launch.mode);
        conversation.replaying = true;
        self.natives.insert(launch.session, native.clone());
        self.conversations.insert(native.clone(), conversation);
        let call = AcpCall::Resume { launch: Box::new(launch), native, logins };
        self.calls.send(method, params, call, scribe);
    }

    /// The parameters of `session/new`, `session/load`, `session/resume` and `session/fork`.
    fn place(&self, launch: &Launch, native: Option<&str>) -> Value {
        let servers: Vec<Value> = launch.mcp_servers.iter().map(mcp_server).collect();
        let mut params = json!({"cwd": launch.cwd, "mcpServers": servers});
        if let Some(native) = native {
            params["sessionId"] = json!(native);
        }
        if let Some(aside) = &self.aside {
            params["_meta"] = aside.clone();
        }
        params
    }

    fn opened(
        &mut self,
        launch: Launch,
        native: Option<String>,
        answer: Result<&str, AcpError>,
        scribe: &mut Scribe<'_>,
    ) {
        let (code, what) = match launch.start {
            Start::Fork { .. } | Start::Resume { .. } => {
                (FaultCode::ResumeFailed, "go on with the conversation")
            }
            Start::New | Start::Told { .. } | Start::Lines { .. } => {
                (FaultCode::StartFailed, "open a session")
            }
        };
        let understood = match answer.map(serde_json::from_str::<Option<Opened>>) {
            Ok(Ok(opened)) => Ok(opened.unwrap_or_default()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(fault) => Err(fault.text),
        };
        let named = understood.and_then(|opened| match native.clone().or(opened.session_id.clone()) {
            Some(name) if !name.is_empty() => Ok((name, opened)),
            Some(_) | None => Err("it did not name the session".to_owned()),
        });
        match named {
            Ok((name, opened)) => self.ready(launch, name, opened, scribe),
            Err(reason) => {
                self.drop_conversation(launch.session);
                let text = format!("{} could not {what}: {reason}", self.title());
                self.not_opened(launch.session, code, text, scribe);
            }
        }
    }

    /// Forgets the conversation of a session, because it does not exist, or not yet.
    fn drop_conversation(&mut self, session: SessionId) {
        self.conversations.retain(|_, conversation| conversation.session != session);
        self.natives.remove(&session);
    }

    fn ready(&mut self, launch: Launch, native: String, opened: Opened, scribe: &mut Scribe<'_>) {
        let fresh = || AcpConversation::new(launch.session, launch.cwd.clone(), launch.mode);
        let conversation = self.conversations.entry(native.clone()).or_insert_with(fresh);
        conversation.settings.read(opened);
        conversation.model = conversation.settings.model().map(str::to_owned);
        if let Start::Told { story } = launch.start {
            conversation.story = Some(story);
        }
        if conversation.replaying && self.row.quirks.late_past {
            conversation.past =
                Some(self.calls.add("the past", AcpCall::Past { native: native.clone() }, scribe.cx.now));
            conversation.settling += 1;
        }
        self.natives.insert(launch.session, native.clone());
        self.settle_mode(&native, launch.mode, scribe);
        if let Some(model) = launch.model {
            self.settle_model(&native, model, scribe);
        }
        if let Some(effort) = launch.effort {
            self.settle_effort(&native, effort, scribe);
        }
        // The wanted model, if the agent has it.
        let model = self.conversations.get(&native).and_then(|conversation| conversation.model.clone());
        let ready =
            Ready { native: Some(native.clone()), version: self.version.clone(), model, transcript: None };
        scribe.say(launch.session, Draft::new(Body::SessionReady(ready)));
        let (timely, early) = std::mem::take(&mut self.early).into_iter().partition(|(of, _)| *of == native);
        self.early = early;
        let timely: Vec<_> = timely;
        self.timely.extend(timely.into_iter().map(|(_, raw)| raw));
        self.give_up_early();
    }

    /// The agent has reported the whole past. Everything from now on is new.
    pub(super) fn past_told(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if let Some(number) = conversation.past.take() {
            self.calls.take(number);
            conversation.settling = conversation.settling.saturating_sub(1);
            self.say_held(native, scribe);
        }
    }

    /// A session cannot be opened. If it is the only session, the process is no longer needed.
    pub(super) fn not_opened(
        &mut self,
        session: SessionId,
        code: FaultCode,
        text: String,
        scribe: &mut Scribe<'_>,
    ) {
        scribe.say(session, Draft::new(Body::SessionError(SessionFault { code })).text(text.clone()));
        self.give_up_early();
        if self.conversations.is_empty() && self.calls.is_empty() && self.openings.is_empty() {
            scribe.out.finished = Some(text);
        }
    }

    /// Gives up the early lines of sessions that will never get an id. Requests among these lines still need
    /// an answer.
    fn give_up_early(&mut self) {
        if !self.calls.awaits_name() {
            self.timely.extend(self.early.drain(..).map(|(_, raw)| raw));
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
            scribe.say(session, Draft::new(Body::SessionError(SessionFault { code })).text(text.clone()));
        }
        for (id, _) in self.queries.drain(..) {
            scribe.out.answers.push((id, Err(text.clone())));
        }
        self.calls.fail_queries(&text, scribe.out);
        self.phase = Phase::Refused(text.clone());
        scribe.out.finished = Some(text);
    }
}

fn mcp_server(McpServer { name, transport }: &McpServer) -> Value {
    let pairs = |values: &BTreeMap<String, String>| {
        values.iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>()
    };
    match transport {
        McpTransport::Stdio { command, args, env } => {
            json!({"name": name, "command": command, "args": args, "env": pairs(env)})
        }
        McpTransport::Http { url, headers } => {
            json!({"type": "http", "name": name, "url": url, "headers": pairs(headers)})
        }
    }
}
