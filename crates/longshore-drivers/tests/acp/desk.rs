//! A driver on a desk: lines in, what comes of them out.

use std::sync::Arc;

use longshore_drivers::acp::{Acp, Row, row};
use longshore_model::anchor::{Launch, Query, Start};
use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision};
use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

/// The session that [`Desk::ready`] opens.
pub(crate) const NATIVE: &str = "s-1";

pub(crate) struct Desk {
    driver: Acp,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) now: Timestamp,
    ids: Ids,
    sent: Vec<Value>,
}

/// What the answer to `initialize` says.
pub(crate) fn greeting(capabilities: Value) -> Value {
    json!({"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": {"version": "9.9"}})
}

/// What the answer to `session/new` says of an agent that has these modes.
pub(crate) fn with_modes(now: &str, modes: &[&str]) -> Value {
    let modes: Vec<Value> = modes.iter().map(|id| json!({"id": id, "name": id})).collect();
    json!({"sessionId": NATIVE, "modes": {"currentModeId": now, "availableModes": modes}})
}

impl Desk {
    /// A driver of a known agent, to which nothing was said yet.
    pub(crate) fn of(agent: &str) -> Self {
        Self::new(row(agent).unwrap().clone())
    }

    /// A driver of an agent that nobody knows.
    pub(crate) fn unknown() -> Self {
        Self::new(Row::named("mine", "mine"))
    }

    fn new(row: Row) -> Self {
        let mut ids = Ids::seeded(7);
        let now = Timestamp::from_micros(1_794_768_000_000_000);
        let session = SessionId(ids.next(now));
        let turn = TurnId(ids.next(now));
        Self { driver: Acp::new(Arc::new(row)), session, turn, now, ids, sent: Vec::new() }
    }

    /// Opens a session in this mode with an agent that answers so.
    pub(crate) fn ready(mut self, mode: Mode, opened: Value) -> Self {
        self.open(mode, Start::New);
        self.answer_ok("initialize", greeting(json!({"loadSession": true})));
        self.answer_ok("session/new", opened);
        self
    }

    /// A session of an unknown agent without modes, in a turn.
    pub(crate) fn in_turn() -> Self {
        let mut desk = Self::unknown().ready(Mode::Ask, json!({"sessionId": NATIVE}));
        desk.prompt("go");
        desk
    }

    pub(crate) fn handle(&mut self, input: Input) -> Output {
        let mut out = Output::default();
        self.driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        self.sent.extend(lines(&out));
        out
    }

    pub(crate) fn open(&mut self, mode: Mode, start: Start) -> Output {
        self.open_with(mode, None, start)
    }

    pub(crate) fn open_with(&mut self, mode: Mode, model: Option<&str>, start: Start) -> Output {
        let (session, cwd, agent) = (self.session, "/w".to_owned(), Arc::from("agent"));
        let model = model.map(str::to_owned);
        self.handle(Input::Open(Launch { session, agent, cwd, mode, model, mcp_servers: Vec::new(), start }))
    }

    pub(crate) fn line(&mut self, line: &Value) -> Output {
        self.handle(Input::Line(Arc::from(line.to_string())))
    }

    /// A `session/update` in [`NATIVE`].
    pub(crate) fn update(&mut self, kind: &str, mut update: Value) -> Output {
        update["sessionUpdate"] = json!(kind);
        let params = json!({"sessionId": NATIVE, "update": update});
        self.line(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    /// A piece of a message.
    pub(crate) fn chunk(&mut self, text: &str) -> Output {
        self.update("agent_message_chunk", json!({"content": {"type": "text", "text": text}}))
    }

    /// A request of the agent in [`NATIVE`].
    pub(crate) fn request(&mut self, id: Value, method: &str, mut params: Value) -> Output {
        params["sessionId"] = json!(NATIVE);
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// The agent answers the last request of ours of this method.
    pub(crate) fn answer_ok(&mut self, method: &str, result: Value) -> Output {
        let id = self.last_id(method);
        self.line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// The agent refuses the last request of ours of this method.
    pub(crate) fn answer_error(&mut self, method: &str, code: i64, message: &str) -> Output {
        let id = self.last_id(method);
        self.line(&json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": id}))
    }

    fn last_id(&self, method: &str) -> Value {
        let sent = self.sent.iter().rev().find(|said| said["method"] == method);
        sent.unwrap_or_else(|| panic!("no {method} was sent"))["id"].clone()
    }

    /// How often something was asked for.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.sent.iter().filter(|said| said["method"] == method).count()
    }

    pub(crate) fn tell(&mut self, command: AgentCommand) -> Output {
        self.handle(Input::Tell { session: self.session, command })
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Output {
        self.prompt_with(text, Vec::new())
    }

    pub(crate) fn prompt_with(&mut self, text: &str, attachments: Vec<Attachment>) -> Output {
        self.turn = TurnId(self.ids.next(self.now));
        let prompt = PromptId(self.ids.next(self.now));
        self.tell(AgentCommand::Prompt { turn: self.turn, prompt, text: text.to_owned(), attachments })
    }

    pub(crate) fn decide(&mut self, approval: ApprovalId, decision: Decision) -> Output {
        let decision = ApprovalDecision { decision, message: None, input: None, by: "owner".to_owned() };
        self.tell(AgentCommand::Decide { approval, decision })
    }

    pub(crate) fn ask(&mut self, query: Query) -> (QueryId, Output) {
        let id = QueryId(self.ids.next(self.now));
        (id, self.handle(Input::Ask { id, query }))
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
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

/// The bodies of an output.
pub(crate) fn bodies(out: &Output) -> Vec<&Body> {
    out.said.iter().map(|(_, draft)| &draft.body).collect()
}

/// The last draft of an output.
pub(crate) fn last_draft(out: &Output) -> &Draft {
    &out.said.last().unwrap_or_else(|| panic!("nothing was said")).1
}

pub(crate) fn approval_in(out: &Output) -> ApprovalRequest {
    let found = out.said.iter().find_map(|(_, draft)| match &draft.body {
        Body::ApprovalRequested(request) => Some(request.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no approval in {:?}", out.said))
}
