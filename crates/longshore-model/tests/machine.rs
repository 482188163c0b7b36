//! The session machine: what each input comes to.

use longshore_model::anchor::Start;
use longshore_model::approval::{
    AnswerAction, ApprovalRequest, Choice, Decision, Field, FieldKind, QuestionRequest, Subject,
};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::{AgentCommand, Command, Prompt, Refusal, Reply, When};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{PromptId, QuestionId};
use longshore_model::info::{Activity, Status};
use longshore_model::item::{ToolCall, ToolKind, ToolStatus};
use longshore_model::lifecycle::{FaultCode, SessionFault, Sleep, SleepCause, TurnEnd, TurnOutcome};
use longshore_model::session::{Effect, QUEUE_LIMIT, Session};
use longshore_model::usage::Usage;
use serde_json::json;

use crate::stage::Stage;

fn command(stage: &mut Stage, turn: longshore_model::id::TurnId) -> longshore_model::id::ItemId {
    let item = stage.item();
    let call = ToolCall {
        name: "exec_command".to_owned(),
        kind: ToolKind::Execute,
        command: Some("make".to_owned()),
        cwd: None,
        input: json!({}),
    };
    stage.said(Draft::new(Body::ToolStarted(call)).turn(turn).item(item));
    item
}

fn ask(stage: &mut Stage, turn: longshore_model::id::TurnId) -> longshore_model::id::ApprovalId {
    let approval = stage.approval();
    let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
    let options = vec![Decision::AllowOnce, Decision::Deny];
    stage
        .said(Draft::new(Body::ApprovalRequested(ApprovalRequest { approval, subject, options })).turn(turn));
    approval
}

fn decide(approval: longshore_model::id::ApprovalId, decision: Decision) -> Command {
    Command::Decide { approval, decision, message: None, input: None }
}

#[test]
fn a_prompt_to_a_ready_agent_begins_a_turn() {
    let mut stage = Stage::ready();
    let from = stage.events.len();
    let turn = stage.prompt("fix the tests\nplease");
    assert_eq!(stage.kinds(from), ["prompt_queued", "turn_started", "user_message"]);
    assert!(
        matches!(&stage.effects[..], [Effect::Tell(AgentCommand::Prompt { turn: told, .. })] if *told == turn)
    );
    let info = stage.session.info();
    assert_eq!((info.title.as_str(), info.status, info.turn), ("fix the tests", Status::Active, Some(turn)));
    assert!(info.queue.is_empty());
    stage.check();
}

#[test]
fn a_prompt_to_a_sleeping_agent_wakes_it_and_waits() {
    let mut stage = Stage::new();
    stage.prompt("hello");
    assert!(matches!(&stage.effects[..], [Effect::Launch(launch)] if launch.start == Start::New));
    assert_eq!(stage.session.info().activity, Activity::Starting);
    assert_eq!(stage.session.info().queue.len(), 1);
    stage.is_ready();
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Tell(AgentCommand::Prompt { .. }))));
    stage.check();
}

#[test]
fn prompts_wait_in_order_and_can_be_reordered_edited_and_cancelled() {
    let mut stage = Stage::ready();
    let first = stage.prompt("one");
    stage.prompt("two");
    stage.prompt("three");
    stage.prompt("four");
    let queue: Vec<PromptId> = stage.session.info().queue.iter().map(|waiting| waiting.prompt).collect();
    stage.command(Command::Reorder { order: vec![queue[2], queue[0]] }).unwrap();
    stage.command(Command::EditPrompt { prompt: queue[0], text: "two, better".to_owned() }).unwrap();
    stage.command(Command::CancelPrompt { prompt: queue[1] }).unwrap();
    let texts: Vec<String> = stage.session.info().queue.into_iter().map(|waiting| waiting.text).collect();
    assert_eq!(texts, ["four", "two, better"]);
    stage.finish(first, TurnOutcome::Completed);
    let texts: Vec<String> = stage.session.info().queue.into_iter().map(|waiting| waiting.text).collect();
    assert_eq!(texts, ["two, better"], "the next turn began by itself");
    assert_eq!(stage.command(Command::CancelPrompt { prompt: queue[1] }), Err(Refusal::UnknownPrompt));
    stage.check();
}

#[test]
fn the_same_key_twice_is_one_prompt_even_after_a_restart() {
    let mut stage = Stage::ready();
    let prompt = Prompt { text: "once".to_owned(), key: Some("k".to_owned()), ..Prompt::default() };
    let first = stage.command(Command::Prompt(prompt.clone())).unwrap();
    let events = stage.events.len();
    assert_eq!(stage.command(Command::Prompt(prompt.clone())).unwrap(), first);
    stage.session = Session::fold(&stage.events).unwrap();
    assert_eq!(stage.command(Command::Prompt(prompt)).unwrap(), first);
    assert_eq!(stage.events.len(), events);
}

#[test]
fn the_queue_has_an_end() {
    let mut stage = Stage::ready();
    for n in 0..=QUEUE_LIMIT {
        stage.prompt(&format!("prompt {n}"));
    }
    let more = Prompt { text: "one more".to_owned(), ..Prompt::default() };
    assert_eq!(stage.command(Command::Prompt(more)), Err(Refusal::QueueFull(QUEUE_LIMIT)));
    let empty = Prompt { text: "  \n".to_owned(), ..Prompt::default() };
    assert_eq!(stage.command(Command::Prompt(empty)), Err(Refusal::EmptyPrompt));
}

#[test]
fn steering_speaks_into_the_turn_and_queues_where_it_cannot() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("one");
    assert_eq!(stage.prompt_when("and this", When::Steer), turn);
    assert!(stage.session.info().queue.is_empty());
    assert!(matches!(stage.effects.last(), Some(Effect::Tell(AgentCommand::Steer { .. }))));
    stage.check();

    let mut stage = Stage::with(Capabilities::default());
    stage.prompt("one");
    stage.is_ready();
    stage.prompt_when("and this", When::Steer);
    assert_eq!(
        stage.session.info().queue.len(),
        1,
        "an agent that cannot be steered gets it as its next turn"
    );
    stage.check();
}

#[test]
fn an_interrupting_prompt_goes_first() {
    let mut stage = Stage::ready();
    let first = stage.prompt("one");
    stage.prompt("two");
    let urgent = stage.prompt_when("stop, do this", When::Interrupt);
    assert!(
        matches!(stage.effects.last(), Some(Effect::Tell(AgentCommand::Interrupt { turn })) if *turn == first)
    );
    stage.finish(first, TurnOutcome::Interrupted);
    assert_eq!(stage.session.info().turn, Some(urgent));
    stage.check();
}

#[test]
fn what_a_turn_leaves_open_is_brought_to_an_end() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let message = stage.item();
    stage.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("Hel"));
    stage.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("lo"));
    command(&mut stage, turn);
    let approval = ask(&mut stage, turn);
    let from = stage.events.len();
    stage.finish(turn, TurnOutcome::Interrupted);
    let kinds = stage.kinds(from);
    assert_eq!(kinds, ["message_done", "tool_finished", "approval_expired", "turn_finished"]);
    assert_eq!(stage.events[from].text(), "Hello");
    assert!(matches!(stage.events[from].body, Body::MessageDone { partial: true, .. }));
    let late = stage.command(decide(approval, Decision::AllowOnce));
    assert_eq!(late, Err(Refusal::Expired("the turn was interrupted".to_owned())));
    assert_eq!(stage.session.info().status, Status::Interrupted);
    assert_eq!(stage.session.info().preview.as_deref(), Some("Hello"));
    stage.check();
}

#[test]
fn a_command_may_outlive_a_turn_that_ended_well() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let item = command(&mut stage, turn);
    let from = stage.events.len();
    stage.finish(turn, TurnOutcome::Completed);
    assert_eq!(stage.kinds(from), ["turn_finished"]);
    stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("still here"));
    stage.gone(Sleep::default(), "it died");
    let finished =
        stage.events.iter().rev().find(|event| matches!(event.body, Body::ToolFinished(_))).unwrap();
    assert_eq!(finished.text(), "still here");
    stage.check();
}

#[test]
fn late_words_about_an_ended_item_do_not_open_it_again() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let item = command(&mut stage, turn);
    stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("a"));
    stage.finish(turn, TurnOutcome::Interrupted);
    let from = stage.events.len();
    stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("b"));
    stage.gone(Sleep::default(), "it died");
    assert_eq!(stage.kinds(from), ["tool_output_delta", "session_sleeping"]);
    stage.check();
}

#[test]
fn an_approval_is_decided_once() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let approval = ask(&mut stage, turn);
    assert_eq!(stage.session.info().activity, Activity::Waiting);
    assert_eq!(
        stage.command(decide(approval, Decision::AllowAlways)),
        Err(Refusal::NotAnOption(vec![Decision::AllowOnce, Decision::Deny]))
    );
    let Ok(Reply::Decided(first)) = stage.command(decide(approval, Decision::Deny)) else {
        panic!("not decided")
    };
    assert_eq!(
        stage.command(decide(approval, Decision::AllowOnce)),
        Err(Refusal::AlreadyDecided(first.clone()))
    );
    let told =
        stage.effects.iter().filter(|effect| matches!(effect, Effect::Tell(AgentCommand::Decide { .. })));
    assert_eq!(told.count(), 1, "the agent hears one answer");
    stage.session = Session::fold(&stage.events).unwrap();
    assert_eq!(stage.command(decide(approval, Decision::AllowOnce)), Err(Refusal::AlreadyDecided(first)));
    let unknown = stage.approval();
    assert_eq!(stage.command(decide(unknown, Decision::Deny)), Err(Refusal::UnknownApproval));
}

#[test]
fn a_question_wants_the_right_kind_of_answer_and_keeps_secrets_out_of_the_log() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let question = stage.mint(QuestionId::mint);
    let field = |id: &str, kind, secret| Field {
        id: id.to_owned(),
        label: id.to_owned(),
        text: String::new(),
        kind,
        choices: vec![Choice { label: "Blue".to_owned(), description: String::new() }],
        open: false,
        secret,
        optional: false,
    };
    let fields = vec![field("color", FieldKind::One, false), field("key", FieldKind::Text, true)];
    stage
        .said(Draft::new(Body::QuestionAsked(QuestionRequest { question, source: None, fields })).turn(turn));
    let answer = |color: &str, key: serde_json::Value| Command::Answer {
        question,
        action: AnswerAction::Accept,
        answers: [("color".to_owned(), json!(color)), ("key".to_owned(), key)].into(),
    };
    assert!(
        matches!(stage.command(answer("Red", json!("s3cret"))), Err(Refusal::BadAnswer { field, .. }) if field == "color")
    );
    assert!(
        matches!(stage.command(answer("Blue", json!(5))), Err(Refusal::BadAnswer { field, .. }) if field == "key")
    );
    stage.command(answer("Blue", json!("s3cret"))).unwrap();
    assert!(!serde_json::to_string(&stage.events).unwrap().contains("s3cret"));
    let heard = stage.effects.iter().find_map(|effect| match effect {
        Effect::Tell(AgentCommand::Answer { answer, .. }) => Some(answer.answers["key"].clone()),
        _ => None,
    });
    assert_eq!(heard, Some(json!("s3cret")));
    assert!(matches!(stage.command(answer("Blue", json!("x"))), Err(Refusal::AlreadyAnswered(_))));
    stage.check();
}

#[test]
fn an_agent_that_dies_leaves_a_session_that_sleeps_and_revives() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    ask(&mut stage, turn);
    let from = stage.events.len();
    stage.gone(Sleep { exit_code: Some(1), ..Sleep::default() }, "it exited with code 1");
    assert_eq!(stage.kinds(from), ["approval_expired", "turn_finished", "session_sleeping"]);
    let info = stage.session.info();
    assert_eq!((info.status, info.activity), (Status::Error, Activity::Sleeping));
    stage.effects.clear();
    stage.prompt("again");
    assert!(
        matches!(&stage.effects[..], [Effect::Launch(launch)] if launch.start == Start::Resume { native: "thread-1".to_owned() })
    );
    let from = stage.events.len();
    stage.is_ready();
    assert_eq!(stage.kinds(from), ["session_ready", "session_revived", "turn_started", "user_message"]);
    stage.check();
}

#[test]
fn an_agent_that_was_never_spoken_to_starts_afresh() {
    let mut stage = Stage::ready();
    stage.gone(Sleep::default(), "it died");
    stage.effects.clear();
    stage.prompt("hello");
    assert!(matches!(&stage.effects[..], [Effect::Launch(launch)] if launch.start == Start::New));
    stage.check();
}

#[test]
fn an_agent_may_name_the_conversation_only_when_something_was_said() {
    let mut stage = Stage::new();
    stage.command(Command::Revive { from_log: false }).unwrap();
    stage.is_ready_as(None);
    assert_eq!(stage.session.info().native, None);
    stage.prompt("first");
    let before = stage.events.len();
    stage.is_ready_as(Some("thread-1"));
    assert_eq!(stage.kinds(before), ["session_ready"], "it has been here all the time");
    assert_eq!(stage.session.info().native.as_deref(), Some("thread-1"));
    stage.gone(Sleep::default(), "killed");
    stage.effects.clear();
    stage.prompt("second");
    let resumes = Start::Resume { native: "thread-1".to_owned() };
    assert!(matches!(&stage.effects[..], [Effect::Launch(launch)] if launch.start == resumes));
    stage.check();
}

#[test]
fn an_agent_that_cannot_start_fails_the_turn_that_waits_for_it() {
    let mut stage = Stage::new();
    let turn = stage.prompt("hello");
    stage.gone(Sleep { cause: SleepCause::FailedToStart, ..Sleep::default() }, "codex is not installed");
    let failed = stage.events.iter().find(|event| matches!(event.body, Body::TurnFinished(_))).unwrap();
    assert_eq!((failed.turn, failed.text()), (Some(turn), "codex is not installed"));
    assert!(stage.session.info().queue.is_empty());
    stage.check();
}

#[test]
fn an_agent_that_has_forgotten_is_told_what_the_log_holds_for_the_same_prompt() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("hello");
    stage.finish(turn, TurnOutcome::Completed);
    stage.gone(Sleep::default(), "it died");
    stage.effects.clear();
    let turn = stage.prompt("and now?");
    assert!(matches!(&stage.effects[..], [Effect::Launch(_)]), "{:?}", stage.effects);
    let fault = SessionFault { code: FaultCode::ResumeFailed };
    stage.said(Draft::new(Body::SessionError(fault)).text("no rollout found"));
    stage.effects.clear();
    let stderr = "thirty lines".to_owned();
    stage.gone(Sleep { cause: SleepCause::FailedToStart, stderr, ..Sleep::default() }, "no rollout found");
    assert!(matches!(&stage.effects[..], [Effect::LaunchFromLog(_)]), "{:?}", stage.effects);
    let quietly = Sleep { cause: SleepCause::Stopped, ..Sleep::default() };
    let slept = stage.events.iter().rfind(|event| matches!(event.body, Body::SessionSleeping(_))).unwrap();
    assert_eq!(slept.body, Body::SessionSleeping(quietly), "it was said already, and nothing has failed");
    let from = stage.events.len();
    stage.is_ready();
    let told = stage.kinds(from);
    assert_eq!(
        told,
        ["session_ready", "session_revived", "turn_started", "user_message"],
        "no turn has failed"
    );
    assert!(matches!(stage.events[from + 1].body, Body::SessionRevived { from_log: true }));
    assert_eq!(stage.session.info().turn, Some(turn));
    stage.check();
}

#[test]
fn an_agent_that_cannot_be_told_either_fails_the_prompt_and_is_not_started_for_ever() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("hello");
    stage.finish(turn, TurnOutcome::Completed);
    stage.gone(Sleep::default(), "it died");
    let turn = stage.prompt("and now?");
    let fault = SessionFault { code: FaultCode::ResumeFailed };
    stage.said(Draft::new(Body::SessionError(fault)).text("no rollout found"));
    let broken = || Sleep { cause: SleepCause::FailedToStart, ..Sleep::default() };
    stage.gone(broken(), "no rollout found");
    stage.effects.clear();
    stage.gone(broken(), "it does not start at all");
    let failed = stage.events.iter().rfind(|event| matches!(event.body, Body::TurnFinished(_))).unwrap();
    assert_eq!((failed.turn, failed.text()), (Some(turn), "it does not start at all"));
    assert!(
        !stage.effects.iter().any(|effect| matches!(effect, Effect::LaunchFromLog(_) | Effect::Launch(_)))
    );
    assert_eq!(stage.session.info().status, Status::Error);
    stage.check();
}

#[test]
fn a_closed_session_takes_nothing_more() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    stage.command(Command::Close).unwrap();
    assert!(stage.effects.contains(&Effect::Stop));
    let prompt = Prompt { text: "more".to_owned(), ..Prompt::default() };
    assert_eq!(stage.command(Command::Prompt(prompt)), Err(Refusal::Closed));
    stage.finish(turn, TurnOutcome::Interrupted);
    assert!(
        matches!(stage.events.last().unwrap().body, Body::Raw { .. }),
        "late words are kept, and mean nothing"
    );
    stage.command(Command::Archive(true)).unwrap();
    assert_eq!(stage.session.info().status, Status::Completed);
    stage.check();
}

#[test]
fn what_an_agent_cannot_do_is_refused() {
    let mut stage = Stage::with(Capabilities::default());
    assert!(matches!(stage.command(Command::SetMode(Mode::Full)), Err(Refusal::NotSupported { .. })));
    assert!(matches!(stage.command(Command::SetModel("x".to_owned())), Err(Refusal::NotSupported { .. })));
    assert_eq!(stage.command(Command::Interrupt), Err(Refusal::NoTurn));
}

#[test]
fn a_tool_that_speaks_before_it_starts_gets_a_beginning() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let (from, item) = (stage.events.len(), stage.item());
    stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("x"));
    assert_eq!(stage.kinds(from), ["tool_started", "tool_output_delta"]);
    stage.finish(turn, TurnOutcome::Failed);
    let tool = stage.events.iter().find_map(|event| match &event.body {
        Body::ToolFinished(outcome) => Some(outcome.status),
        _ => None,
    });
    assert_eq!(tool, Some(ToolStatus::Cancelled));
    stage.check();
}

#[test]
fn what_was_used_adds_up_also_when_the_agent_counts_from_nothing_again() {
    let used = |input| Usage { input: Some(input), context_used: Some(input), ..Usage::default() };
    let mut stage = Stage::ready();
    let turn = |stage: &mut Stage, counted: u64, spent: u64| {
        let turn = stage.prompt("go");
        stage.said(Draft::new(Body::UsageUpdated(used(counted))).turn(turn));
        let end = TurnEnd { usage: Some(used(spent)), ..TurnEnd::of(TurnOutcome::Completed) };
        stage.said(Draft::new(Body::TurnFinished(end)).turn(turn));
        stage.session.info().usage
    };
    assert_eq!(turn(&mut stage, 100, 100).input, Some(100));
    assert_eq!(turn(&mut stage, 150, 50).input, Some(150), "it counts on");
    stage.gone(Sleep::default(), "killed");
    stage.prompt("again");
    stage.is_ready();
    let running = stage.session.info().turn.unwrap();
    stage.finish(running, TurnOutcome::Completed);
    let usage = turn(&mut stage, 170, 170);
    assert_eq!(usage.input, Some(320), "it counts from nothing");
    assert_eq!(usage.context_used, Some(170), "how full the context is, is as it says");
    stage.check();
}
