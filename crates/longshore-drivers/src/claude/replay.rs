//! A recording, heard again: what another client of Claude Code did, as a session of ours would have done it.
//!
//! What that client said becomes what a session tells its driver, and what it was answered goes to the request of the
//! driver that is the same. Its prompts keep their names, and the session has the name of the recorded conversation, so
//! that the lines fit as they are. Requests that no session of ours makes (`mcp_status` and the like) are left out, and
//! their answers come to the driver as answers to nothing, which it keeps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QuestionId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::{Claude, name};
use crate::capture::{Capture, Direction, Entry, Step};

/// When recordings begin: a moment like any other, so that the same recording always gives the same events.
const BEGINNING: i64 = 1_794_768_000_000_000;
/// The work tree of recordings that name none.
const SOMEWHERE: &str = "/home/dev/project";

/// Has a driver hear a recording.
pub fn replay(capture: &Capture) -> Vec<Step> {
    let mut player = Player::new();
    for (at, entry) in capture.entries.iter().enumerate() {
        player.play(entry, &capture.entries[at + 1..]);
    }
    player.steps
}

/// Whoever sits between a recording and a driver.
#[derive(Debug)]
pub struct Player {
    /// All that has happened so far.
    pub steps: Vec<Step>,
    driver: Option<Claude>,
    ids: Ids,
    now: Timestamp,
    session: Option<SessionId>,
    /// The turn of that session that runs.
    turn: Option<TurnId>,
    /// Requests of the recorded client, by its names for them: what they ask for, and whether a session of ours asked too.
    theirs: HashMap<String, (String, bool)>,
    /// Requests of the driver that have no answer yet.
    ours: Vec<(String, String)>,
    /// What the agent waits for, by its names, with the arguments that it asked about.
    asked: HashMap<String, (SessionId, Waits, Value)>,
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
            session: None,
            turn: None,
            theirs: HashMap::new(),
            ours: Vec::new(),
            asked: HashMap::new(),
        }
    }

    /// One entry of a recording. What follows it is looked at only to see how the conversation is called.
    pub fn play(&mut self, entry: &Entry, ahead: &[Entry]) {
        let micros = (entry.t * 1_000_000.0) as i64;
        let until = Timestamp::from_micros(BEGINNING.saturating_add(micros)).max(self.now);
        self.tick_until(until);
        self.now = until;
        match entry.dir {
            Direction::Spawn => self.spawn(Some(entry), ahead),
            Direction::ToAgent => {
                self.spawn_if_none(ahead);
                if let Ok(said) = serde_json::from_str::<Value>(entry.msg.get()) {
                    self.client_said(&said);
                }
            }
            Direction::FromAgent => {
                self.spawn_if_none(ahead);
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

    /// The session of the process.
    pub fn session(&self) -> Option<SessionId> {
        self.session
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

    fn spawn_if_none(&mut self, ahead: &[Entry]) {
        if self.driver.is_none() {
            self.spawn(None, ahead);
        }
    }

    fn spawn(&mut self, entry: Option<&Entry>, ahead: &[Entry]) {
        self.driver = Some(Claude::new());
        self.turn = None;
        self.theirs.clear();
        self.ours.clear();
        self.asked.clear();
        let spawn: Value =
            entry.and_then(|entry| serde_json::from_str(entry.msg.get()).ok()).unwrap_or_default();
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
        let session = self.session.or(called).unwrap_or_else(|| SessionId(self.ids.next(self.now)));
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
            cwd: spawn["cwd"].as_str().unwrap_or(SOMEWHERE).to_owned(),
            mode,
            model: after("--model"),
            mcp_servers: Vec::new(),
            start,
        };
        self.feed(Input::Open(launch), None);
    }

    /// The recorded client said something: what would a session of ours have done?
    fn client_said(&mut self, said: &Value) {
        let Some(session) = self.session else { return };
        match said["type"].as_str() {
            Some("user") => {
                let named = said["uuid"].as_str().and_then(|uuid| uuid.parse::<PromptId>().ok());
                let prompt = named.unwrap_or_else(|| PromptId(self.ids.next(self.now)));
                let text = text_of(&said["message"]["content"]);
                let attachments = Vec::new();
                let command = match self.turn {
                    Some(turn) => AgentCommand::Steer { turn, prompt, text, attachments },
                    None => {
                        let turn = TurnId(self.ids.next(self.now));
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
                // The driver greets by itself, and takes back what was not taken when it is told to stop.
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

    /// The recorded client answered; an answer that no session of ours could give is left out.
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

    /// A line of the agent. An answer is given to the request of the driver that it belongs to.
    fn agent_said(&mut self, line: &str) {
        let original: Raw = Arc::from(line);
        let Ok(mut said) = serde_json::from_str::<Value>(line) else {
            return self.feed(Input::Line(original), None);
        };
        let id = said["response"]["request_id"].as_str().map(str::to_owned);
        if let (true, Some(id)) = (said["type"] == "control_response", id) {
            let recorded = self.theirs.remove(&id).filter(|(_, told)| *told);
            let ours = recorded.and_then(|(subtype, _)| self.ours.iter().position(|(_, of)| *of == subtype));
            // An answer to nothing must not look like one to a request of the driver.
            let name = ours.map_or_else(|| format!("recorded {id}"), |at| self.ours.remove(at).0);
            said["response"]["request_id"] = json!(name);
            let told: Raw = Arc::from(said.to_string());
            return self.feed(Input::Line(told.clone()), Some((told, original)));
        }
        let before = self.steps.len();
        self.feed(Input::Line(original), None);
        if let (true, Some(id)) = (said["type"] == "control_request", said["request_id"].as_str()) {
            self.note_asked(id, &said["request"]["input"], before);
        }
    }

    fn note_asked(&mut self, id: &str, input: &Value, before: usize) {
        for step in &self.steps[before..] {
            let Step::Said { session, draft } = step else { continue };
            let waits = match &draft.body {
                Body::ApprovalRequested(request) => Waits::Approval(request.approval),
                Body::QuestionAsked(request) => Waits::Question(request.question),
                _ => continue,
            };
            self.asked.insert(id.to_owned(), (*session, waits, input.clone()));
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
            self.note_turn(session, &draft);
            self.steps.push(Step::Said { session, draft: Box::new(draft) });
        }
        for line in out.lines {
            let said: Value = serde_json::from_str(&line).unwrap_or_default();
            if let (Some(id), Some(subtype)) =
                (said["request_id"].as_str(), said["request"]["subtype"].as_str())
            {
                self.ours.push((id.to_owned(), subtype.to_owned()));
            }
            self.steps.push(Step::Wrote(line));
        }
        self.steps.extend(out.finished.map(Step::Finished));
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
