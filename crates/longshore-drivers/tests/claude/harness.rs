//! What Claude Code says to its driver in the harness.

use longshore_drivers::claude::{Claude, name};
use longshore_model::anchor::Start;
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::Output;
use longshore_model::event::Body;
use longshore_model::id::{SessionId, TurnId};
use longshore_model::lifecycle::TurnEnd;
use serde_json::{Value, json};

pub(crate) use crate::harness::{approval_in, lines, only_draft, only_line, plain, question_in};

pub(crate) type DriverHarness = crate::harness::DriverHarness<Claude>;

impl DriverHarness {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        Self::with(Claude::new(), name())
    }

    /// A driver whose session is ready.
    pub(crate) fn ready(mode: Mode) -> Self {
        let mut harness = Self::new();
        harness.open(mode, Start::New);
        harness.greet();
        harness
    }

    /// A driver whose session is in a turn, of which the prompt was taken.
    pub(crate) fn in_turn(mode: Mode) -> Self {
        let mut harness = Self::ready(mode);
        harness.say("go");
        harness.init();
        harness.replay();
        harness
    }

    /// The answer to `initialize`.
    pub(crate) fn greet(&mut self) -> Output {
        self.answer_ok("get_binary_version", json!({"version": "2.1.197"}));
        let models = json!([
            {"value": "default", "resolvedModel": "opus-9", "displayName": "Default", "description": "best"},
            {"value": "haiku", "displayName": "Haiku"},
        ]);
        let commands = json!([{"name": "compact", "description": "makes room"}]);
        let out = self.answer_ok("initialize", json!({"commands": commands, "models": models}));
        if self.sent.iter().any(|said| said["request"]["subtype"] == "apply_flag_settings") {
            self.answer_ok("apply_flag_settings", json!({}));
        }
        out
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
    pub(crate) fn ask_approval(&mut self, id: &str, request: Value) -> Output {
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

    pub(crate) fn interrupt(&mut self) -> Output {
        self.tell(AgentCommand::Interrupt { turn: self.turn })
    }
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
