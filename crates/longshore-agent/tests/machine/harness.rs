//! A machine in a harness: the test is the hub, the model, the tools and the clock.

use std::sync::Arc;

use longshore_agent::AgentLine;
use longshore_agent::machine::{Effect, Machine, MachineInput, Opening};
use longshore_agent::memory::Memory;
use longshore_agent::tools::{CallVerdict, Permit, ToolInvocation, ToolResult};
use longshore_drivers::react::settings::ReactSettings;
use longshore_model::anchor::{Launch, Start};
use longshore_model::approval::{ApprovalDecision, Decision};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, Ids, PromptId, SessionId, TurnId};
use longshore_model::item::{ToolCall, ToolKind};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_models::api::{Event, Finish, NeutralRequest};
use longshore_models::history::HistoryItem;
use longshore_models::tool::ToolDefinition;
use serde_json::json;

pub(super) struct MachineHarness {
    pub(super) machine: Machine,
    ids: Ids,
    pub(super) now: i64,
    /// All that was said.
    pub(super) said: Vec<AgentLine>,
    /// What people said, as the hub puts it into the lines.
    pub(super) told: Vec<(usize, Raw)>,
    /// What came of the last input.
    pub(super) effects: Vec<Effect>,
}

pub(super) fn settings() -> ReactSettings {
    ReactSettings {
        model: Some("m".to_owned()),
        base_url: "http://here".to_owned(),
        ..ReactSettings::default()
    }
}

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, side_by_side| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
        side_by_side,
    };
    vec![tool("shell", false), tool("read_file", true)]
}

impl MachineHarness {
    pub(super) fn new() -> Self {
        Self::with(settings(), Vec::new())
    }

    pub(super) fn with(settings: ReactSettings, lines: Vec<Raw>) -> Self {
        Self::launched(settings, lines, false)
    }

    /// In a session that nothing is delegated from.
    pub(super) fn deepest() -> Self {
        Self::launched(settings(), Vec::new(), true)
    }

    fn launched(settings: ReactSettings, lines: Vec<Raw>, deepest: bool) -> Self {
        let mut ids = Ids::seeded(5);
        let session = SessionId::mint(&mut Context { now: Timestamp::from_micros(1), ids: &mut ids });
        let machine = Machine::new(settings);
        let mut harness =
            Self { machine, ids, now: 1_000_000, said: Vec::new(), told: Vec::new(), effects: Vec::new() };
        let launch = Launch {
            session,
            agent: "react".into(),
            cwd: "/w".to_owned(),
            mode: Mode::Ask,
            model: None,
            effort: None,
            deepest,
            mcp_servers: Vec::new(),
            start: Start::New,
        };
        // Tools of servers are shown as their servers call them, which their names need not tell.
        let shown = |name: &str| match name {
            "a__say_it" => "a.say/it".to_owned(),
            "a__a_long_name_0123abcd" => "a.a long name".to_owned(),
            other => other.replacen("__", ".", 1),
        };
        let describe = move |call: &ToolInvocation| ToolCall {
            name: shown(&call.name),
            kind: ToolKind::Execute,
            command: None,
            cwd: None,
            input: call.arguments.clone(),
        };
        harness.handle(MachineInput::Open(Box::new(Opening {
            launch,
            memory: Memory::of_lines(&lines),
            model: Some("m".to_owned()),
            tools: tools(),
            describe: Arc::new(describe),
            agents: vec!["codex".to_owned(), "claude".to_owned()],
            advice: None,
            notices: Vec::new(),
            version: "1".to_owned(),
        })));
        harness
    }

    pub(super) fn handle(&mut self, input: MachineInput) -> &[Effect] {
        let mut out = Vec::new();
        let mut cx = Context { now: Timestamp::from_micros(self.now), ids: &mut self.ids };
        self.machine.handle(input, &mut cx, &mut out);
        for effect in &out {
            if let Effect::Say(said) = effect {
                self.said.push(AgentLine::clone(said));
            }
        }
        self.effects = out;
        &self.effects
    }

    pub(super) fn tell(&mut self, command: AgentCommand) {
        self.handle(MachineInput::Told(command));
    }

    fn note(&mut self, turn: TurnId, prompt: PromptId, text: &str) {
        let body = Body::UserMessage { prompt: Some(prompt), attachments: Vec::new(), by: None };
        let line = AgentLine::draft(Draft::new(body).turn(turn).text(text)).to_line().unwrap();
        self.told.push((self.said.len(), line.into()));
    }

    pub(super) fn prompt(&mut self, text: &str) -> TurnId {
        let mut cx = Context { now: Timestamp::from_micros(self.now), ids: &mut self.ids };
        let (turn, prompt) = (TurnId::mint(&mut cx), PromptId::mint(&mut cx));
        self.note(turn, prompt, text);
        self.tell(AgentCommand::Prompt { turn, prompt, text: text.to_owned(), attachments: Vec::new() });
        turn
    }

    pub(super) fn steer(&mut self, turn: TurnId, text: &str) {
        let prompt =
            PromptId::mint(&mut Context { now: Timestamp::from_micros(self.now), ids: &mut self.ids });
        self.note(turn, prompt, text);
        self.tell(AgentCommand::Steer { turn, prompt, text: text.to_owned(), attachments: Vec::new() });
    }

    /// The last request, when the last input led to one.
    pub(super) fn asked(&self) -> Option<(u64, &NeutralRequest)> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Ask { number, request } => Some((*number, &**request)),
            _ => None,
        })
    }

    /// What the model was told last.
    pub(super) fn heard(&self) -> Vec<HistoryItem> {
        let (_, request) = self.asked().expect("the model was not asked");
        request.history.iter().map(|item| HistoryItem::clone(item)).collect()
    }

    /// The model answers the last request.
    pub(super) fn answer(&mut self, events: Vec<Event<'static>>) -> u64 {
        let (number, _) = self.asked().expect("the model was not asked");
        self.answer_to(number, events);
        number
    }

    /// The model answers; all that follows from it is kept as the effects of one input.
    pub(super) fn answer_to(&mut self, number: u64, events: Vec<Event<'static>>) {
        let mut all = Vec::new();
        for event in events {
            all.extend_from_slice(self.handle(MachineInput::Model { number, event }));
        }
        self.effects = all;
    }

    pub(super) fn weighed(&mut self) -> Vec<ToolInvocation> {
        let call = |effect: &Effect| match effect {
            Effect::Weigh { call, .. } => Some(call.clone()),
            _ => None,
        };
        self.effects.iter().filter_map(call).collect()
    }

    /// Says of every call that is to be weighed that it may run, and gives those that then run.
    pub(super) fn let_go(&mut self) -> Vec<(ToolInvocation, Permit)> {
        let mut all = std::mem::take(&mut self.effects);
        let weigh: Vec<String> = all
            .iter()
            .filter_map(|effect| match effect {
                Effect::Weigh { call, .. } => Some(call.id.clone()),
                _ => None,
            })
            .collect();
        for call in weigh {
            all.extend_from_slice(self.handle(MachineInput::Weighed {
                call,
                verdict: CallVerdict::Go,
                preview: None,
            }));
        }
        self.effects = all;
        self.runs()
    }

    pub(super) fn runs(&self) -> Vec<(ToolInvocation, Permit)> {
        let run = |effect: &Effect| match effect {
            Effect::Run { call, permit } => Some((call.clone(), *permit)),
            _ => None,
        };
        self.effects.iter().filter_map(run).collect()
    }

    pub(super) fn ran(&mut self, call: &str, text: &str) {
        let result = Box::new(ToolResult::done(text));
        self.handle(MachineInput::Ran { call: call.to_owned(), result });
    }

    pub(super) fn decide(&mut self, decision: Decision) {
        let approval = self.drafts().rev().find_map(|draft| match &draft.body {
            Body::ApprovalRequested(request) => Some(request.approval),
            _ => None,
        });
        let decision = ApprovalDecision { decision, message: None, input: None, by: "owner".to_owned() };
        self.tell(AgentCommand::Decide { approval: approval.expect("nothing was asked"), decision });
    }

    pub(super) fn drafts(&self) -> impl DoubleEndedIterator<Item = &Draft> {
        self.said.iter().filter_map(|said| said.draft.as_ref())
    }

    pub(super) fn end(&self) -> Option<&TurnEnd> {
        self.drafts().rev().find_map(|draft| match &draft.body {
            Body::TurnFinished(end) => Some(end),
            _ => None,
        })
    }

    pub(super) fn outcome(&self) -> Option<TurnOutcome> {
        self.end().map(|end| end.outcome)
    }

    pub(super) fn texts(&self, fits: impl Fn(&Body) -> bool) -> Vec<&str> {
        self.drafts().filter(|draft| fits(&draft.body)).filter_map(|draft| draft.text.as_deref()).collect()
    }

    pub(super) fn notices(&self) -> Vec<&str> {
        self.texts(|body| matches!(body, Body::Notice { .. }))
    }

    /// The lines of the session, as the hub gives them back.
    pub(super) fn lines(&self) -> Vec<Raw> {
        let mut lines = Vec::new();
        for (at, said) in self.said.iter().enumerate() {
            lines.extend(self.told.iter().filter(|(place, _)| *place == at).map(|(_, line)| line.clone()));
            lines.push(said.to_line().unwrap().into());
        }
        lines.extend(
            self.told.iter().filter(|(place, _)| *place >= self.said.len()).map(|(_, line)| line.clone()),
        );
        lines
    }
}

pub(super) fn text(text: &str) -> Event<'static> {
    Event::Text(text.to_owned().into())
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> Event<'static> {
    Event::Call { id: Some(id.to_owned()), name: name.to_owned(), arguments: arguments.to_owned() }
}

pub(super) fn ended() -> Event<'static> {
    Event::Ended(Finish::Done)
}
