//! Replays a recording: a session of ours does what another client of Codex did.
//!
//! Each request of the recorded client becomes an input of the driver. The driver then makes the same request
//! in its own form and with its own id, and gets the recorded response with that id. Requests that our
//! sessions do not make (`config/read` and similar ones) are left out. The driver gets the responses to them
//! as responses to no request, and keeps them.

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::sync::Arc;

use longshore_model::anchor::{AgentQuestion, Launch, ModelsQuery, SessionsQuery, Start};
use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Input, Output};
use longshore_model::event::Raw;
use longshore_model::id::{PromptId, QueryId, SessionId, TurnId};
use serde_json::{Value, json};

use super::wire::RpcId;
use super::{Codex, exec, name};
use crate::capture::{Capture, CaptureEntry, DEFAULT_CWD, Direction, Harness, Player, ReplayStep, Waits};

/// Replays a recording through a driver. Each process of `codex exec` in the recording gets its own driver.
pub fn replay(capture: &Capture) -> Vec<ReplayStep> {
    let (mut player, mut headless) = (CodexPlayer::default(), exec::replay::ExecPlayer::default());
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
        steps.append(&mut player.harness().steps);
        steps.append(&mut headless.harness().steps);
    }
    steps
}

/// Replays a recording for a driver.
#[derive(Debug, Default)]
pub struct CodexPlayer {
    stand: Harness<Codex>,
    /// The recorded request that opened the first session is still to come.
    opened_ahead: bool,
    /// Requests of the recorded client by their ids.
    theirs: HashMap<RpcId, CodexRecordedRequest>,
    /// Requests of the driver without a response.
    ours: Vec<Ours>,
    /// The last turn of each session, and Codex's id of the turn.
    turns: HashMap<SessionId, (TurnId, Option<String>)>,
    /// Approvals and questions for which Codex waits, by the ids of its requests.
    asked: HashMap<RpcId, (SessionId, Waits)>,
}

/// A request of the recorded client.
#[derive(Debug)]
struct CodexRecordedRequest {
    method: String,
    thread: Option<String>,
    /// Whether our session makes the same request.
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

impl Player for CodexPlayer {
    type Driver = Codex;

    fn harness(&mut self) -> &mut Harness<Codex> {
        &mut self.stand
    }

    /// Starts a process, and opens the first session that the recorded client opens in it.
    fn spawn(&mut self, entry: &CaptureEntry, ahead: &[CaptureEntry]) {
        self.stand.start(Codex::new());
        self.theirs.clear();
        self.ours.clear();
        self.asked.clear();
        let process = ahead.iter().take_while(|entry| entry.dir != Direction::Spawn);
        let said: Vec<Value> = iter::once(entry)
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
        let cwd = said.first().and_then(|spawn| spawn["cwd"].as_str()).unwrap_or(DEFAULT_CWD);
        let none = Value::Null;
        self.open(opening.unwrap_or(&none), cwd, plans);
    }

    fn client_said(&mut self, said: &Value, _ahead: &[CaptureEntry]) {
        let id = serde_json::from_value::<RpcId>(said["id"].clone()).ok();
        let Some(method) = said["method"].as_str() else {
            if let Some((session, waits)) = id.and_then(|id| self.asked.remove(&id)) {
                self.answer(session, waits, &said["result"]);
            }
            return;
        };
        let params = &said["params"];
        let native = params["threadId"].as_str().unwrap_or_default();
        let session = self.stand.live.get(native).copied();
        let thread = params["threadId"].as_str().map(str::to_owned);
        let mut recorded = CodexRecordedRequest { method: method.to_owned(), thread, told: true, session };
        match (method, session) {
            ("initialize", _) => {}
            (opening, _) if is_opening(&json!(opening)) => {
                if self.opened_ahead {
                    self.opened_ahead = false;
                } else if opening == "thread/resume" && session.is_some() {
                    recorded.told = false;
                } else {
                    self.remember(id.as_ref(), recorded);
                    self.open(said, DEFAULT_CWD, false);
                    return;
                }
            }
            ("turn/start", Some(session)) => {
                let turn = TurnId::mint(&mut self.stand.cx());
                self.turns.insert(session, (turn, None));
                let prompt = PromptId::mint(&mut self.stand.cx());
                let text = text_of(&params["input"]);
                self.remember(id.as_ref(), recorded);
                self.tell(session, AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() });
                return;
            }
            ("turn/steer", Some(session)) => match self.turns.get(&session) {
                Some((turn, Some(running))) if params["expectedTurnId"] == running.as_str() => {
                    let turn = *turn;
                    let prompt = PromptId::mint(&mut self.stand.cx());
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
                return self.ask(ModelsQuery { agent: name(), anew: false });
            }
            ("thread/list", None) => {
                self.remember(id.as_ref(), recorded);
                return self.ask(SessionsQuery { agent: name(), cursor: None, limit: 50 });
            }
            (_, None) => recorded.told = false,
        }
        self.remember(id.as_ref(), recorded);
    }

    fn agent_said(&mut self, line: &str) {
        let original: Raw = Arc::from(line);
        let Ok(mut said) = serde_json::from_str::<Value>(line) else {
            return self.feed(Input::Line(original));
        };
        let id = serde_json::from_value::<RpcId>(said["id"].clone()).ok();
        let has_method = said["method"].is_string();
        match id {
            Some(id) if !has_method && said.is_object() => {
                let recorded = self.theirs.remove(&id);
                // The recording left out the client's messages. Only the response to `initialize` looks like
                // this.
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
                // A response to no request must not look like a response to the driver's request.
                said["id"] = ours.map_or_else(|| json!(format!("recorded {}", json!(id))), Value::from);
                self.feed_in_our_words(&said, &original);
            }
            id => {
                let before = self.stand.steps.len();
                self.feed(Input::Line(original));
                if let Some(id) = id {
                    self.asked.extend(self.stand.asked_since(before).map(|asked| (id.clone(), asked)));
                }
            }
        }
    }

    fn note(&mut self, out: &mut Output) {
        for line in &out.lines {
            let said: Value = serde_json::from_str(line).unwrap_or_default();
            if let (Some(id), Some(method)) = (said["id"].as_i64(), said["method"].as_str()) {
                let thread = said["params"]["threadId"].as_str().map(str::to_owned);
                self.ours.push(Ours { id, method: method.to_owned(), thread });
            }
        }
    }
}

impl CodexPlayer {
    fn open(&mut self, request: &Value, cwd: &str, plans: bool) -> SessionId {
        let params = &request["params"];
        let native = params["threadId"].as_str().map(str::to_owned);
        let start = match (request["method"].as_str(), native.clone()) {
            (Some("thread/resume"), Some(native)) => Start::Resume { native },
            (Some("thread/fork"), Some(native)) => Start::Fork { native },
            (_, _) => Start::New,
        };
        let mode = match params["approvalPolicy"].as_str() {
            _ if plans => Mode::Plan,
            Some("untrusted") => Mode::Ask,
            Some("never") => Mode::Full,
            Some(_) | None => Mode::AutoEdit,
        };
        let session = self.stand.session_for(&start);
        let launch = Launch {
            session,
            agent: name(),
            cwd: params["cwd"].as_str().unwrap_or(cwd).to_owned(),
            mode,
            model: params["model"].as_str().map(str::to_owned),
            effort: None,
            deepest: false,
            mcp_servers: Vec::new(),
            start,
        };
        self.feed(Input::Open(launch));
        session
    }

    fn remember(&mut self, id: Option<&RpcId>, recorded: CodexRecordedRequest) {
        if let Some(id) = id {
            self.theirs.insert(id.clone(), recorded);
        }
    }

    fn ask(&mut self, query: impl Into<AgentQuestion>) {
        let id = QueryId::mint(&mut self.stand.cx());
        self.feed(Input::Ask { id, query: query.into() });
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

    /// Passes on the recorded client's answer to Codex. An answer that our sessions cannot give is left out.
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
}

fn is_opening(method: &Value) -> bool {
    matches!(method.as_str(), Some("thread/start" | "thread/resume" | "thread/fork"))
}

fn text_of(input: &Value) -> String {
    let texts = input.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The decision in a recorded answer.
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
