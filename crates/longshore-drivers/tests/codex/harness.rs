//! What codex says to its driver in the harness.

use longshore_drivers::codex::{Codex, name};
use longshore_model::anchor::Start;
use longshore_model::capability::Mode;
use longshore_model::driver::Output;
use serde_json::{Value, json};

pub(crate) use crate::harness::{approval_in, lines, only_draft, only_line, plain, question_in};

/// The thread that [`DriverHarness::ready`] opens.
pub(crate) const THREAD: &str = "thread-1";
/// The turn that [`DriverHarness::in_turn`] begins.
pub(crate) const TURN: &str = "turn-1";

pub(crate) type DriverHarness = crate::harness::DriverHarness<Codex>;

impl DriverHarness {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        Self::with(Codex::new(), name())
    }

    /// A driver whose session is ready.
    pub(crate) fn ready(mode: Mode) -> Self {
        let mut harness = Self::new();
        harness.open(mode, Start::New);
        harness.answer_ok("initialize", json!({"userAgent": "longshore/0.166.0 (Debian)"}));
        harness.answer_ok("thread/start", json!({"thread": {"id": THREAD, "cwd": "/w"}, "model": "gpt-5.5"}));
        harness
    }

    /// A driver whose session is in a turn.
    pub(crate) fn in_turn(mode: Mode) -> Self {
        let mut harness = Self::ready(mode);
        harness.say("go");
        harness.answer_ok("turn/start", json!({"turn": {"id": TURN}}));
        harness.note("turn/started", json!({"turn": {"id": TURN}}));
        harness
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
}
