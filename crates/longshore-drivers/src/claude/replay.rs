//! Replays a recording: a session of ours does what another client of Claude Code did.
//!
//! Each action of the recorded client becomes an input of the driver. Each recorded response goes to the
//! driver's request of the same kind. The prompts keep their ids, and the session has the id of the recorded
//! conversation, so that the agent's lines fit without changes. Requests that our sessions do not make
//! (`mcp_status` and similar ones) are left out. The driver gets the responses to them as responses to no
//! request, and keeps them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Input, Output};
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{PromptId, SessionId, TurnId};
use serde_json::{Value, json};

use super::{Claude, name};
use crate::capture::{Capture, CaptureEntry, DEFAULT_CWD, Direction, Harness, Player, ReplayStep, Waits};

/// Replays a recording through a driver.
pub fn replay(capture: &Capture) -> Vec<ReplayStep> {
    ClaudePlayer::default().hear(capture)
}

/// Replays a recording for a driver.
#[derive(Debug, Default)]
pub struct ClaudePlayer {
    stand: Harness<Claude>,
    session: Option<SessionId>,
    /// The running turn of the session.
    turn: Option<TurnId>,
    /// Requests of the recorded client by their ids: the kind, and whether the driver makes the same request.
    theirs: HashMap<String, (String, bool)>,
    /// Requests of the driver without a response: id and kind.
    ours: Vec<(String, String)>,
    /// Approvals and questions for which the agent waits, by the ids of its requests, with the arguments of
    /// the tool.
    asked: HashMap<String, (SessionId, Waits, Value)>,
}

impl Player for ClaudePlayer {
    type Driver = Claude;

    fn harness(&mut self) -> &mut Harness<Claude> {
        &mut self.stand
    }

    fn live(&mut self) -> Vec<SessionId> {
        self.session.into_iter().collect()
    }

    fn spawn(&mut self, entry: &CaptureEntry, ahead: &[CaptureEntry]) {
        self.stand.start(Claude::new());
        self.turn = None;
        self.theirs.clear();
        self.ours.clear();
        self.asked.clear();
        let spawn = entry.spawn();
        let words: Vec<&str> =
            spawn["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let after = |flag: &str| {
            let at = words.iter().position(|word| *word == flag)?;
            words.get(at + 1).map(|word| (*word).to_owned())
        };
        let start = match after("--resume") {
            Some(native) if words.contains(&"--fork-session") => Start::Fork { native },
            Some(native) => Start::Resume { native },
            None => Start::New,
        };
        let process = ahead.iter().take_while(|entry| entry.dir != Direction::Spawn);
        let called = process.filter(|entry| entry.dir == Direction::FromAgent).find_map(|entry| {
            let said: Value = serde_json::from_str(entry.msg.get()).ok()?;
            said["session_id"].as_str()?.parse::<SessionId>().ok()
        });
        let session = self.session.or(called).unwrap_or_else(|| SessionId::mint(&mut self.stand.cx()));
        self.session = Some(session);
        let mode = match after("--permission-mode").as_deref() {
            _ if words.contains(&"--dangerously-skip-permissions") => Mode::Full,
            Some("plan") => Mode::Plan,
            Some("acceptEdits") => Mode::AutoEdit,
            Some(_) | None => Mode::Ask,
        };
        let launch = Launch {
            session,
            agent: name(),
            cwd: spawn["cwd"].as_str().unwrap_or(DEFAULT_CWD).to_owned(),
            mode,
            model: after("--model"),
            effort: None,
            deepest: false,
            mcp_servers: Vec::new(),
            start,
        };
        self.feed(Input::Open(launch));
    }

    fn client_said(&mut self, said: &Value, _ahead: &[CaptureEntry]) {
        let Some(session) = self.session else { return };
        match said["type"].as_str() {
            Some("user") => {
                let named = said["uuid"].as_str().and_then(|uuid| uuid.parse::<PromptId>().ok());
                let prompt = named.unwrap_or_else(|| PromptId::mint(&mut self.stand.cx()));
                let text = text_of(&said["message"]["content"]);
                let attachments = Vec::new();
                let command = match self.turn {
                    Some(turn) => AgentCommand::Steer { turn, prompt, text, attachments },
                    None => {
                        let turn = TurnId::mint(&mut self.stand.cx());
                        self.turn = Some(turn);
                        AgentCommand::Prompt { turn, prompt, text, attachments }
                    }
                };
                self.tell(session, command);
            }
            Some("control_request") => {
                let request = &said["request"];
                let subtype = request["subtype"].as_str().unwrap_or_default().to_owned();
                let command = self.command_for(&subtype, request);
                // The driver sends these requests by itself: it initializes, and it cancels unread messages
                // when it gets an interrupt.
                let told = command.is_some()
                    || matches!(
                        subtype.as_str(),
                        "initialize" | "get_binary_version" | "cancel_async_message"
                    );
                if let Some(id) = said["request_id"].as_str() {
                    self.theirs.insert(id.to_owned(), (subtype, told));
                }
                if let Some(command) = command {
                    self.tell(session, command);
                }
            }
            Some("control_response") => {
                let response = &said["response"];
                let id = response["request_id"].as_str().unwrap_or_default();
                if let Some((session, waits, input)) = self.asked.remove(id) {
                    self.answer(session, waits, &input, &response["response"]);
                }
            }
            Some(_) | None => {}
        }
    }

    fn agent_said(&mut self, line: &str) {
        let original: Raw = Arc::from(line);
        let Ok(mut said) = serde_json::from_str::<Value>(line) else {
            return self.feed(Input::Line(original));
        };
        let id = said["response"]["request_id"].as_str().map(str::to_owned);
        if let (true, Some(id)) = (said["type"] == "control_response", id) {
            let recorded = self.theirs.remove(&id).filter(|(_, told)| *told);
            let ours = recorded.and_then(|(subtype, _)| self.ours.iter().position(|(_, of)| *of == subtype));
            // A response to no request must not look like a response to the driver's request.
            let name = ours.map_or_else(|| format!("recorded {id}"), |at| self.ours.remove(at).0);
            said["response"]["request_id"] = json!(name);
            return self.feed_in_our_words(&said, &original);
        }
        let before = self.stand.steps.len();
        self.feed(Input::Line(original));
        if let (true, Some(id)) = (said["type"] == "control_request", said["request_id"].as_str()) {
            let input = &said["request"]["input"];
            let asked = self.stand.asked_since(before);
            self.asked.extend(asked.map(|(session, waits)| (id.to_owned(), (session, waits, input.clone()))));
        }
    }

    fn note(&mut self, out: &mut Output) {
        for (session, draft) in &out.said {
            self.note_turn(*session, draft);
        }
        for line in &out.lines {
            let said: Value = serde_json::from_str(line).unwrap_or_default();
            if let (Some(id), Some(subtype)) =
                (said["request_id"].as_str(), said["request"]["subtype"].as_str())
            {
                self.ours.push((id.to_owned(), subtype.to_owned()));
            }
        }
    }
}

impl ClaudePlayer {
    fn command_for(&self, subtype: &str, request: &Value) -> Option<AgentCommand> {
        match subtype {
            "interrupt" => self.turn.map(|turn| AgentCommand::Interrupt { turn }),
            "set_model" => request["model"].as_str().map(|model| AgentCommand::SetModel(model.to_owned())),
            "set_permission_mode" => Some(AgentCommand::SetMode(match request["mode"].as_str()? {
                "plan" => Mode::Plan,
                "default" => Mode::Ask,
                "acceptEdits" => Mode::AutoEdit,
                _ => return None,
            })),
            _ => None,
        }
    }

    /// Passes on the recorded client's answer. An answer that our sessions cannot give is left out.
    fn answer(&mut self, session: SessionId, waits: Waits, input: &Value, response: &Value) {
        let by = "recorded".to_owned();
        let allowed = match response["behavior"].as_str() {
            Some("allow") if response["updatedInput"].is_object() => true,
            Some("deny") => false,
            Some(_) | None => return,
        };
        match waits {
            Waits::Approval(approval) => {
                let lasts = response["updatedPermissions"].as_array().is_some_and(|rules| !rules.is_empty());
                let decision = match allowed {
                    true if lasts => Decision::AllowSession,
                    true => Decision::AllowOnce,
                    false if response["interrupt"] == true => Decision::Cancel,
                    false => Decision::Deny,
                };
                let changed = Some(&response["updatedInput"]).filter(|said| allowed && *said != input);
                let message = response["message"].as_str().map(str::to_owned);
                let decision = ApprovalDecision { decision, message, input: changed.cloned(), by };
                self.tell(session, AgentCommand::Decide { approval, decision });
            }
            Waits::Question(question) => {
                let given = response["updatedInput"]["answers"].as_object().into_iter().flatten();
                let answers: BTreeMap<String, Value> =
                    given.map(|(field, value)| (field.clone(), value.clone())).collect();
                let action = if allowed { AnswerAction::Accept } else { AnswerAction::Decline };
                let answer = QuestionAnswer { action, answers, by };
                self.tell(session, AgentCommand::Answer { question, answer });
            }
        }
    }

    fn note_turn(&mut self, session: SessionId, draft: &Draft) {
        if Some(session) != self.session {
            return;
        }
        if matches!(draft.body, Body::TurnStarted { .. }) {
            self.turn = draft.turn;
        } else if matches!(draft.body, Body::TurnFinished(_)) && self.turn == draft.turn {
            self.turn = None;
        }
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
