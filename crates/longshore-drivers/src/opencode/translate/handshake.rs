//! From a launch to a session that is ready, or to the reason why not; and the end of a session.

use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::{Mode, SlashCommand};
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::{FaultCode, Ready, SessionFault};
use longshore_model::mcp::{McpServer, McpTransport};
use serde_json::{Value, json};

use super::calls::{OpenCodeCall, OutgoingRequest};
use super::conversation::OpenCodeConversation;
use super::remarks::model_of;
use super::{OpenCode, modes};
use crate::kit::Scribe;
use crate::opencode::wire;

impl OpenCode {
    pub(super) fn open(&mut self, launch: Launch, scribe: &mut Scribe<'_>) {
        let session = launch.session;
        self.opening.push(session);
        let cwd = launch.cwd.clone();
        for server in &launch.mcp_servers {
            // OpenCode keeps MCP servers by folder, so all conversations in the folder can call them.
            let ask = OutgoingRequest::post("/mcp", &cwd, mcp_server(server)).of(session);
            self.calls.send(ask, OpenCodeCall::Tell { vital: true }, scribe);
        }
        let ask = match &launch.start {
            Start::New | Start::Told { .. } | Start::Lines { .. } => {
                OutgoingRequest::post("/session", &cwd, json!({"permission": modes::rules(launch.mode)}))
            }
            Start::Resume { native } => OutgoingRequest::get(format!("/session/{native}"), &cwd),
            Start::Fork { native } => {
                OutgoingRequest::post(format!("/session/{native}/fork"), &cwd, json!({}))
            }
        };
        self.calls.send(ask.of(session), OpenCodeCall::Open(launch), scribe);
    }

    /// Handles the answer to a request that opens a conversation.
    pub(super) fn opened(&mut self, launch: Launch, answer: Result<Raw, String>, scribe: &mut Scribe<'_>) {
        let session = launch.session;
        self.opening.retain(|opening| *opening != session);
        // OpenCode answers an unknown path with a web page.
        let unread = |_| "it answered with something else".to_owned();
        let read = answer.and_then(|body| serde_json::from_str::<wire::Session>(&body).map_err(unread));
        let theirs = match read {
            Ok(theirs) => theirs,
            Err(why) => {
                let (code, text) = match &launch.start {
                    Start::New | Start::Told { .. } | Start::Lines { .. } => {
                        (FaultCode::StartFailed, format!("OpenCode did not begin a conversation: {why}"))
                    }
                    Start::Resume { native } | Start::Fork { native } => {
                        (FaultCode::ResumeFailed, format!("OpenCode does not know {native} any more: {why}"))
                    }
                };
                let fault = Body::SessionError(SessionFault { code });
                scribe.quote(session, Draft::new(fault).text(text.clone()));
                scribe.out.ended.push((session, text));
                return;
            }
        };
        let native = theirs.id.clone();
        let directory = theirs.directory.clone().unwrap_or(launch.cwd);
        let mut conversation =
            OpenCodeConversation::new(session, directory.clone(), launch.mode, launch.model);
        conversation.effort = launch.effort;
        conversation.uses = theirs.model.as_ref().and_then(model_of);
        conversation.title.clone_from(&theirs.title);
        conversation.planning = theirs.agent.as_deref() == Some("plan");
        conversation.tokens = theirs.tokens.unwrap_or_default();
        conversation.since = theirs.time.created.unwrap_or_default();
        let is_new = match launch.start {
            Start::New | Start::Lines { .. } => true,
            Start::Told { story } => {
                conversation.story = Some(story);
                true
            }
            Start::Fork { .. } => false,
            Start::Resume { .. } => {
                conversation.since = (scribe.cx.now.micros() / 1_000) as f64;
                false
            }
        };
        let model = conversation.model.clone().or_else(|| conversation.uses.clone());
        let ready = Ready { native: Some(native.clone()), version: theirs.version, model, transcript: None };
        scribe.quote(session, Draft::new(Body::SessionReady(ready)));
        if let Some(old) = self.conversations.insert(native.clone(), conversation) {
            self.natives.remove(&old.session);
        }
        self.natives.insert(session, native.clone());
        if !is_new {
            self.set_rules(&native, launch.mode, scribe);
        }
        let ask = OutgoingRequest::get("/command", &directory);
        self.calls.send(
            OutgoingRequest { session: Some(session), ..ask },
            OpenCodeCall::Commands { native },
            scribe,
        );
    }

    /// Sets the permission rules of a conversation.
    pub(super) fn set_rules(&mut self, native: &str, mode: Mode, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(native) else { return };
        let body = json!({"permission": modes::rules(mode)});
        let ask = OutgoingRequest::patch(format!("/session/{native}"), &conversation.directory, body)
            .of(conversation.session);
        self.calls.send(ask, OpenCodeCall::Tell { vital: true }, scribe);
    }

    pub(super) fn commands_listed(
        &mut self,
        native: &str,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let read = answer.ok().and_then(|body| serde_json::from_str::<Vec<wire::Command>>(&body).ok());
        let Some(commands) = read else { return };
        conversation.commands = commands.iter().map(|command| command.name.clone()).collect();
        let commands = commands.into_iter().map(|command| SlashCommand {
            name: command.name,
            description: command.description.unwrap_or_default(),
        });
        let listed = Body::CommandsListed { commands: commands.collect() };
        scribe.quote(conversation.session, Draft::new(listed));
    }

    /// Closes a session while the process continues. The session's children stop with it.
    pub(super) fn close(&mut self, session: SessionId, scribe: &mut Scribe<'_>) {
        self.opening.retain(|opening| *opening != session);
        self.calls.forget(session);
        if let Some(native) = self.natives.get(&session).cloned() {
            self.forget(&native, true, scribe);
        }
    }

    /// Forgets a conversation and all its children.
    pub(super) fn forget(&mut self, native: &str, stop: bool, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.remove(native) else { return };
        self.natives.remove(&conversation.session);
        self.approvals.forget(conversation.session);
        self.questions.forget(conversation.session);
        if stop && conversation.turn.is_some() {
            let ask =
                OutgoingRequest::post(format!("/session/{native}/abort"), &conversation.directory, json!({}));
            self.calls.send(ask, OpenCodeCall::Tell { vital: false }, scribe);
        }
        let of_it = |(child, conversation): (&String, &OpenCodeConversation)| {
            let parent = conversation.parent.as_ref()?;
            (parent.native == native).then(|| (child.clone(), conversation.session))
        };
        let children: Vec<(String, SessionId)> = self.conversations.iter().filter_map(of_it).collect();
        for (child, session) in children {
            // OpenCode stops children together with their parent.
            self.forget(&child, false, scribe);
            scribe.out.ended.push((session, "the session that it worked for was stopped".to_owned()));
        }
    }
}

/// An MCP server in OpenCode's form.
fn mcp_server(McpServer { name, transport }: &McpServer) -> Value {
    let config = match transport {
        McpTransport::Stdio { command, args, env } => {
            let words: Vec<&String> = std::iter::once(command).chain(args).collect();
            json!({"type": "local", "command": words, "environment": env, "enabled": true})
        }
        McpTransport::Http { url, headers } => {
            json!({"type": "remote", "url": url, "headers": headers, "enabled": true})
        }
    };
    json!({"name": name, "config": config})
}
