//! How agents end, and what their sessions hear of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use longshore_drivers::discover::AgentSettings;
use longshore_model::anchor::{FromAnchor, ToAnchor};
use longshore_model::event::Body;
use longshore_model::lifecycle::SleepCause;
use serde_json::json;
use tokio::sync::Notify;

use crate::rig::{Phone, Rig, hasty, listen, soon};

#[tokio::test]
async fn an_exit_code_and_the_end_of_stderr_are_told() {
    let mut rig = Rig::new(json!([
        {"do": "stderr", "text": "\u{1b}[31mERROR\u{1b}[0m no such model\n"},
        {"do": "print", "line": "hello"},
        {"do": "exit", "code": 3},
    ]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert_eq!(life.texts(), ["hello"]);
    assert_eq!((life.sleep.cause, life.sleep.exit_code), (SleepCause::Exited, Some(3)));
    assert_eq!(life.sleep.stderr, "ERROR no such model");
    assert_eq!(life.reason, "Fake ended with code 3: ERROR no such model");
}

#[tokio::test]
async fn a_signal_is_told() {
    let mut rig = Rig::new(json!([{"do": "kill", "signal": 9}]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.signal, life.sleep.exit_code), (Some(9), None));
    assert_eq!(life.reason, "Fake was killed by SIGKILL");
}

#[tokio::test]
async fn half_a_line_at_the_end_is_a_line() {
    let mut rig = Rig::new(json!([
        {"do": "print", "line": "whole"},
        {"do": "raw", "bytes": b"{\"half"},
        {"do": "exit", "code": 0},
    ]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert_eq!(life.texts(), ["whole", "{\"half"]);
    assert_eq!(life.reason, "Fake ended");
}

#[tokio::test]
async fn an_agent_that_ends_before_it_listened_failed_to_start() {
    let mut rig =
        Rig::new(json!([{"do": "stderr", "text": "Error: bad configuration\n"}, {"do": "exit", "code": 1}]));
    let mut launch = rig.launch();
    launch.model = Some("none".to_owned());
    let session = launch.session;
    rig.send(ToAnchor::Open(launch)).await;
    let life = rig.life(session).await;
    assert_eq!(life.sleep.cause, SleepCause::FailedToStart);
    assert!(life.reason.ends_with("bad configuration"), "{}", life.reason);
}

#[tokio::test]
async fn what_cannot_be_started_says_why_and_what_to_do() {
    let mut rig = Rig::new(json!([]));
    for (agent, cwd, words) in [
        ("absent", None, "Absent is not set up on this machine: make absent"),
        ("nobody", None, "no agent is called `nobody`; the agents are fake, absent"),
        ("fake", Some("/does/not/exist"), "the folder /does/not/exist does not exist"),
    ] {
        let mut launch = rig.launch();
        launch.agent = agent.into();
        launch.cwd = cwd.map_or(launch.cwd, str::to_owned);
        let session = launch.session;
        rig.send(ToAnchor::Open(launch)).await;
        let life = rig.life(session).await;
        assert_eq!(life.sleep.cause, SleepCause::FailedToStart);
        assert!(life.reason.starts_with(words), "{}", life.reason);
        assert!(life.drafts.is_empty());
    }
}

#[tokio::test]
async fn a_file_that_is_no_program_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent");
    std::fs::write(&file, "no program").unwrap();
    let not_there = folder.path().join("nothing");
    for (path, words) in [(file, "you may not run"), (not_there, "is missing")] {
        let settings = AgentSettings { path: Some(path), ..AgentSettings::default() };
        let mut rig =
            Rig::with(json!([]), 64, |config| drop(config.settings.insert("fake".to_owned(), settings)));
        let session = rig.open().await;
        let life = rig.life(session).await;
        assert_eq!(life.sleep.cause, SleepCause::FailedToStart);
        assert!(life.reason.contains(words), "{}", life.reason);
    }
}

#[tokio::test]
async fn a_stopped_agent_ends_with_its_input() {
    let mut rig =
        Rig::new(json!([{"do": "echo"}, {"do": "print", "line": "bye"}, {"do": "exit", "code": 0}]));
    let session = rig.open().await;
    rig.prompt(session, "one").await;
    rig.prompt(session, "two").await;
    rig.stop(session).await;
    let life = rig.life(session).await;
    assert_eq!(life.texts(), ["one", "two", "bye"], "what was told before the stop is heard before the end");
    assert_eq!((life.sleep.cause, life.sleep.exit_code), (SleepCause::Stopped, Some(0)));
    assert_eq!(life.reason, "stopped");
}

#[tokio::test]
async fn an_agent_that_ignores_the_end_of_its_input_is_terminated() {
    let mut rig = Rig::hasty(json!([{"do": "print", "line": "up"}, {"do": "hang"}]));
    let session = rig.open().await;
    rig.hear(session, "up").await;
    rig.stop(session).await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.sleep.signal), (SleepCause::Stopped, Some(15)));
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_too_is_killed() {
    let mut rig = Rig::hasty(json!([{"do": "ignore_term"}, {"do": "print", "line": "up"}, {"do": "hang"}]));
    let session = rig.open().await;
    rig.hear(session, "up").await;
    rig.stop(session).await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.sleep.signal), (SleepCause::Stopped, Some(9)));
    assert!(life.reason.ends_with("SIGTERM and was killed"), "{}", life.reason);
}

#[tokio::test]
async fn what_an_agent_leaves_behind_is_killed_with_it() {
    let phone = Phone::new().await;
    let grandchild = json!({"do": "grandchild", "call": phone.number, "own_group": false});
    let mut rig = Rig::new(json!([grandchild, {"do": "read"}, {"do": "exit", "code": 0}]));
    let session = rig.open().await;
    let call = phone.call().await;
    rig.prompt(session, "end now").await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.sleep.exit_code), (SleepCause::Exited, Some(0)));
    assert_eq!(listen(call).await, "", "the grandchild is dead");
}

#[tokio::test]
async fn the_whole_group_of_a_stopped_agent_is_killed() {
    let phone = Phone::new().await;
    let grandchild = json!({"do": "grandchild", "call": phone.number, "own_group": false});
    let mut rig = Rig::hasty(json!([{"do": "ignore_term"}, grandchild, {"do": "hang"}]));
    let session = rig.open().await;
    let call = phone.call().await;
    rig.stop(session).await;
    assert_eq!(rig.life(session).await.sleep.signal, Some(9));
    assert_eq!(listen(call).await, "", "the grandchild is dead");
}

#[tokio::test]
async fn an_agent_that_hangs_up_without_ending_is_stopped() {
    let mut rig =
        Rig::hasty(json!([{"do": "print", "line": "last words"}, {"do": "hang_up"}, {"do": "hang"}]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert_eq!(life.texts(), ["last words"]);
    assert_eq!(life.sleep.cause, SleepCause::Exited);
    assert_eq!(life.reason, "Fake closed its input and output but did not end, so the hub stopped it");
}

#[tokio::test]
async fn a_driver_that_gives_up_says_why() {
    let mut rig = Rig::new(json!([{"do": "print", "line": "finish"}, {"do": "echo"}]));
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.sleep.exit_code), (SleepCause::Exited, Some(0)));
    assert_eq!(life.reason, "the parrot is done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_panics_harms_its_own_session_only() {
    let mut rig = Rig::new(json!([{"do": "print", "line": "hi"}, {"do": "echo"}]));
    let (broken, whole) = (rig.open().await, rig.open().await);
    rig.prompt(broken, "panic").await;
    rig.prompt(broken, "too late").await;
    let life = rig.life(broken).await;
    assert_eq!(life.sleep.cause, SleepCause::Exited);
    assert!(
        life.reason.ends_with("a fault in Longshore, please report it: the parrot fell off"),
        "{}",
        life.reason
    );
    let untranslated: Vec<_> =
        life.drafts.iter().filter(|draft| matches!(draft.body, Body::Raw { .. })).collect();
    assert_eq!(untranslated[0].raw.as_deref(), Some("panic"), "the frame that it fell over is kept");
    assert!(life.texts().contains(&"before"), "and what it said before it fell");

    rig.prompt(whole, "still there").await;
    rig.hear(whole, "still there").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_stops_all_agents_and_tells_their_sessions() {
    let phone = Phone::new().await;
    let mut rig =
        Rig::hasty(json!([{"do": "call", "call": phone.number}, {"do": "ignore_term"}, {"do": "hang"}]));
    let mut sessions = [rig.open().await, rig.open().await, rig.open().await];
    sessions.sort();
    let calls = [phone.call().await, phone.call().await, phone.call().await];
    let sender = rig.anchor.sender();
    soon("the shutdown", rig.anchor.shutdown()).await;
    assert!(sender.is_closed());
    for call in calls {
        listen(call).await;
    }
    let mut gone = Vec::new();
    while let Ok(message) = rig.said.try_recv() {
        if let FromAnchor::Gone { session, sleep, .. } = message {
            assert_eq!(sleep.cause, SleepCause::HubRestarted);
            gone.push(session);
        }
    }
    gone.sort();
    assert_eq!(gone, sessions);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_a_hub_that_does_not_listen() {
    let phone = Phone::new().await;
    let script =
        json!([{"do": "call", "call": phone.number}, {"do": "repeat", "line": "word", "times": 50000}]);
    let mut rig = Rig::with(script, 1, |config| config.limits = hasty());
    rig.open().await;
    let call = phone.call().await;
    soon("the hub to be full", rig.full.notified()).await;
    soon("the shutdown", rig.anchor.shutdown()).await;
    listen(call).await;
}

/// The system ends an agent with the thread that started it; so that must not be one that comes and goes.
#[test]
fn an_agent_outlives_the_threads_of_the_runtime() {
    let (threads, gone) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (more, less, told) = (Arc::clone(&threads), Arc::clone(&threads), Arc::clone(&gone));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(1)
        .thread_keep_alive(Duration::from_millis(1))
        .on_thread_start(move || {
            more.fetch_add(1, Ordering::SeqCst);
        })
        .on_thread_stop(move || {
            less.fetch_sub(1, Ordering::SeqCst);
            told.notify_one();
        })
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut rig = Rig::new(json!([{"do": "print", "line": "hello"}, {"do": "echo"}]));
        let session = rig.open().await;
        rig.hear(session, "hello").await;
        // Those that had something to wait for are gone; the one that works is left.
        while threads.load(Ordering::SeqCst) > 1 {
            soon("the threads to go", gone.notified()).await;
        }
        rig.prompt(session, "still there?").await;
        rig.hear(session, "still there?").await;
    });
}
