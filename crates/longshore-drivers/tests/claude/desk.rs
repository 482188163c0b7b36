//! A driver on a desk: lines in, what comes of them out.

use std::sync::Arc;

use longshore_drivers::claude::{Claude, name};
use longshore_model::anchor::{Launch, Query, Start};
use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, QuestionRequest};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, SessionId, TurnId};
use longshore_model::lifecycle::TurnEnd;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

pub(crate) struct Desk {
    pub(crate) driver: Claude,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    /// The prompt that was sent last.
    pub(crate) prompt: PromptId,
    pub(crate) now: Timestamp,
    ids: Ids,
    sent: Vec<Value>,
}

impl Desk {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        let mut ids = Ids::seeded(7);
        let now = Timestamp::from_micros(1_794_768_000_000_000);
        let (session, turn, prompt) =
            (SessionId(ids.next(now)), TurnId(ids.next(now)), PromptId(ids.next(now)));
        Self { driver: Claude::new(), session, turn, prompt, now, ids, sent: Vec::new() }
    }

    /// A driver whose session is ready.
    pub(crate) fn ready(mode: Mode) -> Self {
        let mut desk = Self::new();
        desk.open(mode, Start::New);
        desk.greet();
        desk
    }

    /// A driver whose session is in a turn, of which the prompt was taken.
    pub(crate) fn in_turn(mode: Mode) -> Self {
        let mut desk = Self::ready(mode);
        desk.say("go");
        desk.init();
        desk.replay();
        desk
    }

    pub(crate) fn handle(&mut self, input: Input) -> Output {
        let mut out = Output::default();
        self.driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        self.sent.extend(lines(&out));
        out
    }

    pub(crate) fn launch(&self, mode: Mode, start: Start) -> Launch {
        let (session, cwd) = (self.session, "/w".to_owned());
        Launch { session, agent: name(), cwd, mode, model: None, mcp_servers: Vec::new(), start }
    }

    pub(crate) fn open(&mut self, mode: Mode, start: Start) -> Output {
        let launch = self.launch(mode, start);
        self.handle(Input::Open(launch))
    }

    pub(crate) fn line(&mut self, line: &Value) -> Output {
        self.handle(Input::Line(Arc::from(line.to_string())))
    }

    /// The answer to `initialize`.
    pub(crate) fn greet(&mut self) -> Output {
        self.answer_ok("get_binary_version", json!({"version": "2.1.197"}));
        let models = json!([
            {"value": "default", "resolvedModel": "opus-9", "displayName": "Default", "description": "best"},
            {"value": "haiku", "displayName": "Haiku"},
        ]);
        let commands = json!([{"name": "compact", "description": "makes room"}]);
        self.answer_ok("initialize", json!({"commands": commands, "models": models}))
    }

    /// A turn of theirs begins.
    pub(crate) fn init(&mut self) -> Output {
        self.line(&json!({"type": "system", "subtype": "init", "model": "opus-9"}))
    }

    /// The prompt that was sent last comes back.
    pub(crate) fn replay(&mut self) -> Output {
        let uuid = self.prompt.to_string();
        self.line(&json!({"type": "user", "uuid": uuid, "isReplay": true, "message": {"content": "go"}}))
    }

    /// The turn of theirs is over.
    pub(crate) fn result(&mut self, more: Value) -> Output {
        let mut line = json!({"type": "result", "subtype": "success", "is_error": false});
        for (key, value) in more.as_object().unwrap() {
            line[key] = value.clone();
        }
        self.line(&line)
    }

    /// An event of the model's stream.
    pub(crate) fn stream(&mut self, event: Value) -> Output {
        self.line(&json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}))
    }

    /// A block of a message, whole.
    pub(crate) fn block(&mut self, message: &str, block: Value) -> Output {
        self.line(&json!({"type": "assistant", "message": {"id": message, "content": [block]}}))
    }

    pub(crate) fn tool_use(&mut self, id: &str, name: &str, input: Value) -> Output {
        self.block("m", json!({"type": "tool_use", "id": id, "name": name, "input": input}))
    }

    pub(crate) fn tool_result(&mut self, id: &str, is_error: bool, content: Value, data: Value) -> Output {
        let block =
            json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": content});
        self.line(&json!({"type": "user", "message": {"content": [block]}, "tool_use_result": data}))
    }

    /// May it use a tool?
    pub(crate) fn may_i(&mut self, id: &str, request: Value) -> Output {
        let mut request = request;
        request["subtype"] = json!("can_use_tool");
        self.line(&json!({"type": "control_request", "request_id": id, "request": request}))
    }

    /// It answers the oldest request of ours of this kind that has no answer.
    pub(crate) fn answer_ok(&mut self, subtype: &str, response: Value) -> Output {
        let id = self.take(subtype);
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        self.line(&json!({"type": "control_response", "response": response}))
    }

    /// It refuses the oldest request of ours of this kind that has no answer.
    pub(crate) fn answer_error(&mut self, subtype: &str, error: &str) -> Output {
        let id = self.take(subtype);
        let response = json!({"subtype": "error", "request_id": id, "error": error});
        self.line(&json!({"type": "control_response", "response": response}))
    }

    fn take(&mut self, subtype: &str) -> Value {
        let at = self.sent.iter().position(|said| said["request"]["subtype"] == subtype);
        self.sent.remove(at.unwrap_or_else(|| panic!("no {subtype} was sent")))["request_id"].clone()
    }

    pub(crate) fn tell(&mut self, command: AgentCommand) -> Output {
        self.handle(Input::Tell { session: self.session, command })
    }

    pub(crate) fn say(&mut self, text: &str) -> Output {
        self.prompt = PromptId(self.ids.next(self.now));
        let (turn, prompt, text) = (self.turn, self.prompt, text.to_owned());
        self.tell(AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() })
    }

    pub(crate) fn steer(&mut self, text: &str) -> Output {
        self.prompt = PromptId(self.ids.next(self.now));
        let (turn, prompt, text) = (self.turn, self.prompt, text.to_owned());
        self.tell(AgentCommand::Steer { turn, prompt, text, attachments: Vec::new() })
    }

    pub(crate) fn interrupt(&mut self) -> Output {
        self.tell(AgentCommand::Interrupt { turn: self.turn })
    }

    pub(crate) fn decide(&mut self, approval: ApprovalId, decision: ApprovalDecision) -> Output {
        self.tell(AgentCommand::Decide { approval, decision })
    }

    pub(crate) fn ask(&mut self, query: Query) -> (QueryId, Output) {
        let id = QueryId(self.ids.next(self.now));
        (id, self.handle(Input::Ask { id, query }))
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, seconds: i64) -> Output {
        self.now = self.now.plus_millis(seconds * 1_000);
        self.handle(Input::Tick)
    }
}

/// A decision with nothing else.
pub(crate) fn plain(decision: Decision) -> ApprovalDecision {
    ApprovalDecision { decision, message: None, input: None, by: "owner".to_owned() }
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

/// The bodies that were said to a session.
pub(crate) fn bodies(out: &Output, session: SessionId) -> Vec<&Body> {
    out.said.iter().filter(|(to, _)| *to == session).map(|(_, draft)| &draft.body).collect()
}

/// The end of a turn, if there was one.
pub(crate) fn end_in(out: &Output) -> Option<(Option<TurnId>, TurnEnd)> {
    out.said.iter().find_map(|(_, draft)| match &draft.body {
        Body::TurnFinished(end) => Some((draft.turn, end.clone())),
        _ => None,
    })
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
