//! What goes to and fro between sessions and their agents.

use longshore_model::anchor::{FromAnchor, ToAnchor};
use longshore_model::event::{Body, RawFault};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::SleepCause;
use serde_json::json;

use crate::rig::{Life, Rig};

const MIB: usize = 1024 * 1024;

/// The fault and the number of bytes kept of each line that was garbled.
fn garbled(life: &Life) -> Vec<(RawFault, usize)> {
    let mut found = Vec::new();
    for draft in &life.drafts {
        if let Body::Raw { fault: Some(fault), .. } = draft.body {
            found.push((fault, draft.raw.as_ref().map_or(0, |raw| raw.len())));
        }
    }
    found
}

#[tokio::test]
async fn a_huge_line_passes_and_a_longer_one_is_cut() {
    let mut rig = Rig::new(json!([
        {"do": "bytes", "count": 63 * MIB},
        {"do": "print", "line": ""},
        {"do": "bytes", "count": 70 * MIB},
        {"do": "print", "line": ""},
        {"do": "print", "line": "and on"},
    ]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    let lengths: Vec<_> = life.texts().iter().map(|text| text.len()).collect();
    assert_eq!(lengths, [63 * MIB, "65536".len(), "and on".len()]);
    assert_eq!(garbled(&life), [(RawFault::Truncated, 64 * 1024)]);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_told_as_such() {
    let mut rig = Rig::new(json!([
        {"do": "raw", "bytes": b"a\xff\xfeb\n\n  \n"},
        {"do": "print", "line": "fine"},
    ]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert_eq!(garbled(&life), [(RawFault::InvalidUtf8, "a\u{fffd}\u{fffd}b".len())]);
    assert_eq!(life.texts().last(), Some(&"fine"));
    assert_eq!(life.drafts.len(), 3, "ready, garbled, fine; nothing of the empty lines");
}

#[tokio::test]
async fn what_one_read_gave_is_said_in_one_message() {
    let mut rig = Rig::new(json!([{"do": "repeat", "line": "word", "times": 1000}]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert_eq!(life.texts(), ["word"; 1000]);
    assert!(life.messages < 10, "{} messages", life.messages);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_side_by_side_hear_their_own_agents() {
    let mut rig = Rig::new(json!([{"do": "echo"}]));
    let mut sessions = Vec::new();
    for n in 0..8 {
        let session = rig.open().await;
        rig.prompt(session, &format!("hello {n}")).await;
        sessions.push(session);
    }
    let mut heard = vec![None; sessions.len()];
    while heard.iter().any(Option::is_none) {
        let FromAnchor::Said { session, drafts } = rig.next().await else { panic!("no agent ends") };
        let place = sessions.iter().position(|other| *other == session).unwrap();
        let texts = drafts.into_iter().filter_map(|draft| draft.text);
        heard[place] = heard[place].take().or(texts.last());
    }
    let expected: Vec<_> = (0..8).map(|n| Some(format!("hello {n}"))).collect();
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn a_child_session_is_reached_through_the_process_that_hosts_it() {
    let mut rig = Rig::new(json!([{"do": "print", "line": "child"}, {"do": "echo"}]));
    let root = rig.open().await;
    let child = the_child(&mut rig, root).await;
    rig.prompt(child, "for the child").await;
    rig.hear(root, "child: for the child").await;
    rig.stop(root).await;
    let mut gone = Vec::new();
    while gone.len() < 2 {
        if let FromAnchor::Gone { session, sleep, .. } = rig.next().await {
            assert_eq!(sleep.cause, SleepCause::Stopped);
            gone.push(session);
        }
    }
    assert_eq!(gone, [root, child]);
}

#[tokio::test]
async fn stopping_a_child_session_leaves_the_process_to_its_parent() {
    let mut rig = Rig::new(json!([{"do": "print", "line": "child"}, {"do": "echo"}]));
    let root = rig.open().await;
    let child = the_child(&mut rig, root).await;
    rig.stop(child).await;
    assert_eq!(rig.life(child).await.sleep.cause, SleepCause::Stopped);
    rig.prompt(root, "still here").await;
    rig.hear(root, "still here").await;
}

#[tokio::test]
async fn a_child_session_that_is_opened_by_itself_leaves_the_process_of_its_parent() {
    let mut rig = Rig::new(json!([{"do": "print", "line": "child"}, {"do": "echo"}]));
    let root = rig.open().await;
    let child = the_child(&mut rig, root).await;
    let mut launch = rig.launch();
    launch.session = child;
    rig.send(ToAnchor::Open(launch)).await;
    rig.prompt(child, "to its own").await;
    rig.hear_past_gone(child, "to its own").await;
    // The parent's process speaks of it again; that is passed on, and changes nothing.
    rig.prompt(root, "child").await;
    rig.hear_past_gone(child, "child").await;
    rig.prompt(child, "still to its own").await;
    rig.hear_past_gone(child, "still to its own").await;
}

/// The session other than `root` that is spoken of first.
async fn the_child(rig: &mut Rig, root: SessionId) -> SessionId {
    loop {
        if let FromAnchor::Said { session, .. } = rig.next().await
            && session != root
        {
            return session;
        }
    }
}

#[tokio::test]
async fn a_session_without_an_agent_hears_so() {
    let mut rig = Rig::new(json!([]));
    let nobody = rig.launch().session;
    rig.prompt(nobody, "hello?").await;
    let life = rig.life(nobody).await;
    assert_eq!(life.reason, "no agent runs for this session");
    rig.stop(nobody).await;
    assert_eq!(rig.life(nobody).await.reason, "no agent runs for this session");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_a_session_again_replaces_its_agent_and_keeps_the_order() {
    let mut rig = Rig::new(json!([{"do": "print", "line": "up"}, {"do": "echo"}]));
    let launch = rig.launch();
    let session = launch.session;
    rig.send(ToAnchor::Open(launch.clone())).await;
    rig.hear(session, "up").await;
    rig.send(ToAnchor::Open(launch)).await;
    rig.prompt(session, "to the second").await;
    let first = rig.life(session).await;
    assert_eq!(first.sleep.cause, SleepCause::Stopped);
    assert!(!first.texts().contains(&"to the second"));
    rig.hear(session, "to the second").await;
}

#[tokio::test]
async fn a_driver_is_called_at_its_deadline() {
    let mut rig = Rig::new(json!([{"do": "print", "line": "tick"}, {"do": "echo"}]));
    let session = rig.open().await;
    rig.hear(session, "tick").await;
    loop {
        let FromAnchor::Said { drafts, .. } = rig.next().await else { panic!("the agent does not end") };
        if drafts.iter().any(|draft| matches!(draft.body, Body::Notice { .. })) {
            break;
        }
    }
}
