//! The loop: answers, calls, results, and again, until nothing is called.

use std::time::Duration;

use longshore_agent::machine::{Effect, MachineInput};
use longshore_agent::memory::Memory;
use longshore_agent::tools::{CallApproval, CallVerdict, Risk, ToolResult};
use longshore_drivers::react::settings::ReactSettings;
use longshore_model::approval::{Decision, Subject};
use longshore_model::command::AgentCommand;
use longshore_model::event::Body;
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::{TurnErrorCode, TurnOutcome};
use longshore_model::usage::Usage;
use longshore_models::api::{Event, Failure, FailureKind};
use longshore_models::history::{HistoryItem, INTERRUPTED};
use serde_json::json;

use super::harness::{MachineHarness, call, ended, settings, text};

fn result(id: &str, content: &str) -> HistoryItem {
    HistoryItem::result(id, content, true)
}

fn failure(kind: FailureKind) -> Event<'static> {
    Event::Failed(Failure::new(kind, "it broke"))
}

fn statuses(harness: &MachineHarness) -> Vec<ToolStatus> {
    let status = |draft: &longshore_model::event::Draft| match &draft.body {
        Body::ToolFinished(outcome) => Some(outcome.status),
        _ => None,
    };
    harness.drafts().filter_map(status).collect()
}

fn ask(always: &[&str]) -> CallVerdict {
    CallVerdict::Ask(CallApproval {
        reason: "it writes".to_owned(),
        risks: vec![Risk::Deletes],
        subject: Subject::Tool { name: "shell".to_owned(), input: json!({}) },
        always: always.iter().map(|rule| (*rule).to_owned()).collect(),
    })
}

#[test]
fn words_end_a_turn() {
    let mut harness = MachineHarness::new();
    harness.prompt("hail");
    let (_, request) = harness.asked().unwrap();
    assert_eq!(request.model, "m");
    assert!(request.tools.iter().any(|tool| tool.name == "delegate_to_codex"), "{:?}", request.tools);
    harness.answer(vec![Event::Reasoning("hm".into()), text("Hel"), text("lo."), ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed));
    assert_eq!(harness.texts(|body| matches!(body, Body::MessageDone { .. })), ["Hello."]);
    assert_eq!(harness.texts(|body| matches!(body, Body::ReasoningDone { partial: false })), ["hm"]);
    harness.prompt("and?");
    let heard = harness.heard();
    assert_eq!(heard.len(), 3);
    assert_eq!(heard[1], HistoryItem::assistant(1, "Hello."));
}

#[test]
fn calls_are_run_and_answered_in_their_order() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![
        text("Looking."),
        call("a", "read_file", "{\"path\":\"x\"}"),
        call("b", "read_file", "{}"),
        call("c", "shell", "{}"),
        ended(),
    ]);
    let runs: Vec<String> = harness.let_go().into_iter().map(|(call, _)| call.id).collect();
    assert_eq!(runs, ["a", "b"], "those that may run side by side do; the other one waits");
    harness.ran("b", "B");
    assert!(harness.runs().is_empty());
    harness.ran("a", "A");
    assert_eq!(harness.runs()[0].0.id, "c");
    harness.ran("c", "C");
    let heard = harness.heard();
    assert_eq!(heard[heard.len() - 3..], [result("a", "A"), result("b", "B"), result("c", "C")]);
    harness.answer(vec![text("Done."), ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn a_call_begins_while_the_answer_still_comes() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let number = harness.answer(vec![call("a", "read_file", "{}")]);
    assert_eq!(harness.let_go().len(), 1);
    harness.ran("a", "A");
    assert!(harness.asked().is_none(), "the answer is not whole yet");
    harness.answer_to(number, vec![call("b", "read_file", "{}"), ended()]);
    harness.let_go();
    harness.ran("b", "B");
    let heard = harness.heard();
    assert!(
        matches!(&heard[1..3], [HistoryItem::FunctionCall { .. }, HistoryItem::FunctionCall { .. }]),
        "{heard:?}"
    );
    assert_eq!(heard[3..], [result("a", "A"), result("b", "B")]);
}

#[test]
fn malformed_arguments_go_back_with_their_fault() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![
        call("a", "shell", "{\"command\": [\"ls\""),
        call("b", "shell", "[1]"),
        call("c", "read_file", ""),
        ended(),
    ]);
    assert_eq!(harness.weighed().len(), 1, "nothing at all is no arguments, and no fault");
    harness.let_go();
    harness.ran("c", "C");
    let heard = harness.heard();
    let told = |item: &HistoryItem| match item {
        HistoryItem::FunctionCallOutput { output, .. } => (output.content.clone(), output.success),
        other => panic!("{other:?}"),
    };
    let (first, second) = (told(&heard[4]), told(&heard[5]));
    assert!(first.0.contains("shell") && first.0.contains("EOF while parsing") && !first.1, "{first:?}");
    assert!(second.0.contains("they are [1]"), "{second:?}");
    assert_eq!(statuses(&harness), [ToolStatus::Failed, ToolStatus::Failed, ToolStatus::Completed]);
}

#[test]
fn a_tool_that_fails_is_an_answer_too() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("a", "shell", "{}"), ended()]);
    harness.let_go();
    let broken = Box::new(ToolResult::failed("exit code 1"));
    harness.handle(MachineInput::Ran { call: "a".to_owned(), result: broken });
    assert_eq!(harness.heard().last(), Some(&HistoryItem::result("a", "exit code 1", false)));
}

#[test]
fn ids_that_are_missing_or_said_before_become_ours() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let nameless = Event::Call { id: None, name: "read_file".to_owned(), arguments: "{}".to_owned() };
    harness.answer(vec![
        call("x", "read_file", "{}"),
        call("x", "read_file", "{}"),
        nameless,
        call("functions.read_file:3", "read_file", "{}"),
        ended(),
    ]);
    let mut ids: Vec<String> = harness.let_go().into_iter().map(|(call, _)| call.id).collect();
    assert_eq!(
        (ids[0].as_str(), ids[3].as_str()),
        ("x", "functions.read_file:3"),
        "an id goes back as it came"
    );
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), count), (4, 4));
}

#[test]
fn a_person_is_asked_and_says_yes_no_or_stop() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("a", "shell", "{}"), ended()]);
    harness.handle(MachineInput::Weighed {
        call: "a".to_owned(),
        verdict: ask(&["git push"]),
        preview: None,
    });
    assert!(harness.runs().is_empty());
    let reason = harness.texts(|body| matches!(body, Body::ApprovalRequested(_)));
    assert_eq!(reason, ["it writes (deletes)"]);
    harness.decide(Decision::AllowSession);
    assert!(harness.effects.contains(&Effect::Allow(vec!["git push".to_owned()])));
    let runs = harness.runs();
    assert!(runs[0].1.approved);
    harness.ran("a", "A");

    harness.answer(vec![call("b", "shell", "{}"), ended()]);
    harness.handle(MachineInput::Weighed { call: "b".to_owned(), verdict: ask(&[]), preview: None });
    harness.decide(Decision::Deny);
    assert_eq!(harness.heard().last(), Some(&HistoryItem::result("b", "the user declined this", false)));

    harness.answer(vec![call("c", "shell", "{}"), ended()]);
    harness.handle(MachineInput::Weighed { call: "c".to_owned(), verdict: ask(&[]), preview: None });
    harness.decide(Decision::Cancel);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Interrupted));
    assert_eq!(statuses(&harness), [ToolStatus::Completed, ToolStatus::Declined, ToolStatus::Declined]);
    assert_eq!(Memory::of_lines(&harness.lines()).rules, ["git push"], "it is remembered");
}

#[test]
fn what_the_mode_forbids_goes_back_to_the_model() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("a", "shell", "{}"), ended()]);
    let refused = CallVerdict::Refuse("only reading is allowed".to_owned());
    harness.handle(MachineInput::Weighed { call: "a".to_owned(), verdict: refused, preview: None });
    assert_eq!(harness.heard().last(), Some(&HistoryItem::result("a", "only reading is allowed", false)));
}

#[test]
fn an_interrupt_stops_what_runs_and_leaves_a_history_to_go_on_from() {
    let mut harness = MachineHarness::new();
    let turn = harness.prompt("go");
    let number = harness.answer(vec![call("a", "read_file", "{}"), call("b", "shell", "{}"), text("And ")]);
    harness.let_go();
    harness.tell(AgentCommand::Interrupt { turn });
    assert!(harness.effects.contains(&Effect::Hush { number }));
    assert!(harness.effects.contains(&Effect::Cancel { call: "a".to_owned() }));
    assert_eq!(harness.outcome(), Some(TurnOutcome::Interrupted));
    assert_eq!(statuses(&harness), [ToolStatus::Cancelled, ToolStatus::Cancelled]);
    harness.answer_to(number, vec![text("late"), ended()]);
    harness.ran("a", "late");
    assert!(harness.effects.is_empty(), "what comes late means nothing: {:?}", harness.effects);
    harness.prompt("go on");
    let heard = harness.heard();
    assert_eq!(heard.len(), 7, "{heard:?}");
    assert_eq!(heard[3], HistoryItem::assistant(1, "And "), "what it had said is kept");
    super::histories::check(&harness.machine.history().legal()).unwrap();
}

#[test]
fn an_interrupt_while_it_waits_to_ask_again_ends_the_turn() {
    let mut harness = MachineHarness::new();
    let turn = harness.prompt("go");
    harness.answer(vec![failure(FailureKind::Network)]);
    assert!(harness.machine.deadline().is_some());
    harness.tell(AgentCommand::Interrupt { turn });
    assert_eq!((harness.outcome(), harness.machine.deadline()), (Some(TurnOutcome::Interrupted), None));
}

#[test]
fn what_is_said_into_a_turn_is_heard_at_the_next_boundary() {
    let mut harness = MachineHarness::new();
    let turn = harness.prompt("go");
    harness.answer(vec![call("a", "shell", "{}"), ended()]);
    harness.let_go();
    harness.steer(turn, "rather this");
    harness.ran("a", "A");
    let heard = harness.heard();
    assert_eq!(heard[2], result("a", "A"));
    assert!(format!("{:?}", heard[3]).contains("rather this"));
    let number = harness.answer(vec![text("As you")]);
    harness.steer(turn, "and that");
    assert!(harness.asked().is_none());
    harness.answer_to(number, vec![text(" say."), ended()]);
    assert!(
        format!("{:?}", harness.heard().last()).contains("and that"),
        "a word in the last moment is answered"
    );
    harness.answer(vec![text("Yes."), ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn what_may_pass_is_tried_again_later_and_later() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let mut waits = Vec::new();
    for _ in 0..5 {
        harness.answer(vec![text("Half"), failure(FailureKind::Cut)]);
        let until = harness.machine.deadline().unwrap();
        waits.push((until.micros() - harness.now) / 1_000);
        harness.handle(MachineInput::Tick);
        assert!(harness.asked().is_none(), "not before its time");
        harness.now = until.micros();
        harness.handle(MachineInput::Tick);
    }
    assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000]);
    assert_eq!(harness.notices()[0], "it broke; trying again in 1 s (1 of 5)");
    assert_eq!(harness.texts(|body| matches!(body, Body::MessageDone { partial: true, .. })).len(), 5);
    assert_eq!(harness.heard().len(), 1, "half an answer is none");
    harness.answer(vec![failure(FailureKind::Cut)]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Failed));
    assert_eq!(harness.end().unwrap().error.as_ref().unwrap().code, TurnErrorCode::Network);
}

#[test]
fn a_service_that_says_when_is_asked_then() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let wait = |seconds| Failure {
        retry_after: Some(Duration::from_secs(seconds)),
        ..Failure::new(FailureKind::RateLimited, "slow")
    };
    harness.answer(vec![Event::Failed(wait(7))]);
    assert_eq!(harness.machine.deadline().unwrap().micros() - harness.now, 7_000_000);
    harness.now += 7_000_000;
    harness.handle(MachineInput::Tick);
    harness.answer(vec![Event::Failed(wait(7_200))]);
    let error = harness.end().unwrap().error.clone().unwrap();
    assert_eq!(
        (error.code, error.message.as_str()),
        (TurnErrorCode::RateLimited, "slow"),
        "hours are not waited for"
    );
}

#[test]
fn what_will_not_pass_ends_the_turn_at_once() {
    for (kind, code) in [
        (FailureKind::Unauthorized, TurnErrorCode::Unauthorized),
        (FailureKind::UsageLimit, TurnErrorCode::UsageLimit),
        (FailureKind::Refused, TurnErrorCode::Other),
    ] {
        let mut harness = MachineHarness::new();
        harness.prompt("go");
        harness.answer(vec![failure(kind)]);
        assert_eq!(harness.end().unwrap().error.as_ref().unwrap().code, code);
    }
}

#[test]
fn a_stream_that_is_cut_after_a_call_goes_on_from_its_result() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![text("I will"), call("a", "shell", "{}"), text("and th"), failure(FailureKind::Cut)]);
    harness.let_go();
    harness.ran("a", "A");
    let heard = harness.heard();
    assert_eq!(heard.len(), 4);
    assert_eq!((&heard[1], &heard[3]), (&HistoryItem::assistant(1, "I will"), &result("a", "A")));
    assert_eq!(harness.notices(), ["it broke"]);
}

#[test]
fn a_stream_that_is_cut_after_words_were_whole_goes_on_from_them() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![text("One."), Event::TextDone("One.".into()), text("Tw"), failure(FailureKind::Cut)]);
    harness.now = harness.machine.deadline().unwrap().micros();
    harness.handle(MachineInput::Tick);
    let heard = harness.heard();
    assert_eq!(heard[1], HistoryItem::assistant(1, "One."));
    assert!(format!("{:?}", heard[2]).contains("cut off"), "{heard:?}");
}

#[test]
fn limits_stop_a_turn_before_the_next_request() {
    let usage = || Event::Usage(Usage { input: Some(900), output: Some(100), ..Usage::default() });
    let go = |settings: ReactSettings| {
        let mut harness = MachineHarness::with(settings, Vec::new());
        harness.prompt("go");
        harness.answer(vec![call("a", "shell", "{}"), usage(), ended()]);
        harness.let_go();
        harness.ran("a", "A");
        harness
    };
    assert!(go(settings()).asked().is_some());
    for (settings, word) in [
        (ReactSettings { max_iterations: 1, ..settings() }, "max_iterations"),
        (ReactSettings { max_tokens: 1_000, ..settings() }, "max_tokens"),
        (
            ReactSettings { max_cost_usd: 0.01, price_input: 20.0, price_output: 20.0, ..settings() },
            "max_cost_usd",
        ),
    ] {
        let harness = go(settings);
        assert!(harness.asked().is_none());
        let error = harness.end().unwrap().error.clone().unwrap();
        assert_eq!(error.code, TurnErrorCode::UsageLimit);
        assert!(error.message.contains(word), "{}", error.message);
        super::histories::check(&harness.machine.history().legal()).unwrap();
    }
}

#[test]
fn what_is_used_is_added_up_and_costs_what_it_costs() {
    let mut harness = MachineHarness::with(
        ReactSettings { price_input: 1.0, price_cached: Some(0.5), price_output: 2.0, ..settings() },
        Vec::new(),
    );
    harness.prompt("go");
    let usage = Usage {
        input: Some(1_000_000),
        cached_input: Some(500_000),
        output: Some(500_000),
        ..Usage::default()
    };
    harness.answer(vec![text("x"), Event::Usage(usage), ended()]);
    let end = harness.end().unwrap();
    assert_eq!(end.cost_usd, Some(0.5 + 0.25 + 1.0));
    assert_eq!(end.usage.unwrap().context_used, Some(1_500_000));
    let again = Memory::of_lines(&harness.lines());
    assert_eq!((again.cost_usd, again.usage.input), (1.75, Some(1_000_000)), "it is remembered");
}

#[test]
fn a_conversation_that_fills_its_window_is_summed_up_and_goes_on() {
    let mut harness = MachineHarness::with(ReactSettings { context_window: 1_000, ..settings() }, Vec::new());
    harness.prompt("do the thing");
    let usage = Usage { input: Some(880), output: Some(20), ..Usage::default() };
    harness.answer(vec![call("a", "shell", "{}"), Event::Usage(usage), ended()]);
    harness.let_go();
    harness.ran("a", "the output");
    let (_, request) = harness.asked().unwrap();
    assert!(request.tools.is_empty(), "it is asked for words only");
    let story = format!("{:?}", request.history);
    assert!(story.contains("do the thing") && story.contains("the output"), "{story}");
    harness.answer(vec![text("We did "), text("a lot."), ended()]);
    assert!(harness.notices()[0].starts_with("the conversation was summed up"), "{:?}", harness.notices());
    let heard = harness.heard();
    let [HistoryItem::Summary { text: told }] = &heard[..] else { panic!("{heard:?}") };
    assert!(told.starts_with("We did a lot.") && told.ends_with("do the thing"), "{told}");
    assert_eq!(
        harness.texts(|body| matches!(body, Body::MessageDelta)),
        [] as [&str; 0],
        "nobody sees it being written"
    );
    harness.answer(vec![text("Done."), ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn a_service_that_finds_it_too_long_gets_the_summary_once() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![failure(FailureKind::TooLong)]);
    assert!(harness.asked().unwrap().1.tools.is_empty());
    harness.answer(vec![text("Short."), ended()]);
    harness.answer(vec![failure(FailureKind::TooLong)]);
    assert_eq!(harness.end().unwrap().error.as_ref().unwrap().code, TurnErrorCode::ContextWindow);
}

#[test]
fn it_is_summed_up_when_a_person_wants_it() {
    let mut harness = MachineHarness::new();
    harness.prompt("/compact");
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed), "there was nothing to sum up");
    harness.prompt("one");
    harness.answer(vec![text("Two."), ended()]);
    harness.prompt("/compact");
    harness.answer(vec![text("One, two."), ended()]);
    assert!(harness.asked().is_none());
    assert_eq!(harness.machine.history().legal().len(), 1);
}

#[test]
fn an_agent_that_starts_anew_stands_where_it_stood() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![text("I will."), call("a", "shell", "{}"), call("b", "shell", "{}"), ended()]);
    harness.let_go();
    harness.ran("a", "A");
    // Here the power goes, between a call and its result.
    let mut anew = MachineHarness::with(settings(), harness.lines());
    assert_eq!(anew.machine.history(), harness.machine.history());
    anew.prompt("go on");
    let heard = anew.heard();
    assert_eq!(heard[4..6], [result("a", "A"), HistoryItem::result("b", INTERRUPTED, false)]);
    assert_eq!(heard.len(), 7);
    anew.answer(vec![call("a", "shell", "{}"), ended()]);
    assert_ne!(anew.weighed()[0].id, "a", "names of calls are not used again");
}

#[test]
fn a_session_says_how_hard_it_is_thought() {
    let mut harness =
        MachineHarness::with(ReactSettings { effort: Some("low".to_owned()), ..settings() }, Vec::new());
    let effort = |harness: &MachineHarness| harness.asked().and_then(|(_, request)| request.effort.clone());
    harness.prompt("go");
    assert_eq!(effort(&harness).as_deref(), Some("low"), "as the settings say");
    harness.answer(vec![text("Yes."), ended()]);
    harness.tell(AgentCommand::SetEffort("high".to_owned()));
    harness.prompt("again");
    assert_eq!(effort(&harness).as_deref(), Some("high"), "as the session says");
}
