//! Calls that an agent announces together: each is shown when it begins, and not before.

use longshore_model::event::{Body, Event};
use longshore_model::id::TurnId;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::json;

use super::rig::{Rig, Talk};
use super::scripted::{CLAUDE, CODEX, ScriptedAgent, steps};

async fn two_calls(cast: &ScriptedAgent) -> (Rig, Talk, TurnId) {
    let story = json!([
        { "do": [(cast.run)("echo x > a.txt"), (cast.run)("echo x > b.txt")] },
        { "do": [{ "say": "Both." }] },
    ]);
    let rig = Rig::with(steps(story)).await;
    let mut talk = rig.open_with(cast.name, "ask").await;
    let turn = talk.prompt("make both").await;
    (rig, talk, turn)
}

fn place(talk: &Talk, nth: usize, fits: impl Fn(&Body) -> bool) -> usize {
    let fits = |(_, event): &(usize, &Event)| fits(&event.body);
    let found = talk.events.iter().enumerate().filter(fits).nth(nth);
    found.unwrap_or_else(|| panic!("no such event\n{}", talk.story())).0
}

/// It makes them one after another: while a person looks at the first, the second has not begun.
#[tokio::test]
async fn the_second_call_of_claude_begins_after_the_first() {
    let (_rig, mut talk, turn) = two_calls(&CLAUDE).await;
    for count in 1..=2 {
        let asked = talk.until_asked(count).await;
        assert_eq!(asked.len(), 1, "{}", talk.story());
        talk.decide(&asked[0], "allow_once").await.unwrap();
    }
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let decided = place(&talk, 0, |body| matches!(body, Body::ApprovalDecided { .. }));
    let begun = place(&talk, 1, |body| matches!(body, Body::ToolStarted(_)));
    assert!(decided < begun, "{}", talk.story());
}

/// It makes them side by side, and asks for both at once.
#[tokio::test]
async fn both_calls_of_codex_wait_for_a_person_at_once() {
    let (_rig, mut talk, _) = two_calls(&CODEX).await;
    let asked = talk.until_asked(2).await;
    assert_eq!(asked.len(), 2, "{}", talk.story());
    let begun = talk.said(|body| matches!(body, Body::ToolStarted(_))).len();
    assert_eq!(begun, 2, "{}", talk.story());
}
