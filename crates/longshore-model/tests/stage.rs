//! A session on a stage of its own: a clock that ticks by itself, ids that repeat, and all that happened so far.

use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::{Command, Prompt, Refusal, Reply, When};
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{ApprovalId, Context, Ids, ItemId, SessionId, TurnId};
use longshore_model::lifecycle::{Opened, Ready, Sleep, TurnEnd, TurnOutcome};
use longshore_model::session::{Effect, Input, Outcome, Session};
use longshore_model::time::Timestamp;

pub(crate) struct Stage {
    pub(crate) session: Session,
    pub(crate) events: Vec<Event>,
    pub(crate) effects: Vec<Effect>,
    ids: Ids,
    now: Timestamp,
}

pub(crate) fn everything() -> Capabilities {
    Capabilities {
        steer: true,
        fork: true,
        models: true,
        effort: true,
        attachments: true,
        modes: vec![Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full],
        ..Capabilities::default()
    }
}

pub(crate) fn opened(capabilities: Capabilities) -> Opened {
    Opened {
        agent: "codex".into(),
        cwd: "/home/dev/project".to_owned(),
        mode: Mode::Ask,
        model: None,
        effort: None,
        title: None,
        mcp_servers: Vec::new(),
        capabilities,
        parent: None,
        forked_from: None,
        from_file: false,
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(everything())
    }

    pub(crate) fn with(capabilities: Capabilities) -> Self {
        let mut ids = Ids::seeded(42);
        let now = Timestamp::from_micros(1_794_768_302_000_000);
        let session = SessionId(ids.next(now));
        let mut out = Outcome::default();
        let session =
            Session::open(session, opened(capabilities), &mut Context { now, ids: &mut ids }, &mut out);
        let events = out.events.into_iter().map(|(event, _)| event).collect();
        Self { session, events, effects: Vec::new(), ids, now }
    }

    /// A session whose agent listens.
    pub(crate) fn ready() -> Self {
        let mut stage = Self::new();
        stage.command(Command::Revive { from_log: false }).unwrap();
        stage.is_ready();
        stage.effects.clear();
        stage
    }

    pub(crate) fn is_ready(&mut self) {
        self.is_ready_as(Some("thread-1"));
    }

    pub(crate) fn is_ready_as(&mut self, native: Option<&str>) {
        let native = native.map(str::to_owned);
        let ready = Ready { native, version: None, model: None, transcript: None };
        self.said(Draft::new(Body::SessionReady(ready)));
    }

    pub(crate) fn mint<T>(&mut self, mint: impl FnOnce(&mut Context<'_>) -> T) -> T {
        mint(&mut Context { now: self.now, ids: &mut self.ids })
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, millis: i64) {
        self.now = self.now.plus_millis(millis);
    }

    pub(crate) fn item(&mut self) -> ItemId {
        self.mint(ItemId::mint)
    }

    pub(crate) fn approval(&mut self) -> ApprovalId {
        self.mint(ApprovalId::mint)
    }

    pub(crate) fn handle(&mut self, input: Input) -> Result<Reply, Refusal> {
        self.now = self.now.plus_millis(10);
        let mut out = Outcome::default();
        let reply = self.session.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        assert!(reply.is_ok() || out.events.is_empty(), "a refused command left a trace");
        self.events.extend(out.events.into_iter().map(|(event, _)| event));
        self.effects.extend(out.effects);
        reply
    }

    pub(crate) fn command(&mut self, command: Command) -> Result<Reply, Refusal> {
        self.handle(Input::Command { command, by: "owner".to_owned() })
    }

    pub(crate) fn said(&mut self, draft: Draft) {
        self.handle(Input::Said(draft)).unwrap();
    }

    pub(crate) fn gone(&mut self, sleep: Sleep, reason: &str) {
        self.handle(Input::Gone { sleep, reason: reason.to_owned() }).unwrap();
    }

    pub(crate) fn prompt(&mut self, text: &str) -> TurnId {
        self.prompt_when(text, When::Queue)
    }

    pub(crate) fn prompt_when(&mut self, text: &str, when: When) -> TurnId {
        let prompt = Prompt { text: text.to_owned(), when, ..Prompt::default() };
        match self.command(Command::Prompt(prompt)).unwrap() {
            Reply::Prompted { turn, .. } => turn,
            other => panic!("a prompt came to {other:?}"),
        }
    }

    pub(crate) fn finish(&mut self, turn: TurnId, outcome: TurnOutcome) {
        self.said(Draft::new(Body::TurnFinished(TurnEnd::of(outcome))).turn(turn));
    }

    /// The types of all events since `from`, as a reader of the log would list them.
    pub(crate) fn kinds(&self, from: usize) -> Vec<String> {
        self.events[from..].iter().map(kind).collect()
    }

    /// What is always true: seqs are dense, and the fold of the log is where the machine stands.
    pub(crate) fn check(&self) {
        for (at, event) in self.events.iter().enumerate() {
            assert_eq!(event.seq.0, at as u64 + 1, "seqs are dense from 1");
        }
        let folded = Session::fold(&self.events).unwrap();
        let (mut folded, mut live) = (folded.info(), self.session.info());
        // That an agent is about to start is no fact yet; it becomes one when it is ready or gone.
        folded.activity = live.activity;
        live.status = folded.status;
        assert_eq!(folded, live);
    }
}

pub(crate) fn kind(event: &Event) -> String {
    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
}
