//! Whatever happens, in whatever order: the history is legal, the lines fold to it, and every turn has one end.

use longshore_agent::machine::MachineInput;
use longshore_agent::memory::Memory;
use longshore_agent::tools::{CallApproval, CallVerdict, ToolResult};
use longshore_drivers::react::settings::ReactSettings;
use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer, Subject};
use longshore_model::command::AgentCommand;
use longshore_model::delegation::ChildNews;
use longshore_model::event::Body;
use longshore_model::id::{ApprovalId, QuestionId, SessionId, TurnId};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::usage::Usage;
use longshore_models::api::{Event, Failure, FailureKind, Finish};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::harness::{MachineHarness, settings};
use super::histories::check;

/// What may be thrown at the machine. Calls go by number, so that most of it meets something.
#[derive(Clone, Debug)]
enum Thrown {
    Prompt,
    Steer,
    Interrupt,
    Text(&'static str),
    TextDone,
    Thought,
    ThoughtDone,
    Call(Option<u8>, &'static str, &'static str),
    Usage(u64),
    Ended(Finish),
    Failed(FailureKind),
    Weighed(usize, u8),
    Printed(usize),
    Elicits(usize),
    Ran(usize, bool),
    Decide(Decision),
    Answer,
    Child(usize, u8),
    Tick,
}

fn thrown() -> impl Strategy<Value = Thrown> {
    let names = prop_oneof![
        Just("shell"),
        Just("read_file"),
        Just("nothing"),
        Just("ask_user"),
        Just("update_plan"),
        Just("delegate_to_codex"),
        Just("delegate_to_x"),
    ];
    let arguments = prop_oneof![
        Just("{}"),
        Just(""),
        Just("{\"question\":\"?\"}"),
        Just("{\"task\":\"t\"}"),
        Just("{\"plan\":[]}"),
        Just("{\"half\":"),
        Just("7"),
    ];
    let kinds = prop_oneof![
        Just(FailureKind::Cut),
        Just(FailureKind::RateLimited),
        Just(FailureKind::TooLong),
        Just(FailureKind::Refused),
    ];
    let decisions = prop_oneof![
        Just(Decision::AllowOnce),
        Just(Decision::AllowSession),
        Just(Decision::Deny),
        Just(Decision::Cancel),
    ];
    let finishes = prop_oneof![9 => Just(Finish::Done), 2 => Just(Finish::Length), 1 => Just(Finish::Filtered), 1 => Just(Finish::Full), 1 => Just(Finish::Paused)];
    prop_oneof![
        4 => Just(Thrown::Prompt),
        2 => Just(Thrown::Steer),
        2 => Just(Thrown::Interrupt),
        4 => prop_oneof![Just("words"), Just(""), Just(" ")].prop_map(Thrown::Text),
        1 => Just(Thrown::TextDone),
        2 => Just(Thrown::Thought),
        1 => Just(Thrown::ThoughtDone),
        8 => (proptest::option::of(0..4_u8), names, arguments).prop_map(|(id, name, arguments)| Thrown::Call(id, name, arguments)),
        2 => (0..2_000_u64).prop_map(Thrown::Usage),
        6 => finishes.prop_map(Thrown::Ended),
        3 => kinds.prop_map(Thrown::Failed),
        8 => (0..4_usize, 0..3_u8).prop_map(|(call, verdict)| Thrown::Weighed(call, verdict)),
        1 => (0..4_usize).prop_map(Thrown::Printed),
        1 => (0..4_usize).prop_map(Thrown::Elicits),
        8 => (0..4_usize, any::<bool>()).prop_map(|(call, well)| Thrown::Ran(call, well)),
        4 => decisions.prop_map(Thrown::Decide),
        3 => Just(Thrown::Answer),
        4 => (0..4_usize, 0..3_u8).prop_map(|(call, news)| Thrown::Child(call, news)),
        3 => Just(Thrown::Tick),
    ]
}

/// What is thrown, made of what the machine has said so far.
struct Thrower {
    harness: MachineHarness,
    request: u64,
    turn: TurnId,
}

impl Thrower {
    /// The last calls that were made, the newest first.
    fn call(&self, back: usize) -> String {
        use longshore_models::history::HistoryItem;
        let calls = self.harness.said.iter().rev().filter_map(|said| match &said.history {
            Some(HistoryItem::FunctionCall { call_id, .. }) => Some(call_id.clone()),
            _ => None,
        });
        calls.into_iter().nth(back).unwrap_or_else(|| "none".to_owned())
    }

    fn model(&mut self, event: Event<'static>) {
        self.harness.handle(MachineInput::Model { number: self.request, event });
    }

    fn throw(&mut self, thrown: Thrown) {
        match thrown {
            // Nobody prompts an agent that works; all else may come at any time.
            Thrown::Prompt if self.harness.machine.is_working() => {}
            Thrown::Prompt => self.turn = self.harness.prompt("do"),
            Thrown::Steer => self.harness.steer(self.turn, "rather"),
            Thrown::Interrupt => self.harness.tell(AgentCommand::Interrupt { turn: self.turn }),
            Thrown::Text(text) => self.model(Event::Text(text.into())),
            Thrown::TextDone => self.model(Event::TextDone("all words".into())),
            Thrown::Thought => self.model(Event::Reasoning("hm".into())),
            Thrown::ThoughtDone => self.model(Event::ReasoningDone { text: String::new(), data: json!({}) }),
            Thrown::Call(id, name, arguments) => {
                let id = id.map(|id| format!("c{id}"));
                self.model(Event::Call { id, name: name.to_owned(), arguments: arguments.to_owned() });
            }
            Thrown::Usage(tokens) => {
                self.model(Event::Usage(Usage { input: Some(tokens), output: Some(1), ..Usage::default() }));
            }
            Thrown::Ended(finish) => self.model(Event::Ended(finish)),
            Thrown::Failed(kind) => self.model(Event::Failed(Failure::new(kind, "broke"))),
            Thrown::Weighed(call, verdict) => {
                let ask = CallApproval {
                    reason: "why".to_owned(),
                    risks: Vec::new(),
                    subject: Subject::Tool { name: "x".to_owned(), input: json!({}) },
                    always: vec!["x".to_owned()],
                };
                let verdict = match verdict {
                    0 => CallVerdict::Go,
                    1 => CallVerdict::Ask(ask),
                    _ => CallVerdict::Refuse("no".to_owned()),
                };
                self.harness.handle(MachineInput::Weighed { call: self.call(call), verdict, preview: None });
            }
            Thrown::Printed(call) => {
                self.harness.handle(MachineInput::Printed { call: self.call(call), text: "out".to_owned() });
            }
            Thrown::Elicits(call) => {
                let (source, text) = ("s".to_owned(), "?".to_owned());
                self.harness.handle(MachineInput::Elicits {
                    call: self.call(call),
                    asker: 1,
                    source,
                    text,
                    fields: Vec::new(),
                });
            }
            Thrown::Ran(call, well) => {
                let result = if well { ToolResult::done("done") } else { ToolResult::failed("bad") };
                self.harness.handle(MachineInput::Ran { call: self.call(call), result: Box::new(result) });
            }
            Thrown::Decide(decision) => {
                let asked = self.harness.drafts().rev().find_map(|draft| match &draft.body {
                    Body::ApprovalRequested(request) => Some(request.approval),
                    _ => None,
                });
                let approval = asked.unwrap_or(ApprovalId(Uuid::nil()));
                let decision =
                    ApprovalDecision { decision, message: None, input: None, by: "owner".to_owned() };
                self.harness.tell(AgentCommand::Decide { approval, decision });
            }
            Thrown::Answer => {
                let asked = self.harness.drafts().rev().find_map(|draft| match &draft.body {
                    Body::QuestionAsked(request) => Some(request.question),
                    _ => None,
                });
                let question = asked.unwrap_or(QuestionId(Uuid::nil()));
                let answer = QuestionAnswer {
                    action: AnswerAction::Accept,
                    answers: Default::default(),
                    by: "owner".to_owned(),
                };
                self.harness.tell(AgentCommand::Answer { question, answer });
            }
            Thrown::Child(call, news) => {
                let news = match news {
                    0 => ChildNews::Opened { child: SessionId(Uuid::nil()), agent: "codex".into() },
                    1 => ChildNews::Said { text: "word".to_owned() },
                    _ => ChildNews::Ended { outcome: TurnOutcome::Completed, text: "end".to_owned() },
                };
                self.harness.tell(AgentCommand::Child { call: self.call(call), news });
            }
            Thrown::Tick => {
                self.harness.now =
                    self.harness.machine.deadline().map_or(self.harness.now, |until| until.micros());
                self.harness.handle(MachineInput::Tick);
            }
        }
        if let Some((number, request)) = self.harness.asked() {
            check(&request.history).unwrap();
            self.request = number;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn leaves_a_legal_history(all in proptest::collection::vec(thrown(), 1..80)) {
        let settings = ReactSettings { context_window: 3_000, max_retries: 2, ..settings() };
        let harness = MachineHarness::with(settings.clone(), Vec::new());
        let mut thrower = Thrower { harness, request: 0, turn: TurnId(Uuid::nil()) };
        for one in all {
            thrower.throw(one);
            prop_assert_eq!(check(&thrower.harness.machine.history().legal()), Ok(()));
        }
        let harness = &thrower.harness;
        let lines = harness.lines();
        let anew = Memory::of_lines(&lines);
        prop_assert_eq!(check(&anew.history.legal()), Ok(()));
        if !harness.machine.is_working() {
            prop_assert_eq!(&anew.history, harness.machine.history(), "an agent that starts anew stands where it stood");
        }
        let begun = harness.told.iter().filter(|(_, line)| line.contains("\"do\"")).count();
        let ended = harness.drafts().filter(|draft| matches!(draft.body, Body::TurnFinished(_))).count();
        prop_assert_eq!(begun, ended + usize::from(harness.machine.is_working()));
        let (started, finished) = (
            harness.drafts().filter(|draft| matches!(draft.body, Body::ToolStarted(_))).count(),
            harness.drafts().filter(|draft| matches!(draft.body, Body::ToolFinished(_))).count(),
        );
        prop_assert!(started == finished || harness.machine.is_working(), "{started} began, {finished} ended");
    }
}
