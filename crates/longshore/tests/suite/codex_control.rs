//! The real codex: interrupted, steered, killed, revived, forked.

use longshore_model::event::{Body, Event};
use longshore_model::info::Activity;
use longshore_model::lifecycle::{FaultCode, TurnOutcome};
use serde_json::{Value, json};

use super::rig::Rig;
use super::verbs::{longshore, out};

fn long_talk() -> Value {
    json!({ "say": "word ".repeat(400), "chunks": "words", "delay_ms": 20 })
}

#[tokio::test]
async fn an_interrupt_during_text_keeps_what_was_said() {
    let rig = Rig::with(json!([{ "do": [long_talk()] }, { "do": [{ "say": "Next." }] }])).await;
    let mut talk = rig.talk("full", "talk").await;
    talk.until_event("it speaks", |event| matches!(event.body, Body::MessageDelta)).await;
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(talk.last_turn()).await, TurnOutcome::Interrupted);
    let partial =
        talk.events.iter().find(|event| matches!(event.body, Body::MessageDone { partial: true, .. }));
    let said = partial.expect("the message is brought to an end").text().to_owned();
    assert!(said.starts_with("word") && said.len() < 2_000);
    let turn = talk.prompt("go on").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed);
    assert_eq!(talk.messages().last(), Some(&"Next."));
}

#[tokio::test]
async fn a_steering_message_reaches_the_running_turn() {
    let rig = Rig::with(json!([
        { "do": [{ "call": "exec_command", "args": { "cmd": "sleep 1", "yield_time_ms": 5000 } }] },
        { "do": [{ "say": "As you say." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "run").await;
    talk.until_event("it runs", |event| matches!(event.body, Body::ToolStarted(_))).await;
    let (turn, steered) = (talk.last_turn(), talk.prompt_when("rather do this", "steer").await);
    assert_eq!(turn, steered, "it is the same turn");
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed);
    let heard = rig.heard_by_model(2).await;
    assert!(heard.contains("rather do this"));
}

#[tokio::test]
async fn a_steering_message_cuts_what_the_agent_says_and_stands_behind_it() {
    let rig = Rig::with(json!([{ "do": [long_talk()] }, { "do": [{ "say": "As you say." }] }])).await;
    let mut talk = rig.talk("full", "talk").await;
    talk.until_event("it speaks", |event| matches!(event.body, Body::MessageDelta)).await;
    let turn = talk.prompt_when("rather do this", "steer").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed);
    let ends: Vec<bool> = talk
        .events
        .iter()
        .filter_map(|event| match event.body {
            Body::MessageDone { partial, .. } => Some(partial),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [true, false], "{}", talk.story());
    assert_eq!(talk.info().await.preview.as_deref(), Some("As you say."));
    let shown = out(&longshore(&rig, &["show", "-"]).await);
    let order: Vec<Option<usize>> = ["> talk", "\nword", "cut off here", "> rather do this", "As you say."]
        .iter()
        .map(|words| shown.rfind(words))
        .collect();
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}\n{shown}");
    assert!(!shown.contains("queued:"), "{shown}");
}

#[tokio::test]
async fn a_codex_that_is_killed_in_mid_turn_is_revived_and_remembers() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "The word is heron." }] },
        { "do": [long_talk()] },
        { "do": [{ "say": "It was heron." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "remember a word").await;
    talk.until_turn_ends_somehow().await;
    let turn = talk.prompt("talk").await;
    talk.until("it speaks", |talk| {
        talk.events.iter().any(|event| event.turn == Some(turn) && matches!(event.body, Body::MessageDelta))
    })
    .await;
    rig.kill_agents();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed);
    talk.until_event(
        "it sleeps",
        |event| matches!(&event.body, Body::SessionSleeping(sleep) if sleep.signal == Some(9)),
    )
    .await;
    assert_eq!(talk.info().await.activity, Activity::Sleeping);

    let turn = talk.prompt("what was the word?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed);
    let revived =
        talk.events.iter().any(|event| matches!(event.body, Body::SessionRevived { from_log: false }));
    assert!(revived, "{}", talk.story());
    let heard = rig.heard_by_model(3).await;
    assert!(heard.contains("The word is heron."), "codex read its own memory");
}

#[tokio::test]
async fn a_codex_that_has_forgotten_says_so_and_goes_on_from_the_log() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "The word is heron." }] },
        { "do": [{ "say": "It was heron." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "remember a word").await;
    talk.until_turn_ends_somehow().await;
    rig.kill_agents();
    talk.until_event("it sleeps", |event| matches!(event.body, Body::SessionSleeping(_))).await;
    for memory in ["sessions", "state_5.sqlite", "thread_history_1.sqlite"] {
        let path = rig.folder.path().join("codex").join(memory);
        let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
    }
    let turn = talk.prompt("what was the word?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let forgot = |event: &Event| matches!(&event.body, Body::SessionError(fault) if fault.code == FaultCode::ResumeFailed);
    assert!(talk.events.iter().any(forgot), "it does not pretend\n{}", talk.story());
    let heard = rig.heard_by_model(2).await;
    assert!(heard.contains("The word is heron."), "codex was told what the log holds");
}

#[tokio::test]
async fn a_fork_remembers_and_goes_its_own_way() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "The word is heron." }] },
        { "do": [{ "say": "Heron, says the fork." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "remember a word").await;
    talk.until_turn_ends_somehow().await;
    let fork = talk.call("fork", json!({})).await.unwrap();
    let fork = serde_json::from_value(fork["sessionId"].clone()).unwrap();
    let mut fork = rig.follow(fork, longshore_model::id::Seq::ZERO).await;
    let turn = fork.prompt("what was the word?").await;
    assert_eq!(fork.until_turn_ends(turn).await, TurnOutcome::Completed);
    assert_eq!(fork.messages(), ["The word is heron.", "Heron, says the fork."]);
    let heard = rig.heard_by_model(2).await;
    assert!(heard.contains("The word is heron."));
    assert_eq!(talk.info().await.head, talk.events.last().unwrap().seq, "the origin has heard nothing of it");
}

/// Codexes that find the same empty home at once get into each other's way, unless one goes first.
#[tokio::test]
async fn first_sessions_that_begin_at_once_all_begin() {
    let hello = json!({ "do": [{ "say": "Hello." }] });
    let rig = Rig::with(json!([hello, hello, hello])).await;
    let begin = || async {
        let mut talk = rig.open("full").await;
        let turn = talk.prompt("say hello").await;
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
        assert_eq!(talk.messages(), ["Hello."]);
    };
    tokio::join!(begin(), begin(), begin());
}

#[tokio::test]
async fn codex_tells_its_models() {
    let rig = Rig::with(json!([])).await;
    let known: Value = rig.client().await.call("agents", json!({})).await.unwrap();
    let codex = &known["agents"][0];
    assert_eq!(codex["version"], "0.166.0");
    assert!(codex["models"].as_array().is_some_and(|models| !models.is_empty()), "{known}");
    assert_eq!(codex["capabilities"]["modes"], json!(["plan", "ask", "auto-edit", "full"]));
}
