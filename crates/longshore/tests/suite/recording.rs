//! A recording of a real agent by our own hub has the inputs of the driver. So the replay gives the very same
//! events, without code that knows the agent's protocol.

use std::path::PathBuf;
use std::sync::Arc;

use longshore::scenario::{InstalledAgent, StagedAgent, scenario};
use longshore_drivers::capture::{Capture, Direction, ReplayStep, replay};
use longshore_drivers::discover::{AgentSettings, Surroundings, Versions};
use longshore_drivers::table;
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::TurnId;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agents;

/// An event as JSON, with the paths of the recording instead of the private paths.
fn essence(event: &Event, folder: &str) -> Value {
    let plain = json!([event.session, event.turn, event.item, event.text, event.body]).to_string();
    let plain = plain.replace(&format!("{folder}/work"), "/home/dev/project");
    let plain = plain.replace(&format!("{folder}/home"), "/home/dev").replace(folder, "/home/dev/.agent");
    unmeasured(serde_json::from_str(&plain).unwrap())
}

/// Removes the durations, because the hub measures them if the agent reports none.
fn unmeasured(mut event: Value) -> Value {
    if let Some(payload) = event[4]["payload"].as_object_mut() {
        payload.remove("durationMs");
    }
    event
}

/// Whether the hub emits this event by itself, without a driver.
fn is_of_hub(body: &Body) -> bool {
    match body {
        Body::TurnStarted { prompt } => prompt.is_some(),
        // If an agent's text begins with its first piece, the hub emits the beginning.
        Body::MessageStarted | Body::ReasoningStarted => true,
        body => matches!(body, Body::UserMessage { .. } | Body::ApprovalDecided { .. } | Body::GitChanged(_)),
    }
}

/// An agent as it is installed for the tests.
async fn installed(name: &str) -> InstalledAgent {
    let path = ("PATH", PathBuf::from(std::env::var_os("PATH").unwrap()));
    let around = Surroundings::of(agents::places().into_iter().chain([path]));
    let agent = table::built_in().into_iter().find(|agent| agent.name() == name).unwrap();
    let settings = AgentSettings::default();
    let info = Versions::default().describe(&agent, &settings, &around).await;
    InstalledAgent::new(agent, &info, settings, around).unwrap()
}

/// Plays a scenario, and reads its recording as from a file. Returns the events and the recording.
async fn recorded(agent: &str, name: &str) -> (Vec<Arc<Event>>, Capture) {
    let below = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (found, scenario) = (installed(agent).await, scenario(name).unwrap());
    let mut staged = StagedAgent::new(&found, below.path());
    let played = staged.play(scenario).await.unwrap();
    assert_eq!(played.fault, None, "{agent} in {name}");
    let events = staged.events().to_vec();
    let mut file = Vec::new();
    staged.capture(scenario, None).await.write(&mut file).unwrap();
    (events, Capture::read(file.as_slice()).unwrap())
}

async fn becomes_the_same_once_more(agent: &str, name: &str) {
    let (events, capture) = recorded(agent, name).await;
    assert!(capture.entries.iter().any(|entry| entry.dir == Direction::Told), "{agent} was told nothing");
    let folder = events.iter().find_map(|event| match &event.body {
        Body::SessionOpened(opened) => opened.cwd.strip_suffix("/work"),
        _ => None,
    });
    let (folder, session) = (folder.unwrap(), events[0].session);
    // The hub ends a turn if the agent does not live to end it.
    let whole = |event: &Arc<Event>| match &event.body {
        Body::TurnFinished(end) => event.turn.filter(|_| end.outcome == TurnOutcome::Completed),
        _ => None,
    };
    let whole: Vec<TurnId> = events.iter().filter_map(whole).collect();
    let is_told = |turn: Option<TurnId>, body: &Body| {
        turn.is_some_and(|turn| whole.contains(&turn)) && !is_of_hub(body)
    };
    let of_driver = |event: &&Arc<Event>| is_told(event.turn, &event.body);
    let live: Vec<Value> = events.iter().filter(of_driver).map(|event| essence(event, folder)).collect();
    assert!(live.len() > 2, "{agent} in {name}: {live:?}");
    let said = |step: ReplayStep| match step {
        ReplayStep::Said { session: of, draft } if of == session => Some(*draft),
        ReplayStep::Said { .. }
        | ReplayStep::Told { .. }
        | ReplayStep::Wrote(_)
        | ReplayStep::Finished(_) => None,
    };
    let again = replay(&capture)
        .unwrap()
        .into_iter()
        .filter_map(said)
        .filter(|draft| is_told(draft.turn, &draft.body));
    let essence =
        |Draft { turn, item, text, body, .. }: Draft| unmeasured(json!([session, turn, item, text, body]));
    let mut again: Vec<Value> = again.map(essence).collect();
    // What an agent reports after its turn may come after the last event for which the client waited.
    again.truncate(live.len());
    for (at, (live, again)) in live.iter().zip(&mut again).enumerate() {
        if again[3].is_null() {
            // The hub adds its own text to an event for which the agent has no text.
            again[3] = live[3].clone();
        }
        assert_eq!(live, &*again, "{agent} in {name}, event {at} of its driver");
    }
    assert_eq!(live.len(), again.len(), "{agent} in {name}: {:#?}", live.get(again.len()..));
}

#[tokio::test]
async fn a_recording_of_an_agent_that_speaks_in_lines_needs_no_player() {
    becomes_the_same_once_more("codex", "change").await;
    becomes_the_same_once_more("claude", "allowed").await;
}

#[tokio::test]
async fn a_recording_of_an_agent_that_is_killed_and_comes_back_needs_no_player() {
    becomes_the_same_once_more("codex", "revive").await;
}

#[tokio::test]
async fn a_recording_of_an_agent_that_is_a_server_needs_no_player() {
    becomes_the_same_once_more("opencode", "change").await;
}

#[tokio::test]
async fn a_recording_of_an_agent_with_a_process_for_each_turn_needs_no_player() {
    becomes_the_same_once_more("codex-exec", "plain").await;
}
