//! History and live join without gap or double; nobody waits for a reader that does not read.

use std::sync::Arc;

use longshore_log::{MemoryLog, WithRaw};
use longshore_model::event::{Body, Draft};
use longshore_model::id::Seq;
use longshore_model::lifecycle::TurnOutcome;
use longshore_session::HubError;

use crate::rig::{Rig, is_turn_end, until};

const BATCHES: u64 = 200;
const DELTAS: u64 = 50;

/// Floods a session with deltas while subscribers come from all over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_whenever_from_wherever_sees_every_event_once() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    let item = rig.item();
    let mut readers = Vec::new();
    for batch in 0..BATCHES {
        if batch % 20 == 0 {
            let head = rig.hub.session(session).await.unwrap().head;
            for after in [0, head.0 / 2, head.0] {
                let mut reader = rig.hub.subscribe(session, Seq(after), WithRaw::No).await.unwrap();
                readers.push(tokio::spawn(async move {
                    let seen = until(&mut reader, is_turn_end).await;
                    (after, seen.iter().map(|event| event.seq.0).collect::<Vec<_>>())
                }));
            }
        }
        let delta = |n| Draft::new(Body::MessageDelta).turn(turn).item(item).text(format!("{batch}.{n} "));
        rig.say(session, (0..DELTAS).map(delta).collect()).await;
    }
    rig.finish(session, turn, TurnOutcome::Completed).await;
    let last = until(&mut rig.hub.subscribe(session, Seq(0), WithRaw::No).await.unwrap(), is_turn_end).await;
    let last = last.last().unwrap().seq.0;
    for reader in readers {
        let (after, seen) = reader.await.unwrap();
        assert_eq!(seen, (after + 1..=last).collect::<Vec<_>>(), "from {after}");
    }
}

#[tokio::test]
async fn a_reader_that_never_reads_holds_nobody_back() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    let asleep = rig.hub.subscribe(session, Seq(0), WithRaw::No).await.unwrap();
    let mut awake = rig.hub.subscribe(session, Seq(0), WithRaw::No).await.unwrap();
    let item = rig.item();
    let words = "x".repeat(1_000);
    for _ in 0..BATCHES {
        let delta = |_| Draft::new(Body::MessageDelta).turn(turn).item(item).text(words.clone());
        rig.say(session, (0..DELTAS).map(delta).collect()).await;
    }
    rig.finish(session, turn, TurnOutcome::Completed).await;
    let seen = until(&mut awake, is_turn_end).await;
    assert!(seen.len() as u64 > BATCHES * DELTAS);
    // And the sleeper, once awake, has missed nothing: its place in the tail is long gone, the log has it all.
    let mut asleep = asleep;
    assert!(asleep.is_behind());
    let late = until(&mut asleep, is_turn_end).await;
    assert_eq!(late.len(), seen.len());
}

#[tokio::test]
async fn a_client_that_is_ahead_of_the_log_is_told_so() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    match rig.hub.subscribe(session, Seq(1_000), WithRaw::No).await {
        Err(HubError::Ahead { after, .. }) => assert_eq!(after, Seq(1_000)),
        other => panic!("instead: {:?}", other.map(|subscription| subscription.cursor())),
    }
}

#[tokio::test]
async fn a_session_that_is_not_there_is_not_made_up() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let nobody = longshore_model::id::SessionId::mint(&mut rig.context());
    assert!(matches!(rig.hub.subscribe(nobody, Seq(0), WithRaw::No).await, Err(HubError::UnknownSession)));
    assert!(matches!(rig.prompt(nobody, "hello").await, Err(HubError::UnknownSession)));
    assert!(matches!(rig.hub.session(nobody).await, Err(HubError::UnknownSession)));
    assert_eq!(rig.hub.awake_sessions(), 0);
}
