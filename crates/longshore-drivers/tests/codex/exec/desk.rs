//! A driver of `codex exec` on a desk: lines in, what comes of them out.

use std::sync::Arc;

use longshore_drivers::codex::exec::{Exec, name};
use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::Body;
use longshore_model::id::{Context, Ids, PromptId, SessionId, TurnId};
use longshore_model::lifecycle::Sleep;
use longshore_model::mcp::McpServer;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

/// The thread that [`Desk::in_turn`] names.
pub(crate) const THREAD: &str = "thread-1";

pub(crate) struct Desk {
    pub(crate) driver: Exec,
    pub(crate) session: SessionId,
    pub(crate) now: Timestamp,
    ids: Ids,
}

impl Desk {
    /// A driver to which nothing was said yet.
    pub(crate) fn new() -> Self {
        let mut ids = Ids::seeded(7);
        let now = Timestamp::from_micros(1_794_768_000_000_000);
        let session = SessionId(ids.next(now));
        Self { driver: Exec::new(), session, now, ids }
    }

    /// A driver whose session is open.
    pub(crate) fn ready(mode: Mode, start: Start) -> Self {
        let mut desk = Self::new();
        desk.open(mode, start);
        desk
    }

    /// A driver whose session is in a turn, and the turn.
    pub(crate) fn in_turn() -> (Self, TurnId) {
        let mut desk = Self::ready(Mode::Full, Start::New);
        let (turn, _) = desk.prompt("go");
        desk.line(&json!({"type": "thread.started", "thread_id": THREAD}));
        desk.line(&json!({"type": "turn.started"}));
        (desk, turn)
    }

    pub(crate) fn handle(&mut self, input: Input) -> Output {
        let mut out = Output::default();
        self.driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        out
    }

    pub(crate) fn open(&mut self, mode: Mode, start: Start) -> Output {
        self.open_with(mode, start, Vec::new())
    }

    pub(crate) fn open_with(&mut self, mode: Mode, start: Start, mcp_servers: Vec<McpServer>) -> Output {
        let (session, cwd, model) = (self.session, "/w".to_owned(), None);
        self.handle(Input::Open(Launch { session, agent: name(), cwd, mode, model, mcp_servers, start }))
    }

    pub(crate) fn line(&mut self, line: &Value) -> Output {
        let out = self.handle(Input::Line(Arc::from(line.to_string())));
        assert_eq!(out.said.iter().filter(|(_, draft)| draft.raw.is_some()).count(), 1, "{line}: {out:?}");
        out
    }

    pub(crate) fn item(&mut self, step: &str, item: Value) -> Output {
        self.line(&json!({"type": format!("item.{step}"), "item": item}))
    }

    pub(crate) fn tell(&mut self, command: AgentCommand) -> Output {
        self.handle(Input::Tell { session: self.session, command })
    }

    pub(crate) fn prompt(&mut self, text: &str) -> (TurnId, Output) {
        self.prompt_with(text, Vec::new())
    }

    pub(crate) fn prompt_with(&mut self, text: &str, attachments: Vec<Attachment>) -> (TurnId, Output) {
        let (turn, prompt) = (TurnId(self.ids.next(self.now)), PromptId(self.ids.next(self.now)));
        let text = text.to_owned();
        (turn, self.tell(AgentCommand::Prompt { turn, prompt, text, attachments }))
    }

    /// The process ends by itself.
    pub(crate) fn ends(&mut self, code: i32, stderr: &str) -> Output {
        let sleep = Sleep { exit_code: Some(code), stderr: stderr.to_owned(), ..Sleep::default() };
        self.handle(Input::Ended { sleep, reason: format!("it ended with code {code}") })
    }

    /// A turn from its prompt to the end of its process, which says that the thread has used so many tokens.
    pub(crate) fn whole_turn(&mut self, input_tokens: u64) -> Output {
        self.prompt("go");
        self.line(&json!({"type": "thread.started", "thread_id": THREAD}));
        let out = self.line(&json!({"type": "turn.completed", "usage": {"input_tokens": input_tokens}}));
        self.ends(0, "");
        out
    }
}

/// What was said.
pub(crate) fn bodies(out: &Output) -> Vec<&Body> {
    out.said.iter().map(|(_, draft)| &draft.body).collect()
}

/// The only draft's text.
pub(crate) fn only_text(out: &Output) -> &str {
    assert_eq!(out.said.len(), 1, "{:?}", out.said);
    out.said[0].1.text.as_deref().unwrap_or_default()
}
