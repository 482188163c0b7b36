//! Turns and their processes.

use longshore_model::anchor::Start;
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Input, Output};
use longshore_model::event::{Body, NoticeLevel};
use longshore_model::id::TurnId;
use longshore_model::item::{FileChangeKind, PlanStatus, ToolKind, ToolStatus};
use longshore_model::lifecycle::{FaultCode, Sleep, SleepCause, TurnEnd, TurnErrorCode, TurnOutcome};
use serde_json::json;

use super::harness::{DriverHarness, bodies, only_text};

/// How a turn ended, and the words that it ended with.
fn end(out: &Output, turn: TurnId) -> (TurnEnd, &str) {
    let ended = out.said.iter().find_map(|(_, draft)| match &draft.body {
        Body::TurnFinished(end) if draft.turn == Some(turn) => {
            Some((end.clone(), draft.text.as_deref().unwrap_or_default()))
        }
        _ => None,
    });
    ended.unwrap_or_else(|| panic!("the turn did not end in {:?}", out.said))
}

#[test]
fn usage_is_that_of_the_turn_and_unknown_where_it_is() {
    let used = |out: &Output| {
        out.said.iter().find_map(|(_, draft)| match &draft.body {
            Body::TurnFinished(end) => Some(end.usage.map(|usage| (usage.input, usage.output))),
            _ => None,
        })
    };
    let mut harness = DriverHarness::ready(Mode::Full, Start::New);
    assert_eq!(used(&harness.whole_turn(100)), Some(Some((Some(100), None))));
    assert_eq!(used(&harness.whole_turn(250)), Some(Some((Some(150), None))));
    // A turn that does not tell takes its part of the next one's total with it.
    harness.prompt("fail");
    harness.kept(&json!({"type": "turn.failed", "error": {"message": "no"}}));
    harness.ends(1, "");
    assert_eq!(used(&harness.whole_turn(400)), Some(None));
    assert_eq!(used(&harness.whole_turn(500)), Some(Some((Some(100), None))));
    let mut revived = DriverHarness::ready(Mode::Full, Start::Resume { native: "thread-1".to_owned() });
    let out = revived.whole_turn(600);
    assert_eq!(used(&out), Some(None));
    assert!(matches!(bodies(&out)[0], Body::UsageUpdated(total) if total.input == Some(600)));
}

#[test]
fn an_error_that_fails_the_turn_is_told_once() {
    let (mut harness, turn) = DriverHarness::in_turn();
    let out = harness.kept(&json!({"type": "error", "message": "Reconnecting... 1/1 (no route)"}));
    assert!(matches!(bodies(&out)[..], [Body::Notice { level: NoticeLevel::Warning }]));
    let out = harness.kept(&json!({"type": "error", "message": "stream closed before response.completed"}));
    assert!(matches!(bodies(&out)[..], [Body::Raw { .. }]));
    let message = "stream closed before response.completed";
    let out = harness.kept(&json!({"type": "turn.failed", "error": {"message": message}}));
    assert_eq!(out.said.len(), 1);
    let (ended, text) = end(&out, turn);
    assert_eq!((ended.outcome, text), (TurnOutcome::Failed, message));
    assert_eq!(ended.error.unwrap().code, TurnErrorCode::Network);
    assert_eq!(harness.ends(1, "").said.len(), 0, "the turn was over already");
}

#[test]
fn an_error_that_fails_nothing_is_told_as_well() {
    let (mut harness, _) = DriverHarness::in_turn();
    harness.kept(&json!({"type": "error", "message": "the model was rerouted"}));
    let out = harness.item("completed", json!({"id": "i", "type": "agent_message", "text": "Hello."}));
    assert!(matches!(
        bodies(&out)[..],
        [Body::Notice { level: NoticeLevel::Warning }, Body::MessageDone { .. }]
    ));
}

#[test]
fn a_process_that_ends_before_its_turn_fails_it() {
    let (mut harness, turn) = DriverHarness::in_turn();
    let out = harness.ends(101, "it panicked");
    let (ended, text) = end(&out, turn);
    assert_eq!(ended.error.unwrap().code, TurnErrorCode::AgentGone);
    assert_eq!(text, "it ended with code 101");
    assert!(out.finished.is_none(), "the session stays");
    // Its own words are better than ours.
    let (turn, _) = harness.prompt("again");
    harness.kept(&json!({"type": "error", "message": "out of memory"}));
    assert_eq!(end(&harness.ends(1, ""), turn).1, "out of memory");
}

#[test]
fn a_process_that_never_ran_fails_its_turn() {
    let mut harness = DriverHarness::ready(Mode::Full, Start::New);
    let (turn, _) = harness.prompt("go");
    let sleep = Sleep { cause: SleepCause::FailedToStart, ..Sleep::default() };
    let out = harness.handle(Input::Ended { sleep, reason: "no such folder".to_owned() });
    let (ended, text) = end(&out, turn);
    assert_eq!((ended.error.unwrap().code, text), (TurnErrorCode::AgentUnavailable, "no such folder"));
}

#[test]
fn a_thread_that_is_not_found_is_forgotten() {
    let mut harness = DriverHarness::ready(Mode::Full, Start::Resume { native: "old".to_owned() });
    harness.prompt("go");
    let out =
        harness.ends(1, "Error: thread/resume: thread/resume failed: no rollout found for thread id old");
    assert!(matches!(bodies(&out)[0], Body::SessionError(fault) if fault.code == FaultCode::ResumeFailed));
    let ended = |body: &&Body| matches!(body, Body::TurnFinished(_));
    assert!(!bodies(&out).iter().any(ended), "its turn goes on when it was told what the log holds");
    assert!(out.finished.is_some(), "it must be started from the log");
}

#[test]
fn what_is_said_while_a_process_lingers_waits_for_its_end() {
    let (mut harness, _) = DriverHarness::in_turn();
    harness.kept(&json!({"type": "turn.completed"}));
    let (_, out) = harness.prompt("next");
    assert!(out.run.is_none());
    let out = harness.ends(0, "");
    assert_eq!(out.run.unwrap().input, "next");
}

#[test]
fn a_process_that_does_not_end_with_its_turn_is_stopped() {
    let (mut harness, _) = DriverHarness::in_turn();
    assert_eq!(harness.deadline(), None);
    harness.kept(&json!({"type": "turn.completed"}));
    harness.now = harness.deadline().unwrap();
    assert!(harness.handle(Input::Tick).halt);
    assert_eq!(harness.deadline(), None);
}

#[test]
fn an_interrupted_turn_ends_with_its_process() {
    let (mut harness, turn) = DriverHarness::in_turn();
    let out = harness.tell(AgentCommand::Interrupt { turn });
    assert!(out.halt && out.said.is_empty());
    assert_eq!(end(&harness.ends(1, ""), turn).0.outcome, TurnOutcome::Interrupted);
    // One that waits for a process, or is over.
    let (turn, _) = harness.prompt("again");
    harness.kept(&json!({"type": "turn.completed"}));
    let (waiting, _) = harness.prompt("and again");
    for turn in [waiting, turn] {
        let out = harness.tell(AgentCommand::Interrupt { turn });
        assert_eq!((end(&out, turn).0.outcome, out.halt), (TurnOutcome::Interrupted, false));
    }
    assert!(harness.ends(0, "").run.is_none());
}

#[test]
fn what_a_command_left_running_ends_with_the_process() {
    let (mut harness, turn) = DriverHarness::in_turn();
    harness.item("started", json!({"id": "c", "type": "command_execution", "command": "sleep 9"}));
    harness.kept(&json!({"type": "turn.completed"}));
    let out = harness.ends(0, "");
    let [(_, draft)] = &out.said[..] else { panic!("{out:?}") };
    assert!(matches!(&draft.body, Body::ToolFinished(end) if end.status == ToolStatus::Cancelled));
    assert_eq!(draft.turn, Some(turn));
}

#[test]
fn items_are_what_they_are_with_the_app_server() {
    let (mut harness, _) = DriverHarness::in_turn();
    let out = harness.item(
        "started",
        json!({"id": "c", "type": "command_execution", "command": "/bin/bash -lc 'ls -l'", "status": "in_progress"}),
    );
    let [Body::ToolStarted(call)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((call.name.as_str(), call.command.as_deref()), ("exec_command", Some("ls -l")));
    let out = harness.item(
        "completed",
        json!({"id": "c", "type": "command_execution", "command": "/bin/bash -lc 'ls -l'", "aggregated_output": "a\n", "exit_code": 2, "status": "failed"}),
    );
    let [Body::ToolFinished(end)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((end.status, end.exit_code, only_text(&out)), (ToolStatus::Failed, Some(2), "a\n"));

    let out = harness.item(
        "completed",
        json!({"id": "m", "type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"a": 1},
            "result": {"content": [], "structured_content": {"n": 1}}, "error": null, "status": "completed"}),
    );
    let [Body::ToolStarted(call), Body::ToolFinished(end)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((call.name.as_str(), &call.input, &end.result), ("s.t", &json!({"a": 1}), &json!({"n": 1})));

    let out = harness.item(
        "completed",
        json!({"id": "x", "type": "mcp_tool_call", "server": "s", "tool": "t", "error": {"message": "no"}, "status": "failed"}),
    );
    assert_eq!(out.said.last().unwrap().1.text.as_deref(), Some("no"));

    let out = harness.item(
        "completed",
        json!({"id": "w", "type": "web_search", "query": "heron", "action": {"type": "open_page", "url": "u"}}),
    );
    assert!(matches!(bodies(&out)[0], Body::ToolStarted(call) if call.kind == ToolKind::Fetch));

    let out = harness.item(
        "completed",
        json!({"id": "k", "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "count", "receiver_thread_ids": ["t2"],
            "agents_states": {"t2": {"status": "pending_init", "message": "hi"}}, "status": "completed"}),
    );
    let [Body::ToolStarted(call), Body::ToolFinished(_)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((call.kind, call.name.as_str()), (ToolKind::Delegate, "spawnAgent"));

    let out = harness.item(
        "completed",
        json!({"id": "f", "type": "file_change", "changes": [{"path": "/w/a", "kind": "delete"}], "status": "completed"}),
    );
    let [Body::FileDiff(diff)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((diff.status, diff.changes[0].kind), (ToolStatus::Completed, FileChangeKind::Delete));

    let out = harness.item("completed", json!({"id": "e", "type": "error", "message": "careful"}));
    assert!(matches!(bodies(&out)[..], [Body::Notice { level: NoticeLevel::Warning }]));
    assert_eq!(only_text(&out), "careful");

    let out = harness.item("completed", json!({"id": "z", "type": "of_tomorrow"}));
    assert!(
        matches!(bodies(&out)[..], [Body::Raw { kind, fault: None }] if kind == "item.completed/of_tomorrow")
    );
}

#[test]
fn a_list_of_steps_is_told_when_it_changes() {
    let (mut harness, _) = DriverHarness::in_turn();
    let list = |done| json!({"id": "t", "type": "todo_list", "items": [{"text": "a", "completed": done}]});
    let out = harness.item("started", list(false));
    assert!(
        matches!(bodies(&out)[..], [Body::PlanUpdated { steps }] if steps[0].status == PlanStatus::Pending)
    );
    let out = harness.item("updated", list(true));
    assert!(
        matches!(bodies(&out)[..], [Body::PlanUpdated { steps }] if steps[0].status == PlanStatus::Completed)
    );
    let out = harness.item("completed", list(true));
    assert!(matches!(bodies(&out)[..], [Body::Raw { .. }]));
}

#[test]
fn what_it_cannot_take_into_a_turn_is_not_lost_in_silence() {
    let (mut harness, turn) = DriverHarness::in_turn();
    let prompt = longshore_model::id::PromptId(turn.0);
    let steer = AgentCommand::Steer { turn, prompt, text: "left".to_owned(), attachments: Vec::new() };
    let out = harness.tell(steer);
    assert!(only_text(&out).ends_with("never heard this: left"));
}
