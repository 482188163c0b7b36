//! Agents whose memory is the log: they are given back what they said.

use std::sync::Arc;

use longshore_log::MemoryLog;
use longshore_model::anchor::Start;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::Content;
use serde_json::Value;

use crate::rig::Rig;

/// A session with one turn: a growing message, its end, and a line that is nothing but memory.
async fn with_a_turn(rig: &mut Rig) -> SessionId {
    let (session, launch) = rig.open_with("react").await;
    assert_eq!(launch.start, Start::New);
    rig.is_ready(session).await;
    let turn = rig.prompt(session, "what is this?").await.unwrap();
    let item = rig.item();
    let say = |body, raw: &str| Draft::new(body).turn(turn).item(item).text("a test").raw(Some(raw.into()));
    let drafts = vec![
        Draft::new(Body::Raw { kind: "history".to_owned(), fault: None }).raw(Some("{\"n\":1}".into())),
        say(Body::MessageDelta, "{\"n\":2}"),
        say(Body::MessageDone { phase: None, partial: false }, "{\"n\":3}"),
    ];
    rig.say(session, drafts).await;
    rig.finish(session, turn, TurnOutcome::Completed).await;
    rig.hub.settle().await;
    rig.left();
    session
}

fn lines(start: &Start) -> Vec<&str> {
    let Start::Lines { lines } = start else { panic!("instead of lines: {start:?}") };
    lines.iter().map(|line| &**line).collect()
}

#[tokio::test]
async fn it_is_given_back_its_lines_and_what_it_was_told_and_nothing_that_only_grew() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = with_a_turn(&mut rig).await;
    rig.gone(session).await;
    rig.hub.settle().await;
    rig.prompt(session, "go on").await.unwrap();
    let launch = rig.launched().await;
    let lines = lines(&launch.start);
    assert_eq!(lines.len(), 3, "{lines:?}");
    let told: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(told["draft"]["body"]["type"], "user_message");
    assert_eq!(told["draft"]["text"], "what is this?");
    assert!(told["draft"]["body"]["payload"]["prompt"].is_string());
    assert_eq!(lines[1..], ["{\"n\":1}", "{\"n\":3}"]);
    rig.is_ready(session).await;
    rig.hub.settle().await;
    let events = rig.hub.events(session, Seq(0), 1_000, longshore_log::WithRaw::No);
    let revived = events
        .await
        .unwrap()
        .iter()
        .any(|frame| matches!(frame.event().unwrap().body, Body::SessionRevived { from_log: true }));
    assert!(revived, "it is told that the log is where the memory came from");
}

#[tokio::test]
async fn a_fork_of_it_remembers_by_the_same_lines() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let origin = with_a_turn(&mut rig).await;
    rig.hub.fork(origin, None).await.unwrap();
    let launch = rig.launched().await;
    assert_eq!(lines(&launch.start)[1..], ["{\"n\":1}", "{\"n\":3}"]);
}

#[tokio::test]
async fn a_fork_before_a_message_remembers_what_was_before_it() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let origin = with_a_turn(&mut rig).await;
    let turn = rig.prompt(origin, "and this?").await.unwrap();
    let said = Draft::new(Body::MessageDone { phase: None, partial: false }).turn(turn).item(rig.item());
    rig.say(origin, vec![said.text("another").raw(Some("{\"n\":4}".into()))]).await;
    rig.hub.settle().await;
    rig.left();

    // The second turn still runs: what was before it is whole all the same.
    let timeline = rig.hub.timeline(origin).await.unwrap();
    let messages: Vec<Seq> = timeline
        .items
        .iter()
        .filter(|item| matches!(item.content, Content::UserMessage { .. }))
        .map(|item| item.seq)
        .collect();
    let fork = rig.hub.fork(origin, Some(messages[1])).await.unwrap();
    let launch = rig.launched().await;
    assert_eq!(lines(&launch.start)[1..], ["{\"n\":1}", "{\"n\":3}"]);
    let copied = rig.hub.timeline(fork.session_id).await.unwrap();
    let texts: Vec<&str> = copied.items.iter().map(|item| &*item.text).collect();
    assert_eq!(texts, ["what is this?", "a test", ""], "a message, its answer, the end of the turn");
    assert!(fork.forked_from.unwrap().seq < messages[1]);
}
