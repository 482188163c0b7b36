//! A hub that does not listen, and an agent that does not.

use std::time::Duration;

use longshore_model::anchor::ToAnchor;
use longshore_model::lifecycle::SleepCause;
use serde_json::json;

use crate::rig::{Phone, Rig, hasty, listen, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_waits_for_the_hub_and_can_still_be_interrupted() {
    let phone = Phone::new().await;
    let line = "word ".repeat(200);
    let script = json!([
        {"do": "flood", "line": line, "call": phone.number},
        {"do": "print", "line": "interrupted"},
    ]);
    // Room for one message: whatever comes after it waits until the test listens.
    let mut rig = Rig::with(script, 1, |_| {});
    let session = rig.open().await;
    soon("the hub to be full", rig.full.notified()).await;
    rig.interrupt(session).await;

    // The agent heard it, although nobody has taken anything from its session yet, and it got rid of no more than
    // the pipe and a read or two hold.
    let report = listen(phone.call().await).await;
    let (count, word) = report.trim().split_once(' ').unwrap();
    assert_eq!(word, "interrupt");
    assert!(count.parse::<usize>().unwrap() <= 512 * 1024, "{count} bytes");

    let life = rig.life(session).await;
    let texts = life.texts();
    let (last, before) = texts.split_last().unwrap();
    assert_eq!(*last, "interrupted", "nothing overtakes");
    assert!(!before.is_empty() && before.iter().all(|text| *text == line), "and nothing is lost");
    assert_eq!(life.sleep.exit_code, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_session_that_takes_nothing_does_not_hold_back_another() {
    let mut rig = Rig::new(json!([{"do": "repeat", "line": "word", "times": 100_000}, {"do": "echo"}]));
    let launch = rig.launch();
    rig.deaf.set(launch.session).unwrap();
    rig.send(ToAnchor::Open(launch)).await;
    soon("the first to be held back", rig.full.notified()).await;
    let second = rig.open().await;
    rig.prompt(second, "the last word").await;
    rig.hear(second, "the last word").await;
}

#[tokio::test]
async fn a_session_that_takes_nothing_can_be_stopped() {
    let phone = Phone::new().await;
    let script =
        json!([{"do": "call", "call": phone.number}, {"do": "repeat", "line": "word", "times": 100_000}]);
    let mut rig = Rig::with(script, 1, |config| config.limits = hasty());
    let session = rig.open().await;
    soon("the hub to be full", rig.full.notified()).await;
    rig.stop(session).await;
    listen(phone.call().await).await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.sleep.signal), (SleepCause::Stopped, Some(15)));
    let texts = life.texts();
    let (_, before) = texts.split_last().unwrap();
    assert!(!before.is_empty() && before.iter().all(|text| *text == "word"), "what it had said is all there");
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_stopped_as_stuck() {
    let mut rig = Rig::with(json!([{"do": "print", "line": "up"}, {"do": "hang"}]), 64, |config| {
        config.limits = hasty();
        config.limits.outgoing = 64 * 1024;
    });
    let session = rig.open().await;
    rig.hear(session, "up").await;
    rig.prompt(session, &"word ".repeat(100_000)).await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.sleep.signal), (SleepCause::Exited, Some(15)));
    assert_eq!(
        life.reason,
        "Fake did not read its input, so the hub stopped it; the next prompt starts it again"
    );
}

#[tokio::test]
async fn an_agent_that_is_told_more_than_it_takes_is_stopped_as_stuck() {
    let mut rig = Rig::with(json!([{"do": "print", "line": "up"}, {"do": "hang"}]), 64, |config| {
        config.limits = hasty();
        config.limits.outgoing = 1;
        config.limits.stuck = Duration::from_secs(3600);
    });
    let session = rig.open().await;
    rig.hear(session, "up").await;
    rig.prompt(session, &"word ".repeat(100_000)).await;
    for n in 0..200 {
        rig.prompt(session, &format!("{n}")).await;
    }
    let life = rig.life(session).await;
    assert_eq!(
        life.reason,
        "Fake did not read its input fast enough, so the hub stopped it; the next prompt starts it again"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_reads_slowly_is_told_everything() {
    // It reads nothing until it has said its piece, which is more than a pipe holds; then it says what it heard.
    let script =
        json!([{"do": "repeat", "line": "first", "times": 50000}, {"do": "read"}, {"do": "exit", "code": 7}]);
    let mut rig = Rig::with(script, 1, |_| {});
    let session = rig.open().await;
    rig.prompt(session, &"word ".repeat(100_000)).await;
    let life = rig.life(session).await;
    assert_eq!(life.texts().len(), 50_000);
    assert_eq!(life.sleep.exit_code, Some(7));
}
