//! Tools of the machine's own: questions, plans, delegation.

use longshore_agent::machine::{Effect, MachineInput};
use longshore_drivers::react::wire::Delegate;
use longshore_model::approval::{AnswerAction, FieldKind, QuestionAnswer, QuestionRequest};
use longshore_model::command::AgentCommand;
use longshore_model::delegation::{ChildNews, DelegationRequest, Task};
use longshore_model::event::Body;
use longshore_model::id::{QuestionId, SessionId};
use longshore_model::item::{PlanStatus, PlanStep};
use longshore_model::lifecycle::TurnOutcome;
use longshore_models::history::HistoryItem;
use longshore_models::tool::ToolDefinition;
use serde_json::json;
use uuid::Uuid;

use super::harness::{MachineHarness, call, ended, settings, text};

fn question(harness: &MachineHarness) -> QuestionRequest {
    let asked = harness.drafts().rev().find_map(|draft| match &draft.body {
        Body::QuestionAsked(request) => Some(request.clone()),
        _ => None,
    });
    asked.expect("nothing was asked")
}

fn reply(harness: &mut MachineHarness, question: QuestionId, action: AnswerAction, answer: &str) {
    let answers = [("answer".to_owned(), json!(answer))].into();
    let answer = QuestionAnswer { action, answers, by: "owner".to_owned() };
    harness.tell(AgentCommand::Answer { question, answer });
}

#[test]
fn a_question_waits_for_a_person() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("a", "ask_user", r#"{"question":"Which?","options":["red","blue"]}"#), ended()]);
    let asked = question(&harness);
    assert_eq!(
        (asked.fields[0].kind, asked.fields[0].open, asked.fields[0].choices.len()),
        (FieldKind::One, true, 2)
    );
    assert!(harness.asked().is_none());
    reply(&mut harness, asked.question, AnswerAction::Accept, "green");
    assert_eq!(harness.heard().last(), Some(&HistoryItem::result("a", "green", true)));
    harness.answer(vec![call("b", "ask_user", r#"{"question":"Sure?"}"#), ended()]);
    let asked = question(&harness);
    assert_eq!(asked.fields[0].kind, FieldKind::Text);
    reply(&mut harness, asked.question, AnswerAction::Decline, "");
    assert_eq!(
        harness.heard().last(),
        Some(&HistoryItem::result("b", "the user did not want to answer", false))
    );
}

#[test]
fn what_a_server_wants_to_know_is_asked_and_told() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("a", "shell", "{}"), ended()]);
    harness.let_go();
    let elicits = MachineInput::Elicits {
        call: "a".to_owned(),
        asker: 7,
        source: "everything".to_owned(),
        text: "Who are you?".to_owned(),
        fields: Vec::new(),
    };
    harness.handle(elicits);
    let asked = question(&harness);
    assert_eq!(asked.source.as_deref(), Some("everything"));
    reply(&mut harness, asked.question, AnswerAction::Accept, "me");
    assert!(matches!(&harness.effects[..], [Effect::Reply { asker: 7, .. }]), "{:?}", harness.effects);
}

#[test]
fn plans_are_shown_and_remembered() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let plan = r#"{"explanation":"so","plan":[{"step":"one","status":"in_progress"}]}"#;
    harness.answer(vec![
        call("a", "update_plan", plan),
        call("b", "create_todo", r#"{"text":"two"}"#),
        call("c", "update_todo_status", r#"{"id":1,"status":"completed"}"#),
        call("d", "update_todo_status", r#"{"id":9,"status":"completed"}"#),
        call("e", "create_todo", r#"{"words":"two"}"#),
        ended(),
    ]);
    let steps = |harness: &MachineHarness| {
        harness.drafts().rev().find_map(|draft| match &draft.body {
            Body::PlanUpdated { steps } => Some(steps.clone()),
            _ => None,
        })
    };
    let plans = harness.drafts().filter(|draft| matches!(draft.body, Body::PlanUpdated { .. }));
    let items: std::collections::BTreeSet<_> = plans.map(|draft| draft.item).collect();
    assert_eq!(items.len(), 1, "a turn has one plan, which is written anew: {items:?}");
    let step = |text: &str, status| PlanStep { text: text.to_owned(), status };
    assert_eq!(
        steps(&harness).unwrap(),
        [step("one", PlanStatus::Completed), step("two", PlanStatus::Pending)]
    );
    let heard = format!("{:?}", harness.heard());
    assert!(
        heard.contains("there is no number 9; there are 2") && heard.contains("missing field `text`"),
        "{heard}"
    );
    let mut anew = MachineHarness::with(settings(), harness.lines());
    anew.prompt("go on");
    anew.answer(vec![call("f", "update_todo_status", r#"{"id":2,"status":"completed"}"#), ended()]);
    assert_eq!(steps(&anew).unwrap()[1], step("two", PlanStatus::Completed));
}

fn news(harness: &mut MachineHarness, call: &str, news: ChildNews) {
    harness.tell(AgentCommand::Child { call: call.to_owned(), news });
}

#[test]
fn two_agents_work_side_by_side_and_both_results_come_back() {
    let mut harness = MachineHarness::new();
    harness.prompt("supervise");
    harness.answer(vec![
        call("a", "delegate_to_codex", r#"{"task":"count herons"}"#),
        call("b", "delegate_to_think_execute", r#"{"task":"count gulls","mode":"plan"}"#),
        ended(),
    ]);
    let delegates: Vec<&Delegate> = harness.said.iter().filter_map(|said| said.delegate.as_ref()).collect();
    let task = |agent: &str, task: &str, mode| {
        DelegationRequest::Begin(Task {
            agent: agent.into(),
            task: task.to_owned(),
            cwd: None,
            mode,
            model: None,
        })
    };
    assert_eq!(
        (delegates[0].call.as_str(), &delegates[0].request),
        ("a", &task("codex", "count herons", None))
    );
    let plan = Some(longshore_model::capability::Mode::Plan);
    assert_eq!(delegates[1].request, task("react", "count gulls", plan), "a helper of its own kind");
    let child = |number| SessionId(Uuid::from_u128(number));
    news(&mut harness, "b", ChildNews::Opened { child: child(2), agent: "react".into() });
    news(&mut harness, "a", ChildNews::Opened { child: child(1), agent: "codex".into() });
    news(&mut harness, "a", ChildNews::Said { text: "One…".to_owned() });
    news(&mut harness, "b", ChildNews::Ended { outcome: TurnOutcome::Failed, text: "no gulls".to_owned() });
    assert!(harness.asked().is_none());
    news(
        &mut harness,
        "a",
        ChildNews::Ended { outcome: TurnOutcome::Completed, text: "Two herons.".to_owned() },
    );
    let heard = harness.heard();
    assert_eq!(
        heard[3..],
        [
            HistoryItem::result("a", "Two herons.", true),
            HistoryItem::result("b", "it failed: no gulls", false)
        ]
    );
    assert_eq!(harness.texts(|body| matches!(body, Body::ToolOutputDelta)), ["One…"]);
    assert_eq!(
        harness.texts(|body| matches!(body, Body::DelegationStarted(_))),
        ["count gulls", "count herons"]
    );
    assert_eq!(
        harness.texts(|body| matches!(body, Body::DelegationFinished(_))),
        ["no gulls", "Two herons."]
    );
}

#[test]
fn an_interrupt_calls_the_children_back() {
    let mut harness = MachineHarness::new();
    let turn = harness.prompt("supervise");
    harness.answer(vec![call("a", "delegate_to_codex", r#"{"task":"count herons"}"#), ended()]);
    harness.tell(AgentCommand::Interrupt { turn });
    let recalled = harness
        .said
        .iter()
        .filter_map(|said| said.delegate.as_ref())
        .any(|delegate| delegate.request == DelegationRequest::Recall);
    assert!(recalled);
    news(&mut harness, "a", ChildNews::Ended { outcome: TurnOutcome::Interrupted, text: String::new() });
    assert!(harness.effects.is_empty());
}

#[test]
fn an_agent_that_is_not_there_is_an_error_that_names_those_that_are() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![text("x"), call("a", "delegate_to_nobody", r#"{"task":"x"}"#), ended()]);
    let heard = format!("{:?}", harness.heard().last());
    assert!(heard.contains("nobody") && heard.contains("codex, claude, think_execute"), "{heard}");
}

#[test]
fn nothing_is_offered_to_delegate_with_where_it_would_be_refused() {
    let offered = |harness: &MachineHarness| -> Vec<String> {
        let request = harness.asked().expect("the model was not asked").1;
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let delegates = |name: &String| name.starts_with("delegate_to_");
    let (mut above, mut harness) = (MachineHarness::new(), MachineHarness::deepest());
    above.prompt("go");
    harness.prompt("go");
    assert!(offered(&above).iter().any(delegates) && !offered(&harness).iter().any(delegates));
    assert!(offered(&harness).contains(&"ask_user".to_owned()));
    // A model may call what it is not offered.
    harness.answer(vec![text("x"), call("a", "delegate_to_codex", r#"{"task":"x"}"#), ended()]);
    let heard = format!("{:?}", harness.heard().last());
    assert!(heard.contains("no deeper") && !heard.contains("delegate_to_claude"), "{heard}");
    assert!(!harness.said.iter().any(|said| said.delegate.is_some()));
}

#[test]
fn tools_that_a_server_gets_later_are_offered_from_then_on() {
    let offered = |harness: &MachineHarness| -> Vec<String> {
        let request = harness.asked().expect("the model was not asked").1;
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let before = offered(&harness);
    harness.answer(vec![text("Hello"), ended()]);
    let late = ToolDefinition {
        name: "files.read".to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
        side_by_side: true,
    };
    harness.handle(MachineInput::Tools(vec![late]));
    harness.prompt("once more");
    let after = offered(&harness);
    assert!(after.contains(&"files.read".to_owned()) && !before.contains(&"files.read".to_owned()));
    assert!(!after.contains(&"shell".to_owned()), "what is gone is not offered: {after:?}");
    assert!(after.contains(&"ask_user".to_owned()) && after.contains(&"delegate_to_codex".to_owned()));
}
