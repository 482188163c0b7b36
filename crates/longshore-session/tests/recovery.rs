//! A hub that was cut short: what was recorded is there, what was open is closed with its reason, the next prompt
//! revives.

use std::sync::Arc;

use longshore_log::{MemoryLog, SessionFilter, WithRaw};
use longshore_model::anchor::Start;
use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::command::{Command, Prompt, Refusal, Reply};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Seq};
use longshore_model::info::{Activity, Status};
use longshore_model::lifecycle::{SleepCause, TurnOutcome};
use longshore_session::HubError;

use crate::rig::{Rig, decide, is_turn_end, until};

#[tokio::test]
async fn a_turn_that_was_cut_short_is_closed_and_the_session_goes_on() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Rig::over(log.clone());
    let session = first.ready().await;
    let turn = first.prompt(session, "go").await.unwrap();
    let item = first.item();
    first.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text("half a")]).await;
    let approval = ApprovalId::mint(&mut first.context());
    let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    first.say(session, vec![Draft::new(Body::ApprovalRequested(request)).turn(turn)]).await;
    first.hub.settle().await;
    let before = first.hub.events(session, Seq(0), 1_000, WithRaw::No).await.unwrap();

    // The first hub is never heard of again.
    let mut second = Rig::over(log);
    assert_eq!(second.hub.recover().await.unwrap(), 1);
    let mut reader = second.hub.subscribe(session, Seq(before.len() as u64), WithRaw::No).await.unwrap();
    let after = until(&mut reader, |event| matches!(event.body, Body::SessionSleeping(_))).await;
    let again = second.hub.events(session, Seq(0), before.len(), WithRaw::No).await.unwrap();
    for (before, again) in before.iter().zip(&again) {
        assert_eq!(before.json(), again.json(), "what was recorded is there, byte for byte");
    }
    assert_eq!(after[0].text(), "half a", "the message that was cut off ends with what there was");
    let end = after.iter().find(|event| is_turn_end(event)).unwrap();
    assert!(matches!(&end.body, Body::TurnFinished(end) if end.outcome == TurnOutcome::Interrupted));
    let sleep = after.last().unwrap();
    assert!(matches!(&sleep.body, Body::SessionSleeping(sleep) if sleep.cause == SleepCause::HubRestarted));
    let late = decide(&second.hub, approval, Decision::AllowOnce, "owner").await;
    assert!(
        matches!(late, Err(HubError::Refused(Refusal::Expired(reason))) if reason.contains("the hub was restarted"))
    );

    second.prompt(session, "go on").await.unwrap();
    assert_eq!(second.launched().await.start, Start::Resume { native: "thread-1".to_owned() });
    second.is_ready(session).await;
    second.hub.settle().await;
    let info = second.hub.session(session).await.unwrap();
    assert_eq!((info.status, info.activity), (Status::Active, Activity::Working));
}

#[tokio::test]
async fn the_first_list_tells_of_no_agent_that_a_crash_took_along() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Rig::over(log.clone());
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(first.ready().await);
    }
    for session in sessions {
        first.prompt(session, "go").await.unwrap();
    }
    first.hub.settle().await;

    let second = Rig::over(log);
    assert_eq!(second.hub.recover().await.unwrap(), 5);
    let listed = second.hub.sessions(SessionFilter::default()).await.unwrap().sessions;
    let stands: Vec<_> = listed.iter().map(|info| (info.status, info.activity)).collect();
    assert_eq!(stands, [(Status::Interrupted, Activity::Sleeping); 5]);
}

#[tokio::test]
async fn prompts_that_waited_are_not_forgotten() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Rig::over(log.clone());
    let (session, _) = first.open().await;
    let prompt = Prompt { text: "hello".to_owned(), key: Some("k1".to_owned()), ..Prompt::default() };
    let Reply::Prompted { turn, .. } =
        first.hub.command(session, Command::Prompt(prompt.clone()), "owner".to_owned()).await.unwrap()
    else {
        panic!("not taken")
    };

    let mut second = Rig::over(log);
    second.hub.recover().await.unwrap();
    let launch = second.launched().await;
    assert_eq!((launch.session, launch.start), (session, Start::New));
    second.is_ready(session).await;
    assert!(matches!(
        second.command().await,
        longshore_model::command::AgentCommand::Prompt { turn: told, .. } if told == turn
    ));
    // The client that never got its answer asks again with the same key.
    let again = second.hub.command(session, Command::Prompt(prompt), "owner".to_owned()).await.unwrap();
    assert!(matches!(again, Reply::Prompted { turn: told, .. } if told == turn));
}

#[tokio::test]
async fn a_session_at_rest_is_left_alone() {
    let log = Arc::new(MemoryLog::default());
    let mut first = Rig::over(log.clone());
    let session = first.ready().await;
    first.gone(session).await;
    first.hub.settle().await;
    let head = first.hub.session(session).await.unwrap().head;

    let second = Rig::over(log);
    assert_eq!(second.hub.recover().await.unwrap(), 0);
    assert_eq!(second.hub.session(session).await.unwrap().head, head);
}
