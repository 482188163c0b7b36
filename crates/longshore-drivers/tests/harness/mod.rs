//! A driver in a harness: lines, commands and ticks in, what comes of them out.
//!
//! What the tests of one driver say to theirs is in a `harness.rs` of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_model::anchor::{AgentQuestion, Launch, Start};
use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, QuestionRequest};
use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment};
use longshore_model::driver::{Driver, Input, Output, Request};
use longshore_model::event::{AgentName, Body, Draft};
use longshore_model::host_io::{HostFault, HostReply, HostRequest, Job};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::Value;

/// One driver with one session.
pub(crate) struct DriverHarness<D> {
    driver: D,
    agent: AgentName,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    /// The prompt that was sent last.
    pub(crate) prompt: PromptId,
    pub(crate) now: Timestamp,
    /// The lines that the driver wrote.
    pub(crate) sent: Vec<Value>,
    /// The requests that the driver made.
    pub(crate) requested: Vec<Request>,
    /// What files hold that the driver looks at; there are no others.
    pub(crate) files: BTreeMap<String, String>,
    /// No file is ever looked at.
    pub(crate) blind: bool,
    ids: Ids,
}

impl<D: Driver> DriverHarness<D> {
    /// A driver to which nothing was said yet.
    pub(crate) fn with(driver: D, agent: AgentName) -> Self {
        let mut ids = Ids::seeded(7);
        let now = Timestamp::from_micros(1_794_768_000_000_000);
        let mut cx = Context { now, ids: &mut ids };
        let (session, turn, prompt) =
            (SessionId::mint(&mut cx), TurnId::mint(&mut cx), PromptId::mint(&mut cx));
        let (sent, requested, files) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { driver, agent, session, turn, prompt, now, sent, requested, files, blind: false, ids }
    }

    pub(crate) fn handle(&mut self, input: Input) -> Output {
        let mut out = Output::default();
        self.driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        let looks = out.host_requests.extract_if(.., |work| matches!(work.job, Job::Look { .. }));
        for HostRequest { id, job, .. } in looks.filter(|_| !self.blind).collect::<Vec<_>>() {
            let Job::Look { path } = job else { unreachable!("only looks were taken out") };
            let text = self.files.get(&path).cloned().map(HostReply::Read);
            let result = text.ok_or(HostFault::Missing(path));
            let input = Input::WorkDone { id, result };
            self.driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        }
        self.sent.extend(lines(&out));
        self.requested.extend(out.requests.iter().cloned());
        out
    }

    pub(crate) fn launch(&self, mode: Mode, start: Start) -> Launch {
        let (session, agent, cwd) = (self.session, self.agent.clone(), "/w".to_owned());
        Launch {
            session,
            agent,
            cwd,
            mode,
            model: None,
            effort: None,
            deepest: false,
            mcp_servers: Vec::new(),
            start,
        }
    }

    pub(crate) fn open(&mut self, mode: Mode, start: Start) -> Output {
        let launch = self.launch(mode, start);
        self.handle(Input::Open(launch))
    }

    pub(crate) fn line(&mut self, line: &Value) -> Output {
        self.handle(Input::Line(Arc::from(line.to_string())))
    }

    /// The name of the last request of ours of this method.
    pub(crate) fn last_id(&self, method: &str) -> Value {
        let sent = self.sent.iter().rev().find(|said| said["method"] == method);
        sent.unwrap_or_else(|| panic!("no {method} was sent"))["id"].clone()
    }

    pub(crate) fn tell(&mut self, command: AgentCommand) -> Output {
        self.handle(Input::Tell { session: self.session, command })
    }

    /// A prompt in the turn.
    pub(crate) fn say(&mut self, text: &str) -> Output {
        self.say_with(text, Vec::new())
    }

    pub(crate) fn say_with(&mut self, text: &str, attachments: Vec<Attachment>) -> Output {
        self.prompt = PromptId(self.ids.next(self.now));
        let (turn, prompt, text) = (self.turn, self.prompt, text.to_owned());
        self.tell(AgentCommand::Prompt { turn, prompt, text, attachments })
    }

    /// A prompt in a turn of its own.
    pub(crate) fn begin(&mut self, text: &str, attachments: Vec<Attachment>) -> Output {
        self.turn = TurnId(self.ids.next(self.now));
        self.say_with(text, attachments)
    }

    pub(crate) fn steer(&mut self, text: &str) -> Output {
        self.prompt = PromptId(self.ids.next(self.now));
        let (turn, prompt, text) = (self.turn, self.prompt, text.to_owned());
        self.tell(AgentCommand::Steer { turn, prompt, text, attachments: Vec::new() })
    }

    pub(crate) fn decide(&mut self, approval: ApprovalId, decision: Decision) -> Output {
        self.decide_so(approval, plain(decision))
    }

    pub(crate) fn decide_so(&mut self, approval: ApprovalId, decision: ApprovalDecision) -> Output {
        self.tell(AgentCommand::Decide { approval, decision })
    }

    pub(crate) fn ask(&mut self, query: impl Into<AgentQuestion>) -> (QueryId, Output) {
        let id = QueryId(self.ids.next(self.now));
        (id, self.handle(Input::Ask { id, query: query.into() }))
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

/// The bodies of an output.
pub(crate) fn bodies(out: &Output) -> Vec<&Body> {
    out.said.iter().map(|(_, draft)| &draft.body).collect()
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
