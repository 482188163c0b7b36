//! Turns that a restart cut, conversations that are handed back, and work of others that ends with them.

use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::capability::Capabilities;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource, Command, Prompt, Refusal, Reply};
use longshore_model::event::{BY_DELEGATION, Body, Draft};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::info::{Activity, Status};
use longshore_model::item::{MOST_ATTACHED, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{
    Delegation, DelegationEnd, FaultCode, SessionFault, Sleep, SleepCause, TurnErrorCode, TurnOutcome,
};
use longshore_model::session::{Effect, GO_ON, Input};

use crate::stage::{Stage, everything};

const RESTARTED: &str = "the hub was restarted, and the agent went with it";

fn restart(stage: &mut Stage) {
    stage.gone(Sleep { cause: SleepCause::HubRestarted, ..Sleep::default() }, RESTARTED);
    stage.effects.clear();
}

fn keyed(text: &str) -> Command {
    Command::Prompt(Prompt { text: text.to_owned(), key: Some("k".to_owned()), ..Prompt::default() })
}

fn turn_of(reply: Result<Reply, Refusal>) -> TurnId {
    match reply {
        Ok(Reply::Prompted { turn, .. }) => turn,
        other => panic!("no turn: {other:?}"),
    }
}

/// What the agent was told last.
fn told(stage: &Stage) -> String {
    let text = |effect: &Effect| match effect {
        Effect::Tell(AgentCommand::Prompt { text, .. }) => Some(text.clone()),
        _ => None,
    };
    stage.effects.iter().rev().find_map(text).expect("nothing was told")
}

#[test]
fn a_turn_that_a_restart_cut_is_interrupted_and_its_asks_say_why() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let approval = stage.approval();
    let subject = Subject::Plan { plan: "1. Read".to_owned() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn));
    restart(&mut stage);
    let info = stage.session.info();
    assert_eq!((info.status, info.activity), (Status::Interrupted, Activity::Sleeping));
    assert!(info.cut_by_restart);
    let expired =
        stage.events.iter().find(|event| matches!(event.body, Body::ApprovalExpired { .. })).unwrap();
    assert_eq!(expired.text(), RESTARTED);
    let end = stage.events.iter().find_map(|event| match &event.body {
        Body::TurnFinished(end) => end.error.clone(),
        _ => None,
    });
    assert_eq!(end.unwrap().code, TurnErrorCode::HubRestarted);

    stage.command(Command::Resume).unwrap();
    assert!(!stage.session.info().cut_by_restart);
    stage.is_ready();
    assert_eq!(told(&stage), GO_ON);
    stage.check();
}

/// While all sessions are resumed, a person resumes one of them, too.
#[test]
fn whoever_resumes_what_goes_on_already_is_told_with_which_prompt() {
    let mut stage = Stage::ready();
    stage.prompt("go");
    restart(&mut stage);
    let resumed = stage.command(Command::Resume);
    let events = stage.events.len();
    assert_eq!(stage.command(Command::Resume), resumed, "the agent starts");
    assert_eq!(stage.events.len(), events, "it is said once");
    stage.is_ready();
    assert_eq!(stage.command(Command::Resume), resumed, "the turn runs");
    stage.check();
    stage.finish(turn_of(resumed), TurnOutcome::Completed);
    assert_eq!(stage.command(Command::Resume), Err(Refusal::NotInterrupted));
    stage.check();
}

#[test]
fn what_was_taken_back_does_not_go_on() {
    let mut stage = Stage::ready();
    stage.prompt("go");
    restart(&mut stage);
    let Ok(Reply::Prompted { prompt, .. }) = stage.command(Command::Resume) else { panic!("not resumed") };
    stage.command(Command::CancelPrompt { prompt }).unwrap();
    let again = stage.command(Command::Resume).unwrap();
    assert!(!matches!(again, Reply::Prompted { prompt: other, .. } if other == prompt), "{again:?}");
    stage.check();
}

#[test]
fn a_restart_between_turns_cuts_nothing() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    stage.finish(turn, TurnOutcome::Completed);
    restart(&mut stage);
    let info = stage.session.info();
    assert_eq!((info.status, info.cut_by_restart), (Status::Idle, false));
    assert_eq!(stage.command(Command::Resume), Err(Refusal::NotInterrupted));
}

#[test]
fn the_same_key_is_a_new_prompt_when_the_agent_never_reacted_to_the_first() {
    let mut stage = Stage::ready();
    let first = turn_of(stage.command(keyed("go")));
    assert_eq!(turn_of(stage.command(keyed("go"))), first, "as long as it runs it is one prompt");
    restart(&mut stage);
    let again = turn_of(stage.command(keyed("go")));
    assert_ne!(again, first);
    stage.is_ready();
    assert_eq!(told(&stage), "go");
    assert_eq!(turn_of(stage.command(keyed("go"))), again, "and from here on it is that one");

    // Once the agent has said a word it has heard it.
    let item = stage.item();
    stage.said(Draft::new(Body::MessageStarted).turn(again).item(item));
    restart(&mut stage);
    assert_eq!(turn_of(stage.command(keyed("go"))), again);
    stage.check();
}

#[test]
fn resuming_tells_an_agent_that_never_reacted_the_same_again_under_the_same_key() {
    let mut stage = Stage::ready();
    let first = turn_of(stage.command(keyed("fix the tests")));
    restart(&mut stage);
    let again = turn_of(stage.command(Command::Resume));
    assert_ne!(again, first);
    stage.is_ready();
    assert_eq!(told(&stage), "fix the tests");
    assert_eq!(turn_of(stage.command(keyed("fix the tests"))), again);

    // One whose memory is our log has it there.
    let mut stage = Stage::with(Capabilities { memory_in_log: true, ..everything() });
    stage.command(Command::Revive { from_log: false }).unwrap();
    stage.is_ready();
    stage.prompt("fix the tests");
    restart(&mut stage);
    stage.command(Command::Resume).unwrap();
    stage.is_ready();
    assert_eq!(told(&stage), GO_ON);
}

#[test]
fn a_session_that_is_released_sleeps_and_the_next_prompt_wakes_it() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let release = || Command::Release { hand_back: Some("codex resume thread-1".to_owned()) };
    assert_eq!(stage.command(release()), Err(Refusal::BusyTurn));
    stage.finish(turn, TurnOutcome::Completed);
    stage.effects.clear();
    stage.command(release()).unwrap();
    assert_eq!(stage.effects, [Effect::Stop]);
    let handed = stage.events.last().unwrap();
    assert!(matches!(handed.body, Body::SessionHandedOff));
    assert_eq!(handed.text(), "codex resume thread-1");

    // What is said while the process ends waits for its end, and then wakes a new one.
    stage.effects.clear();
    stage.prompt("go on here");
    assert!(stage.effects.is_empty(), "{:?}", stage.effects);
    stage.gone(Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "stopped");
    let slept = stage.events.iter().find_map(|event| match &event.body {
        Body::SessionSleeping(sleep) => Some(sleep.cause),
        _ => None,
    });
    assert_eq!(slept, Some(SleepCause::Released));
    assert!(matches!(&stage.effects[..], [.., Effect::Launch(_)]), "{:?}", stage.effects);
    stage.check();
}

#[test]
fn a_session_that_sleeps_is_released_without_ado() {
    let mut stage = Stage::ready();
    stage.gone(Sleep::default(), "it ended");
    stage.effects.clear();
    stage.command(Command::Release { hand_back: None }).unwrap();
    assert!(stage.effects.is_empty());
    assert_eq!(stage.session.info().activity, Activity::Sleeping);
}

#[test]
fn what_was_delegated_ends_with_the_turn_that_was_stopped() {
    for stop in ["interrupt", "death", "restart"] {
        let mut stage = Stage::ready();
        let turn = stage.prompt("go");
        let (item, child) = (stage.item(), stage.mint(SessionId::mint));
        let delegation = Delegation { child, agent: "claude".into() };
        stage.said(Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item).text("look"));
        match stop {
            "interrupt" => stage.finish(turn, TurnOutcome::Interrupted),
            "death" => stage.gone(Sleep::default(), "it died"),
            _ => restart(&mut stage),
        }
        let end = DelegationEnd { child, outcome: TurnOutcome::Interrupted };
        let ends = || stage.events.iter().filter(|event| event.body == Body::DelegationFinished(end.clone()));
        assert_eq!(ends().count(), 1, "{stop}");
        assert_eq!(ends().next().unwrap().item, Some(item));
        // What the agent says of it later changes nothing.
        let late = Draft::new(Body::DelegationFinished(end.clone())).turn(turn).item(item);
        let before = stage.events.len();
        stage.said(late);
        assert_eq!(stage.kinds(before), ["raw"], "{stop}");
        stage.check();
    }
}

#[test]
fn how_hard_an_agent_thinks_is_told_now_and_when_it_starts_again() {
    let mut stage = Stage::ready();
    stage.command(Command::SetEffort("high".to_owned())).unwrap();
    assert_eq!(stage.effects, [Effect::Tell(AgentCommand::SetEffort("high".to_owned()))]);
    stage.gone(Sleep::default(), "it ended");
    stage.effects.clear();
    stage.prompt("go");
    assert!(
        matches!(&stage.effects[..], [Effect::Launch(launch)] if launch.effort.as_deref() == Some("high"))
    );
    assert_eq!(stage.session.info().effort.as_deref(), Some("high"));

    let mut stage = Stage::with(Capabilities { effort: false, ..everything() });
    assert!(matches!(
        stage.command(Command::SetEffort("high".to_owned())),
        Err(Refusal::NotSupported { .. })
    ));
}

#[test]
fn attachments_of_a_tool_that_are_too_large_together_are_left_out_by_name() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let picture = |name: &str, bytes: usize| Attachment {
        name: Some(name.to_owned()),
        media_type: "image/png".to_owned(),
        source: AttachmentSource::Data("A".repeat(bytes)),
    };
    let attachments = vec![picture("one.png", MOST_ATTACHED / 2), picture("two.png", MOST_ATTACHED)];
    let outcome = ToolOutcome { attachments, ..ToolOutcome::of(ToolStatus::Completed) };
    let item = stage.item();
    stage.said(Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item).text("two pictures"));
    let event = stage.events.last().unwrap();
    let Body::ToolFinished(kept) = &event.body else { panic!("{event:?}") };
    assert_eq!(kept.attachments.len(), 1);
    assert!(
        event.text().starts_with("two pictures\n(left out") && event.text().contains("two.png"),
        "{}",
        event.text()
    );
}

#[test]
fn what_a_restart_writes_down_does_not_make_a_session_the_latest() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let item = stage.item();
    stage.said(Draft::new(Body::MessageDelta).turn(turn).item(item).text("half a wor"));
    let approval = stage.approval();
    let subject = Subject::Plan { plan: "1. Read".to_owned() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn));
    stage.command(keyed("and then")).unwrap();
    let last = stage.session.info().updated_at;
    stage.wait(60_000);
    restart(&mut stage);
    stage.said(Draft::new(Body::GitChanged(Default::default())));
    assert_eq!(stage.session.info().updated_at, last);
    stage.check();

    stage.wait(60_000);
    stage.prompt("on");
    let spoken = stage.session.info().updated_at;
    assert!(spoken > last, "what a person says does");
    stage.is_ready();
    stage.wait(60_000);
    let before = stage.session.info().updated_at;
    stage.gone(Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "stopped");
    assert!(stage.session.info().updated_at > before, "and that a turn was stopped");
    stage.check();
}

#[test]
fn an_agent_that_is_put_to_sleep_does_not_make_its_session_the_latest() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    stage.finish(turn, TurnOutcome::Completed);
    let last = stage.session.info().updated_at;
    stage.wait(3_600_000);
    stage.gone(Sleep { cause: SleepCause::Idle, ..Sleep::default() }, "stopped, since nobody needed it");
    assert_eq!(stage.session.info().updated_at, last);
    stage.check();
}

#[test]
fn what_an_agent_does_is_no_act_of_a_person() {
    let mut stage = Stage::new();
    let opened = stage.session.info().touched_at;
    assert_eq!(opened, Some(stage.session.info().created_at), "who opens a session does something there");
    stage.is_ready();
    let turn = stage.prompt("go");
    let spoken = stage.session.info().touched_at;
    assert!(spoken > opened);
    stage.wait(60_000);
    let approval = stage.approval();
    let subject = Subject::Plan { plan: "1. Read".to_owned() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn));
    assert_eq!(stage.session.info().touched_at, spoken, "the agent asks");
    let (decision, message, input) = (Decision::AllowOnce, None, None);
    stage.command(Command::Decide { approval, decision, message, input }).unwrap();
    let decided = stage.session.info().touched_at;
    assert!(decided > spoken, "a person decides");
    stage.wait(60_000);
    stage.finish(turn, TurnOutcome::Completed);
    let told = Command::Prompt(Prompt { text: "a task".to_owned(), ..Prompt::default() });
    stage.handle(Input::Command { command: told, by: BY_DELEGATION.to_owned() }).unwrap();
    assert_eq!(stage.session.info().touched_at, decided, "no turn's end, and no other agent's task");
    assert!(Some(stage.session.info().updated_at) > decided);
    stage.check();
}

/// A session whose agent has forgotten, noticed it when it was prompted, and is started again.
fn forgetful() -> (Stage, TurnId) {
    let mut stage = Stage::ready();
    let turn = stage.prompt("hello");
    stage.finish(turn, TurnOutcome::Completed);
    let turn = stage.prompt("and now?");
    stage.effects.clear();
    let fault = SessionFault { code: FaultCode::ResumeFailed };
    stage.said(Draft::new(Body::SessionError(fault)).text("no rollout found"));
    stage.gone(Sleep { cause: SleepCause::Exited, ..Sleep::default() }, "no rollout found");
    (stage, turn)
}

#[test]
fn an_agent_that_notices_only_when_it_is_prompted_that_it_has_forgotten_is_prompted_again() {
    let (mut stage, turn) = forgetful();
    assert!(matches!(&stage.effects[..], [Effect::LaunchFromLog(_)]), "{:?}", stage.effects);
    assert_eq!(stage.session.info().turn, Some(turn), "the turn goes on");
    stage.check();
    let from = stage.events.len();
    stage.effects.clear();
    stage.is_ready();
    assert_eq!(stage.kinds(from), ["session_ready", "session_revived"], "nothing is said twice");
    let told = stage.effects.iter().find_map(|effect| match effect {
        Effect::Tell(AgentCommand::Prompt { turn, text, .. }) => Some((*turn, text.clone())),
        _ => None,
    });
    assert_eq!(told, Some((turn, "and now?".to_owned())));
    stage.finish(turn, TurnOutcome::Completed);
    stage.check();
}

#[test]
fn an_agent_that_forgot_too_late_and_does_not_start_fails_that_turn_and_no_other() {
    let (mut stage, turn) = forgetful();
    let behind = stage.prompt("and then?");
    let from = stage.events.len();
    stage.effects.clear();
    stage.gone(Sleep { cause: SleepCause::FailedToStart, ..Sleep::default() }, "it does not start at all");
    let ends: Vec<_> =
        stage.events[from..].iter().filter(|event| matches!(event.body, Body::TurnFinished(_))).collect();
    assert_eq!(ends.iter().map(|end| end.turn).collect::<Vec<_>>(), [Some(turn)]);
    assert!(
        stage.session.info().queue.iter().any(|waiting| waiting.turn == behind),
        "that one is tried anew"
    );
    stage.check();
}

#[test]
fn a_turn_that_waits_for_an_agent_that_forgot_can_be_stopped() {
    let (mut stage, turn) = forgetful();
    stage.command(Command::Interrupt).unwrap();
    let end = stage.events.iter().rfind(|event| matches!(event.body, Body::TurnFinished(_))).unwrap();
    assert!(matches!(&end.body, Body::TurnFinished(end) if end.outcome == TurnOutcome::Interrupted));
    assert_eq!(end.turn, Some(turn));
    stage.effects.clear();
    stage.is_ready();
    assert!(!stage.effects.iter().any(|effect| matches!(effect, Effect::Tell(_))), "{:?}", stage.effects);
    stage.check();
}
