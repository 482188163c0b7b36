//! Conversations that were held elsewhere: found twice they are there once, and a prompt takes them over.

use std::sync::Arc;

use longshore_log::{MemoryLog, SessionFilter, WithRaw};
use longshore_model::anchor::{FromAnchor, Past, Start, ToAnchor};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, Seq, SessionId, TurnId};
use longshore_model::info::{Activity, Status};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;

use crate::rig::{Rig, agent};

const THEN: i64 = 1_700_000_000_000_000;

fn past(native: &str, size: u64) -> Past {
    Past {
        agent: "codex".into(),
        native: native.to_owned(),
        cwd: "/home/dev/old".to_owned(),
        title: Some("an old talk".to_owned()),
        created_at: Timestamp::from_micros(THEN),
        capabilities: agent().capabilities,
        parent: None,
        size,
        written: Timestamp::from_micros(THEN),
    }
}

fn a_turn(rig: &mut Rig) -> Vec<(Timestamp, Draft)> {
    let (turn, said, item) = {
        let mut cx = rig.context();
        (TurnId::mint(&mut cx), ItemId::mint(&mut cx), ItemId::mint(&mut cx))
    };
    let user = Body::UserMessage { prompt: None, attachments: Vec::new(), by: None };
    let done = Body::MessageDone { phase: None, partial: false };
    let drafts = [
        Draft::new(Body::TurnStarted { prompt: None }).turn(turn),
        Draft::new(user).turn(turn).item(said).text("what was it?"),
        Draft::new(done).turn(turn).item(item).text("It was a heron."),
        Draft::new(Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed))).turn(turn),
    ];
    let at = |n: usize| Timestamp::from_micros(THEN + 1_000_000 * (n as i64 + 1));
    drafts.into_iter().enumerate().map(|(n, draft)| (at(n), draft)).collect()
}

async fn read(rig: &mut Rig) -> (SessionId, u64) {
    match rig.told().await {
        ToAnchor::ReadPast { session, after, .. } => (session, after),
        other => panic!("instead of reading on: {other:?}"),
    }
}

#[tokio::test]
async fn what_was_said_elsewhere_is_read_here_and_then_goes_on_here() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    rig.hub.deliver(FromAnchor::FoundPast { found: vec![past("thread-9", 100)] }).await;
    let (session, after) = read(&mut rig).await;
    assert_eq!((session, after), (SessionId::of_past("codex", "thread-9"), 0));
    let drafts = a_turn(&mut rig);
    rig.hub
        .deliver(FromAnchor::ReadPast { session, after: 0, since: None, drafts: drafts.clone(), until: 100 })
        .await;
    rig.hub.deliver(FromAnchor::ReadPast { session, after: 0, since: None, drafts, until: 100 }).await;
    rig.hub.settle().await;
    let timeline = rig.hub.timeline(session).await.unwrap();
    let texts: Vec<&str> = timeline.items.iter().map(|item| item.text.as_str()).collect();
    assert_eq!(texts, ["what was it?", "It was a heron.", ""], "taken in twice it is there once");
    assert_eq!(timeline.items[1].started_at, Timestamp::from_micros(THEN + 3_000_000), "when it was said");
    let info = rig.hub.session(session).await.unwrap();
    assert_eq!(
        (info.status, info.activity, info.title.as_str()),
        (Status::Idle, Activity::Sleeping, "an old talk")
    );
    assert_eq!((info.imported, info.native.as_deref()), (Some(100), Some("thread-9")));

    // Found again, and grown: only what is new is asked for.
    rig.hub.deliver(FromAnchor::FoundPast { found: vec![past("thread-9", 100)] }).await;
    assert!(rig.left().is_empty());
    rig.hub.deliver(FromAnchor::FoundPast { found: vec![past("thread-9", 150)] }).await;
    assert_eq!(read(&mut rig).await, (session, 100));

    // What does not follow on what is there is not taken in, and the rest is asked for.
    let head = rig.hub.session(session).await.unwrap().head;
    for (after, until) in [(0, 150), (120, 150)] {
        let drafts = a_turn(&mut rig);
        rig.hub.deliver(FromAnchor::ReadPast { session, after, since: None, drafts, until }).await;
        assert_eq!(read(&mut rig).await, (session, 100));
    }
    assert_eq!(rig.hub.session(session).await.unwrap().head, head);

    // A prompt takes it over; from then on its own driver tells.
    rig.prompt(session, "go on").await.unwrap();
    assert_eq!(rig.launched().await.start, Start::Resume { native: "thread-9".to_owned() });
    rig.is_ready_as(session, "thread-9").await;
    rig.hub.settle().await;
    let head = rig.hub.session(session).await.unwrap().head;
    let more = a_turn(&mut rig);
    rig.hub
        .deliver(FromAnchor::ReadPast { session, after: 100, since: None, drafts: more, until: 300 })
        .await;
    rig.hub.settle().await;
    assert_eq!(rig.hub.session(session).await.unwrap().head, head);
    rig.left();
    rig.hub.deliver(FromAnchor::FoundPast { found: vec![past("thread-9", 400)] }).await;
    assert!(rig.left().is_empty(), "nobody reads on in what goes on here");
}

/// Its agent may have been driven in another way than the one whose record is found.
#[tokio::test]
async fn a_conversation_that_was_erased_is_not_found_again_under_any_name() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    rig.is_ready_as(session, "thread-7").await;
    rig.hub.settle().await;
    rig.hub.erase(session).await.unwrap();
    rig.hub.settle().await;
    rig.left();
    for agent in ["codex", "codex-exec"] {
        let found = vec![Past { agent: agent.into(), ..past("thread-7", 100) }];
        rig.hub.deliver(FromAnchor::FoundPast { found }).await;
    }
    assert!(rig.left().is_empty(), "nobody reads it");
    assert!(rig.hub.sessions(SessionFilter::default()).await.unwrap().sessions.is_empty());
}

#[tokio::test]
async fn our_own_conversations_are_not_found_again() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    rig.hub.settle().await;
    rig.hub.deliver(FromAnchor::FoundPast { found: vec![past("thread-1", 100)] }).await;
    let all = rig.hub.sessions(SessionFilter::default()).await.unwrap().sessions;
    assert_eq!(all.iter().map(|info| info.session_id).collect::<Vec<_>>(), [session]);
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn thousands_are_listed_at_once() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    for hundred in 0..10 {
        let found = (0..100).map(|n| past(&format!("thread-{hundred}-{n}"), 10)).collect();
        let telling = rig.hub.clone();
        let told = tokio::spawn(async move { telling.deliver(FromAnchor::FoundPast { found }).await });
        for _ in 0..100 {
            read(&mut rig).await;
        }
        told.await.unwrap();
    }
    let filter = SessionFilter { limit: 1_000, ..SessionFilter::default() };
    assert_eq!(rig.hub.sessions(filter).await.unwrap().sessions.len(), 1_000);
}

#[tokio::test]
async fn a_turn_that_still_runs_elsewhere_is_left_alone_by_a_restart() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Rig::over(log.clone());
    first.hub.deliver(FromAnchor::FoundPast { found: vec![past("thread-9", 100)] }).await;
    let (session, _) = read(&mut first).await;
    let mut drafts = a_turn(&mut first);
    drafts.truncate(2);
    first.hub.deliver(FromAnchor::ReadPast { session, after: 0, since: None, drafts, until: 50 }).await;
    first.hub.settle().await;
    let head = first.hub.session(session).await.unwrap().head;

    let second = Rig::over(log);
    second.hub.recover().await.unwrap();
    second.hub.settle().await;
    assert_eq!(second.hub.session(session).await.unwrap().head, head);
    let events = second.hub.events(session, Seq(0), 100, WithRaw::No).await.unwrap();
    assert!(events.iter().all(|frame| !frame.json().contains("turn_finished")));
}
