//! Replays a recording: a session of ours does what another client of OpenCode did.
//!
//! Each request of the recorded client becomes an input of the driver. The driver then makes the same request
//! in its own form, and gets the recorded response. Requests that our sessions do not make (`GET /agent` and
//! similar ones) are left out. The driver gets the responses to them as responses to no request, and keeps
//! them.
//!
//! In a recording, a request is `{"method","path","body"}` and a response is
//! `{"method","path","status","body"}`. Everything else from OpenCode is an event.

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Http, Input, Output, Request, Response};
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{ApprovalId, PromptId, QuestionId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::{OpenCode, name};
use crate::capture::{Capture, CaptureEntry, DEFAULT_CWD, Direction, Harness, Player, ReplayStep, Waits};

/// How long the transport waits for a response.
const ANSWER_WITHIN_MS: i64 = 60_000;

/// Replays a recording through a driver.
pub fn replay(capture: &Capture) -> Vec<ReplayStep> {
    OpenCodePlayer::default().hear(capture)
}

/// Replays a recording for a driver.
#[derive(Debug, Default)]
pub struct OpenCodePlayer {
    stand: Harness<OpenCode>,
    /// The recorded request that opened the first session is still to come.
    opened_ahead: bool,
    /// Requests of the driver without a response, and when the driver made them.
    ours: Vec<(Timestamp, Request)>,
    /// The last turn of each session, and whether the turn runs.
    turns: HashMap<SessionId, (TurnId, bool)>,
    /// Approvals and questions for which OpenCode waits, by the ids of its requests.
    approvals: HashMap<String, (SessionId, ApprovalId)>,
    questions: HashMap<String, (SessionId, QuestionId)>,
}

impl Player for OpenCodePlayer {
    type Driver = OpenCode;

    fn harness(&mut self) -> &mut Harness<OpenCode> {
        &mut self.stand
    }

    /// Starts a process, and opens the first session that the recorded client opens in it.
    fn spawn(&mut self, entry: &CaptureEntry, ahead: &[CaptureEntry]) {
        self.stand.start(OpenCode::new());
        self.ours.clear();
        self.feed(Input::Http(Http::Connected));
        let process = ahead.iter().take_while(|entry| entry.dir != Direction::Spawn);
        let first = iter::once(entry)
            .chain(process)
            .filter(|entry| entry.dir == Direction::ToAgent)
            .filter_map(|entry| serde_json::from_str::<Value>(entry.msg.get()).ok())
            .find(|said| said["method"] == "POST" && path_of(said) == "/session");
        self.opened_ahead = first.is_some();
        self.open(Start::New);
    }

    fn client_said(&mut self, said: &Value, _ahead: &[CaptureEntry]) {
        let (method, path, body) =
            (said["method"].as_str().unwrap_or_default(), path_of(said), &said["body"]);
        let words: Vec<&str> = path.split('/').skip(1).collect();
        match (method, words.as_slice()) {
            ("POST", ["session"]) => match std::mem::take(&mut self.opened_ahead) {
                true => {}
                false => drop(self.open(Start::New)),
            },
            ("POST", ["session", native, "fork"]) => {
                self.open(Start::Fork { native: (*native).to_owned() });
            }
            ("POST", ["session", native, "prompt_async" | "message"]) => self.prompt(native, body),
            ("POST", ["session", native, "abort"]) => {
                if let Some((session, turn)) = self.running(native) {
                    self.tell(session, AgentCommand::Interrupt { turn });
                }
            }
            ("POST", ["permission", id, "reply"]) => self.decide(id, &body["reply"], &body["message"]),
            ("POST", ["session", _, "permissions", id]) => self.decide(id, &body["response"], &Value::Null),
            ("POST", ["question", id, word @ ("reply" | "reject")]) => self.answer(id, word, body),
            ("PATCH", ["session", native]) => {
                let Some(session) = self.stand.live.get(*native).copied() else { return };
                if let Some(title) = body["title"].as_str() {
                    self.tell(session, AgentCommand::Rename(title.to_owned()));
                } else if !body["permission"].is_null() {
                    self.tell(session, AgentCommand::SetMode(Mode::Ask));
                } else if let Some(archived) = body["time"]["archived"].as_i64() {
                    self.tell(session, AgentCommand::Archive(archived > 0));
                }
            }
            (_, _) => {}
        }
    }

    fn agent_said(&mut self, line: &str) {
        let original: Raw = Arc::from(line);
        let said: Value = serde_json::from_str(line).unwrap_or_default();
        let status = said["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let (Some(status), Some(method)) = (status, said["method"].as_str()) else {
            let before = self.stand.steps.len();
            self.feed(Input::Http(Http::Event(original)));
            return self.note_asked(&said, before);
        };
        let path = path_of(&said);
        let ours =
            self.ours.iter().position(|(_, ours)| ours.method.as_str() == method && is_path(ours, &path));
        // A response to no request must not look like a response to the driver's request.
        let id = ours.map_or(u64::MAX, |at| self.ours.remove(at).1.id);
        let body = match said["body"]["_raw"].as_str() {
            Some(text) => Raw::from(text),
            None => Raw::from(said["body"].to_string()),
        };
        let result = Ok(Response { status, body });
        // The recorded line stays the raw line of the resulting events.
        self.feed_as(Input::Http(Http::Response { id, result }), |_| Some(original.clone()));
    }

    fn note(&mut self, out: &mut Output) {
        for (session, draft) in &out.said {
            self.note_turn(*session, draft);
        }
        for request in out.requests.drain(..) {
            let body: Value =
                request.body.as_deref().map(serde_json::from_str).and_then(Result::ok).unwrap_or_default();
            let path = request.path.split("directory=").next().unwrap_or_default();
            let method = format!("{} {}", request.method.as_str(), path.trim_end_matches(['?', '&']));
            out.lines.push(json!({"method": method, "params": body}).to_string());
            self.ours.push((self.stand.now, request));
        }
        for (session, _) in &out.ended {
            self.turns.remove(session);
        }
    }

    /// Lets time pass. Meanwhile OpenCode reports that all sessions are idle, and answers nothing else.
    fn wait(&mut self, seconds: f64) {
        let until = self.stand.now.plus_millis((seconds * 1_000.0) as i64);
        // Every round ends at least one wait, and there are few waits.
        for _ in 0..1_000 {
            if let Some((sent, _)) = self.ours.first().cloned() {
                let (_, request) = self.ours.remove(0);
                let idle = request.path.starts_with("/session/status");
                let result = match idle {
                    true => Ok(Response { status: 200, body: "{}".into() }),
                    false => {
                        self.stand.now = self.stand.now.max(sent.plus_millis(ANSWER_WITHIN_MS));
                        Err("no answer".to_owned())
                    }
                };
                self.feed(Input::Http(Http::Response { id: request.id, result }));
                continue;
            }
            if !self.stand.is_due(until) {
                break;
            }
            self.feed(Input::Tick);
        }
        self.stand.now = self.stand.now.max(until);
    }

    fn waits(&mut self) -> bool {
        self.stand.waits() || !self.ours.is_empty() || self.turns.values().any(|(_, runs)| *runs)
    }
}

impl OpenCodePlayer {
    /// Breaks the stream of events and opens it again.
    pub fn reconnect(&mut self) {
        self.feed(Input::Http(Http::Disconnected));
        self.feed(Input::Http(Http::Connected));
    }

    fn open(&mut self, start: Start) -> SessionId {
        let session = SessionId::mint(&mut self.stand.cx());
        let launch = Launch {
            session,
            agent: name(),
            cwd: DEFAULT_CWD.to_owned(),
            mode: Mode::Ask,
            model: None,
            effort: None,
            deepest: false,
            mcp_servers: Vec::new(),
            start,
        };
        self.feed(Input::Open(launch));
        session
    }

    fn prompt(&mut self, native: &str, body: &Value) {
        let texts = body["parts"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        let text = texts.collect::<Vec<_>>().join("\n");
        let session = match self.stand.live.get(native) {
            Some(session) => *session,
            None => self.resume(native),
        };
        let prompt = PromptId::mint(&mut self.stand.cx());
        let attachments = Vec::new();
        let command = match self.turns.get(&session) {
            Some((turn, true)) => AgentCommand::Steer { turn: *turn, prompt, text, attachments },
            Some((_, false)) | None => {
                let turn = TurnId::mint(&mut self.stand.cx());
                self.turns.insert(session, (turn, true));
                AgentCommand::Prompt { turn, prompt, text, attachments }
            }
        };
        self.tell(session, command);
    }

    /// Resumes a conversation of an earlier process. The recorded client continued it without a request for
    /// it.
    fn resume(&mut self, native: &str) -> SessionId {
        let session = self.open(Start::Resume { native: native.to_owned() });
        let there = self.ours.iter().position(|(_, request)| is_path(request, &format!("/session/{native}")));
        if let Some(at) = there {
            let (_, request) = self.ours.remove(at);
            let body = json!({"id": native, "directory": DEFAULT_CWD}).to_string().into();
            let result = Ok(Response { status: 200, body });
            self.feed(Input::Http(Http::Response { id: request.id, result }));
        }
        session
    }

    fn running(&self, native: &str) -> Option<(SessionId, TurnId)> {
        let session = *self.stand.live.get(native)?;
        let (turn, runs) = *self.turns.get(&session)?;
        runs.then_some((session, turn))
    }

    fn decide(&mut self, id: &str, reply: &Value, message: &Value) {
        let Some((session, approval)) = self.approvals.remove(id) else { return };
        let message = message.as_str().map(str::to_owned);
        let decision = match (reply.as_str(), &message) {
            (Some("once"), _) => Decision::AllowOnce,
            (Some("always"), _) => Decision::AllowAlways,
            (Some("reject"), Some(_)) => Decision::Deny,
            (Some("reject"), None) => Decision::Cancel,
            (Some(_) | None, _) => return,
        };
        let decision = ApprovalDecision { decision, message, input: None, by: "recorded".to_owned() };
        self.tell(session, AgentCommand::Decide { approval, decision });
    }

    fn answer(&mut self, id: &str, word: &str, body: &Value) {
        let Some((session, question)) = self.questions.remove(id) else { return };
        let action = if word == "reply" { AnswerAction::Accept } else { AnswerAction::Cancel };
        let mut answers = BTreeMap::new();
        for (at, labels) in body["answers"].as_array().into_iter().flatten().enumerate() {
            let label = match labels.as_array().map(Vec::as_slice) {
                Some([only]) => only.clone(),
                Some(_) | None => labels.clone(),
            };
            answers.insert((at + 1).to_string(), label);
        }
        let answer = QuestionAnswer { action, answers, by: "recorded".to_owned() };
        self.tell(session, AgentCommand::Answer { question, answer });
    }

    fn note_asked(&mut self, said: &Value, before: usize) {
        let event = if said["payload"].is_object() { &said["payload"] } else { said };
        let Some(id) = event["properties"]["id"].as_str() else { return };
        for (session, waits) in self.stand.asked_since(before) {
            match waits {
                Waits::Approval(approval) => drop(self.approvals.insert(id.to_owned(), (session, approval))),
                Waits::Question(question) => drop(self.questions.insert(id.to_owned(), (session, question))),
            }
        }
    }

    fn note_turn(&mut self, session: SessionId, draft: &Draft) {
        if let (Body::TurnStarted { .. }, Some(turn)) = (&draft.body, draft.turn) {
            self.turns.insert(session, (turn, true));
        } else if let (Body::TurnFinished(_), Some(turn)) = (&draft.body, draft.turn)
            && let Some(last) = self.turns.get_mut(&session).filter(|last| last.0 == turn)
        {
            last.1 = false;
        }
    }
}

fn path_of(said: &Value) -> String {
    said["path"].as_str().unwrap_or_default().split('?').next().unwrap_or_default().to_owned()
}

/// Whether a request of the driver has this path, or an equivalent path.
fn is_path(request: &Request, path: &str) -> bool {
    let ours = request.path.split('?').next().unwrap_or_default();
    let words: Vec<&str> = path.split('/').skip(1).collect();
    match words.as_slice() {
        ["session", native, "message"] if request.body.is_some() => {
            ours == format!("/session/{native}/prompt_async")
        }
        ["session", _, "permissions", id] => ours == format!("/permission/{id}/reply"),
        _ => ours == path,
    }
}
