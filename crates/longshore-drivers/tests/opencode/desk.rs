//! A driver on a desk: events and answers in, what comes of them out.

use std::sync::Arc;

use longshore_drivers::opencode::{OpenCode, name};
use longshore_model::anchor::{Launch, Query, Start};
use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, QuestionRequest};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Http, Input, Output, Request, Response};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

/// The conversation that [`Desk::ready`] opens.
pub(crate) const CHAT: &str = "ses_1";
/// What was said to begin the turn of [`Desk::in_turn`].
pub(crate) const USER: &str = "msg_1";
/// What the model answers in it.
pub(crate) const STEP: &str = "msg_2";

pub(crate) struct Desk {
    driver: OpenCode,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) now: Timestamp,
    ids: Ids,
    sent: Vec<Request>,
}

impl Desk {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        let mut ids = Ids::seeded(7);
        let now = Timestamp::from_micros(1_794_768_000_000_000);
        let session = SessionId(ids.next(now));
        let turn = TurnId(ids.next(now));
        let mut desk = Self { driver: OpenCode::new(), session, turn, now, ids, sent: Vec::new() };
        desk.handle(Input::Http(Http::Connected));
        desk
    }

    /// A driver whose session is ready.
    pub(crate) fn ready(mode: Mode) -> Self {
        let mut desk = Self::new();
        desk.open(mode, Start::New);
        desk.answer("POST /session", 200, json!({"id": CHAT, "directory": "/w", "version": "1.18.33"}));
        desk.answer("GET /command", 200, json!([{"name": "init", "description": "makes AGENTS.md"}]));
        desk
    }

    /// A driver whose session is in a turn, of which the model's first message is there.
    pub(crate) fn in_turn(mode: Mode) -> Self {
        let mut desk = Self::ready(mode);
        desk.prompt("go");
        desk.answer("POST /session/ses_1/prompt_async", 204, Value::Null);
        desk.event("session.status", json!({"status": {"type": "busy"}}));
        desk.event("message.updated", json!({"info": {"id": USER, "role": "user", "sessionID": CHAT}}));
        desk.step(json!({}));
        desk
    }

    pub(crate) fn handle(&mut self, input: Input) -> Output {
        let mut out = Output::default();
        self.driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        self.sent.extend(out.requests.iter().cloned());
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

    /// An event of [`CHAT`], if it names no other conversation.
    pub(crate) fn event(&mut self, kind: &str, mut properties: Value) -> Output {
        if properties["sessionID"].is_null() {
            properties["sessionID"] = json!(CHAT);
        }
        let event = json!({"directory": "/w", "payload": {"type": kind, "properties": properties}});
        self.handle(Input::Http(Http::Event(Arc::from(event.to_string()))))
    }

    /// The message [`STEP`], with what else is known of it.
    pub(crate) fn step(&mut self, more: Value) -> Output {
        let mut info = json!({"id": STEP, "role": "assistant", "parentID": USER, "sessionID": CHAT});
        for (key, value) in more.as_object().into_iter().flatten() {
            info[key] = value.clone();
        }
        self.event("message.updated", json!({"info": info}))
    }

    /// The end of [`STEP`].
    pub(crate) fn step_done(&mut self) -> Output {
        let tokens = json!({"input": 60, "output": 17, "reasoning": 3, "cache": {"read": 40, "write": 0}});
        self.step(json!({"time": {"completed": 1}, "tokens": tokens, "cost": 0.5}))
    }

    /// A part of [`STEP`].
    pub(crate) fn part(&mut self, id: &str, kind: &str, mut part: Value) -> Output {
        part["id"] = json!(id);
        part["type"] = json!(kind);
        part["messageID"] = json!(STEP);
        part["sessionID"] = json!(CHAT);
        self.event("message.part.updated", json!({"part": part}))
    }

    pub(crate) fn tool(&mut self, id: &str, tool: &str, state: Value) -> Output {
        self.part(id, "tool", json!({"tool": tool, "callID": format!("call_{id}"), "state": state}))
    }

    pub(crate) fn delta(&mut self, part: &str, text: &str) -> Output {
        let delta = json!({"messageID": STEP, "partID": part, "field": "text", "delta": text});
        self.event("message.part.delta", delta)
    }

    pub(crate) fn idle(&mut self) -> Output {
        self.event("session.idle", json!({}))
    }

    pub(crate) fn asked(&mut self, id: &str, permission: &str, more: Value) -> Output {
        let mut asked = json!({"id": id, "sessionID": CHAT, "permission": permission, "patterns": ["ls"]});
        asked["always"] = json!(["ls *"]);
        for (key, value) in more.as_object().into_iter().flatten() {
            asked[key] = value.clone();
        }
        self.event("permission.asked", asked)
    }

    /// OpenCode answers the last request of ours of this kind.
    pub(crate) fn answer(&mut self, what: &str, status: u16, body: Value) -> Output {
        let at = self.sent.iter().rposition(|sent| said(sent) == what);
        let at = at.unwrap_or_else(|| panic!("no {what} among {:?}", self.sent));
        let id = self.sent.remove(at).id;
        let body = if body.is_null() { "".into() } else { body.to_string().into() };
        self.handle(Input::Http(Http::Response { id, result: Ok(Response { status, body }) }))
    }

    /// The last request of ours of this kind gets no answer.
    pub(crate) fn no_answer(&mut self, what: &str) -> Output {
        let at = self.sent.iter().rposition(|sent| said(sent) == what).unwrap();
        let id = self.sent.remove(at).id;
        self.handle(Input::Http(Http::Response { id, result: Err("no answer within 60 s".to_owned()) }))
    }

    pub(crate) fn tell(&mut self, command: AgentCommand) -> Output {
        self.handle(Input::Tell { session: self.session, command })
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Output {
        let prompt = PromptId(self.ids.next(self.now));
        let (turn, text) = (self.turn, text.to_owned());
        self.tell(AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() })
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

    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.driver.deadline()
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, seconds: i64) -> Output {
        self.now = self.now.plus_millis(seconds * 1_000);
        self.handle(Input::Tick)
    }
}

/// A request in a word: `GET /command`.
pub(crate) fn said(request: &Request) -> String {
    let path = request.path.split('?').next().unwrap();
    format!("{} {path}", request.method.as_str())
}

/// The requests of an output, each in a word.
pub(crate) fn requests(out: &Output) -> Vec<String> {
    out.requests.iter().map(said).collect()
}

/// The body of the only request of an output.
pub(crate) fn only_body(out: &Output) -> Value {
    assert_eq!(out.requests.len(), 1, "{:?}", out.requests);
    serde_json::from_str(out.requests[0].body.as_deref().unwrap()).unwrap()
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
