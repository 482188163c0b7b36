//! From the first line to a session that is ready, or to the reason why it never will be. Also questions that
//! concern no session.
//!
//! Claude writes nothing before the driver does, so the driver sends `initialize` at once. The response makes
//! the session ready. The driver knows the id of the conversation by then, because it has chosen the id. A
//! process that cannot find the conversation to resume reports that in a `result`, and ends.

use std::collections::VecDeque;

use longshore_model::anchor::{AgentQuestion, Answer, Launch, Start};
use longshore_model::capability::{Mode, ModelInfo, SlashCommand};
use longshore_model::event::{AgentName, Body, Draft, NoticeLevel};
use longshore_model::id::{QueryId, SessionId};
use longshore_model::lifecycle::{FaultCode, Ready, SessionFault};
use serde_json::json;

use super::calls::ClaudeCall;
use super::conversation::{ClaudeConversation, MAIN};
use super::modes::{mode_of, native_mode};
use super::{Claude, Phase, WireError};
use crate::claude::wire::{Greeting, Line, Model, Response, System};
use crate::claude::{flag_settings, native_id};
use crate::kit::{PendingCall, Scribe};

/// The most requested modes that Claude has not confirmed.
const UNCONFIRMED_LIMIT: usize = 16;

/// The session for which a process was started.
#[derive(Debug)]
pub(super) struct HomeSession {
    pub session: SessionId,
    /// The name of the agent.
    pub agent: AgentName,
    pub cwd: String,
    pub mode: Mode,
    /// The requested modes that Claude has not confirmed.
    unconfirmed: VecDeque<&'static str>,
    pub model: Option<String>,
    /// The effort of the agent.
    pub effort: Option<String>,
    pub version: Option<String>,
    /// Claude's id of the conversation.
    native: String,
    /// The transcript that the first prompt must contain.
    pub story: Option<String>,
    /// Whether the driver has reported that the session is ready.
    ready: bool,
    /// Whether the driver has reported the slash commands.
    listed: bool,
}

impl Claude {
    pub(super) fn open(&mut self, launch: Launch, scribe: &mut Scribe<'_>) {
        let refusal = match (&self.phase, &self.home) {
            (Phase::Refused(reason), _) => Some(reason.clone()),
            (_, Some(_)) => Some("This process of Claude Code has a conversation already.".to_owned()),
            (Phase::Silent | Phase::Greeting | Phase::Listening, None) => None,
        };
        if let Some(reason) = refusal {
            let fault = SessionFault { code: FaultCode::StartFailed };
            scribe.say(launch.session, Draft::new(Body::SessionError(fault)).text(reason.clone()));
            if self.home.is_none() {
                scribe.out.finished = Some(reason);
            }
            return;
        }
        let native = native_id(&launch);
        let story = match launch.start {
            Start::Told { story } => Some(story),
            Start::Resume { .. } | Start::Fork { .. } => {
                self.ledger.resumed = true;
                None
            }
            Start::New | Start::Lines { .. } => None,
        };
        self.conversations.push(ClaudeConversation::new(launch.session));
        self.home = Some(HomeSession {
            session: launch.session,
            cwd: launch.cwd,
            agent: launch.agent,
            mode: launch.mode,
            unconfirmed: VecDeque::new(),
            model: launch.model,
            effort: launch.effort,
            version: None,
            native,
            story,
            ready: false,
            listed: false,
        });
        self.greet(scribe);
    }

    /// Sends the first requests, once. The version comes first, so that the driver knows it when the greeting
    /// is answered.
    fn greet(&mut self, scribe: &mut Scribe<'_>) {
        if self.phase != Phase::Silent {
            return;
        }
        self.phase = Phase::Greeting;
        self.calls.send("get_binary_version", json!({}), ClaudeCall::Version, scribe);
        self.calls.send("initialize", json!({"forwardSubagentText": true}), ClaudeCall::Greet, scribe);
        if let Some(home) = &self.home {
            let settings = json!({"settings": flag_settings(home.effort.as_deref())});
            self.calls.send("apply_flag_settings", settings, ClaudeCall::Settle, scribe);
        }
    }

    /// Handles an answer to a request of ours. If Claude repeats prompts, it also repeats our own answers,
    /// which the driver ignores.
    pub(super) fn responded(&mut self, line: &Line<'_>, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let Some(response) = line.response else { return Ok(()) };
        let response: Response<'_> = serde_json::from_str(response.get())?;
        let Some(PendingCall { method, call, .. }) = self.calls.answered(&response.request_id) else {
            return Ok(());
        };
        if let Phase::Refused(_) = self.phase {
            return Ok(());
        }
        let refused = (response.subtype != "success").then(|| match response.error.as_str() {
            Some(error) => error.to_owned(),
            None => response.error.to_string(),
        });
        let answer = response.response.map_or("null", |answer| answer.get());
        match (call, refused) {
            (ClaudeCall::Greet, None) => {
                self.greeted(serde_json::from_str(answer).unwrap_or_default(), scribe);
            }
            (ClaudeCall::Greet, Some(error)) => {
                let text = format!("Claude Code refused to begin: {error}");
                self.refuse(FaultCode::StartFailed, text, scribe);
            }
            (ClaudeCall::Version, None) => {
                let version = serde_json::from_str::<Greeting>(answer).unwrap_or_default().version;
                if let Some(home) = &mut self.home {
                    home.version = version;
                }
            }
            (ClaudeCall::TakeBack { prompt, text }, None) => {
                // A prompt that Claude took before it could give it back is part of the turn.
                let answer: serde_json::Value = serde_json::from_str(answer).unwrap_or_default();
                if answer["cancelled"] == true {
                    self.taken_back(prompt, text, scribe);
                }
            }
            (ClaudeCall::Interrupt | ClaudeCall::Set, Some(error)) => {
                if let Some(home) = &mut self.home {
                    home.unconfirmed.clear();
                }
                let text = format!("Claude Code refused {method}: {error}");
                self.notice(MAIN, NoticeLevel::Warning, text, scribe);
            }
            // An older Claude does not know some requests: its version, settings from outside, and taking a
            // prompt back.
            (ClaudeCall::Version | ClaudeCall::Settle | ClaudeCall::TakeBack { .. }, Some(_))
            | (ClaudeCall::Interrupt | ClaudeCall::Set | ClaudeCall::Settle, None) => {}
        }
        Ok(())
    }

    fn greeted(&mut self, greeting: Greeting, scribe: &mut Scribe<'_>) {
        self.phase = Phase::Listening;
        let commands = greeting
            .commands
            .into_iter()
            .map(|command| SlashCommand { name: command.name, description: command.description });
        let commands: Vec<SlashCommand> = commands.filter(|command| !command.name.is_empty()).collect();
        if let Some(home) = self.home.as_mut().filter(|home| !home.ready) {
            // A resumed conversation continues with its own model.
            let default = (!self.ledger.resumed).then_some("default");
            let wanted = home.model.as_deref().or(default);
            let offered = greeting.models.iter().find(|model| Some(model.value.as_str()) == wanted);
            home.model = offered.and_then(|model| model.resolved_model.clone()).or(home.model.take());
            Self::ready(home, scribe);
        }
        self.list_commands(commands, scribe);
        let models: Vec<ModelInfo> = greeting.models.into_iter().map(model_info).collect();
        for (id, query) in std::mem::take(&mut self.queries) {
            let answer = match query {
                AgentQuestion::Models(_) => Ok(Answer::Models(models.clone())),
                AgentQuestion::Sessions(_) | AgentQuestion::Messages(_) => {
                    Err("Claude Code keeps its conversations in files and lists them to nobody.".to_owned())
                }
            };
            scribe.out.answers.push((id, answer));
        }
        self.finish_if_idle(scribe);
    }

    fn ready(home: &mut HomeSession, scribe: &mut Scribe<'_>) {
        home.ready = true;
        let ready = Ready {
            native: Some(home.native.clone()),
            version: home.version.clone(),
            model: home.model.clone(),
            transcript: None,
        };
        scribe.quote(home.session, Draft::new(Body::SessionReady(ready)));
    }

    fn list_commands(&mut self, commands: Vec<SlashCommand>, scribe: &mut Scribe<'_>) {
        if let Some(home) = self.home.as_mut().filter(|home| !home.listed && !commands.is_empty()) {
            home.listed = true;
            scribe.say(home.session, Draft::new(Body::CommandsListed { commands }));
        }
    }

    /// `system/init`: at the start of every turn, Claude reports its settings.
    pub(super) fn introduced(&mut self, line: &Line<'_>, said: System, scribe: &mut Scribe<'_>) {
        let Some(home) = &mut self.home else { return };
        let turn = self.conversations.first().and_then(|conversation| conversation.turn);
        home.version = said.claude_code_version.or(home.version.take());
        let renamed = !line.session_id.is_empty() && home.native != line.session_id;
        if renamed {
            home.native = line.session_id.clone().into_owned();
        }
        let changed = said.model.is_some() && said.model != home.model;
        home.model = said.model.or(home.model.take());
        if !home.ready {
            // Claude sent `init` before its response, or the driver sent no `initialize`.
            self.phase = Phase::Listening;
            Self::ready(home, scribe);
        } else if renamed {
            // `/clear` begins another conversation, which is the conversation to resume from now on.
            self.ledger.emptied();
            Self::ready(home, scribe);
        } else if changed {
            let model = home.model.clone().unwrap_or_default();
            scribe.say(home.session, Draft::new(Body::ModelChanged { model }).turn(turn));
        }
        let commands = said.slash_commands.into_iter();
        let commands = commands.map(|name| SlashCommand { name, description: String::new() });
        self.list_commands(commands.collect(), scribe);
        if let Some(mode) = said.permission_mode {
            self.mode_told(&mode, &mut scribe.bare());
        }
        self.turn_began(scribe);
    }

    /// Handles Claude's report of its mode. The driver set the mode, a person allowed it, or Claude changed
    /// it by itself.
    pub(super) fn mode_told(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(home) = &mut self.home else { return };
        if let Some(at) = home.unconfirmed.iter().position(|mode| *mode == native) {
            home.unconfirmed.drain(..=at);
            return;
        }
        // While a change of the mode is on its way, Claude's reports are outdated.
        let news = mode_of(native).filter(|mode| home.unconfirmed.is_empty() && *mode != home.mode);
        let Some(mode) = news.filter(|_| native_mode(home.mode) != native) else { return };
        home.mode = mode;
        let turn = self.conversations.first().and_then(|conversation| conversation.turn);
        let draft = Draft::new(Body::ModeChanged { mode }).turn(turn);
        scribe.quote(home.session, draft);
    }

    /// Sets the mode.
    pub(super) fn set_mode(&mut self, mode: Mode, scribe: &mut Scribe<'_>) {
        let Some(home) = &mut self.home else { return };
        home.mode = mode;
        home.unconfirmed.push_back(native_mode(mode));
        if home.unconfirmed.len() > UNCONFIRMED_LIMIT {
            home.unconfirmed.pop_front();
        }
        let request = json!({"mode": native_mode(mode)});
        self.calls.send("set_permission_mode", request, ClaudeCall::Set, scribe);
    }

    /// The process cannot be used at all.
    pub(super) fn refuse(&mut self, code: FaultCode, text: String, scribe: &mut Scribe<'_>) {
        if let Some(home) = &self.home {
            let draft = Draft::new(Body::SessionError(SessionFault { code })).text(text.clone());
            scribe.quote(home.session, draft);
        }
        for (id, _) in self.queries.drain(..) {
            scribe.out.answers.push((id, Err(text.clone())));
        }
        self.phase = Phase::Refused(text.clone());
        scribe.out.finished = Some(text);
    }

    /// Whether the driver has not yet reported that the session is ready.
    pub(super) fn is_opening(&self) -> bool {
        self.home.as_ref().is_some_and(|home| !home.ready)
    }

    /// The greeting got no response. If Claude has sent other lines, the session continues.
    pub(super) fn not_greeted(&mut self, text: String, scribe: &mut Scribe<'_>) {
        if self.home.is_none() || self.is_opening() {
            self.refuse(FaultCode::Timeout, text, scribe);
        }
    }

    pub(super) fn ask(&mut self, id: QueryId, query: AgentQuestion, scribe: &mut Scribe<'_>) {
        match &self.phase {
            Phase::Refused(reason) => scribe.out.answers.push((id, Err(reason.clone()))),
            Phase::Silent | Phase::Greeting => {
                self.queries.push((id, query));
                self.greet(scribe);
            }
            Phase::Listening => {
                // The driver keeps no earlier response, because Claude answers `initialize` as often as it
                // gets it.
                self.queries.push((id, query));
                self.calls.send(
                    "initialize",
                    json!({"forwardSubagentText": true}),
                    ClaudeCall::Greet,
                    scribe,
                );
            }
        }
    }

    /// Ends a process that was started only for questions, once they are answered.
    fn finish_if_idle(&self, scribe: &mut Scribe<'_>) {
        if self.home.is_none() && self.queries.is_empty() {
            scribe.out.finished = Some("all questions are answered".to_owned());
        }
    }
}

fn model_info(model: Model) -> ModelInfo {
    ModelInfo {
        title: if model.display_name.is_empty() { model.value.clone() } else { model.display_name },
        default: model.value == "default",
        efforts: model.supported_effort_levels,
        id: model.value,
        description: model.description,
    }
}
