//! A recording, heard again: what another client of the agent did, as a session of ours would have done it.
//!
//! What that client asked for becomes what a session tells its driver, so that the driver makes the same request in
//! its own words and under its own number; the recorded answer is then handed to it under that number. Prompts wait
//! for the turn before them, as they do in a session. Requests that no session of ours makes are left out, and their
//! answers come to the driver as answers to nothing, which it keeps.

mod words;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use longshore_model::anchor::{Launch, Query, Start};
use longshore_model::approval::{ApprovalDecision, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{AgentName, Body, Draft, Raw};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, QuestionId, SessionId, TurnId};
use longshore_model::lifecycle::Ready;
use longshore_model::time::Timestamp;
use longshore_model::work::WorkId;
use serde_json::{Value, json};

use super::{Acp, Row, row};
use crate::capture::{Capture, Direction, Entry, Step};

/// When recordings begin: a moment like any other, so that the same recording always gives the same events.
const BEGINNING: i64 = 1_794_768_000_000_000;
/// The work tree of recordings that name none.
const SOMEWHERE: &str = "/home/dev/project";

/// Has a driver hear a recording.
pub fn replay(capture: &Capture) -> Vec<Step> {
    let mut player = Player::new(&capture.agent);
    for (at, entry) in capture.entries.iter().enumerate() {
        player.play(entry, &capture.entries[at + 1..]);
    }
    player.steps
}

/// The row of the agent that was recorded: `gemini-0.61.0`.
pub fn recorded_row(agent: &str) -> Row {
    let name = agent.rsplit_once('-').map_or(agent, |(name, _)| name);
    let known = row(name).or_else(|| row(&format!("{name}-acp")));
    known.cloned().unwrap_or_else(|| Row::named(agent, agent))
}

/// Whoever sits between a recording and a driver.
#[derive(Debug)]
pub struct Player {
    /// All that has happened so far.
    pub steps: Vec<Step>,
    row: Arc<Row>,
    driver: Option<Acp>,
    ids: Ids,
    now: Timestamp,
    /// What is added to the times of the recording, which begin anew with every process.
    shift: f64,
    last_t: f64,
    /// The request that the first session was opened for is still to come.
    opened_ahead: bool,
    /// Requests of the recorded client, by its numbers.
    theirs: HashMap<String, Recorded>,
    /// Requests of the driver that have no answer yet.
    ours: Vec<Ours>,
    /// Conversations that are sessions, in any process.
    sessions: HashMap<String, SessionId>,
    /// Conversations that are sessions in this process.
    live: HashMap<String, SessionId>,
    /// Turns that run.
    turns: HashMap<SessionId, TurnId>,
    /// Prompts that wait for them.
    waiting: HashMap<SessionId, VecDeque<String>>,
    /// What the agent waits for, by its numbers.
    asked: HashMap<String, (SessionId, Waits)>,
}

/// A request of the recorded client.
#[derive(Debug)]
struct Recorded {
    method: String,
    native: Option<String>,
    /// Whether a session of ours makes the same.
    told: bool,
}

/// A request of the driver.
#[derive(Debug)]
struct Ours {
    id: i64,
    method: String,
    native: Option<String>,
}

#[derive(Clone, Debug)]
enum Waits {
    Approval(ApprovalId, Value),
    Question(QuestionId),
    Work(WorkId, String),
}

impl Player {
    /// One that plays recordings of this agent. It always makes the same ids.
    pub fn new(agent: &str) -> Self {
        Self {
            steps: Vec::new(),
            row: Arc::new(recorded_row(agent)),
            driver: None,
            ids: Ids::seeded(1),
            now: Timestamp::from_micros(BEGINNING),
            shift: 0.0,
            last_t: 0.0,
            opened_ahead: false,
            theirs: HashMap::new(),
            ours: Vec::new(),
            sessions: HashMap::new(),
            live: HashMap::new(),
            turns: HashMap::new(),
            waiting: HashMap::new(),
            asked: HashMap::new(),
        }
    }

    /// One entry of a recording. What follows it is looked at only to see what a process is started for.
    pub fn play(&mut self, entry: &Entry, ahead: &[Entry]) {
        self.pass_to(entry.t);
        match entry.dir {
            Direction::Spawn => self.spawn(Some(entry), ahead),
            Direction::ToAgent => {
                let said = serde_json::from_str::<Value>(entry.msg.get()).unwrap_or_default();
                // Recordings do not say where a process begins, except by its first words.
                if self.driver.is_none() || (said["method"] == "initialize" && said["id"] == 0) {
                    self.spawn(Some(entry), ahead);
                }
                self.client_said(&said, ahead);
            }
            Direction::FromAgent => {
                if self.driver.is_none() {
                    self.spawn(Some(entry), ahead);
                }
                self.agent_said(&entry.line());
            }
            Direction::Stderr | Direction::Exit | Direction::Note => {}
        }
    }

    /// Lets time pass: at each deadline of the driver it is told so.
    pub fn wait(&mut self, seconds: f64) {
        let until = self.now.plus_millis((seconds * 1_000.0) as i64);
        self.tick_until(until);
        self.now = until;
    }

    /// A session tells its agent something.
    pub fn tell(&mut self, session: SessionId, command: AgentCommand) {
        self.steps.push(Step::Told { session, command: command.clone() });
        self.feed(Input::Tell { session, command }, None);
    }

    /// Whether the driver waits for something that has a deadline.
    pub fn waits(&self) -> bool {
        self.driver.as_ref().is_some_and(|driver| driver.deadline().is_some())
    }

    /// The sessions of this process, by their names.
    pub fn live(&self) -> impl Iterator<Item = (&str, SessionId)> {
        self.live.iter().map(|(native, session)| (native.as_str(), *session))
    }

    /// The turn of a session that runs.
    pub fn turn(&self, session: SessionId) -> Option<TurnId> {
        self.turns.get(&session).copied()
    }

    fn name(&self) -> AgentName {
        Arc::from(self.row.name.as_ref())
    }

    fn pass_to(&mut self, t: f64) {
        if t < self.last_t {
            self.shift += self.last_t;
        }
        self.last_t = t;
        let micros = ((self.shift + t) * 1_000_000.0) as i64;
        let until = Timestamp::from_micros(BEGINNING.saturating_add(micros)).max(self.now);
        self.tick_until(until);
        self.now = until;
    }

    fn tick_until(&mut self, until: Timestamp) {
        // Every tick ends at least one wait, of which there are not many.
        for _ in 0..1_000 {
            let due = self.driver.as_ref().and_then(Driver::deadline);
            let Some(due) = due.filter(|due| *due <= until) else { return };
            self.now = self.now.max(due);
            self.feed(Input::Tick, None);
        }
    }

    /// A process starts, for the first session that the recorded client asks it for.
    fn spawn(&mut self, entry: Option<&Entry>, ahead: &[Entry]) {
        self.driver = Some(Acp::new(Arc::clone(&self.row)));
        self.theirs.clear();
        self.ours.clear();
        self.live.clear();
        self.turns.clear();
        self.waiting.clear();
        self.asked.clear();
        let said: Vec<Value> = entry
            .into_iter()
            .chain(ahead)
            .filter(|entry| entry.dir == Direction::ToAgent)
            .filter_map(|entry| serde_json::from_str(entry.msg.get()).ok())
            .collect();
        let next = said.iter().skip(1).position(|said| said["method"] == "initialize" && said["id"] == 0);
        let said = &said[..next.map_or(said.len(), |next| next + 1)];
        let opening = said.iter().find(|said| is_opening(said["method"].as_str()));
        self.opened_ahead = opening.is_some();
        self.open(opening.unwrap_or(&Value::Null), ahead);
    }

    fn open(&mut self, request: &Value, ahead: &[Entry]) {
        let params = &request["params"];
        let native = params["sessionId"].as_str().map(str::to_owned);
        let start = match (request["method"].as_str(), native.clone()) {
            (Some("session/load" | "session/resume"), Some(native)) => Start::Resume { native },
            (Some("session/fork"), Some(native)) => Start::Fork { native },
            (_, _) => Start::New,
        };
        let known = match &start {
            Start::Resume { native } => self.sessions.get(native).copied(),
            Start::New | Start::Told { .. } | Start::Fork { .. } => None,
        };
        let session = known.unwrap_or_else(|| SessionId(self.ids.next(self.now)));
        let launch = Launch {
            session,
            agent: self.name(),
            cwd: params["cwd"].as_str().unwrap_or(SOMEWHERE).to_owned(),
            mode: self.mode_ahead(&request["id"], ahead),
            model: None,
            mcp_servers: Vec::new(),
            start,
        };
        self.feed(Input::Open(launch), None);
    }

    /// The mode that the agent will turn out to be in, so that nothing has to be set that nobody set.
    fn mode_ahead(&self, id: &Value, ahead: &[Entry]) -> Mode {
        let answers = ahead.iter().filter(|entry| entry.dir == Direction::FromAgent);
        let answers = answers.filter_map(|entry| serde_json::from_str::<Value>(entry.msg.get()).ok());
        let mut opened = answers.filter(|said| said["id"] == *id && said["method"].is_null());
        opened.find_map(|said| words::mode_of(&self.row, &said["result"])).unwrap_or(Mode::Ask)
    }

    /// The recorded client said something: what would a session of ours have done?
    fn client_said(&mut self, said: &Value, ahead: &[Entry]) {
        let id = said["id"].to_string();
        let Some(method) = said["method"].as_str() else {
            if let Some((session, waits)) = self.asked.remove(&id) {
                self.answer(session, waits, said);
            }
            return;
        };
        let params = &said["params"];
        let native = params["sessionId"].as_str().map(str::to_owned);
        let session = native.as_ref().and_then(|native| self.live.get(native)).copied();
        let mut recorded = Recorded { method: method.to_owned(), native, told: true };
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
                self.waiting.entry(session).or_default().push_back(words::text_of(&params["prompt"]));
                self.pump(session);
            }
            ("session/cancel", Some(session)) => {
                if let Some(turn) = self.turns.get(&session).copied() {
                    self.tell(session, AgentCommand::Interrupt { turn });
                }
            }
            ("session/list", _) => {
                self.remember(id, recorded);
                let query = Query::Sessions { agent: self.name(), cursor: None, limit: 50 };
                let query_id = QueryId(self.ids.next(self.now));
                self.feed(Input::Ask { id: query_id, query }, None);
            }
            (method, Some(session)) => match words::setting_of(&self.row, method, params) {
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

    fn remember(&mut self, id: String, recorded: Recorded) {
        self.theirs.insert(id, recorded);
    }

    /// Begins the next turn of a session if none runs.
    fn pump(&mut self, session: SessionId) {
        if self.turns.contains_key(&session) {
            return;
        }
        let next = self.waiting.get_mut(&session).and_then(VecDeque::pop_front);
        if let Some(text) = next {
            let turn = TurnId(self.ids.next(self.now));
            let prompt = PromptId(self.ids.next(self.now));
            self.turns.insert(session, turn);
            self.tell(session, AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() });
        }
    }

    /// The recorded client answered the agent; an answer that no session of ours could give is left out.
    fn answer(&mut self, session: SessionId, waits: Waits, said: &Value) {
        let by = "recorded".to_owned();
        let result = &said["result"];
        match waits {
            Waits::Approval(approval, options) => {
                if let Some(decision) = words::decision_of(&self.row, result, &options) {
                    let decision = ApprovalDecision { decision, message: None, input: None, by };
                    self.tell(session, AgentCommand::Decide { approval, decision });
                }
            }
            Waits::Question(question) => {
                let (action, answers) = words::answers_of(result);
                self.tell(
                    session,
                    AgentCommand::Answer { question, answer: QuestionAnswer { action, answers, by } },
                );
            }
            Waits::Work(id, method) => {
                self.feed(Input::WorkDone { id, result: words::done_of(&method, said) }, None);
            }
        }
    }

    /// A line of the agent. An answer is given to the request of the driver that it belongs to.
    fn agent_said(&mut self, line: &str) {
        let original: Raw = Arc::from(line);
        let Ok(mut said) = serde_json::from_str::<Value>(line) else {
            return self.feed(Input::Line(original), None);
        };
        let is_answer = said.is_object() && said["method"].is_null() && !said["id"].is_null();
        if !is_answer {
            let before = self.steps.len();
            let works = self.feed_line(original);
            self.note_asked(&said, before, works);
            return;
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
        // An answer to nothing must not look like one to a request of the driver.
        said["id"] = ours.map_or_else(|| json!(format!("recorded {}", said["id"])), Value::from);
        let told: Raw = Arc::from(said.to_string());
        self.feed(Input::Line(told.clone()), Some((told, original)));
    }

    fn feed_line(&mut self, line: Raw) -> Vec<WorkId> {
        self.feed_and_see(Input::Line(line), None)
    }

    fn note_asked(&mut self, said: &Value, before: usize, works: Vec<WorkId>) {
        let id = said["id"].to_string();
        for work in works {
            let method = said["method"].as_str().unwrap_or_default().to_owned();
            let session = self.live.values().next().copied();
            if let Some(session) = session {
                self.asked.insert(id.clone(), (session, Waits::Work(work, method)));
            }
        }
        for step in self.steps.get(before..).unwrap_or_default() {
            let Step::Said { session, draft } = step else { continue };
            if let Body::ApprovalRequested(request) = &draft.body {
                let options = said["params"]["options"].clone();
                self.asked.insert(id.clone(), (*session, Waits::Approval(request.approval, options)));
            } else if let Body::QuestionAsked(request) = &draft.body {
                self.asked.insert(id.clone(), (*session, Waits::Question(request.question)));
            }
        }
    }

    fn feed(&mut self, input: Input, renamed: Option<(Raw, Raw)>) {
        self.feed_and_see(input, renamed);
    }

    /// Has the driver do something, and takes down what comes of it. What it wants done is said.
    fn feed_and_see(&mut self, input: Input, renamed: Option<(Raw, Raw)>) -> Vec<WorkId> {
        let Some(driver) = &mut self.driver else { return Vec::new() };
        let mut out = Output::default();
        driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        let mut rested = Vec::new();
        for (session, mut draft) in out.said {
            if let Some((told, original)) = &renamed
                && draft.raw.as_ref() == Some(told)
            {
                draft.raw = Some(original.clone());
            }
            if self.note(session, &draft) {
                rested.push(session);
            }
            self.steps.push(Step::Said { session, draft: Box::new(draft) });
        }
        for line in out.lines {
            let said: Value = serde_json::from_str(&line).unwrap_or_default();
            if let (Some(id), Some(method)) = (said["id"].as_i64(), said["method"].as_str()) {
                let native = said["params"]["sessionId"].as_str().map(str::to_owned);
                self.ours.push(Ours { id, method: method.to_owned(), native });
            }
            self.steps.push(Step::Wrote(line));
        }
        self.steps.extend(out.finished.map(Step::Finished));
        for session in rested {
            self.pump(session);
        }
        out.works.iter().map(|work| work.id).collect()
    }

    /// Remembers what a session would. Whether its turn is over.
    fn note(&mut self, session: SessionId, draft: &Draft) -> bool {
        if let Body::SessionReady(Ready { native: Some(native), .. }) = &draft.body {
            self.sessions.insert(native.clone(), session);
            self.live.insert(native.clone(), session);
        }
        let over =
            matches!(draft.body, Body::TurnFinished(_)) && self.turns.get(&session).copied() == draft.turn;
        if over {
            self.turns.remove(&session);
        }
        over
    }
}

fn is_opening(method: Option<&str>) -> bool {
    matches!(method, Some("session/new" | "session/load" | "session/resume" | "session/fork"))
}

/// Whether a request asks for the past. In which of two ways is the driver's choice.
fn resumes(method: &str) -> bool {
    matches!(method, "session/load" | "session/resume")
}

/// Whether a request sets something. Which of three ways it does so is the driver's choice.
fn sets(method: &str) -> bool {
    method.starts_with("session/set_")
}
