//! Replays a recording: a session of ours does what another client of the agent did.
//!
//! Each request of the recorded client becomes an input of the driver. The driver then makes the same request
//! in its own form and with its own id, and gets the recorded response with that id. A prompt waits for the
//! end of the turn before it, as in a session. Requests that our sessions do not make are left out. The
//! driver gets the responses to them as responses to no request, and keeps them.

mod client_messages;

use std::collections::{HashMap, VecDeque};
use std::iter;
use std::sync::Arc;

use longshore_model::anchor::{Launch, SessionsQuery, Start};
use longshore_model::approval::{ApprovalDecision, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Input, Output};
use longshore_model::event::{AgentName, Body, Draft, Raw};
use longshore_model::host_io::HostRequestId;
use longshore_model::id::{PromptId, QueryId, SessionId, TurnId};
use serde_json::{Value, json};

use super::{Acp, AcpRow, row};
use crate::capture::{Capture, CaptureEntry, DEFAULT_CWD, Direction, Harness, Player, ReplayStep, Waits};

/// Replays a recording through a driver.
pub fn replay(capture: &Capture) -> Vec<ReplayStep> {
    AcpPlayer::new(&capture.agent).hear(capture)
}

/// The row of the recorded agent: `gemini-0.61.0`.
pub fn recorded_row(agent: &str) -> AcpRow {
    let name = agent.rsplit_once('-').map_or(agent, |(name, _)| name);
    let known = row(name).or_else(|| row(&format!("{name}-acp")));
    known.cloned().unwrap_or_else(|| AcpRow::named(agent, agent))
}

/// Replays a recording for a driver.
#[derive(Debug)]
pub struct AcpPlayer {
    stand: Harness<Acp>,
    row: Arc<AcpRow>,
    /// The recorded request that opened the first session is still to come.
    opened_ahead: bool,
    /// Requests of the recorded client by their ids.
    theirs: HashMap<String, AcpRecordedRequest>,
    /// Requests of the driver without a response.
    ours: Vec<Ours>,
    /// The running turns.
    turns: HashMap<SessionId, TurnId>,
    /// Prompts that wait for the end of a running turn.
    waiting: HashMap<SessionId, VecDeque<String>>,
    /// Sessions whose turn has ended, and whose next turn has not begun.
    rested: Vec<SessionId>,
    /// The driver's requests to the host after the last line.
    host_requests: Vec<HostRequestId>,
    /// What the agent waits for, by the ids of its requests.
    asked: HashMap<String, (SessionId, Awaited)>,
}

/// A request of the recorded client.
#[derive(Debug)]
struct AcpRecordedRequest {
    method: String,
    native: Option<String>,
    /// Whether our session makes the same request.
    told: bool,
}

/// A request of the driver.
#[derive(Debug)]
struct Ours {
    id: i64,
    method: String,
    native: Option<String>,
}

/// What the agent waits for.
#[derive(Clone, Debug)]
enum Awaited {
    /// An answer of a person, with the options that the agent offered.
    Person(Waits, Value),
    /// A reply of the host, with the method of the agent's request.
    HostRequest(HostRequestId, String),
}

impl Player for AcpPlayer {
    type Driver = Acp;

    fn harness(&mut self) -> &mut Harness<Acp> {
        &mut self.stand
    }

    fn begins(&mut self, said: &Value) -> bool {
        // Recordings do not mark the start of a process. Only its first request shows it.
        !self.stand.is_started() || is_greeting(said)
    }

    /// Starts a process, and opens the first session that the recorded client opens in it.
    fn spawn(&mut self, entry: &CaptureEntry, ahead: &[CaptureEntry]) {
        self.stand.start(Acp::new(Arc::clone(&self.row)));
        self.theirs.clear();
        self.ours.clear();
        self.turns.clear();
        self.waiting.clear();
        self.asked.clear();
        let said: Vec<Value> = iter::once(entry)
            .chain(ahead)
            .filter(|entry| entry.dir == Direction::ToAgent)
            .filter_map(|entry| serde_json::from_str(entry.msg.get()).ok())
            .collect();
        let next = said.iter().skip(1).position(is_greeting);
        let said = &said[..next.map_or(said.len(), |next| next + 1)];
        let opening = said.iter().find(|said| is_opening(said["method"].as_str()));
        self.opened_ahead = opening.is_some();
        self.open(opening.unwrap_or(&Value::Null), ahead);
    }

    fn client_said(&mut self, said: &Value, ahead: &[CaptureEntry]) {
        let id = said["id"].to_string();
        let Some(method) = said["method"].as_str() else {
            if let Some((session, awaited)) = self.asked.remove(&id) {
                self.answer(session, awaited, said);
            }
            return;
        };
        let params = &said["params"];
        let native = params["sessionId"].as_str().map(str::to_owned);
        let session = native.as_ref().and_then(|native| self.stand.live.get(native)).copied();
        let mut recorded = AcpRecordedRequest { method: method.to_owned(), native, told: true };
        match (method, session) {
            ("initialize", _) => self.remember(id, recorded),
            (opening, _) if is_opening(Some(opening)) => {
                self.remember(id, recorded);
                if self.opened_ahead {
                    self.opened_ahead = false;
                } else {
                    self.open(said, ahead);
                }
            }
            ("session/prompt", Some(session)) => {
                self.remember(id, recorded);
                self.waiting
                    .entry(session)
                    .or_default()
                    .push_back(client_messages::text_of(&params["prompt"]));
                self.pump(session);
            }
            ("session/cancel", Some(session)) => {
                if let Some(turn) = self.turns.get(&session).copied() {
                    self.tell(session, AgentCommand::Interrupt { turn });
                }
            }
            ("session/list", _) => {
                self.remember(id, recorded);
                let query = SessionsQuery { agent: self.name(), cursor: None, limit: 50 }.into();
                let query_id = QueryId::mint(&mut self.stand.cx());
                self.feed(Input::Ask { id: query_id, query });
            }
            (method, Some(session)) => match client_messages::setting_of(&self.row, method, params) {
                Some(command) => {
                    self.remember(id, recorded);
                    self.tell(session, command);
                }
                None => {
                    recorded.told = false;
                    self.remember(id, recorded);
                }
            },
            (_, None) => {
                recorded.told = false;
                self.remember(id, recorded);
            }
        }
    }

    fn agent_said(&mut self, line: &str) {
        let original: Raw = Arc::from(line);
        let Ok(mut said) = serde_json::from_str::<Value>(line) else {
            return self.feed(Input::Line(original));
        };
        let is_answer = said.is_object() && said["method"].is_null() && !said["id"].is_null();
        if !is_answer {
            let before = self.stand.steps.len();
            self.host_requests.clear();
            self.feed(Input::Line(original));
            return self.note_asked(&said, before);
        }
        let recorded = self.theirs.remove(&said["id"].to_string());
        let ours = recorded.filter(|recorded| recorded.told).and_then(|of| {
            let kin = |ours: &Ours| {
                let alike = [sets, resumes].into_iter().any(|like| like(&ours.method) && like(&of.method));
                ours.method == of.method || alike
            };
            let named = |ours: &Ours| is_opening(Some(&of.method)) || ours.native == of.native;
            self.ours.iter().position(|ours| kin(ours) && named(ours))
        });
        let ours = ours.map(|at| self.ours.remove(at).id);
        // A response to no request must not look like a response to the driver's request.
        said["id"] = ours.map_or_else(|| json!(format!("recorded {}", said["id"])), Value::from);
        self.feed_in_our_words(&said, &original);
    }

    fn note(&mut self, out: &mut Output) {
        for (session, draft) in &out.said {
            self.note_turn(*session, draft);
        }
        for line in &out.lines {
            let said: Value = serde_json::from_str(line).unwrap_or_default();
            if let (Some(id), Some(method)) = (said["id"].as_i64(), said["method"].as_str()) {
                let native = said["params"]["sessionId"].as_str().map(str::to_owned);
                self.ours.push(Ours { id, method: method.to_owned(), native });
            }
        }
        self.host_requests.extend(out.host_requests.iter().map(|work| work.id));
    }

    fn go_on(&mut self) {
        for session in std::mem::take(&mut self.rested) {
            self.pump(session);
        }
    }

    fn waits(&mut self) -> bool {
        self.stand.waits() || !self.turns.is_empty()
    }
}

impl AcpPlayer {
    /// A player for recordings of this agent. It always makes the same ids.
    pub fn new(agent: &str) -> Self {
        Self {
            stand: Harness::default(),
            row: Arc::new(recorded_row(agent)),
            opened_ahead: false,
            theirs: HashMap::new(),
            ours: Vec::new(),
            turns: HashMap::new(),
            waiting: HashMap::new(),
            rested: Vec::new(),
            host_requests: Vec::new(),
            asked: HashMap::new(),
        }
    }

    /// The running turn of a session.
    pub fn turn(&self, session: SessionId) -> Option<TurnId> {
        self.turns.get(&session).copied()
    }

    fn name(&self) -> AgentName {
        Arc::from(self.row.name.as_ref())
    }

    fn open(&mut self, request: &Value, ahead: &[CaptureEntry]) {
        let params = &request["params"];
        let native = params["sessionId"].as_str().map(str::to_owned);
        let start = match (request["method"].as_str(), native.clone()) {
            (Some("session/load" | "session/resume"), Some(native)) => Start::Resume { native },
            (Some("session/fork"), Some(native)) => Start::Fork { native },
            (_, _) => Start::New,
        };
        let session = self.stand.session_for(&start);
        let launch = Launch {
            session,
            agent: self.name(),
            cwd: params["cwd"].as_str().unwrap_or(DEFAULT_CWD).to_owned(),
            mode: self.mode_ahead(&request["id"], ahead),
            model: None,
            effort: None,
            deepest: false,
            mcp_servers: Vec::new(),
            start,
        };
        self.feed(Input::Open(launch));
    }

    /// The mode that the agent will report, so that the driver does not set a mode that the recorded client
    /// did not set.
    fn mode_ahead(&self, id: &Value, ahead: &[CaptureEntry]) -> Mode {
        let answers = ahead.iter().filter(|entry| entry.dir == Direction::FromAgent);
        let answers = answers.filter_map(|entry| serde_json::from_str::<Value>(entry.msg.get()).ok());
        let mut opened = answers.filter(|said| said["id"] == *id && said["method"].is_null());
        opened.find_map(|said| client_messages::mode_of(&self.row, &said["result"])).unwrap_or(Mode::Ask)
    }

    fn remember(&mut self, id: String, recorded: AcpRecordedRequest) {
        self.theirs.insert(id, recorded);
    }

    /// Begins the next turn of a session if none runs.
    fn pump(&mut self, session: SessionId) {
        if self.turns.contains_key(&session) {
            return;
        }
        let next = self.waiting.get_mut(&session).and_then(VecDeque::pop_front);
        if let Some(text) = next {
            let turn = TurnId::mint(&mut self.stand.cx());
            let prompt = PromptId::mint(&mut self.stand.cx());
            self.turns.insert(session, turn);
            self.tell(session, AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() });
        }
    }

    /// Passes on the recorded client's answer to the agent. An answer that our sessions cannot give is left
    /// out.
    fn answer(&mut self, session: SessionId, awaited: Awaited, said: &Value) {
        let by = "recorded".to_owned();
        let result = &said["result"];
        match awaited {
            Awaited::Person(Waits::Approval(approval), options) => {
                if let Some(decision) = client_messages::decision_of(&self.row, result, &options) {
                    let decision = ApprovalDecision { decision, message: None, input: None, by };
                    self.tell(session, AgentCommand::Decide { approval, decision });
                }
            }
            Awaited::Person(Waits::Question(question), _) => {
                let (action, answers) = client_messages::answers_of(result);
                self.tell(
                    session,
                    AgentCommand::Answer { question, answer: QuestionAnswer { action, answers, by } },
                );
            }
            Awaited::HostRequest(id, method) => {
                self.feed(Input::WorkDone { id, result: client_messages::done_of(&method, said) });
            }
        }
    }

    fn note_asked(&mut self, said: &Value, before: usize) {
        let id = said["id"].to_string();
        for work in std::mem::take(&mut self.host_requests) {
            let method = said["method"].as_str().unwrap_or_default().to_owned();
            let session = self.stand.live.values().next().copied();
            if let Some(session) = session {
                self.asked.insert(id.clone(), (session, Awaited::HostRequest(work, method)));
            }
        }
        for (session, waits) in self.stand.asked_since(before) {
            let awaited = Awaited::Person(waits, said["params"]["options"].clone());
            self.asked.insert(id.clone(), (session, awaited));
        }
    }

    /// Notes the end of a turn.
    fn note_turn(&mut self, session: SessionId, draft: &Draft) {
        if matches!(draft.body, Body::TurnFinished(_)) && self.turns.get(&session).copied() == draft.turn {
            self.turns.remove(&session);
            self.rested.push(session);
        }
    }
}

/// Whether this is the first request to a process.
fn is_greeting(said: &Value) -> bool {
    said["method"] == "initialize" && said["id"] == 0
}

fn is_opening(method: Option<&str>) -> bool {
    matches!(method, Some("session/new" | "session/load" | "session/resume" | "session/fork"))
}

/// Whether a request opens an earlier conversation. The driver chooses one of the two methods.
fn resumes(method: &str) -> bool {
    matches!(method, "session/load" | "session/resume")
}

/// Whether a request changes a setting. The driver chooses one of the three methods.
fn sets(method: &str) -> bool {
    method.starts_with("session/set_")
}
