//! What a session remembers of things that are over has an end, and what is older is told in another way, or not at all.

use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::command::{Command, Prompt, Refusal, Reply, When};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, SessionId, TurnId};
use longshore_model::lifecycle::{Delegation, TurnOutcome};
use longshore_model::session::{
    DELEGATIONS_LIMIT, ENDED_ITEMS_LIMIT, KEYS_LIMIT, PROMPTS_HERE_LIMIT, QUEUE_LIMIT, RESOLUTIONS_LIMIT,
    Session,
};

use crate::stage::{Stage, everything};

/// Whoever folds the log stands where the session stands, with all that it remembers.
fn check(stage: &Stage) {
    stage.check();
    assert!(
        Session::fold(&stage.events).as_ref() == Some(&stage.session),
        "the fold remembers something else"
    );
}

fn keyed(stage: &mut Stage, key: usize) -> TurnId {
    let prompt = Prompt { text: "go".to_owned(), key: Some(format!("key {key}")), ..Prompt::default() };
    match stage.command(Command::Prompt(prompt)).unwrap() {
        Reply::Prompted { turn, .. } => turn,
        other => panic!("a prompt came to {other:?}"),
    }
}

#[test]
fn a_key_stands_for_its_prompt_until_many_newer_ones_came() {
    let mut stage = Stage::ready();
    let mut turns = Vec::new();
    for key in 0..=KEYS_LIMIT {
        let turn = keyed(&mut stage, key);
        stage.finish(turn, TurnOutcome::Completed);
        turns.push(turn);
    }
    let before = stage.events.len();
    assert_eq!(keyed(&mut stage, 1), turns[1]);
    assert_eq!(keyed(&mut stage, KEYS_LIMIT), turns[KEYS_LIMIT]);
    assert_eq!(stage.events.len(), before, "nothing was said again");
    check(&stage);
    assert_ne!(keyed(&mut stage, 0), turns[0], "the oldest key is forgotten");
    check(&stage);
}

fn ask(stage: &mut Stage, turn: TurnId) -> ApprovalId {
    let approval = stage.approval();
    let subject = Subject::Tool { name: "t".to_owned(), input: serde_json::Value::Null };
    let options = vec![Decision::AllowOnce, Decision::Deny];
    let request = ApprovalRequest { approval, subject, options };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn));
    approval
}

fn deny(approval: ApprovalId, message: &str) -> Command {
    Command::Decide { approval, decision: Decision::Deny, message: Some(message.to_owned()), input: None }
}

#[test]
fn how_an_approval_ended_is_remembered_until_many_newer_ones_ended_and_is_in_the_log_after_that() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let asked: Vec<ApprovalId> = (0..=RESOLUTIONS_LIMIT)
        .map(|_| {
            let approval = ask(&mut stage, turn);
            stage.command(deny(approval, "no")).unwrap();
            approval
        })
        .collect();
    check(&stage);
    let again = |stage: &mut Stage, nth: usize| stage.command(deny(asked[nth], "again"));
    assert!(matches!(again(&mut stage, 1), Err(Refusal::AlreadyDecided(_))));
    assert_eq!(again(&mut stage, 0), Err(Refusal::UnknownApproval));
    let ended =
        stage.events.iter().find_map(|event| Refusal::of_ended(event).filter(|(ask, _)| *ask == asked[0].0));
    let Some((_, Refusal::AlreadyDecided(first))) = ended else { panic!("the log does not tell it") };
    assert_eq!(first.message.as_deref(), Some("no"));
}

#[test]
fn decisions_that_say_much_are_remembered_for_less_long() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let long = "no ".repeat(1 << 20);
    let asked: Vec<ApprovalId> = (0..3)
        .map(|_| {
            let approval = ask(&mut stage, turn);
            stage.command(deny(approval, &long)).unwrap();
            approval
        })
        .collect();
    assert_eq!(stage.command(deny(asked[1], "again")), Err(Refusal::UnknownApproval));
    assert!(matches!(stage.command(deny(asked[2], "again")), Err(Refusal::AlreadyDecided(_))));
    check(&stage);
}

#[test]
fn an_item_stays_ended_until_many_others_ended() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let items: Vec<_> = (0..=ENDED_ITEMS_LIMIT).map(|_| stage.item()).collect();
    for item in &items {
        let done = Body::MessageDone { phase: None, partial: false };
        stage.said(Draft::new(done).turn(turn).item(*item).text("done"));
    }
    let delta = |item| Draft::new(Body::MessageDelta).turn(turn).item(item).text("late");
    let before = stage.events.len();
    stage.said(delta(items[1]));
    assert_eq!(stage.kinds(before), ["message_delta"], "it does not begin again");
    check(&stage);
    // What comes that late begins anew, and ends with the turn.
    stage.said(delta(items[0]));
    stage.finish(turn, TurnOutcome::Completed);
    assert_eq!(
        stage.kinds(before + 1),
        ["message_started", "message_delta", "message_done", "turn_finished"]
    );
    check(&stage);
}

#[test]
fn prompts_that_were_said_here_long_ago_count_as_taken_in() {
    let mut can = everything();
    can.own_record = true;
    let mut stage = Stage::with(can);
    stage.command(Command::Revive { from_log: false }).unwrap();
    stage.is_ready();
    let told = |stage: &Stage| stage.session.record_place().and_then(|place| place.told).unwrap();
    let began = told(&stage).since;
    for _ in 0..PROMPTS_HERE_LIMIT {
        let turn = stage.prompt("go");
        stage.finish(turn, TurnOutcome::Completed);
    }
    assert_eq!((told(&stage).prompts.len(), told(&stage).since), (PROMPTS_HERE_LIMIT, began));
    let (first, second) = (told(&stage).prompts[0], told(&stage).prompts[1]);
    let turn = stage.prompt("go");
    stage.finish(turn, TurnOutcome::Completed);
    let here = told(&stage);
    assert_eq!(here.prompts.len(), PROMPTS_HERE_LIMIT);
    assert!(!here.prompts.contains(&first));
    let said = |event: &&longshore_model::event::Event| matches!(event.body, Body::UserMessage { prompt: Some(prompt), .. } if prompt == second);
    assert_eq!(stage.events.iter().find(said).map(|event| event.at), Some(here.since));
    check(&stage);
}

#[test]
fn an_agent_that_hands_on_more_than_it_ends_has_the_oldest_ended() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let children: Vec<SessionId> = (0..=DELEGATIONS_LIMIT).map(|_| stage.mint(SessionId::mint)).collect();
    for child in &children {
        let delegation = Delegation { child: *child, agent: "codex".into() };
        stage.said(Draft::new(Body::DelegationStarted(delegation)).turn(turn));
    }
    let ended: Vec<SessionId> = stage
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::DelegationFinished(end) => Some(end.child),
            _ => None,
        })
        .collect();
    assert_eq!(ended, children[..1]);
    check(&stage);
}

#[test]
fn an_agent_that_reacts_to_nothing_is_steered_no_further() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let steer = || Command::Prompt(Prompt { text: "on".to_owned(), when: When::Steer, ..Prompt::default() });
    for _ in 1..QUEUE_LIMIT {
        stage.command(steer()).unwrap();
    }
    assert_eq!(stage.command(steer()), Err(Refusal::QueueFull(QUEUE_LIMIT)));
    let item = stage.item();
    stage.said(Draft::new(Body::MessageDelta).turn(turn).item(item).text("well"));
    stage.command(steer()).unwrap();
    check(&stage);
}

#[test]
fn a_prompt_is_found_by_its_key_and_by_its_turn_also_in_a_session_that_is_folded_anew() {
    use longshore_model::session::{PromptName, Session};

    let mut stage = Stage::ready();
    let prompt = |key: Option<&str>, when| {
        let key = key.map(str::to_owned);
        Command::Prompt(Prompt { text: "go".to_owned(), key, when, ..Prompt::default() })
    };
    let Reply::Prompted { turn, seq, .. } = stage.command(prompt(Some("a"), When::Queue)).unwrap() else {
        panic!("not prompted")
    };
    stage.command(prompt(Some("b"), When::Steer)).unwrap();
    stage.finish(turn, TurnOutcome::Completed);
    let Reply::Prompted { turn: other, .. } = stage.command(prompt(None, When::Queue)).unwrap() else {
        panic!("not prompted")
    };
    let folded = Session::fold(&stage.events).unwrap();
    for session in [&stage.session, &folded] {
        let by_key = session.keyed_prompt(&PromptName::Key("a".to_owned())).unwrap();
        assert_eq!((by_key.key.as_str(), by_key.turn, by_key.seq), ("a", turn, seq));
        assert_eq!(session.keyed_prompt(&PromptName::Turn(turn)), Some(by_key), "the first of its turn");
        let steered = session.keyed_prompt(&PromptName::Key("b".to_owned())).unwrap();
        assert!(steered.turn == turn && steered.seq > seq, "{steered:?}");
        assert_eq!(session.keyed_prompt(&PromptName::Turn(other)), None, "that prompt has no key");
        assert_eq!(session.keyed_prompt(&PromptName::Key("c".to_owned())), None);
    }
}
