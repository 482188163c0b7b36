//! Sub-agents: sessions of their own.

use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Input, Output};
use longshore_model::event::Body;
use longshore_model::id::{PromptId, SessionId, TurnId};
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::harness::{DriverHarness, approval_in, bodies, end_in, only_draft, only_line};

fn task(harness: &mut DriverHarness, subtype: &str, status: Option<&str>) -> Output {
    harness.line(&json!({"type": "system", "subtype": subtype, "task_id": "a1", "tool_use_id": "call",
        "task_type": "local_agent", "prompt": "do it", "status": status}))
}

/// A harness whose turn has given work to a sub-agent, and who that is.
fn delegated() -> (DriverHarness, SessionId, TurnId) {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tool_use("call", "Agent", json!({"description": "d", "prompt": "do it"}));
    let out = task(&mut harness, "task_started", None);
    let Body::DelegationStarted(delegation) = &out.said[0].1.body else { panic!("{:?}", out.said) };
    assert_eq!(out.said[0].1.text.as_deref(), Some("do it"));
    let child = delegation.child;
    let told = bodies(&out, child);
    assert!(matches!(told[0], Body::SessionOpened(opened) if opened.parent == Some(harness.session)));
    assert!(matches!(told[1], Body::SessionReady(ready) if ready.native.as_deref() == Some("a1")));
    assert!(matches!(told[2], Body::TurnStarted { prompt: None }));
    assert!(matches!(told[3], Body::UserMessage { .. }));
    let turn = out.said.last().unwrap().1.turn.unwrap();
    (harness, child, turn)
}

fn child_says(harness: &mut DriverHarness, block: Value) -> Output {
    let message = json!({"id": "c", "content": [block]});
    harness.line(&json!({"type": "assistant", "parent_tool_use_id": "call", "message": message}))
}

#[test]
fn a_sub_agent_is_a_session_from_its_task_to_its_result() {
    let (mut harness, child, turn) = delegated();
    let out = child_says(&mut harness, json!({"type": "text", "text": "working"}));
    assert_eq!((out.said[0].0, out.said[0].1.turn), (child, Some(turn)));
    // What it was asked comes again in its own words.
    let told = json!({"content": [{"type": "text", "text": "do it"}]});
    let out = harness.line(&json!({"type": "user", "parent_tool_use_id": "call", "message": told}));
    assert!(out.said[0].0 == child && matches!(only_draft(&out).body, Body::Raw { .. }));
    child_says(&mut harness, json!({"type": "text", "text": "the result"}));
    let out = task(&mut harness, "task_notification", Some("completed"));
    assert!(matches!(bodies(&out, child)[..], [Body::TurnFinished(_)]));
    let (_, finished) = &out.said[1];
    assert!(matches!(&finished.body, Body::DelegationFinished(end) if end.outcome == TurnOutcome::Completed));
    assert_eq!(finished.text.as_deref(), Some("the result"));
    // The call has its result, and the delegation ends once.
    let out = harness.tool_result(
        "call",
        false,
        json!("x"),
        json!({"content": [{"type": "text", "text": "the result"}]}),
    );
    assert!(matches!(only_draft(&out).body, Body::ToolFinished(_)));
    assert_eq!(only_draft(&out).text.as_deref(), Some("the result"));
}

/// The question whether it may comes before the call itself.
#[test]
fn it_asks_in_its_own_session() {
    let (mut harness, child, turn) = delegated();
    let input = json!({"command": "ls"});
    let out = harness.ask_approval(
        "ask",
        json!({"tool_name": "Bash", "input": input, "tool_use_id": "t", "agent_id": "a1"}),
    );
    let asked = approval_in(&out);
    assert!(out.said.iter().all(|(session, draft)| *session == child && draft.turn == Some(turn)));
    assert!(matches!(bodies(&out, child)[0], Body::ToolStarted(_)));
    let out =
        child_says(&mut harness, json!({"type": "tool_use", "id": "t", "name": "Bash", "input": input}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "the call is known already");
    let decision = super::harness::plain(longshore_model::approval::Decision::AllowOnce);
    let command = AgentCommand::Decide { approval: asked.approval, decision };
    let line = only_line(&harness.handle(Input::Tell { session: child, command }));
    assert_eq!(line["response"]["response"]["updatedInput"], input);
}

#[test]
fn it_hears_nothing_but_can_be_stopped() {
    let (mut harness, child, turn) = delegated();
    let (other, prompt) = (TurnId(child.0), PromptId(child.0));
    let command =
        AgentCommand::Prompt { turn: other, prompt, text: "hi".to_owned(), attachments: Vec::new() };
    let out = harness.handle(Input::Tell { session: child, command });
    assert_eq!(end_in(&out).unwrap().1.outcome, TurnOutcome::Failed);
    assert!(out.lines.is_empty());
    let out = harness.handle(Input::Tell { session: child, command: AgentCommand::Interrupt { turn } });
    assert_eq!(only_line(&out)["request"], json!({"subtype": "stop_task", "task_id": "a1"}));
    let out = task(&mut harness, "task_notification", Some("stopped"));
    assert!(
        matches!(bodies(&out, child)[..], [Body::TurnFinished(end)] if end.outcome == TurnOutcome::Interrupted)
    );
}

#[test]
fn one_in_the_background_outlives_the_turn_and_others_do_not() {
    for background in [true, false] {
        let (mut harness, child, turn) = delegated();
        if background {
            harness.tool_result("call", false, json!("launched"), json!({"status": "async_launched"}));
        }
        harness.interrupt();
        let aborted = json!({"is_error": true, "subtype": "error_during_execution", "terminal_reason": "aborted_tools"});
        let out = harness.result(aborted);
        assert_eq!(bodies(&out, child).is_empty(), background);
        if background {
            let out = child_says(&mut harness, json!({"type": "text", "text": "still here"}));
            assert_eq!((out.said[0].0, out.said[0].1.turn), (child, Some(turn)));
        }
    }
}

/// Older ones announce nothing: the first frame does, and the result of the call is the end.
#[test]
fn one_that_nobody_announced_is_known_by_its_call() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tool_use("call", "Task", json!({"description": "d", "prompt": "do it"}));
    let out = child_says(&mut harness, json!({"type": "text", "text": "hi"}));
    let Body::DelegationStarted(delegation) = &out.said[0].1.body else { panic!("{:?}", out.said) };
    let child = delegation.child;
    assert!(bodies(&out, child).iter().any(|body| matches!(body, Body::MessageDone { .. })));
    let out = harness.tool_result("call", false, json!("hi"), Value::Null);
    assert!(bodies(&out, harness.session).iter().any(|body| matches!(body, Body::DelegationFinished(_))));
    assert!(bodies(&out, child).iter().any(|body| matches!(body, Body::TurnFinished(_))));
}

#[test]
fn one_that_gets_more_work_is_the_same_session() {
    let (mut harness, child, turn) = delegated();
    task(&mut harness, "task_notification", Some("completed"));
    let out = task(&mut harness, "task_started", None);
    assert!(matches!(&out.said[0].1.body, Body::DelegationStarted(delegation) if delegation.child == child));
    let told = bodies(&out, child);
    assert!(matches!(told[0], Body::TurnStarted { .. }), "it is open already");
    assert_ne!(out.said.last().unwrap().1.turn, Some(turn));
}

#[test]
fn a_command_that_takes_long_is_no_sub_agent() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tool_use("call", "Bash", json!({"command": "sleep 9"}));
    let line = json!({"type": "system", "subtype": "task_started", "task_id": "b", "tool_use_id": "call", "task_type": "local_bash"});
    assert!(matches!(only_draft(&harness.line(&line)).body, Body::Raw { .. }));
}
