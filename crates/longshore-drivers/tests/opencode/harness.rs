//! What OpenCode says to its driver in the harness: events and answers.

use std::sync::Arc;

use longshore_drivers::opencode::{OpenCode, name};
use longshore_model::anchor::Start;
use longshore_model::capability::Mode;
use longshore_model::driver::{Http, Input, Output, Request, Response};
use serde_json::{Value, json};

pub(crate) use crate::harness::{approval_in, only_draft, plain, question_in};

/// The conversation that [`DriverHarness::ready`] opens.
pub(crate) const CHAT: &str = "ses_1";
/// What was said to begin the turn of [`DriverHarness::in_turn`].
pub(crate) const USER: &str = "msg_1";
/// What the model answers in it.
pub(crate) const STEP: &str = "msg_2";

pub(crate) type DriverHarness = crate::harness::DriverHarness<OpenCode>;

impl DriverHarness {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        let mut harness = Self::with(OpenCode::new(), name());
        harness.handle(Input::Http(Http::Connected));
        harness
    }

    /// A driver whose session is ready.
    pub(crate) fn ready(mode: Mode) -> Self {
        let mut harness = Self::new();
        harness.open(mode, Start::New);
        harness.answer("POST /session", 200, json!({"id": CHAT, "directory": "/w", "version": "1.18.33"}));
        harness.answer("GET /command", 200, json!([{"name": "init", "description": "makes AGENTS.md"}]));
        harness
    }

    /// A driver whose session is in a turn, of which the model's first message is there.
    pub(crate) fn in_turn(mode: Mode) -> Self {
        let mut harness = Self::ready(mode);
        harness.say("go");
        harness.answer("POST /session/ses_1/prompt_async", 204, Value::Null);
        harness.event("session.status", json!({"status": {"type": "busy"}}));
        harness.event("message.updated", json!({"info": {"id": USER, "role": "user", "sessionID": CHAT}}));
        harness.step(json!({}));
        harness
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
        let at = self.requested.iter().rposition(|sent| said(sent) == what);
        let at = at.unwrap_or_else(|| panic!("no {what} among {:?}", self.requested));
        let id = self.requested.remove(at).id;
        let body = if body.is_null() { "".into() } else { body.to_string().into() };
        self.handle(Input::Http(Http::Response { id, result: Ok(Response { status, body }) }))
    }

    /// The last request of ours of this kind gets no answer.
    pub(crate) fn no_answer(&mut self, what: &str) -> Output {
        let at = self.requested.iter().rposition(|sent| said(sent) == what).unwrap();
        let id = self.requested.remove(at).id;
        self.handle(Input::Http(Http::Response { id, result: Err("no answer within 60 s".to_owned()) }))
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
