//! A log that does not take what happened; an anchor that is not there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use longshore_log::{LogError, MemoryLog, WithRaw};
use longshore_model::anchor::{FromAnchor, ToAnchor};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::Activity;
use longshore_model::lifecycle::{Sleep, SleepCause, TurnOutcome};
use longshore_session::{Hub, HubError, OpenRequest};

use crate::fickle::Fickle;
use crate::rig::Rig;

#[tokio::test]
async fn nobody_sees_an_event_before_it_is_durable_and_the_agent_hears_nothing_either() {
    let log = Arc::new(Fickle::default());
    let mut rig = Rig::over(log.stores());
    let session = rig.ready().await;
    rig.hub.settle().await;
    let head = rig.hub.session(session).await.unwrap().head;
    let mut reader = rig.hub.subscribe(session, head, WithRaw::No).await.unwrap();

    log.held.store(true, Ordering::SeqCst);
    let hub = rig.hub.clone();
    let prompt = longshore_model::command::Prompt { text: "go".to_owned(), ..Default::default() };
    let say = longshore_model::command::Command::Prompt(prompt);
    let mut asked = tokio::spawn(async move { hub.command(session, say, "owner".to_owned()).await });
    // Whatever could run has run by the time that the paused commit is all that is left.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!asked.is_finished() && !reader.is_behind() && rig.left().is_empty());

    log.held.store(false, Ordering::SeqCst);
    log.go.notify_one();
    (&mut asked).await.unwrap().unwrap();
    assert!(!reader.next().await.unwrap().is_empty());
    assert!(matches!(rig.told().await, ToAnchor::Tell { .. }));
}

#[tokio::test]
async fn a_session_that_cannot_be_recorded_stops_its_agent_and_goes_on_when_it_can() {
    let log = Arc::new(Fickle::default());
    let mut rig = Rig::over(log.stores());
    let session = rig.ready().await;
    let other = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    rig.left();

    log.full.store(true, Ordering::SeqCst);
    let item = rig.item();
    let delta = |text: &str| Draft::new(Body::MessageDelta).turn(turn).item(item).text(text);
    rig.say(session, vec![delta("lost")]).await;
    assert!(matches!(rig.told().await, ToAnchor::Stop { session: stopped } if stopped == session));
    let refused = rig.prompt(session, "more").await;
    assert!(
        matches!(&refused, Err(HubError::Log(error)) if matches!(**error, LogError::Full { .. })),
        "{refused:?}"
    );

    log.full.store(false, Ordering::SeqCst);
    rig.say(session, vec![delta("said after the fault")]).await;
    let (sleep, reason) = (Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "stopped".to_owned());
    rig.hub.deliver(FromAnchor::Gone { session, sleep, reason }).await;
    rig.hub.settle().await;
    let events = rig.hub.events(session, Seq(0), 1_000, WithRaw::No).await.unwrap();
    assert!(
        events.iter().all(|frame| !frame.json().contains("said after the fault")),
        "it went on unrecorded"
    );
    let seqs: Vec<u64> = events.iter().map(|frame| frame.seq().0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());

    rig.prompt(session, "again").await.unwrap();
    assert_eq!(rig.launched().await.session, session);
    rig.is_ready(session).await;
    rig.hub.settle().await;
    assert_eq!(rig.hub.session(session).await.unwrap().activity, Activity::Working);
    // The neighbour was never disturbed.
    let turn = rig.prompt(other, "hello").await.unwrap();
    rig.finish(other, turn, TurnOutcome::Completed).await;
}

/// The agent says something that the log does not take.
async fn unrecorded(rig: &mut Rig, log: &Fickle) -> SessionId {
    let session = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    rig.left();
    log.full.store(true, Ordering::SeqCst);
    let item = rig.item();
    rig.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text("lost")]).await;
    assert!(matches!(rig.told().await, ToAnchor::Stop { session: stopped } if stopped == session));
    session
}

#[tokio::test(start_paused = true)]
async fn a_session_is_corrected_when_the_disk_has_room_though_nobody_asks() {
    let log = Arc::new(Fickle::default());
    let mut rig = Rig::over(log.stores());
    let session = unrecorded(&mut rig, &log).await;
    let (sleep, reason) = (Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "stopped".to_owned());
    rig.hub.deliver(FromAnchor::Gone { session, sleep, reason }).await;
    let mut reader = rig.hub.subscribe(session, Seq(3), WithRaw::No).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    log.full.store(false, Ordering::SeqCst);
    let ended = async {
        loop {
            let frames = reader.next().await.unwrap();
            let ends = frames.iter().find_map(|frame| match &frame.event().unwrap().body {
                Body::TurnFinished(end) => Some(end.outcome),
                _ => None,
            });
            if let Some(outcome) = ends {
                return outcome;
            }
        }
    };
    let outcome = tokio::time::timeout(std::time::Duration::from_secs(60), ended).await.unwrap();
    assert_eq!(outcome, TurnOutcome::Failed);
    let events = rig.hub.events(session, Seq(0), 1_000, WithRaw::No).await.unwrap();
    assert!(events.iter().any(|frame| frame.json().contains("the log could not be written")));
}

#[tokio::test]
async fn a_full_disk_keeps_nobody_from_looking() {
    let log = Arc::new(Fickle::default());
    let mut rig = Rig::over(log.stores());
    let session = unrecorded(&mut rig, &log).await;
    let info = rig.hub.session(session).await.unwrap();
    let events = rig.hub.events(session, Seq(0), 1_000, WithRaw::No).await.unwrap();
    assert_eq!(info.head.0, events.len() as u64, "it is shown as the log has it");
    rig.hub.timeline(session).await.unwrap();
}

#[tokio::test]
async fn a_prompt_right_after_the_disk_was_full_waits_for_the_old_agent_to_end_and_is_told() {
    let log = Arc::new(Fickle::default());
    let mut rig = Rig::over(log.stores());
    let session = unrecorded(&mut rig, &log).await;
    log.full.store(false, Ordering::SeqCst);
    // The agent has been told to stop, and has not stopped yet.
    rig.prompt(session, "again").await.unwrap();
    assert!(rig.left().is_empty(), "an agent that ends is told nothing");
    let (sleep, reason) = (Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "stopped".to_owned());
    rig.hub.deliver(FromAnchor::Gone { session, sleep, reason }).await;
    assert_eq!(rig.launched().await.session, session);
    rig.is_ready(session).await;
    let told = rig.command().await;
    assert!(
        matches!(&told, longshore_model::command::AgentCommand::Prompt { text, .. } if text == "again"),
        "{told:?}"
    );
    let events = rig.hub.events(session, Seq(0), 1_000, WithRaw::No).await.unwrap();
    assert!(events.iter().any(|frame| frame.json().contains("the log could not be written")));
    assert!(!rig.hub.session(session).await.unwrap().cut_by_restart, "no restart was to blame");
}

#[tokio::test]
async fn without_an_anchor_nothing_runs_and_it_says_so() {
    let hub = Hub::new(Arc::new(MemoryLog::default()));
    let request = OpenRequest { agent: "codex".to_owned(), cwd: "/w".to_owned(), ..OpenRequest::default() };
    assert!(matches!(hub.open(request).await, Err(HubError::NoAnchor)));
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_with_the_reason() {
    let rig = Rig::over(Arc::new(MemoryLog::default()));
    let open = |agent: &str, cwd: &str| OpenRequest {
        agent: agent.to_owned(),
        cwd: cwd.to_owned(),
        ..OpenRequest::default()
    };
    assert!(matches!(rig.hub.open(open("nobody", "/w")).await, Err(HubError::UnknownAgent(_))));
    assert!(matches!(rig.hub.open(open("codex", "relative")).await, Err(HubError::Invalid(_))));
}
