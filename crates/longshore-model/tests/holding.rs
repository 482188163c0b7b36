//! Prompts that are held: after a Stop of a person, after a used-up allowance, after a restart in the middle of a turn.

use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::command::{AgentCommand, Command, Refusal, Reply, When};
use longshore_model::event::{Body, Draft};
use longshore_model::id::TurnId;
use longshore_model::lifecycle::{Sleep, SleepCause, TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use longshore_model::session::Effect;

use crate::stage::Stage;

/// What the agent was told to begin, in order.
fn begun(stage: &Stage) -> Vec<TurnId> {
    let turn = |effect: &Effect| match effect {
        Effect::Tell(AgentCommand::Prompt { turn, .. }) => Some(*turn),
        _ => None,
    };
    stage.effects.iter().filter_map(turn).collect()
}

/// A session in whose first turn three prompts were queued.
fn three_wait() -> (Stage, TurnId, Vec<TurnId>) {
    let mut stage = Stage::ready();
    let first = stage.prompt("first");
    let waiting = ["a", "b", "c"].map(|text| stage.prompt(text)).to_vec();
    stage.effects.clear();
    (stage, first, waiting)
}

#[test]
fn a_stop_of_a_person_holds_what_waits_until_a_person_sends_it() {
    let (mut stage, first, waiting) = three_wait();
    stage.command(Command::Interrupt).unwrap();
    stage.finish(first, TurnOutcome::Interrupted);
    assert!(begun(&stage).is_empty(), "nothing is said by itself");
    let info = stage.session.info();
    assert!(info.queue_held && info.queue.iter().all(|queued| queued.held));
    let held = stage.events.iter().find(|event| matches!(event.body, Body::QueueHeld)).unwrap();
    assert_eq!(held.text(), "owner stopped the turn: 3 prompts are held");

    stage.command(Command::SendQueued { all: false }).unwrap();
    assert_eq!(begun(&stage), waiting[..1]);
    stage.finish(waiting[0], TurnOutcome::Completed);
    assert_eq!(begun(&stage), waiting[..1], "the others are still held");
    stage.command(Command::SendQueued { all: true }).unwrap();
    stage.finish(waiting[1], TurnOutcome::Completed);
    assert_eq!(begun(&stage), waiting);
    assert!(!stage.session.info().queue_held);
    assert_eq!(stage.command(Command::SendQueued { all: true }), Ok(Reply::Done), "nothing is held any more");
    stage.check();
}

#[test]
fn a_stop_while_the_agent_starts_stops_the_prompt_that_waits_for_it() {
    let starting = || {
        let mut stage = Stage::new();
        let turn = stage.prompt("too early");
        (stage, turn)
    };
    let (mut stage, turn) = starting();
    stage.command(Command::Interrupt).unwrap();
    assert_eq!(stage.command(Command::Interrupt), Err(Refusal::NoTurn), "it is stopped already");
    stage.is_ready();
    assert!(begun(&stage).is_empty() && stage.session.info().queue_held);
    stage.command(Command::SendQueued { all: true }).unwrap();
    assert_eq!(begun(&stage), [turn]);
    stage.check();

    let (mut stage, _) = starting();
    stage.command(Command::Recall).unwrap();
    stage.is_ready();
    assert!(begun(&stage).is_empty() && stage.session.info().queue.is_empty(), "nobody would send it");
    stage.check();
}

#[test]
fn what_a_person_says_while_the_queue_is_held_goes_first_and_the_rest_stays_held() {
    let (mut stage, first, _) = three_wait();
    stage.command(Command::Interrupt).unwrap();
    stage.finish(first, TurnOutcome::Interrupted);
    let (now, then) = (stage.prompt("rather this"), stage.prompt("and this"));
    assert_eq!(begun(&stage), [now]);
    stage.finish(now, TurnOutcome::Completed);
    assert_eq!(begun(&stage), [now, then]);
    stage.finish(then, TurnOutcome::Completed);
    assert_eq!(begun(&stage), [now, then], "the held ones wait");
    assert_eq!(stage.session.info().queue.len(), 3);
    stage.command(Command::DiscardQueue).unwrap();
    let info = stage.session.info();
    assert!(info.queue.is_empty() && !info.queue_held);
    stage.check();
}

#[test]
fn a_session_that_is_closed_has_no_queue() {
    let (mut stage, _, waiting) = three_wait();
    stage.command(Command::Close).unwrap();
    let info = stage.session.info();
    assert!(info.queue.is_empty() && !info.queue_held);
    let told = stage.events.iter().filter(|event| matches!(event.body, Body::PromptCancelled { .. }));
    assert_eq!(told.count(), waiting.len());
    assert!(
        stage.events.iter().all(|event| !matches!(event.body, Body::QueueHeld)),
        "nothing was held first"
    );
    stage.check();
}

#[test]
fn a_prompt_that_interrupts_and_a_recall_of_who_delegated_hold_nothing() {
    let (mut stage, first, waiting) = three_wait();
    let rather = stage.prompt_when("rather", When::Interrupt);
    stage.finish(first, TurnOutcome::Interrupted);
    assert_eq!(begun(&stage), [rather]);
    stage.command(Command::Recall).unwrap();
    stage.finish(rather, TurnOutcome::Interrupted);
    assert_eq!(begun(&stage), [rather, waiting[0]]);
    stage.check();
}

#[test]
fn a_no_that_stops_the_turn_holds_what_waits() {
    let (mut stage, first, _) = three_wait();
    let approval = stage.approval();
    let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::Cancel] };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(first));
    let no = Command::Decide { approval, decision: Decision::Cancel, message: None, input: None };
    stage.command(no).unwrap();
    stage.finish(first, TurnOutcome::Interrupted);
    assert!(begun(&stage).is_empty());
    assert!(stage.session.info().queue_held);
}

#[test]
fn a_usage_limit_holds_what_waits_and_another_fault_does_not() {
    for (code, held) in [(TurnErrorCode::UsageLimit, true), (TurnErrorCode::Network, false)] {
        let (mut stage, first, waiting) = three_wait();
        let error = TurnError { code, message: "no".to_owned(), details: serde_json::Value::Null };
        let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
        stage.said(Draft::new(Body::TurnFinished(end)).turn(first));
        assert_eq!(stage.session.info().queue_held, held, "{code:?}");
        let why =
            stage.events.iter().find(|event| matches!(event.body, Body::QueueHeld)).map(|event| event.text());
        assert_eq!(why.is_some_and(|why| why.starts_with("the usage limit is reached: ")), held, "{why:?}");
        let went_on: &[TurnId] = if held { &[] } else { &waiting[..1] };
        assert_eq!(begun(&stage), went_on);
        stage.check();
    }
}

#[test]
fn a_restart_in_the_middle_of_a_turn_holds_what_waits_and_resuming_sends_it() {
    let (mut stage, _, waiting) = three_wait();
    stage.gone(Sleep { cause: SleepCause::HubRestarted, ..Sleep::default() }, "the hub was restarted");
    let info = stage.session.info();
    assert!(info.queue_held && info.cut_by_restart);
    assert!(
        stage.effects.iter().all(|effect| !matches!(effect, Effect::Launch(_))),
        "nothing starts by itself"
    );
    let Ok(Reply::Prompted { turn, .. }) = stage.command(Command::Resume) else { panic!("not resumed") };
    stage.is_ready();
    stage.finish(turn, TurnOutcome::Completed);
    assert_eq!(begun(&stage), [turn, waiting[0]]);
    assert!(!stage.session.info().queue_held);
    stage.check();
}
