//! From the first line to a session that is ready, or why it never will be; and questions that concern no session.
//!
//! Nothing is said to us before we say something, so `initialize` goes out at once and its answer makes the session
//! ready: the name of the conversation is known by then, for it was chosen by us. A process that cannot find what it is
//! to resume says so in a `result` and ends.

use std::collections::VecDeque;

use longshore_model::anchor::{Answer, Launch, Query, Start};
use longshore_model::capability::{Mode, ModelInfo, SlashCommand};
use longshore_model::driver::Output;
use longshore_model::event::{AgentName, Body, Draft, NoticeLevel, Raw};
use longshore_model::id::{Context, QueryId, SessionId};
use longshore_model::lifecycle::{FaultCode, Ready, SessionFault};
use serde_json::json;

use super::calls::{ClaudeCall, PendingClaudeCall};
use super::conversation::{ClaudeConversation, MAIN};
use super::modes::{mode_of, native_mode};
use super::{Claude, Phase, WireError};
use crate::claude::wire::{Greeting, Line, Model, Response, System};
use crate::claude::{flag_settings, native_id};

/// How many modes may be wished for before one of them is acknowledged.
const WISHES: usize = 16;

/// The session that a process was started for.
#[derive(Debug)]
pub(super) struct HomeSession {
    pub session: SessionId,
    /// What the process is called here.
    pub agent: AgentName,
    pub cwd: String,
    pub mode: Mode,
    /// The modes that they were told to work in and have not said that they do.
    wished: VecDeque<&'static str>,
    pub model: Option<String>,
    /// How hard it shall think.
    pub effort: Option<String>,
    pub version: Option<String>,
    /// Their name for the conversation.
    native: String,
    /// What the first prompt must tell first.
    pub story: Option<String>,
    /// It was said that it is ready.
    ready: bool,
    /// Its slash commands were told.
    listed: bool,
}

impl Claude {
    pub(super) fn open(&mut self, launch: Launch, cx: &mut Context<'_>, out: &mut Output) {
        let refusal = match (&self.phase, &self.home) {
            (Phase::Refused(reason), _) => Some(reason.clone()),
            (_, Some(_)) => Some("This process of Claude Code has a conversation already.".to_owned()),
            (Phase::Silent | Phase::Greeting | Phase::Listening, None) => None,
        };
        if let Some(reason) = refusal {
            let fault = SessionFault { code: FaultCode::StartFailed };
            out.say(launch.session, Draft::new(Body::SessionError(fault)).text(reason.clone()));
            if self.home.is_none() {
                out.finished = Some(reason);
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
            wished: VecDeque::new(),
            model: launch.model,
            effort: launch.effort,
            version: None,
            native,
            story,
            ready: false,
            listed: false,
        });
        self.greet(cx, out);
    }

    /// Says hello, once. The version comes first, so that it is known when the greeting is answered.
    fn greet(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        if self.phase != Phase::Silent {
            return;
        }
        self.phase = Phase::Greeting;
        self.calls.send("get_binary_version", json!({}), ClaudeCall::Version, cx, out);
        self.calls.send("initialize", json!({"forwardSubagentText": true}), ClaudeCall::Greet, cx, out);
        if let Some(home) = &self.home {
            let settings = json!({"settings": flag_settings(home.effort.as_deref())});
            self.calls.send("apply_flag_settings", settings, ClaudeCall::Settle, cx, out);
        }
    }

    /// An answer to a request of ours. With repeated prompts our own answers come back too; those are nobody's.
    pub(super) fn responded(
        &mut self,
        line: &Line<'_>,
        raw: &Raw,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let Some(response) = line.response else { return Ok(()) };
        let response: Response<'_> = serde_json::from_str(response.get())?;
        let Some(PendingClaudeCall { subtype, call, .. }) = self.calls.answered(&response.request_id) else {
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
                self.greeted(serde_json::from_str(answer).unwrap_or_default(), raw, out);
            }
            (ClaudeCall::Greet, Some(error)) => {
                let text = format!("Claude Code refused to begin: {error}");
                self.refuse(FaultCode::StartFailed, text, Some(raw), out);
            }
            (ClaudeCall::Version, None) => {
                let version = serde_json::from_str::<Greeting>(answer).unwrap_or_default().version;
                if let Some(home) = &mut self.home {
                    home.version = version;
                }
            }
            (ClaudeCall::TakeBack { prompt, text }, None) => {
                // What was taken in before it could be taken back is part of the turn.
                let answer: serde_json::Value = serde_json::from_str(answer).unwrap_or_default();
                if answer["cancelled"] == true {
                    self.taken_back(prompt, text, raw, out);
                }
            }
            (ClaudeCall::Interrupt | ClaudeCall::Set, Some(error)) => {
                if let Some(home) = &mut self.home {
                    home.wished.clear();
                }
                let text = format!("Claude Code refused {subtype}: {error}");
                self.notice(MAIN, NoticeLevel::Warning, text, Some(raw), out);
            }
            // An older one does not know its version, settings that others set, or how to take something back.
            (ClaudeCall::Version | ClaudeCall::Settle | ClaudeCall::TakeBack { .. }, Some(_))
            | (ClaudeCall::Interrupt | ClaudeCall::Set | ClaudeCall::Settle, None) => {}
        }
        Ok(())
    }

    fn greeted(&mut self, greeting: Greeting, raw: &Raw, out: &mut Output) {
        self.phase = Phase::Listening;
        let commands = greeting
            .commands
            .into_iter()
            .map(|command| SlashCommand { name: command.name, description: command.description });
        let commands: Vec<SlashCommand> = commands.filter(|command| !command.name.is_empty()).collect();
        if let Some(home) = self.home.as_mut().filter(|home| !home.ready) {
            // A conversation that is resumed goes on with the model that it had.
            let default = (!self.ledger.resumed).then_some("default");
            let wanted = home.model.as_deref().or(default);
            let offered = greeting.models.iter().find(|model| Some(model.value.as_str()) == wanted);
            home.model = offered.and_then(|model| model.resolved_model.clone()).or(home.model.take());
            Self::ready(home, raw, out);
        }
        self.list_commands(commands, out);
        let models: Vec<ModelInfo> = greeting.models.into_iter().map(model_info).collect();
        for (id, query) in std::mem::take(&mut self.queries) {
            let answer = match query {
                Query::Models { .. } => Ok(Answer::Models { models: models.clone() }),
                Query::Sessions { .. } | Query::Messages { .. } => {
                    Err("Claude Code keeps its conversations in files and lists them to nobody.".to_owned())
                }
                Query::Agents { .. }
                | Query::Git { .. }
                | Query::Past
                | Query::WorkTree { .. }
                | Query::RecordSize { .. }
                | Query::Folders { .. } => Err("this is not for an agent to answer".to_owned()),
            };
            out.answers.push((id, answer));
        }
        self.finish_if_idle(out);
    }

    fn ready(home: &mut HomeSession, raw: &Raw, out: &mut Output) {
        home.ready = true;
        let ready = Ready {
            native: Some(home.native.clone()),
            version: home.version.clone(),
            model: home.model.clone(),
            transcript: None,
        };
        out.say(home.session, Draft::new(Body::SessionReady(ready)).raw(raw.clone()));
    }

    fn list_commands(&mut self, commands: Vec<SlashCommand>, out: &mut Output) {
        if let Some(home) = self.home.as_mut().filter(|home| !home.listed && !commands.is_empty()) {
            home.listed = true;
            out.say(home.session, Draft::new(Body::CommandsListed { commands }));
        }
    }

    /// `system/init`: at the start of every turn it says what it is and how it works.
    pub(super) fn introduced(
        &mut self,
        line: &Line<'_>,
        said: System,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
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
            // It spoke before it answered, or was never asked.
            self.phase = Phase::Listening;
            Self::ready(home, raw, out);
        } else if renamed {
            // `/clear` begins another conversation, which is the one to resume from now on.
            self.ledger.emptied();
            Self::ready(home, raw, out);
        } else if changed {
            let model = home.model.clone().unwrap_or_default();
            out.say(home.session, Draft::new(Body::ModelChanged { model }).turn(turn));
        }
        let commands = said.slash_commands.into_iter();
        let commands = commands.map(|name| SlashCommand { name, description: String::new() });
        self.list_commands(commands.collect(), out);
        if let Some(mode) = said.permission_mode {
            self.mode_told(&mode, None, out);
        }
        self.turn_began(raw, cx, out);
    }

    /// It works in this mode: because it was told to, or because a person allowed it or the agent went there by itself.
    pub(super) fn mode_told(&mut self, native: &str, raw: Option<&Raw>, out: &mut Output) {
        let Some(home) = &mut self.home else { return };
        if let Some(at) = home.wished.iter().position(|wished| *wished == native) {
            home.wished.drain(..=at);
            return;
        }
        // What it says while a wish is on its way is of before.
        let news = mode_of(native).filter(|mode| home.wished.is_empty() && *mode != home.mode);
        let Some(mode) = news.filter(|_| native_mode(home.mode) != native) else { return };
        home.mode = mode;
        let turn = self.conversations.first().and_then(|conversation| conversation.turn);
        let draft = Draft::new(Body::ModeChanged { mode }).turn(turn);
        out.say(home.session, draft.raw(raw.cloned()));
    }

    /// It shall work in this mode.
    pub(super) fn set_mode(&mut self, mode: Mode, cx: &mut Context<'_>, out: &mut Output) {
        let Some(home) = &mut self.home else { return };
        home.mode = mode;
        home.wished.push_back(native_mode(mode));
        if home.wished.len() > WISHES {
            home.wished.pop_front();
        }
        let request = json!({"mode": native_mode(mode)});
        self.calls.send("set_permission_mode", request, ClaudeCall::Set, cx, out);
    }

    /// The process cannot be used at all.
    pub(super) fn refuse(&mut self, code: FaultCode, text: String, raw: Option<&Raw>, out: &mut Output) {
        if let Some(home) = &self.home {
            let draft = Draft::new(Body::SessionError(SessionFault { code })).text(text.clone());
            out.say(home.session, draft.raw(raw.cloned()));
        }
        for (id, _) in self.queries.drain(..) {
            out.answers.push((id, Err(text.clone())));
        }
        self.phase = Phase::Refused(text.clone());
        out.finished = Some(text);
    }

    /// Whether the session was never said to be ready.
    pub(super) fn is_opening(&self) -> bool {
        self.home.as_ref().is_some_and(|home| !home.ready)
    }

    /// The greeting was never answered. One that speaks all the same is heard.
    pub(super) fn not_greeted(&mut self, text: String, out: &mut Output) {
        if self.home.is_none() || self.is_opening() {
            self.refuse(FaultCode::Timeout, text, None, out);
        }
    }

    pub(super) fn ask(&mut self, id: QueryId, query: Query, cx: &mut Context<'_>, out: &mut Output) {
        match &self.phase {
            Phase::Refused(reason) => out.answers.push((id, Err(reason.clone()))),
            Phase::Silent | Phase::Greeting => {
                self.queries.push((id, query));
                self.greet(cx, out);
            }
            Phase::Listening => {
                // What it answered is not kept; it answers as often as it is asked.
                self.queries.push((id, query));
                self.calls.send(
                    "initialize",
                    json!({"forwardSubagentText": true}),
                    ClaudeCall::Greet,
                    cx,
                    out,
                );
            }
        }
    }

    /// A process that was started for questions alone has done its work once they are answered.
    fn finish_if_idle(&self, out: &mut Output) {
        if self.home.is_none() && self.queries.is_empty() {
            out.finished = Some("all questions are answered".to_owned());
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
