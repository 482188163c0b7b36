//! What agents of ACP say to their driver in the harness.

use std::sync::Arc;

use longshore_drivers::acp::{Acp, AcpRow, row};
use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::Mode;
use longshore_model::driver::{Input, Output};
use longshore_model::event::Draft;
use serde_json::{Value, json};

pub(crate) use crate::harness::{approval_in, bodies, lines, only_draft, only_line};

/// The session that [`DriverHarness::ready`] opens.
pub(crate) const NATIVE: &str = "s-1";

pub(crate) type DriverHarness = crate::harness::DriverHarness<Acp>;

/// What the answer to `initialize` says.
pub(crate) fn greeting(capabilities: Value) -> Value {
    json!({"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": {"version": "9.9"}})
}

/// What the answer to `session/new` says of an agent that has these modes.
pub(crate) fn with_modes(now: &str, modes: &[&str]) -> Value {
    let modes: Vec<Value> = modes.iter().map(|id| json!({"id": id, "name": id})).collect();
    json!({"sessionId": NATIVE, "modes": {"currentModeId": now, "availableModes": modes}})
}

impl DriverHarness {
    /// A driver of a known agent, to which nothing was said yet.
    pub(crate) fn of(agent: &str) -> Self {
        Self::new(row(agent).unwrap().clone())
    }

    /// A driver of an agent that nobody knows.
    pub(crate) fn unknown() -> Self {
        Self::new(AcpRow::named("mine", "mine"))
    }

    fn new(row: AcpRow) -> Self {
        Self::with(Acp::new(Arc::new(row)), Arc::from("agent"))
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
        let mut harness = Self::unknown().ready(Mode::Ask, json!({"sessionId": NATIVE}));
        harness.prompt("go");
        harness
    }

    pub(crate) fn open_with(&mut self, mode: Mode, model: Option<&str>, start: Start) -> Output {
        let model = model.map(str::to_owned);
        let launch = Launch { model, ..self.launch(mode, start) };
        self.handle(Input::Open(launch))
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

    /// How often something was asked for.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.sent.iter().filter(|said| said["method"] == method).count()
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Output {
        self.begin(text, Vec::new())
    }
}

/// The last draft of an output.
pub(crate) fn last_draft(out: &Output) -> &Draft {
    &out.said.last().unwrap_or_else(|| panic!("nothing was said")).1
}
