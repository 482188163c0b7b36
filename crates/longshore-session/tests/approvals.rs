//! An approval is decided once, whoever asks how often from wherever.

use std::sync::Arc;

use longshore_log::MemoryLog;
use longshore_model::anchor::ToAnchor;
use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::command::{AgentCommand, Command, Refusal, Reply};
use longshore_model::event::{Body, Draft};
use longshore_model::id::ApprovalId;
use longshore_model::session::RESOLUTIONS_LIMIT;
use longshore_session::HubError;

use crate::rig::{Rig, decide};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_answers_at_the_same_moment_exactly_one_wins() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    assert!(matches!(rig.command().await, AgentCommand::Prompt { .. }));
    for round in 0..20 {
        let approval = ApprovalId::mint(&mut rig.context());
        let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
        let options = vec![Decision::AllowOnce, Decision::Deny];
        let request = Body::ApprovalRequested(ApprovalRequest { approval, subject, options });
        rig.say(session, vec![Draft::new(request).turn(turn)]).await;
        rig.hub.settle().await;
        assert_eq!(rig.hub.inbox().await.unwrap().approvals.len(), 1);

        let mut answers = Vec::new();
        for client in 0..8 {
            let (hub, by) = (rig.hub.clone(), format!("client {client}"));
            let decision = if client % 2 == 0 { Decision::AllowOnce } else { Decision::Deny };
            answers.push(tokio::spawn(async move { decide(&hub, approval, decision, &by).await }));
        }
        let mut won = Vec::new();
        let mut told = Vec::new();
        for answer in answers {
            match answer.await.unwrap() {
                Ok(Reply::Decided(record)) => won.push(record),
                Err(HubError::Refused(Refusal::AlreadyDecided(record))) => told.push(record),
                other => panic!("instead of an answer: {other:?}"),
            }
        }
        assert_eq!((won.len(), told.len()), (1, 7), "round {round}");
        assert!(told.iter().all(|record| *record == won[0]), "all see the same record");
        match rig.told().await {
            ToAnchor::Tell { command: AgentCommand::Decide { decision, .. }, .. } => {
                assert_eq!(decision, won[0])
            }
            other => panic!("instead of a decision: {other:?}"),
        }
        assert!(rig.left().is_empty(), "the agent hears one answer");
        assert!(rig.hub.inbox().await.unwrap().approvals.is_empty());
    }
}

/// The session forgets the oldest ends; the log does not.
#[tokio::test]
async fn however_long_ago_an_approval_was_decided_the_second_answer_is_told_the_first() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    assert!(matches!(rig.command().await, AgentCommand::Prompt { .. }));
    let mut asked = Vec::new();
    for _ in 0..=RESOLUTIONS_LIMIT {
        let approval = ApprovalId::mint(&mut rig.context());
        let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
        let options = vec![Decision::AllowOnce, Decision::Deny];
        let request = Body::ApprovalRequested(ApprovalRequest { approval, subject, options });
        rig.say(session, vec![Draft::new(request).turn(turn)]).await;
        rig.hub.settle().await;
        decide(&rig.hub, approval, Decision::AllowOnce, "first").await.unwrap();
        assert!(matches!(rig.command().await, AgentCommand::Decide { .. }));
        asked.push(approval);
    }
    for approval in [asked[0], asked[1]] {
        match decide(&rig.hub, approval, Decision::Deny, "second").await {
            Err(HubError::Refused(Refusal::AlreadyDecided(first))) => {
                assert_eq!((first.decision, first.by.as_str()), (Decision::AllowOnce, "first"));
            }
            other => panic!("instead of the first answer: {other:?}"),
        }
    }
    assert!(rig.left().is_empty(), "the agent hears one answer");
}

/// An approval is decided in its own session only, and another one does not tell of it.
#[tokio::test]
async fn another_session_knows_nothing_of_an_approval() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let session = rig.ready().await;
    let turn = rig.prompt(session, "go").await.unwrap();
    let approval = ApprovalId::mint(&mut rig.context());
    let subject = Subject::Plan { plan: "1.".to_owned() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    rig.say(session, vec![Draft::new(Body::ApprovalRequested(request)).turn(turn)]).await;
    rig.hub.settle().await;
    decide(&rig.hub, approval, Decision::AllowOnce, "owner").await.unwrap();
    rig.left();
    let other = rig.ready().await;
    let again = Command::Decide { approval, decision: Decision::Deny, message: None, input: None };
    let refused = rig.hub.command(other, again, "owner".to_owned()).await;
    assert!(matches!(refused, Err(HubError::Refused(Refusal::UnknownApproval))), "{refused:?}");
}

#[tokio::test]
async fn an_approval_of_nobody_is_unknown() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let nobody = ApprovalId::mint(&mut rig.context());
    let answer = decide(&rig.hub, nobody, Decision::Deny, "owner").await;
    assert!(matches!(answer, Err(HubError::UnknownAsk)));
}

#[tokio::test]
async fn an_agent_that_asks_for_much_leaves_an_inbox_that_can_be_read() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let session = rig.ready().await;
        let turn = rig.prompt(session, "go").await.unwrap();
        assert!(matches!(rig.command().await, AgentCommand::Prompt { .. }));
        for _ in 0..8 {
            let approval = ApprovalId::mint(&mut rig.context());
            let command = format!("echo {} && rm -rf /", "x".repeat(1 << 20));
            let subject = Subject::Command { command, cwd: None, always: Vec::new() };
            let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
            rig.say(session, vec![Draft::new(Body::ApprovalRequested(request)).turn(turn)]).await;
        }
        sessions.push(session);
    }
    rig.hub.settle().await;
    let inbox = rig.hub.inbox().await.unwrap();
    assert_eq!(inbox.approvals.len(), 24);
    let commands: Vec<&str> = inbox
        .approvals
        .iter()
        .map(|open| match &open.request.subject {
            Subject::Command { command, .. } => command.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(commands.iter().map(|command| command.len()).sum::<usize>() < 9 << 20);
    assert!(commands[0].len() > 1 << 20, "who waits longest is told whole");
    let cut = commands.last().unwrap();
    assert!(cut.ends_with("&& rm -rf /") && cut.contains("characters left out"), "{cut}");
    let whole = rig.hub.session(sessions[2]).await.unwrap();
    assert_eq!(
        whole.approvals.iter().map(|open| open.bytes()).sum::<usize>() >> 20,
        8,
        "the session has it whole"
    );
}
