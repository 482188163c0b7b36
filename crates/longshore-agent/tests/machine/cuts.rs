//! Answers that are not whole: the model is asked to go on, or the turn fails and says why.

use longshore_model::lifecycle::{TurnErrorCode, TurnOutcome};
use longshore_models::api::{Event, Finish};
use longshore_models::history::HistoryItem;

use super::desk::{Desk, call, ended, text};

fn why(desk: &Desk) -> (TurnErrorCode, &str) {
    let error = desk.end().and_then(|end| end.error.as_ref()).expect("the turn did not fail");
    (error.code, error.message.as_str())
}

#[test]
fn an_answer_that_is_too_long_is_gone_on_with_but_not_for_ever() {
    let mut desk = Desk::new();
    desk.prompt("go");
    for part in ["One", "two", "three"] {
        desk.answer(vec![text(part), Event::Ended(Finish::Length)]);
        let last = desk.heard().pop();
        assert_eq!(
            last,
            Some(HistoryItem::user(None, "Your last answer was cut off. Go on where it ended.", &[]))
        );
    }
    assert!(desk.notices()[2].contains("asking it to go on (3 of 3)"), "{:?}", desk.notices());
    desk.answer(vec![text("four"), Event::Ended(Finish::Length)]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&desk).1.contains("max_output higher under [agents.react]"), "{:?}", why(&desk));

    desk.prompt("again");
    desk.answer(vec![text("One"), Event::Ended(Finish::Length)]);
    desk.answer(vec![text("two."), ended()]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn calls_of_an_answer_that_is_cut_are_answered_and_that_is_enough() {
    let mut desk = Desk::new();
    desk.prompt("go");
    desk.answer(vec![call("a", "shell", "{}"), Event::Ended(Finish::Length)]);
    desk.let_go();
    desk.ran("a", "A");
    assert_eq!(desk.heard().pop(), Some(HistoryItem::result("a", "A", true)));
}

#[test]
fn a_filtered_answer_fails_the_turn_and_keeps_what_was_said() {
    let mut desk = Desk::new();
    desk.prompt("go");
    desk.answer(vec![text("Well"), Event::Ended(Finish::Filtered)]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&desk).1.contains("content filter"), "{:?}", why(&desk));
    desk.prompt("otherwise");
    assert!(desk.heard().contains(&HistoryItem::assistant(1, "Well")));
}

#[test]
fn an_empty_answer_is_asked_for_once_more_and_then_fails() {
    let mut desk = Desk::new();
    desk.prompt("go");
    desk.answer(vec![Event::Reasoning("hm".into()), ended()]);
    assert!(desk.notices()[0].contains("asking it once more"), "{:?}", desk.notices());
    desk.answer(vec![ended()]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&desk).1.contains("answered nothing, twice"), "{:?}", why(&desk));
    desk.prompt("again");
    desk.answer(vec![ended()]);
    desk.answer(vec![text("Here."), ended()]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn a_window_that_is_full_is_summed_up_once() {
    let mut desk = Desk::new();
    desk.prompt("go");
    desk.answer(vec![text("Half"), Event::Ended(Finish::Full)]);
    let (_, request) = desk.asked().unwrap();
    assert!(request.tools.is_empty() && format!("{:?}", request.history).contains("Half"), "it is summed up");
    desk.answer(vec![text("They spoke."), ended()]);
    assert!(matches!(&desk.heard()[..], [HistoryItem::Summary { .. }]), "{:?}", desk.heard());
    desk.answer(vec![text("More"), Event::Ended(Finish::Full)]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Failed));
    assert_eq!(why(&desk).0, TurnErrorCode::ContextWindow);
}

#[test]
fn a_pause_is_gone_on_with() {
    let mut desk = Desk::new();
    desk.prompt("go");
    desk.answer(vec![text("First"), Event::Ended(Finish::Paused)]);
    assert_eq!(desk.heard().pop(), Some(HistoryItem::user(None, "Go on.", &[])));
    desk.answer(vec![text("Done."), ended()]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Completed));
}

#[test]
fn a_pause_without_a_word_is_gone_on_with_once() {
    let mut desk = Desk::new();
    desk.prompt("go");
    desk.answer(vec![Event::Ended(Finish::Paused)]);
    desk.answer(vec![Event::Ended(Finish::Paused)]);
    assert_eq!(desk.outcome(), Some(TurnOutcome::Failed));
    assert!(why(&desk).1.contains("answered nothing, twice"), "{:?}", why(&desk));
}
