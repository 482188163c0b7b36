//! A recording, heard again: what another client of codex did, as a session of ours would have done it.
//!
//! What that client asked for becomes what a session tells its driver, so that the driver makes the same request in
//! its own words and under its own number; the recorded answer is then handed to it under that number. Requests that no
//! session of ours makes (`config/read` and the like) are left out, and their answers come to the driver as answers to
//! nothing, which it keeps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use longshore_model::anchor::{Launch, Query, Start};
use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, QuestionId, SessionId, TurnId};
use longshore_model::lifecycle::Ready;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::wire::RpcId;
use super::{Codex, exec, name};
use crate::capture::{Capture, Direction, Entry, Step};

/// When recordings begin: a moment like any other, so that the same recording always gives the same events.
const BEGINNING: i64 = 1_794_768_000_000_000;
/// The work tree of recordings that name none.
const SOMEWHERE: &str = "/home/dev/project";

/// Has a driver hear a recording; a process of `codex exec` in it is heard by a driver of that.
pub fn replay(capture: &Capture) -> Vec<Step> {
    let (mut player, mut headless) = (Player::new(), exec::replay::Player::new());
    let mut runs = false;
    let mut steps = Vec::new();
    for (at, entry) in capture.entries.iter().enumerate() {
        if entry.dir == Direction::Spawn {
            runs = exec::replay::is_run(entry);
        }
        let ahead = &capture.entries[at + 1..];
        match runs {
            true => headless.play(entry, ahead),
            false => player.play(entry, ahead),
        }
        steps.append(&mut player.steps);
        steps.append(&mut headless.steps);
    }
    steps
}

/// Whoever sits between a recording and a driver.
#[derive(Debug)]
pub struct Player {
    /// All that has happened so far.
    pub steps: Vec<Step>,
    driver: Option<Codex>,
    ids: Ids,
    now: Timestamp,
    /// What is added to the times of the recording, which begin anew with every process.
    shift: f64,
    last_t: f64,
    /// The request that the first session was opened for is still to come.
    opened_ahead: bool,
    /// Requests of the recorded client, by its numbers, and whether a session of ours made the same.
    theirs: HashMap<RpcId, Recorded>,
    /// Requests of the driver that have no answer yet.
    ours: Vec<Ours>,
    /// Threads that are sessions, in any process.
    sessions: HashMap<String, SessionId>,
    /// Threads that are sessions in this process.
    live: HashMap<String, SessionId>,
    /// The last turn of each session, and codex's name for it.
    turns: HashMap<SessionId, (TurnId, Option<String>)>,
    /// What codex waits for, by its numbers.
    asked: HashMap<RpcId, (SessionId, Waits)>,
}

/// A request of the recorded client.
#[derive(Debug)]
struct Recorded {
    method: String,
    thread: Option<String>,
    /// Whether a session of ours made the same.
    told: bool,
    session: Option<SessionId>,
}

/// A request of the driver.
#[derive(Debug)]
struct Ours {
    id: i64,
    method: String,
    thread: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Waits {
    Approval(ApprovalId),
    Question(QuestionId),
}

impl Default for Player {
    fn default() -> Self {
        Self::new()
    }
}

impl Player {
    /// A new one. It always makes the same ids.
    pub fn new() -> Self {
        Self {
            steps: Vec::new(),
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
            asked: HashMap::new(),
        }
    }

    /// One entry of a recording. What follows it is looked at only to see what a process is started for.
    pub fn play(&mut self, entry: &Entry, ahead: &[Entry]) {
        self.pass_to(entry.t);
        match entry.dir {
            Direction::Spawn => self.spawn(Some(entry), ahead),
            Direction::ToAgent => {
                self.spawn_if_none(entry, ahead);
                if let Ok(said) = serde_json::from_str::<Value>(entry.msg.get()) {
                    self.client_said(&said);
                }
            }
            Direction::FromAgent => {
                self.spawn_if_none(entry, ahead);
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

    /// A session tells its agent something that was not recorded.
    pub fn tell(&mut self, session: SessionId, command: AgentCommand) {
        self.steps.push(Step::Told { session, command: command.clone() });
        self.feed(Input::Tell { session, command }, None);
    }

    /// Whether the driver waits for something that has a deadline.
    pub fn waits(&self) -> bool {
        self.driver.as_ref().is_some_and(|driver| driver.deadline().is_some())
    }

    /// The sessions of this process, by the names of their threads.
    pub fn live(&self) -> impl Iterator<Item = (&str, SessionId)> {
        self.live.iter().map(|(native, session)| (native.as_str(), *session))
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

    fn spawn_if_none(&mut self, entry: &Entry, ahead: &[Entry]) {
        if self.driver.is_none() {
            self.spawn(Some(entry), ahead);
        }
    }

    /// A process starts, for the first session that the recorded client asks it for.
    fn spawn(&mut self, entry: Option<&Entry>, ahead: &[Entry]) {
        self.driver = Some(Codex::new());
        self.theirs.clear();
        self.ours.clear();
        self.live.clear();
        self.asked.clear();
        let process = ahead.iter().take_while(|entry| entry.dir != Direction::Spawn);
        let said: Vec<Value> = entry
            .into_iter()
            .chain(process)
            .filter(|entry| matches!(entry.dir, Direction::ToAgent | Direction::Spawn))
            .filter_map(|entry| serde_json::from_str(entry.msg.get()).ok())
            .collect();
        let opening = said.iter().find(|said| is_opening(&said["method"]));
        self.opened_ahead = opening.is_some();
        let plans = said
            .iter()
            .find(|said| said["method"] == "turn/start")
            .is_some_and(|said| said["params"]["collaborationMode"]["mode"] == "plan");
        let cwd = said.first().and_then(|spawn| spawn["cwd"].as_str()).unwrap_or(SOMEWHERE);
        let none = Value::Null;
        self.open(opening.unwrap_or(&none), cwd, plans);
    }

    fn open(&mut self, request: &Value, cwd: &str, plans: bool) -> SessionId {
        let params = &request["params"];
        let native = params["threadId"].as_str().map(str::to_owned);
        let start = match (request["method"].as_str(), native.clone()) {
            (Some("thread/resume"), Some(native)) => Start::Resume { native },
            (Some("thread/fork"), Some(native)) => Start::Fork { native },
            (_, _) => Start::New,
        };
        let known = match &start {
            Start::Resume { native } => self.sessions.get(native).copied(),
            Start::New | Start::Told { .. } | Start::Fork { .. } => None,
        };
        let mode = match params["approvalPolicy"].as_str() {
            _ if plans => Mode::Plan,
            Some("untrusted") => Mode::Ask,
            Some("never") => Mode::Full,
            Some(_) | None => Mode::AutoEdit,
        };
        let session = known.unwrap_or_else(|| SessionId(self.ids.next(self.now)));
        let launch = Launch {
            session,
            agent: name(),
            cwd: params["cwd"].as_str().unwrap_or(cwd).to_owned(),
            mode,
            model: params["model"].as_str().map(str::to_owned),
            mcp_servers: Vec::new(),
            start,
        };
        self.feed(Input::Open(launch), None);
        session
    }

    /// The recorded client said something: what would a session of ours have done?
    fn client_said(&mut self, said: &Value) {
        let id = serde_json::from_value::<RpcId>(said["id"].clone()).ok();
        let Some(method) = said["method"].as_str() else {
            if let Some((session, waits)) = id.and_then(|id| self.asked.remove(&id)) {
                self.answer(session, waits, &said["result"]);
            }
            return;
        };
        let params = &said["params"];
        let native = params["threadId"].as_str().unwrap_or_default();
        let session = self.live.get(native).copied();
        let thread = params["threadId"].as_str().map(str::to_owned);
        let mut recorded = Recorded { method: method.to_owned(), thread, told: true, session };
        match (method, session) {
            ("initialize", _) => {}
            (opening, _) if is_opening(&json!(opening)) => {
                if self.opened_ahead {
                    self.opened_ahead = false;
                } else if opening == "thread/resume" && session.is_some() {
                    recorded.told = false;
                } else {
                    self.remember(id.as_ref(), recorded);
                    self.open(said, SOMEWHERE, false);
                    return;
                }
            }
            ("turn/start", Some(session)) => {
                let turn = TurnId(self.ids.next(self.now));
                self.turns.insert(session, (turn, None));
                let prompt = PromptId(self.ids.next(self.now));
                let text = text_of(&params["input"]);
                self.remember(id.as_ref(), recorded);
                self.tell(session, AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() });
                return;
            }
            ("turn/steer", Some(session)) => match self.turns.get(&session) {
                Some((turn, Some(running))) if params["expectedTurnId"] == running.as_str() => {
                    let turn = *turn;
                    let prompt = PromptId(self.ids.next(self.now));
                    let text = text_of(&params["input"]);
                    self.remember(id.as_ref(), recorded);
                    self.tell(session, AgentCommand::Steer { turn, prompt, text, attachments: Vec::new() });
                    return;
                }
                Some(_) | None => recorded.told = false,
            },
            (method, Some(session)) => match self.command_for(method, params, session) {
                Some(command) => {
                    self.remember(id.as_ref(), recorded);
                    self.tell(session, command);
                    return;
                }
                None => recorded.told = false,
            },
            ("model/list", None) => {
                self.remember(id.as_ref(), recorded);
                return self.ask(Query::Models { agent: name() });
            }
            ("thread/list", None) => {
                self.remember(id.as_ref(), recorded);
                return self.ask(Query::Sessions { agent: name(), cursor: None, limit: 50 });
            }
            (_, None) => recorded.told = false,
        }
        self.remember(id.as_ref(), recorded);
    }

    fn remember(&mut self, id: Option<&RpcId>, recorded: Recorded) {
        if let Some(id) = id {
            self.theirs.insert(id.clone(), recorded);
        }
    }

    fn ask(&mut self, query: Query) {
        let id = QueryId(self.ids.next(self.now));
        self.feed(Input::Ask { id, query }, None);
    }

    fn command_for(&self, method: &str, params: &Value, session: SessionId) -> Option<AgentCommand> {
        let word = |name: &str| params[name].as_str().map(str::to_owned);
        match method {
            "turn/interrupt" => Some(AgentCommand::Interrupt { turn: self.turns.get(&session)?.0 }),
            "thread/name/set" => word("name").map(AgentCommand::Rename),
            "thread/archive" => Some(AgentCommand::Archive(true)),
            "thread/unarchive" => Some(AgentCommand::Archive(false)),
            "thread/settings/update" => word("model").map(AgentCommand::SetModel),
            _ => None,
        }
    }

    /// The recorded client answered codex; an answer that no session of ours could give is left out.
    fn answer(&mut self, session: SessionId, waits: Waits, result: &Value) {
        let by = "recorded".to_owned();
        match waits {
            Waits::Approval(approval) => {
                if let Some(decision) = decision_of(result) {
                    let decision = ApprovalDecision { decision, message: None, input: None, by };
                    self.tell(session, AgentCommand::Decide { approval, decision });
                }
            }
            Waits::Question(question) => {
                let (action, answers) = answers_of(result);
                let answer = QuestionAnswer { action, answers, by };
                self.tell(session, AgentCommand::Answer { question, answer });
            }
        }
    }

    /// A line of codex. An answer is given to the request of the driver that it belongs to.
    fn agent_said(&mut self, line: &str) {
        let original: Raw = Arc::from(line);
        let Ok(mut said) = serde_json::from_str::<Value>(line) else {
            return self.feed(Input::Line(original), None);
        };
        let id = serde_json::from_value::<RpcId>(said["id"].clone()).ok();
        let has_method = said["method"].is_string();
        match id {
            Some(id) if !has_method && said.is_object() => {
                let recorded = self.theirs.remove(&id);
                // A recording that left its own side out: only the answer to `initialize` looks like this.
                let greeting = recorded.is_none() && !said["result"]["userAgent"].is_null();
                let ours = self.ours.iter().position(|ours| match &recorded {
                    Some(of) => of.told && of.method == ours.method && of.thread == ours.thread,
                    None => greeting && ours.method == "initialize",
                });
                let ours = ours.map(|at| self.ours.remove(at).id);
                if let (Some(session), Some(turn)) =
                    (recorded.and_then(|recorded| recorded.session), said["result"]["turn"]["id"].as_str())
                    && let Some(last) = self.turns.get_mut(&session)
                {
                    last.1 = Some(turn.to_owned());
                }
                // An answer to nothing must not look like one to a request of the driver.
                said["id"] = ours.map_or_else(|| json!(format!("recorded {}", json!(id))), Value::from);
                let told: Raw = Arc::from(said.to_string());
                self.feed(Input::Line(told.clone()), Some((told, original)));
            }
            id => {
                let before = self.steps.len();
                self.feed(Input::Line(original), None);
                if let Some(id) = id {
                    self.note_asked(&id, before);
                }
            }
        }
    }

    fn note_asked(&mut self, id: &RpcId, before: usize) {
        for step in &self.steps[before..] {
            let Step::Said { session, draft } = step else { continue };
            if let Body::ApprovalRequested(request) = &draft.body {
                self.asked.insert(id.clone(), (*session, Waits::Approval(request.approval)));
            } else if let Body::QuestionAsked(request) = &draft.body {
                self.asked.insert(id.clone(), (*session, Waits::Question(request.question)));
            }
        }
    }

    /// Has the driver do something, and takes down what comes of it.
    fn feed(&mut self, input: Input, renamed: Option<(Raw, Raw)>) {
        let Some(driver) = &mut self.driver else { return };
        let mut out = Output::default();
        driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        for (session, mut draft) in out.said {
            if let Some((told, original)) = &renamed
                && draft.raw.as_ref() == Some(told)
            {
                draft.raw = Some(original.clone());
            }
            self.note_ready(session, &draft);
            self.steps.push(Step::Said { session, draft: Box::new(draft) });
        }
        for line in out.lines {
            let said: Value = serde_json::from_str(&line).unwrap_or_default();
            if let (Some(id), Some(method)) = (said["id"].as_i64(), said["method"].as_str()) {
                let thread = said["params"]["threadId"].as_str().map(str::to_owned);
                self.ours.push(Ours { id, method: method.to_owned(), thread });
            }
            self.steps.push(Step::Wrote(line));
        }
        self.steps.extend(out.finished.map(Step::Finished));
    }

    fn note_ready(&mut self, session: SessionId, draft: &Draft) {
        if let Body::SessionReady(Ready { native: Some(native), .. }) = &draft.body {
            self.sessions.insert(native.clone(), session);
            self.live.insert(native.clone(), session);
        }
    }
}

fn is_opening(method: &Value) -> bool {
    matches!(method.as_str(), Some("thread/start" | "thread/resume" | "thread/fork"))
}

fn text_of(input: &Value) -> String {
    let texts = input.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// What a recorded answer decided.
fn decision_of(result: &Value) -> Option<Decision> {
    if let Some(scope) = result["scope"].as_str() {
        return Some(if scope == "session" { Decision::AllowSession } else { Decision::AllowOnce });
    }
    match (result["action"].as_str(), result["_meta"]["persist"].as_str()) {
        (Some("accept"), Some("session")) => return Some(Decision::AllowSession),
        (Some("accept"), Some("always")) => return Some(Decision::AllowAlways),
        (Some("accept"), _) => return Some(Decision::AllowOnce),
        (Some("decline"), _) => return Some(Decision::Deny),
        (Some("cancel"), _) => return Some(Decision::Cancel),
        (Some(_) | None, _) => {}
    }
    match &result["decision"] {
        Value::String(word) => match word.as_str() {
            "accept" => Some(Decision::AllowOnce),
            "acceptForSession" => Some(Decision::AllowSession),
            "decline" => Some(Decision::Deny),
            "cancel" => Some(Decision::Cancel),
            _ => None,
        },
        decision if !decision["acceptWithExecpolicyAmendment"].is_null() => Some(Decision::AllowAlways),
        _ => None,
    }
}

fn answers_of(result: &Value) -> (AnswerAction, BTreeMap<String, Value>) {
    let action = match result["action"].as_str() {
        Some("decline") => AnswerAction::Decline,
        Some("cancel") => AnswerAction::Cancel,
        Some(_) | None => AnswerAction::Accept,
    };
    let mut answers = BTreeMap::new();
    for (field, value) in result["content"].as_object().into_iter().flatten() {
        answers.insert(field.clone(), value.clone());
    }
    for (field, value) in result["answers"].as_object().into_iter().flatten() {
        let value = match value["answers"].as_array().map(Vec::as_slice) {
            Some([only]) => only.clone(),
            _ => value["answers"].clone(),
        };
        answers.insert(field.clone(), value);
    }
    (action, answers)
}
