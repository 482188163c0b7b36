//! What `codex exec` says to its driver in the harness.

use longshore_drivers::codex::exec::{Exec, name};
use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::Mode;
use longshore_model::command::Attachment;
use longshore_model::driver::{Input, Output};
use longshore_model::id::TurnId;
use longshore_model::lifecycle::Sleep;
use longshore_model::mcp::McpServer;
use serde_json::{Value, json};

pub(crate) use crate::harness::bodies;

/// The thread that [`DriverHarness::in_turn`] names.
pub(crate) const THREAD: &str = "thread-1";

pub(crate) type DriverHarness = crate::harness::DriverHarness<Exec>;

impl DriverHarness {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        Self::with(Exec::new(), name())
    }

    /// A driver whose session is open.
    pub(crate) fn ready(mode: Mode, start: Start) -> Self {
        let mut harness = Self::new();
        harness.open(mode, start);
        harness
    }

    /// A driver whose session is in a turn, and the turn.
    pub(crate) fn in_turn() -> (Self, TurnId) {
        let mut harness = Self::ready(Mode::Full, Start::New);
        let (turn, _) = harness.prompt("go");
        harness.kept(&json!({"type": "thread.started", "thread_id": THREAD}));
        harness.kept(&json!({"type": "turn.started"}));
        (harness, turn)
    }

    pub(crate) fn open_with(&mut self, mode: Mode, start: Start, mcp_servers: Vec<McpServer>) -> Output {
        let launch = Launch { mcp_servers, ..self.launch(mode, start) };
        self.handle(Input::Open(launch))
    }

    /// A line of the process, which is kept.
    pub(crate) fn kept(&mut self, line: &Value) -> Output {
        let out = self.line(line);
        assert_eq!(out.said.iter().filter(|(_, draft)| draft.raw.is_some()).count(), 1, "{line}: {out:?}");
        out
    }

    pub(crate) fn item(&mut self, step: &str, item: Value) -> Output {
        self.kept(&json!({"type": format!("item.{step}"), "item": item}))
    }

    pub(crate) fn prompt(&mut self, text: &str) -> (TurnId, Output) {
        self.prompt_with(text, Vec::new())
    }

    pub(crate) fn prompt_with(&mut self, text: &str, attachments: Vec<Attachment>) -> (TurnId, Output) {
        let out = self.begin(text, attachments);
        (self.turn, out)
    }

    /// The process ends by itself.
    pub(crate) fn ends(&mut self, code: i32, stderr: &str) -> Output {
        let sleep = Sleep { exit_code: Some(code), stderr: stderr.to_owned(), ..Sleep::default() };
        self.handle(Input::Ended { sleep, reason: format!("it ended with code {code}") })
    }

    /// A turn from its prompt to the end of its process, which says that the thread has used so many tokens.
    pub(crate) fn whole_turn(&mut self, input_tokens: u64) -> Output {
        self.prompt("go");
        self.kept(&json!({"type": "thread.started", "thread_id": THREAD}));
        let out = self.kept(&json!({"type": "turn.completed", "usage": {"input_tokens": input_tokens}}));
        self.ends(0, "");
        out
    }
}

/// The only draft's text.
pub(crate) fn only_text(out: &Output) -> &str {
    assert_eq!(out.said.len(), 1, "{:?}", out.said);
    out.said[0].1.text.as_deref().unwrap_or_default()
}
