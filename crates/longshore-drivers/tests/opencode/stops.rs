//! A client stops a turn, also one that OpenCode has not begun.

use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::Output;
use longshore_model::event::Body;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::harness::{CHAT, DriverHarness, USER, requests};

const ABORT: &str = "POST /session/ses_1/abort";
const PROMPT: &str = "POST /session/ses_1/prompt_async";

/// A driver whose turn was stopped before OpenCode reported anything of it.
fn stopped_early() -> DriverHarness {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    harness.answer(PROMPT, 204, Value::Null);
    let out = harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    assert_eq!(requests(&out), [ABORT]);
    harness
}

fn prompted(harness: &mut DriverHarness) -> Output {
    let info = json!({"id": USER, "role": "user", "sessionID": CHAT});
    harness.event("message.updated", json!({"info": info}))
}

fn busy(harness: &mut DriverHarness) -> Output {
    harness.event("session.status", json!({"status": {"type": "busy"}}))
}

fn aborted(harness: &mut DriverHarness) -> Output {
    let error = json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}});
    harness.event("session.error", json!({"error": error}));
    harness.step(json!({"time": {"completed": 1}, "error": error}))
}

fn outcomes(out: &Output) -> Vec<TurnOutcome> {
    let end = |body: &Body| match body {
        Body::TurnFinished(end) => Some(end.outcome),
        _ => None,
    };
    out.said.iter().filter_map(|(_, draft)| end(&draft.body)).collect()
}

/// The order in which the real one reports it.
#[test]
fn a_stop_that_found_nothing_to_stop_is_sent_again_when_opencode_works() {
    let mut harness = stopped_early();
    assert!(harness.answer(ABORT, 200, json!(true)).requests.is_empty());
    harness.event("session.status", json!({"status": {"type": "idle"}}));
    harness.idle();
    assert!(prompted(&mut harness).requests.is_empty(), "it may still have nothing to stop");
    assert_eq!(requests(&busy(&mut harness)), [ABORT]);
    assert!(harness.answer(ABORT, 200, json!(true)).requests.is_empty());
    aborted(&mut harness);
    assert_eq!(outcomes(&harness.idle()), [TurnOutcome::Interrupted]);
    assert!(busy(&mut harness).requests.is_empty(), "nothing is left to stop");
}

#[test]
fn what_opencode_reports_before_it_answers_counts_when_it_has_answered() {
    let mut harness = stopped_early();
    prompted(&mut harness);
    assert!(busy(&mut harness).requests.is_empty(), "the first one may reach it yet");
    assert_eq!(requests(&harness.answer(ABORT, 200, json!(true))), [ABORT]);
    // A message of the model is a sign of work, too.
    assert!(harness.answer(ABORT, 200, json!(true)).requests.is_empty());
    assert_eq!(requests(&harness.step(json!({}))), [ABORT]);
}

#[test]
fn a_stop_that_was_heeded_is_not_sent_again() {
    let mut harness = stopped_early();
    prompted(&mut harness);
    busy(&mut harness);
    aborted(&mut harness);
    assert!(harness.answer(ABORT, 200, json!(true)).requests.is_empty());
    // Nor is one of a turn of which there was something to stop.
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    busy(&mut harness);
    assert!(harness.answer(ABORT, 200, json!(true)).requests.is_empty());
    assert!(busy(&mut harness).requests.is_empty());
}

#[test]
fn a_turn_that_never_stops_is_not_told_for_ever() {
    let mut harness = stopped_early();
    prompted(&mut harness);
    let mut sent = 1;
    for _ in 0..20 {
        sent += busy(&mut harness).requests.len();
        if harness.requested.iter().any(|request| request.path.contains("/abort")) {
            sent += harness.answer(ABORT, 200, json!(true)).requests.len();
        }
    }
    assert_eq!(sent, 5);
}

#[test]
fn a_stop_says_nothing_to_the_next_turn() {
    let mut harness = stopped_early();
    prompted(&mut harness);
    aborted(&mut harness);
    harness.idle();
    harness.say("next");
    assert!(harness.answer(ABORT, 200, json!(true)).requests.is_empty());
    assert!(busy(&mut harness).requests.is_empty());
}
