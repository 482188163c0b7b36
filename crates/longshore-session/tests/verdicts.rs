//! The answers of a journal to an append, and their consequences for session and agent. The clock of the
//! tests stands still, so nobody sleeps.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use longshore_log::{LogError, MemoryLog, Stores, WithRaw, story};
use longshore_model::anchor::ToAnchor;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, Seq, SessionId, TurnId};
use longshore_model::info::Activity;
use longshore_session::HubError;

use crate::fickle::{Fault, Fickle};
use crate::rig::Rig;

/// A session in which an agent is speaking.
async fn speaking(log: &Arc<Fickle>) -> (Rig, SessionId, TurnId, ItemId) {
    let mut rig = Rig::over(log.stores());
    let session = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    rig.left();
    let item = rig.item();
    (rig, session, turn, item)
}

/// The agent's words in the log. Checks that the seqs are dense and that subscribers see the same events.
async fn words(rig: &Rig, session: SessionId) -> String {
    let events = rig.hub.events(session, Seq(0), 10_000, WithRaw::No).await.unwrap();
    let seqs: Vec<u64> = events.iter().map(|frame| frame.seq().0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let said = events.iter().filter(|frame| frame.event().unwrap().body == Body::MessageDelta);
    said.map(|frame| frame.event().unwrap().text().to_owned()).collect()
}

fn stops(rig: &mut Rig) -> usize {
    rig.left().iter().filter(|told| matches!(told, ToAnchor::Stop { .. })).count()
}

async fn says(rig: &Rig, session: SessionId, turn: TurnId, item: ItemId, word: &str) {
    rig.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text(word)]).await;
}

#[tokio::test(start_paused = true)]
async fn an_append_of_which_nobody_knows_is_written_once_and_the_agent_goes_on() {
    for fault in [Fault::AckLost, Fault::Lost, Fault::LateBefore, Fault::LateAfter] {
        for times in 1..4 {
            let log = Arc::new(Fickle::default());
            let (mut rig, session, turn, item) = speaking(&log).await;
            (0..times).for_each(|_| log.will(fault));
            for word in ["one ", "two ", "three "] {
                says(&rig, session, turn, item, word).await;
                rig.hub.settle().await;
            }
            assert_eq!(words(&rig, session).await, "one two three ", "{fault:?}, {times} times");
            assert_eq!(stops(&mut rig), 0, "{fault:?}, {times} times");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_of_which_nobody_knows_is_done_once() {
    let log = Arc::new(Fickle::default());
    let mut rig = Rig::over(log.stores());
    let session = rig.ready().await;
    rig.hub.settle().await;
    log.will(Fault::AckLost);
    rig.prompt(session, "once").await.unwrap();
    rig.hub.settle().await;
    let events = rig.hub.events(session, Seq(0), 1_000, WithRaw::No).await.unwrap();
    let prompts = events.iter().filter(|frame| frame.json().contains("\"once\""));
    let said =
        prompts.filter(|frame| matches!(frame.event().unwrap().body, Body::UserMessage { .. })).count();
    assert_eq!(said, 1);
    let told = rig.left();
    assert_eq!(told.iter().filter(|told| matches!(told, ToAnchor::Tell { .. })).count(), 1, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_says_nothing_for_too_long_stops_the_agent() {
    let log = Arc::new(Fickle::default());
    let (mut rig, session, turn, item) = speaking(&log).await;
    log.silent.store(true, Ordering::SeqCst);
    says(&rig, session, turn, item, "lost").await;
    assert!(matches!(rig.told().await, ToAnchor::Stop { session: stopped } if stopped == session));
    log.silent.store(false, Ordering::SeqCst);
    assert_eq!(words(&rig, session).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_stalls_holds_everybody_back_and_loses_nothing() {
    let log = Arc::new(Fickle::default());
    let (mut rig, session, turn, item) = speaking(&log).await;
    rig.hub.settle().await;
    let head = rig.hub.session(session).await.unwrap().head;
    let mut reader = rig.hub.subscribe(session, head, WithRaw::No).await.unwrap();
    log.held.store(true, Ordering::SeqCst);
    for word in ["one ", "two "] {
        says(&rig, session, turn, item, word).await;
    }
    // Longer than a journal needs to elect a leader.
    tokio::time::advance(std::time::Duration::from_secs(9)).await;
    assert!(!reader.is_behind() && rig.left().is_empty());
    log.held.store(false, Ordering::SeqCst);
    log.go.notify_one();
    assert!(!reader.next().await.unwrap().is_empty());
    rig.hub.settle().await;
    assert_eq!(words(&rig, session).await, "one two ");
    assert_eq!(stops(&mut rig), 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_another_hub_continued_is_folded_anew_and_its_agent_goes_on() {
    let log = Arc::new(Fickle::default());
    let (mut rig, session, turn, item) = speaking(&log).await;
    rig.hub.settle().await;
    let head = rig.hub.session(session).await.unwrap().head;
    let mut reader = rig.hub.subscribe(session, head, WithRaw::No).await.unwrap();
    says(&rig, session, turn, item, "one ").await;
    rig.hub.settle().await;
    log.will(Fault::Fenced);
    says(&rig, session, turn, item, "two ").await;
    says(&rig, session, turn, item, "three ").await;
    rig.hub.settle().await;
    assert_eq!(words(&rig, session).await, "one two three ");
    let info = rig.hub.session(session).await.unwrap();
    assert_eq!((info.title.as_str(), info.activity), ("renamed elsewhere", Activity::Working));
    assert_eq!(stops(&mut rig), 0);
    // A subscriber sees the other hub's event in its place.
    let mut seen = Vec::new();
    while reader.cursor() < info.head {
        seen.extend(reader.next().await.unwrap().iter().map(|frame| frame.seq()));
    }
    assert_eq!(seen, (head.0 + 1..=info.head.0).map(Seq).collect::<Vec<_>>());

    // A command that came second is refused, and the client may try again.
    log.will(Fault::Fenced);
    let refused = rig.prompt(session, "more").await;
    assert!(
        matches!(&refused, Err(HubError::Log(error)) if matches!(**error, LogError::Fenced { .. })),
        "{refused:?}"
    );
    rig.prompt(session, "more").await.unwrap();
    assert_eq!(stops(&mut rig), 0);
}

#[tokio::test(start_paused = true)]
async fn whatever_a_journal_says_every_word_is_recorded_once_and_in_order() {
    let faults = [Fault::AckLost, Fault::Lost, Fault::LateBefore, Fault::LateAfter, Fault::Fenced];
    for seed in 0..64u64 {
        let log = Arc::new(Fickle::default());
        let (mut rig, session, turn, item) = speaking(&log).await;
        let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut roll = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        let mut said = String::new();
        for number in 0..40 {
            // Fewer faults at once than the hub tolerates.
            let waiting = log.plan.lock().unwrap().len() as u64;
            for _ in waiting..roll(4) {
                log.will(faults[roll(faults.len() as u64) as usize]);
            }
            let word = format!("{number} ");
            says(&rig, session, turn, item, &word).await;
            said.push_str(&word);
            if roll(3) == 0 {
                rig.hub.settle().await;
            }
        }
        rig.hub.settle().await;
        assert_eq!(words(&rig, session).await, said, "seed {seed}");
        assert_eq!(stops(&mut rig), 0, "seed {seed}");
    }
}

/// The hub stops the agent before it knows that the journal has the agent's last words. Followers still get these words.
#[tokio::test(start_paused = true)]
async fn what_was_written_unknown_to_the_hub_is_missed_by_nobody_who_follows() {
    let log = Arc::new(Fickle::default());
    let (mut rig, session, turn, item) = speaking(&log).await;
    rig.hub.settle().await;
    let head = rig.hub.session(session).await.unwrap().head;
    let mut reader = rig.hub.subscribe(session, head, WithRaw::No).await.unwrap();
    log.will(Fault::AckLost);
    log.silent_after_plan.store(true, Ordering::SeqCst);
    says(&rig, session, turn, item, "last").await;
    assert!(matches!(rig.told().await, ToAnchor::Stop { session: stopped } if stopped == session));
    log.silent.store(false, Ordering::SeqCst);
    rig.hub.settle().await;
    let head_then = rig.hub.session(session).await.unwrap().head;
    assert_eq!(words(&rig, session).await, "last");
    let mut seen = Vec::new();
    while reader.cursor() < head_then {
        seen.extend(reader.next().await.unwrap().iter().map(|frame| frame.seq()));
    }
    assert_eq!(seen, (head.0 + 1..=head_then.0).map(Seq).collect::<Vec<_>>());
}

/// A backend in another crate runs the stories like any other backend.
#[tokio::test]
async fn a_journal_of_another_crate_tells_the_stories() {
    let stores = || Arc::new(Fickle::default()).stores();
    story::journal(stores(), &|log| log).await;
    story::catalog(stores(), &|log| log, Stores::from(Arc::new(MemoryLog::new()))).await;
    story::keyring(stores(), &|log| log).await;
}
