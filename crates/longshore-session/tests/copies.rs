//! Forks and child sessions: sessions that come from others.

use std::sync::Arc;

use longshore_log::MemoryLog;
use longshore_model::anchor::Start;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::lifecycle::{Opened, Ready, TurnOutcome};
use longshore_session::HubError;

use crate::rig::{Rig, agent};

pub(crate) async fn with_a_turn(rig: &mut Rig) -> SessionId {
    let session = rig.ready().await;
    let turn = rig.prompt(session, "what is this?").await.unwrap();
    let item = rig.item();
    let say =
        |body, text: &str| Draft::new(body).turn(turn).item(item).text(text).raw(Some("{\"a\":1}".into()));
    let done = Body::MessageDone { phase: None, partial: false };
    rig.say(
        session,
        vec![say(Body::MessageDelta, "a "), say(Body::MessageDelta, "test"), say(done, "a test")],
    )
    .await;
    rig.finish(session, turn, TurnOutcome::Completed).await;
    rig.hub.settle().await;
    rig.left();
    session
}

#[tokio::test]
async fn a_fork_has_the_history_and_goes_its_own_way() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let origin = with_a_turn(&mut rig).await;
    let fork = rig.hub.fork(origin, None).await.unwrap();
    assert_eq!(rig.launched().await.start, Start::Fork { native: "thread-1".to_owned() });
    let (old, new) =
        (rig.hub.timeline(origin).await.unwrap(), rig.hub.timeline(fork.session_id).await.unwrap());
    let texts = |timeline: &longshore_model::timeline::Timeline| {
        timeline.items.iter().map(|item| item.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&new), texts(&old));
    let times = |timeline: &longshore_model::timeline::Timeline| {
        timeline.items.iter().map(|item| (item.started_at, item.ended_at)).collect::<Vec<_>>()
    };
    assert_eq!(times(&new), times(&old), "it was said when it was said");
    assert!(fork.updated_at >= rig.hub.session(origin).await.unwrap().updated_at);
    assert_eq!(fork.forked_from.unwrap().session, origin);
    assert_eq!(fork.native, None, "it does not share its origin's memory");

    rig.prompt(origin, "more").await.unwrap();
    assert!(
        matches!(rig.hub.fork(origin, None).await, Err(HubError::CannotFork(_))),
        "not in the middle of a turn"
    );
}

#[tokio::test]
async fn a_fork_from_a_message_has_what_came_before_it_and_its_agent_is_told() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let origin = with_a_turn(&mut rig).await;
    rig.prompt(origin, "and now?").await.unwrap();
    rig.hub.settle().await;
    let timeline = rig.hub.timeline(origin).await.unwrap();
    let said = |text: &str| timeline.items.iter().find(|item| item.text == text).unwrap().seq;
    rig.left();

    // The second turn still runs: what came before it has come to its end.
    let fork = rig.hub.fork(origin, Some(said("and now?"))).await.unwrap();
    let Start::Told { story } = rig.launched().await.start else { panic!("it was not told") };
    assert!(story.contains("User: what is this?") && story.contains("You: a test"), "{story}");
    assert!(!story.contains("and now?"), "{story}");
    let forked = rig.hub.timeline(fork.session_id).await.unwrap();
    let texts: Vec<&str> = forked.items.iter().map(|item| item.text.as_str()).collect();
    assert_eq!(&texts[..2], ["what is this?", "a test"]);
    assert!(!texts.contains(&"and now?"));

    // Before the first message there was nothing.
    let empty = rig.hub.fork(origin, Some(said("what is this?"))).await.unwrap();
    assert_eq!(rig.launched().await.start, Start::New);
    assert!(rig.hub.timeline(empty.session_id).await.unwrap().items.is_empty());

    for nobody in [said("a test"), Seq::ZERO, Seq(u64::from(u32::MAX))] {
        let refused = rig.hub.fork(origin, Some(nobody)).await;
        assert!(matches!(refused, Err(HubError::CannotFork(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_child_session_comes_to_life_when_its_agent_speaks_for_it() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let parent = rig.ready().await;
    let child = SessionId::mint(&mut rig.context());
    let opened = Opened {
        agent: "codex".into(),
        cwd: "/w".to_owned(),
        mode: Default::default(),
        model: None,
        effort: None,
        title: Some("look around".to_owned()),
        mcp_servers: Vec::new(),
        capabilities: agent().capabilities,
        parent: Some(parent),
        forked_from: None,
        from_file: false,
    };
    let ready = Ready { native: Some("thread-2".to_owned()), version: None, model: None, transcript: None };
    rig.say(
        child,
        vec![Draft::new(Body::SessionOpened(Box::new(opened))), Draft::new(Body::SessionReady(ready))],
    )
    .await;
    rig.hub.settle().await;
    let info = rig.hub.session(child).await.unwrap();
    assert_eq!((info.parent, info.title.as_str(), info.head), (Some(parent), "look around", Seq(2)));
}
