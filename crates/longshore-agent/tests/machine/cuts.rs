//! Answers that are not whole: the model is asked to go on, or the turn fails and says why.

use longshore_model::lifecycle::{TurnErrorCode, TurnOutcome};
use longshore_models::api::{Event, Finish};
use longshore_models::history::HistoryItem;

use super::harness::{MachineHarness, call, ended, text};

fn why(harness: &MachineHarness) -> (TurnErrorCode, &str) {
    let error = harness.end().and_then(|end| end.error.as_ref()).expect("the turn did not fail");
    (error.code, error.message.as_str())
}

#[test]
fn an_answer_that_is_too_long_is_gone_on_with_but_not_for_ever() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    for part in ["One", "two", "three"] {
        harness.answer(vec![text(part), Event::Ended(Finish::Length)]);
        let last = harness.heard().pop();
        assert_eq!(
            last,
            Some(HistoryItem::user(None, "Your last answer was cut off. Go on where it ended.", &[]))
        );
    }
    assert!(harness.notices()[2].contains("asking it to go on (3 of 3)"), "{:?}", harness.notices());
    harness.answer(vec![text("four"), Event::Ended(Finish::Length)]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&harness).1.contains("max_output higher under [agents.react]"), "{:?}", why(&harness));

    harness.prompt("again");
    harness.answer(vec![text("One"), Event::Ended(Finish::Length)]);
    harness.answer(vec![text("two."), ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn calls_of_an_answer_that_is_cut_are_answered_and_that_is_enough() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("a", "shell", "{}"), Event::Ended(Finish::Length)]);
    harness.let_go();
    harness.ran("a", "A");
    assert_eq!(harness.heard().pop(), Some(HistoryItem::result("a", "A", true)));
}

#[test]
fn a_filtered_answer_fails_the_turn_and_keeps_what_was_said() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![text("Well"), Event::Ended(Finish::Filtered)]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&harness).1.contains("content filter"), "{:?}", why(&harness));
    harness.prompt("otherwise");
    assert!(harness.heard().contains(&HistoryItem::assistant(1, "Well")));
}

#[test]
fn an_empty_answer_is_asked_for_once_more_and_then_fails() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![Event::Reasoning("hm".into()), ended()]);
    assert!(harness.notices()[0].contains("the agent asks once more"), "{:?}", harness.notices());
    harness.answer(vec![ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&harness).1.contains("answered nothing, twice"), "{:?}", why(&harness));
    harness.prompt("again");
    harness.answer(vec![ended()]);
    harness.answer(vec![text("Here."), ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn a_window_that_is_full_is_summed_up_once() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![text("Half"), Event::Ended(Finish::Full)]);
    let (_, request) = harness.asked().unwrap();
    assert!(request.tools.is_empty() && format!("{:?}", request.history).contains("Half"), "it is summed up");
    harness.answer(vec![text("They spoke."), ended()]);
    assert!(matches!(&harness.heard()[..], [HistoryItem::Summary { .. }]), "{:?}", harness.heard());
    harness.answer(vec![text("More"), Event::Ended(Finish::Full)]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Failed));
    assert_eq!(why(&harness).0, TurnErrorCode::ContextWindow);
}

#[test]
fn a_pause_is_gone_on_with() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![text("First"), Event::Ended(Finish::Paused)]);
    assert_eq!(harness.heard().pop(), Some(HistoryItem::user(None, "Go on.", &[])));
    harness.answer(vec![text("Done."), ended()]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn a_pause_without_a_word_is_gone_on_with_once() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![Event::Ended(Finish::Paused)]);
    harness.answer(vec![Event::Ended(Finish::Paused)]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&harness).1.contains("answered nothing, twice"), "{:?}", why(&harness));
}
