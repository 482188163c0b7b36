//! Work handed to other sessions: the child, what its parent hears of it, and what is refused.

use std::sync::Arc;

use longshore_log::MemoryLog;
use longshore_model::anchor::{FromAnchor, Launch, ToAnchor};
use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::delegation::{ChildNews, DelegationRequest, Task};
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{ApprovalId, Seq, SessionId, TurnId};
use longshore_model::info::Activity;
use longshore_model::lifecycle::{Delegation, TurnOutcome};

use crate::rig::{Rig, decide};

fn task(agent: &str) -> Task {
    Task { agent: agent.into(), task: "count the herons".to_owned(), cwd: None, mode: None, model: None }
}

async fn delegate(rig: &Rig, parent: SessionId, call: &str, request: DelegationRequest) {
    rig.hub.deliver(FromAnchor::Delegate { session: parent, call: call.to_owned(), request }).await;
}

async fn news(rig: &mut Rig, parent: SessionId, name: &str) -> ChildNews {
    match rig.told().await {
        ToAnchor::Tell { session, command: AgentCommand::Child { call, news } } => {
            assert_eq!((session, call.as_str()), (parent, name));
            news
        }
        other => panic!("instead of news: {other:?}"),
    }
}

/// A parent with a child at work: the child's launch and its turn.
async fn at_work(rig: &mut Rig) -> (SessionId, Launch, TurnId) {
    let parent = rig.ready().await;
    rig.prompt(parent, "supervise").await.unwrap();
    rig.command().await;
    delegate(rig, parent, "c1", DelegationRequest::Begin(task("codex"))).await;
    let (launch, child) = match (rig.told().await, rig.told().await) {
        (ToAnchor::Open(launch), ToAnchor::Tell { command: AgentCommand::Child { news, .. }, .. }) => {
            let ChildNews::Opened { child, .. } = news else { panic!("instead of a child: {news:?}") };
            (launch, child)
        }
        other => panic!("instead of a launch and its news: {other:?}"),
    };
    assert_eq!(launch.session, child);
    rig.is_ready_as(child, "thread-2").await;
    match rig.command().await {
        AgentCommand::Prompt { turn, text, .. } => {
            assert_eq!(text, "count the herons");
            (parent, launch, turn)
        }
        other => panic!("instead of the task: {other:?}"),
    }
}

#[tokio::test]
async fn a_child_works_and_its_parent_hears_it() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let (parent, launch, turn) = at_work(&mut rig).await;
    let child = launch.session;
    assert_eq!((launch.cwd.as_str(), launch.mode), ("/w", Mode::Ask), "it works where its parent works");
    assert_eq!(rig.hub.session(child).await.unwrap().parent, Some(parent));
    let (first, second) = (rig.item(), rig.item());
    let says = |item, body, text: &str| Draft::new(body).turn(turn).item(item).text(text);
    let done = || Body::MessageDone { phase: None, partial: false };
    let drafts = vec![
        says(first, Body::MessageDelta, "One"),
        says(first, Body::MessageDelta, "."),
        says(first, done(), "One."),
        says(second, done(), "Two."),
    ];
    rig.say(child, drafts).await;
    rig.finish(child, turn, TurnOutcome::Completed).await;
    let mut heard = String::new();
    loop {
        match news(&mut rig, parent, "c1").await {
            ChildNews::Said { text } => heard.push_str(&text),
            ChildNews::Ended { outcome, text } => {
                assert_eq!((outcome, text.as_str()), (TurnOutcome::Completed, "Two."));
                break;
            }
            ChildNews::Opened { .. } => panic!("it was opened before"),
        }
        if heard.ends_with("Two.") {
            // Its agent is let go before its end is told.
            assert_eq!(rig.told().await, ToAnchor::Stop { session: child });
        }
    }
    assert_eq!(heard, "One.\n\nTwo.");
}

#[tokio::test]
async fn a_child_that_is_recalled_is_interrupted() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let (parent, launch, turn) = at_work(&mut rig).await;
    delegate(&rig, parent, "c1", DelegationRequest::Recall).await;
    assert_eq!(rig.command().await, AgentCommand::Interrupt { turn });
    rig.finish(launch.session, turn, TurnOutcome::Interrupted).await;
    assert_eq!(rig.told().await, ToAnchor::Stop { session: launch.session });
    let ended = news(&mut rig, parent, "c1").await;
    assert!(matches!(ended, ChildNews::Ended { outcome: TurnOutcome::Interrupted, .. }), "{ended:?}");
}

#[tokio::test]
async fn a_child_whose_parent_is_gone_is_interrupted_and_nobody_is_told() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let (parent, launch, turn) = at_work(&mut rig).await;
    rig.gone(parent).await;
    assert_eq!(rig.command().await, AgentCommand::Interrupt { turn });
    rig.finish(launch.session, turn, TurnOutcome::Interrupted).await;
    assert_eq!(rig.told().await, ToAnchor::Stop { session: launch.session });
    rig.hub.settle().await;
    assert_eq!(rig.left(), []);
}

#[tokio::test]
async fn what_cannot_be_done_is_told_to_the_parent() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let parent = rig.ready().await;
    delegate(&rig, parent, "c1", DelegationRequest::Begin(task("nobody"))).await;
    let ChildNews::Ended { outcome, text } = news(&mut rig, parent, "c1").await else {
        panic!("it cannot have begun")
    };
    assert_eq!(outcome, TurnOutcome::Failed);
    assert!(text.contains("nobody"), "{text}");
}

#[tokio::test]
async fn no_more_than_four_work_at_once_and_none_too_deep() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let mut parent = rig.ready().await;
    for deepest in [false, false, true] {
        delegate(&rig, parent, "deeper", DelegationRequest::Begin(task("codex"))).await;
        let launch = rig.launched().await;
        assert_eq!(launch.deepest, deepest, "it is told whether it may delegate");
        parent = launch.session;
        let opened = rig.told().await;
        assert!(matches!(opened, ToAnchor::Tell { .. }), "{opened:?}");
    }
    delegate(&rig, parent, "too-deep", DelegationRequest::Begin(task("codex"))).await;
    let refused = news(&mut rig, parent, "too-deep").await;
    assert!(matches!(&refused, ChildNews::Ended { text, .. } if text.contains("deep")), "{refused:?}");

    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let parent = rig.ready().await;
    for call in ["a", "b", "c", "d"] {
        delegate(&rig, parent, call, DelegationRequest::Begin(task("codex"))).await;
        rig.launched().await;
        rig.told().await;
    }
    for waiting in 0..32 {
        delegate(&rig, parent, &format!("w{waiting}"), DelegationRequest::Begin(task("codex"))).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    delegate(&rig, parent, "e", DelegationRequest::Begin(task("codex"))).await;
    let refused = news(&mut rig, parent, "e").await;
    assert!(matches!(&refused, ChildNews::Ended { text, .. } if text.contains("32")), "{refused:?}");
}

#[tokio::test]
async fn a_child_may_do_no_more_than_its_parent() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let parent = rig.ready().await;
    for (wanted, given) in [(Mode::Full, Mode::Ask), (Mode::Plan, Mode::Plan)] {
        let request = DelegationRequest::Begin(Task { mode: Some(wanted), ..task("codex") });
        delegate(&rig, parent, &wanted.to_string(), request).await;
        assert_eq!(rig.launched().await.mode, given);
        rig.told().await;
    }
}

#[tokio::test]
async fn a_fifth_delegation_waits_for_a_place() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let parent = rig.ready().await;
    rig.prompt(parent, "supervise").await.unwrap();
    rig.command().await;
    for call in ["c1", "c2", "c3", "c4"] {
        delegate(&rig, parent, call, DelegationRequest::Begin(task("codex"))).await;
    }
    let mut children = Vec::new();
    while children.len() < 4 {
        if let ToAnchor::Tell { command: AgentCommand::Child { news, .. }, .. } = rig.told().await {
            let ChildNews::Opened { child, .. } = news else { panic!("instead of a child: {news:?}") };
            children.push(child);
        }
    }
    delegate(&rig, parent, "c5", DelegationRequest::Begin(task("codex"))).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(rig.left().is_empty(), "it neither begins nor fails");

    rig.hub.command(children[0], longshore_model::command::Command::Close, "owner".to_owned()).await.unwrap();
    let fifth = loop {
        if let ToAnchor::Tell { command: AgentCommand::Child { call, news }, .. } = rig.told().await
            && call == "c5"
        {
            break news;
        }
    };
    assert!(matches!(fifth, ChildNews::Opened { .. }), "{fifth:?}");
}

#[tokio::test]
async fn a_delegation_that_is_recalled_before_its_turn_came_ends() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let parent = rig.ready().await;
    rig.prompt(parent, "supervise").await.unwrap();
    rig.command().await;
    for call in ["c1", "c2", "c3", "c4"] {
        delegate(&rig, parent, call, DelegationRequest::Begin(task("codex"))).await;
    }
    let mut opened = 0;
    while opened < 4 {
        let told = rig.told().await;
        opened += usize::from(matches!(told, ToAnchor::Tell { command: AgentCommand::Child { .. }, .. }));
    }
    delegate(&rig, parent, "c5", DelegationRequest::Begin(task("codex"))).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    delegate(&rig, parent, "c5", DelegationRequest::Recall).await;
    let ended = news(&mut rig, parent, "c5").await;
    assert!(matches!(ended, ChildNews::Ended { outcome: TurnOutcome::Interrupted, .. }), "{ended:?}");
}

/// What a child asks, and the delegation that its parent tells of.
fn asked_and_begun(rig: &mut Rig, child: SessionId, turn: TurnId) -> (ApprovalId, Draft, Draft) {
    let item = rig.item();
    let delegation = Body::DelegationStarted(Delegation { child, agent: "codex".into() });
    let begun = Draft::new(delegation).item(item).text("count the herons");
    let approval = ApprovalId::mint(&mut rig.context());
    let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    (approval, Draft::new(Body::ApprovalRequested(request)).turn(turn), begun)
}

fn waits(wanted: bool) -> impl Fn(&Event) -> bool {
    move |event| matches!(event.body, Body::DelegationWaiting { waiting, .. } if waiting == wanted)
}

#[tokio::test]
async fn a_parent_shows_that_its_child_waits_for_a_person() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let (parent, launch, turn) = at_work(&mut rig).await;
    let child = launch.session;
    let (approval, asked, begun) = asked_and_begun(&mut rig, child, turn);
    rig.say(parent, vec![begun]).await;
    rig.hub.settle().await;
    let mut heard = rig.hub.subscribe(parent, Seq(0), longshore_log::WithRaw::No).await.unwrap();
    rig.say(child, vec![asked]).await;
    crate::rig::until(&mut heard, waits(true)).await;
    assert_eq!(rig.hub.session(parent).await.unwrap().activity, Activity::Waiting);
    decide(&rig.hub, approval, Decision::AllowOnce, "owner").await.unwrap();
    crate::rig::until(&mut heard, waits(false)).await;
    assert_eq!(rig.hub.session(parent).await.unwrap().activity, Activity::Working);
}

#[tokio::test]
async fn a_child_that_waits_before_its_parent_tells_of_it_is_shown_to_wait() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let (parent, launch, turn) = at_work(&mut rig).await;
    let (_, asked, begun) = asked_and_begun(&mut rig, launch.session, turn);
    rig.say(launch.session, vec![asked]).await;
    // The child has told its parent by the time that the parent is reached once more.
    for _ in 0..3 {
        rig.hub.settle().await;
        tokio::task::yield_now().await;
    }
    rig.say(parent, vec![begun]).await;
    let mut heard = rig.hub.subscribe(parent, Seq(0), longshore_log::WithRaw::No).await.unwrap();
    crate::rig::until(&mut heard, waits(true)).await;
}
