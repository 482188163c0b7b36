//! Sessions that are erased, resumed, handed back, or left alone until their agents give their processes back.

use std::sync::Arc;
use std::time::Duration;

use longshore_log::{MemoryLog, SessionFilter, WithRaw};
use longshore_model::anchor::{FromAnchor, ToAnchor};
use longshore_model::command::{AgentCommand, Command};
use longshore_model::event::Body;
use longshore_model::id::Seq;
use longshore_model::info::Activity;
use longshore_model::lifecycle::{Sleep, SleepCause};
use longshore_model::session::GO_ON;
use longshore_session::{Change, HubError, OpenRequest, ResumedAll};

use crate::rig::{Rig, until};

async fn stopped(rig: &Rig, session: longshore_model::id::SessionId) {
    let (sleep, reason) = (Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "stopped".to_owned());
    rig.hub.deliver(FromAnchor::Gone { session, sleep, reason }).await;
}

#[tokio::test]
async fn a_session_that_is_erased_is_gone_for_everybody() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    rig.prompt(session, "the key is hunter2").await.unwrap();
    rig.left();
    rig.hub.timeline(session).await.unwrap();
    let mut follower = rig.hub.subscribe(session, Seq(0), WithRaw::No).await.unwrap();
    until(&mut follower, |event| matches!(event.body, Body::UserMessage { .. })).await;
    let mut changes = rig.hub.changes();

    rig.hub.erase(session).await.unwrap();
    assert!(
        matches!(rig.told().await, ToAnchor::Stop { session: of } if of == session),
        "its agent is stopped"
    );
    assert!(matches!(follower.next().await, Err(HubError::UnknownSession)), "who follows it is told");
    assert_eq!(changes.recv().await.unwrap(), Change::Erased(session));
    assert!(matches!(rig.hub.session(session).await, Err(HubError::UnknownSession)));
    assert!(matches!(rig.hub.timeline(session).await, Err(HubError::UnknownSession)));
    assert!(matches!(rig.hub.erase(session).await, Err(HubError::UnknownSession)));
    assert!(rig.hub.search("hunter2".to_owned(), 10).await.unwrap().is_empty());
    assert!(rig.hub.sessions(SessionFilter::default()).await.unwrap().sessions.is_empty());
    // What its agent still says is nobody's.
    stopped(&rig, session).await;
    rig.hub.settle().await;
    assert!(matches!(rig.hub.session(session).await, Err(HubError::UnknownSession)));
}

#[tokio::test]
async fn what_a_restart_cut_stands_in_the_inbox_until_it_is_resumed() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Rig::over(log.clone());
    let (one, two) = (first.ready().await, first.ready().await);
    for session in [one, two] {
        first.prompt(session, "go").await.unwrap();
    }
    first.hub.settle().await;

    let mut second = Rig::over(log);
    second.hub.recover().await.unwrap();
    // At once: whoever looks first sees them.
    let cut: Vec<_> = second.hub.inbox().await.unwrap().interrupted;
    assert_eq!(cut.len(), 2);
    assert!(cut.iter().all(|info| info.cut_by_restart));
    assert!(second.left().is_empty(), "nothing goes on by itself");

    let ResumedAll { mut resumed, resuming } = second.hub.resume_all("owner".to_owned()).await.unwrap();
    resumed.sort();
    let mut both = vec![one, two];
    both.sort();
    assert_eq!((resumed, resuming), (both, vec![]));
    assert!(second.hub.inbox().await.unwrap().interrupted.is_empty());
    let launched = [second.launched().await.session, second.launched().await.session];
    assert!(launched.contains(&one) && launched.contains(&two));
    second.is_ready(one).await;
    let told = second.command().await;
    assert!(
        matches!(&told, AgentCommand::Prompt { text, .. } if text == "go"),
        "{told:?}: it never heard it"
    );
    assert_ne!(GO_ON, "go");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_slow_to_resume_holds_up_no_other() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Rig::over(log.clone());
    let (late, _) = first.open_with("slow").await;
    first.is_ready_as(late, "thread-2").await;
    let (one, two) = (first.ready().await, first.ready().await);
    for session in [one, late, two] {
        first.prompt(session, "go").await.unwrap();
    }
    first.hub.settle().await;

    let mut second = Rig::over(log);
    second.hub.recover().await.unwrap();
    let asked = tokio::time::Instant::now();
    let ResumedAll { mut resumed, resuming } = second.hub.resume_all("owner".to_owned()).await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10), "whoever asks has an answer soon");
    resumed.sort();
    let mut both = vec![one, two];
    both.sort();
    assert_eq!((resumed, resuming), (both, vec![late]));
    // Nobody waits any more, and it goes on all the same.
    let launched = [second.launched().await, second.launched().await, second.launched().await];
    assert_eq!(launched[2].session, late);
}

#[tokio::test]
async fn what_is_held_stands_in_the_inbox_until_somebody_sends_it_or_puts_it_away() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let (one, two) = (rig.ready().await, rig.ready().await);
    let by = || "owner".to_owned();
    for session in [one, two] {
        rig.prompt(session, "go").await.unwrap();
        rig.prompt(session, "and then").await.unwrap();
        rig.hub.command(session, Command::Interrupt, by()).await.unwrap();
    }
    rig.hub.settle().await;
    let held = async || -> Vec<_> {
        let rows = rig.hub.inbox().await.unwrap().held;
        rows.iter().map(|row| row.session_id).collect()
    };
    assert_eq!(held().await, [two, one], "the latest first");
    rig.hub.command(one, Command::SendQueued { all: true }, by()).await.unwrap();
    rig.hub.settle().await;
    assert_eq!(held().await, [two]);
    rig.hub.command(two, Command::Archive(true), by()).await.unwrap();
    rig.hub.settle().await;
    assert!(held().await.is_empty(), "somebody put it away");
}

#[tokio::test]
async fn an_agent_with_nothing_to_do_gives_its_process_back_and_the_next_prompt_wakes_it() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    rig.hub.rest_idle_after(Duration::from_millis(20));
    let session = rig.ready().await;
    assert!(matches!(rig.told().await, ToAnchor::Stop { session: of } if of == session));
    let mut follower = rig.hub.subscribe(session, Seq(0), WithRaw::No).await.unwrap();
    stopped(&rig, session).await;
    let events = until(&mut follower, |event| matches!(event.body, Body::SessionSleeping(_))).await;
    let slept = &events.last().unwrap().body;
    assert!(matches!(slept, Body::SessionSleeping(sleep) if sleep.cause == SleepCause::Idle), "{slept:?}");
    assert_eq!(rig.hub.session(session).await.unwrap().activity, Activity::Sleeping);
    rig.prompt(session, "go on").await.unwrap();
    assert_eq!(rig.launched().await.session, session);
}

#[tokio::test]
async fn an_agent_at_work_is_never_taken_for_idle() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    rig.hub.rest_idle_after(Duration::from_millis(1));
    let (session, _) = rig.open().await;
    rig.prompt(session, "go").await.unwrap();
    rig.is_ready(session).await;
    assert!(matches!(rig.command().await, AgentCommand::Prompt { .. }));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(rig.left().is_empty(), "a turn runs");
}

#[tokio::test]
async fn a_session_is_released_and_its_process_is_gone_when_that_returns() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    rig.hub.settle().await;
    let hub = rig.hub.clone();
    let released = tokio::spawn(async move { hub.release(session, "owner".to_owned()).await });
    assert!(matches!(rig.told().await, ToAnchor::Stop { session: of } if of == session));
    assert!(!released.is_finished());
    stopped(&rig, session).await;
    released.await.unwrap().unwrap();
    assert_eq!(rig.hub.session(session).await.unwrap().activity, Activity::Sleeping);
}

/// A client that lost the answer asks again, perhaps while the first request is still under way.
#[tokio::test]
async fn a_request_with_a_key_opens_one_session_however_often_it_comes() {
    let log = Arc::new(MemoryLog::default());
    let mut rig = Rig::over(Arc::clone(&log));
    let request = |key: &str| OpenRequest {
        agent: "codex".to_owned(),
        cwd: "/w".to_owned(),
        key: Some(key.to_owned()),
        ..OpenRequest::default()
    };
    let (one, two) = tokio::join!(rig.hub.open(request("a")), rig.hub.open(request("a")));
    let session = one.unwrap().session_id;
    assert_eq!(two.unwrap().session_id, session);
    rig.launched().await;
    rig.is_ready(session).await;
    assert_eq!(rig.hub.open(request("a")).await.unwrap().session_id, session);
    assert_ne!(rig.hub.open(request("b")).await.unwrap().session_id, session);

    rig.hub.settle().await;
    let rig = Rig::over(log);
    assert_eq!(rig.hub.open(request("a")).await.unwrap().session_id, session, "also after a restart");
    let sessions = rig.hub.sessions(SessionFilter { limit: 10, ..SessionFilter::default() }).await.unwrap();
    assert_eq!(sessions.sessions.len(), 2);
}

/// Every client of the session gets its names, whichever protocol they came through.
#[tokio::test]
async fn names_that_are_too_long_are_refused_when_a_session_opens_and_later() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    let long = || "x".repeat(1_001);
    for command in [Command::Rename(long()), Command::SetModel(long()), Command::SetEffort(long())] {
        let refused = rig.hub.command(session, command, "owner".to_owned()).await.unwrap_err();
        assert!(matches!(&refused, HubError::Invalid(fault) if fault.contains("1000 bytes")), "{refused}");
    }
    let request =
        || OpenRequest { agent: "codex".to_owned(), cwd: "/w".to_owned(), ..OpenRequest::default() };
    let title = OpenRequest { title: Some(long()), ..request() };
    let model = OpenRequest { model: Some(long()), ..request() };
    let cwd = OpenRequest { cwd: format!("/{}", "x".repeat(4_096)), ..request() };
    for request in [title, model, cwd] {
        assert!(matches!(rig.hub.open(request).await, Err(HubError::Invalid(_))));
    }
}
