//! A driver on a desk: lines in, what comes of them out.

use std::sync::Arc;

use longshore_drivers::codex::{Codex, name};
use longshore_model::anchor::{Launch, Query, Start};
use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, QuestionRequest};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

/// The thread that [`Desk::ready`] opens.
pub(crate) const THREAD: &str = "thread-1";
/// The turn that [`Desk::in_turn`] begins.
pub(crate) const TURN: &str = "turn-1";

pub(crate) struct Desk {
    pub(crate) driver: Codex,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) now: Timestamp,
    ids: Ids,
    sent: Vec<Value>,
}

impl Desk {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        let mut ids = Ids::seeded(7);
        let now = Timestamp::from_micros(1_794_768_000_000_000);
        let session = SessionId(ids.next(now));
        let turn = TurnId(ids.next(now));
        Self { driver: Codex::new(), session, turn, now, ids, sent: Vec::new() }
    }

    /// A driver whose session is ready.
    pub(crate) fn ready(mode: Mode) -> Self {
        let mut desk = Self::new();
        desk.open(mode, Start::New);
        desk.answer_ok("initialize", json!({"userAgent": "longshore/0.166.0 (Debian)"}));
        desk.answer_ok("thread/start", json!({"thread": {"id": THREAD, "cwd": "/w"}, "model": "gpt-5.5"}));
        desk
    }

    /// A driver whose session is in a turn.
    pub(crate) fn in_turn(mode: Mode) -> Self {
        let mut desk = Self::ready(mode);
        desk.prompt("go");
        desk.answer_ok("turn/start", json!({"turn": {"id": TURN}}));
        desk.note("turn/started", json!({"turn": {"id": TURN}}));
        desk
    }

    pub(crate) fn handle(&mut self, input: Input) -> Output {
        let mut out = Output::default();
        self.driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        self.sent.extend(lines(&out));
        out
    }

    pub(crate) fn open(&mut self, mode: Mode, start: Start) -> Output {
        let (session, cwd) = (self.session, "/w".to_owned());
        self.handle(Input::Open(Launch {
            session,
            agent: name(),
            cwd,
            mode,
            model: None,
            mcp_servers: Vec::new(),
            start,
        }))
    }

    pub(crate) fn line(&mut self, line: &Value) -> Output {
        self.handle(Input::Line(Arc::from(line.to_string())))
    }

    /// A notification of codex in [`THREAD`].
    pub(crate) fn note(&mut self, method: &str, mut params: Value) -> Output {
        if params["threadId"].is_null() {
            params["threadId"] = json!(THREAD);
        }
        self.line(&json!({"method": method, "params": params}))
    }

    /// A request of codex in [`THREAD`] and [`TURN`].
    pub(crate) fn request(&mut self, id: Value, method: &str, mut params: Value) -> Output {
        params["threadId"] = json!(THREAD);
        params["turnId"] = json!(TURN);
        self.line(&json!({"id": id, "method": method, "params": params}))
    }

    /// Codex answers the last request of ours of this method.
    pub(crate) fn answer_ok(&mut self, method: &str, result: Value) -> Output {
        let id = self.last_id(method);
        self.line(&json!({"id": id, "result": result}))
    }

    /// Codex refuses the last request of ours of this method.
    pub(crate) fn answer_error(&mut self, method: &str, message: &str) -> Output {
        let id = self.last_id(method);
        self.line(&json!({"error": {"code": -32600, "message": message}, "id": id}))
    }

    fn last_id(&self, method: &str) -> Value {
        let sent = self.sent.iter().rev().find(|said| said["method"] == method);
        sent.unwrap_or_else(|| panic!("no {method} was sent"))["id"].clone()
    }

    pub(crate) fn tell(&mut self, command: AgentCommand) -> Output {
        self.handle(Input::Tell { session: self.session, command })
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Output {
        let prompt = PromptId(self.ids.next(self.now));
        let (turn, text) = (self.turn, text.to_owned());
        self.tell(AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() })
    }

    pub(crate) fn steer(&mut self, text: &str) -> Output {
        let prompt = PromptId(self.ids.next(self.now));
        let (turn, text) = (self.turn, text.to_owned());
        self.tell(AgentCommand::Steer { turn, prompt, text, attachments: Vec::new() })
    }

    pub(crate) fn decide(
        &mut self,
        approval: ApprovalId,
        decision: Decision,
        message: Option<&str>,
    ) -> Output {
        let message = message.map(str::to_owned);
        let decision = ApprovalDecision { decision, message, input: None, by: "owner".to_owned() };
        self.tell(AgentCommand::Decide { approval, decision })
    }

    pub(crate) fn ask(&mut self, query: Query) -> (QueryId, Output) {
        let id = QueryId(self.ids.next(self.now));
        (id, self.handle(Input::Ask { id, query }))
    }

    pub(crate) fn driver_deadline(&self) -> Option<Timestamp> {
        self.driver.deadline()
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, seconds: i64) -> Output {
        self.now = self.now.plus_millis(seconds * 1_000);
        self.handle(Input::Tick)
    }
}

/// The lines of an output as JSON.
pub(crate) fn lines(out: &Output) -> Vec<Value> {
    out.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The only line of an output.
pub(crate) fn only_line(out: &Output) -> Value {
    assert_eq!(out.lines.len(), 1, "{:?}", out.lines);
    lines(out).remove(0)
}

/// The only draft of an output.
pub(crate) fn only_draft(out: &Output) -> &Draft {
    assert_eq!(out.said.len(), 1, "{:?}", out.said);
    &out.said[0].1
}

pub(crate) fn approval_in(out: &Output) -> ApprovalRequest {
    let found = out.said.iter().find_map(|(_, draft)| match &draft.body {
        Body::ApprovalRequested(request) => Some(request.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no approval in {:?}", out.said))
}

pub(crate) fn question_in(out: &Output) -> QuestionRequest {
    let found = out.said.iter().find_map(|(_, draft)| match &draft.body {
        Body::QuestionAsked(request) => Some(request.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no question in {:?}", out.said))
}
