//! A hub that is told to stop in the middle of a turn: the turn is cut, whatever its agent says of it on the way out.

use longshore_model::event::Body;
use longshore_model::id::Seq;
use longshore_model::lifecycle::{TurnErrorCode, TurnOutcome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::rig::{Rig, until};
use super::scripted::{CLAUDE, CODEX, OPENCODE, ScriptedAgent, steps};

async fn cut_by_a_hub_that_stops(cast: &ScriptedAgent) {
    let mut rig = Rig::with(json!([])).await;
    let begun = rig.work().join("begun.txt");
    let command = format!("echo up > {}; sleep 45", begun.display());
    let story = json!([{ "do": [(cast.run)(&command)] }, { "do": [{ "say": "Never said." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talk = rig.open_with(cast.name, "full").await;
    let (session, turn) = (talk.session, talk.prompt("run it").await);
    until("the command runs", || begun.exists()).await;
    talk.prompt("and then?").await;
    kill_process(Pid::from_raw(rig.pid() as i32).unwrap(), Signal::TERM).unwrap();
    rig.gone().await;
    rig.start().await;
    let mut talk = rig.follow(session, Seq::ZERO).await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    let cut = |body: &Body| {
        let Body::TurnFinished(end) = body else { return false };
        end.error.as_ref().is_some_and(|error| error.code == TurnErrorCode::HubRestarted)
    };
    assert_eq!(talk.said(cut).len(), 1, "{}", talk.story());
    let info = talk.info().await;
    assert!(info.cut_by_restart && info.queue_held, "{info:?}\n{}", talk.story());
    assert_eq!(info.queue.len(), 1, "what waited was not said to an agent that was going");
}

#[tokio::test]
async fn a_turn_of_codex_is_cut_by_a_hub_that_stops() {
    cut_by_a_hub_that_stops(&CODEX).await;
}

#[tokio::test]
async fn a_turn_of_claude_is_cut_by_a_hub_that_stops() {
    cut_by_a_hub_that_stops(&CLAUDE).await;
}

#[tokio::test]
async fn a_turn_of_opencode_is_cut_by_a_hub_that_stops() {
    cut_by_a_hub_that_stops(&OPENCODE).await;
}
