//! Calls of tools, told in pieces from three sources.

use longshore_model::approval::Decision;
use longshore_model::capability::Mode;
use longshore_model::driver::Output;
use longshore_model::event::Body;
use longshore_model::item::{ToolKind, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::harness::{DriverHarness, NATIVE, approval_in, bodies, last_draft, only_draft};

fn finished(out: &Output) -> (ToolStatus, Option<String>, Option<i64>) {
    let (_, draft) = out
        .said
        .iter()
        .find(|(_, draft)| matches!(draft.body, Body::ToolFinished(_)))
        .unwrap_or_else(|| panic!("no end in {:?}", out.said));
    let Body::ToolFinished(outcome) = &draft.body else { unreachable!() };
    (outcome.status, draft.text.clone(), outcome.exit_code)
}

fn request_permission(harness: &mut DriverHarness, call: Value) -> Output {
    let options = json!([{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]);
    harness.request(json!(1), "session/request_permission", json!({"toolCall": call, "options": options}))
}

/// Whatever order the pieces come in, it is one call that begins once and ends once.
#[test]
fn a_call_is_one_call_whichever_source_tells_of_it_first() {
    let call = json!({"toolCallId": "t", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}});
    let update = json!({"toolCallId": "t", "status": "in_progress"});
    let end = json!({"toolCallId": "t", "status": "completed", "rawOutput": {"output": "a.txt", "metadata": {"exit": 0}}});
    for order in ["cpu", "pcu", "puc", "ucp", "upc", "cup", "ccp", "p", "u", "c"] {
        let mut harness = DriverHarness::in_turn();
        let mut outs = Vec::new();
        for source in order.chars() {
            outs.push(match source {
                'c' => harness.update("tool_call", call.clone()),
                'u' => harness.update("tool_call_update", update.clone()),
                _ => request_permission(&mut harness, call.clone()),
            });
        }
        outs.push(harness.update("tool_call_update", end.clone()));
        // What is told of a call that has ended changes nothing, and is kept.
        let late = harness.update("tool_call_update", end.clone());
        assert!(matches!(only_draft(&late).body, Body::Raw { .. }), "{order}");
        let drafts: Vec<_> = outs.iter().flat_map(|out| &out.said).collect();
        let items: Vec<_> = drafts.iter().filter_map(|(_, draft)| draft.item).collect();
        assert!(items.windows(2).all(|pair| pair[0] == pair[1]), "{order}");
        let count =
            |wanted: fn(&Body) -> bool| drafts.iter().filter(|(_, draft)| wanted(&draft.body)).count();
        assert_eq!(count(|body| matches!(body, Body::ToolStarted(_))), 1, "{order}");
        assert_eq!(count(|body| matches!(body, Body::ToolFinished(_))), 1, "{order}");
        let ended = finished(outs.last().unwrap());
        assert_eq!(ended, (ToolStatus::Completed, Some("a.txt".to_owned()), Some(0)), "{order}");
    }
}

#[test]
fn a_call_is_named_where_its_agent_names_it() {
    let cases = [
        (
            "gemini",
            json!({"toolCallId": "read_file__read_file_17_0", "title": "in.txt", "kind": "read"}),
            "read_file",
        ),
        (
            "opencode-acp",
            json!({"toolCallId": "c", "title": "bash", "kind": "execute", "rawInput": {}}),
            "bash",
        ),
        (
            "claude-code-acp",
            json!({"toolCallId": "c", "title": "Edit", "kind": "edit", "_meta": {"claudeCode": {"toolName": "mcp__acp__Edit"}}}),
            "Edit",
        ),
        ("copilot", json!({"toolCallId": "c", "title": "make a file", "kind": "execute"}), "execute"),
        (
            "codex-acp",
            json!({"toolCallId": "c", "title": "x", "name": "apply_patch", "kind": "edit"}),
            "apply_patch",
        ),
    ];
    for (agent, call, name) in cases {
        let mut harness = DriverHarness::of(agent).ready(Mode::Ask, json!({"sessionId": NATIVE}));
        harness.prompt("go");
        let out = harness.update("tool_call", call);
        let Body::ToolStarted(call) = &only_draft(&out).body else { panic!("{out:?}") };
        assert_eq!(call.name, name, "of {agent}");
    }
}

#[test]
fn every_kind_of_tool_has_a_word() {
    for (told, kind) in [
        ("execute", ToolKind::Execute),
        ("read", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("delete", ToolKind::Delete),
        ("move", ToolKind::Move),
        ("search", ToolKind::Search),
        ("fetch", ToolKind::Fetch),
        ("think", ToolKind::Think),
        ("switch_mode", ToolKind::Other),
        ("other", ToolKind::Other),
        ("unheard of", ToolKind::Other),
    ] {
        let mut harness = DriverHarness::in_turn();
        let out = harness.update("tool_call", json!({"toolCallId": "t", "title": "x", "kind": told}));
        assert!(matches!(&only_draft(&out).body, Body::ToolStarted(call) if call.kind == kind), "{told}");
    }
}

#[test]
fn a_call_that_is_told_empty_first_is_told_again_when_it_is_filled() {
    let mut harness = DriverHarness::in_turn();
    harness.update(
        "tool_call",
        json!({"toolCallId": "t", "title": "Terminal", "kind": "execute", "rawInput": {}}),
    );
    let filled = json!({"toolCallId": "t", "title": "`ls`", "kind": "execute", "rawInput": {"command": "ls"},
        "content": [{"type": "content", "content": {"type": "text", "text": "list files"}}]});
    let out = harness.update("tool_call", filled.clone());
    let Body::ToolUpdated(call) = &only_draft(&out).body else { panic!("{out:?}") };
    assert_eq!((call.command.as_deref(), only_draft(&out).text.as_deref()), (Some("ls"), Some("ls")));
    // The same once more is no news.
    assert!(matches!(only_draft(&harness.update("tool_call", filled)).body, Body::Raw { .. }));
}

#[test]
fn output_grows_by_what_is_new_and_ends_as_it_was_told_last() {
    let shown = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    let mut harness = DriverHarness::in_turn();
    harness.update(
        "tool_call",
        json!({"toolCallId": "t", "title": "x", "kind": "execute", "content": shown("what it does")}),
    );
    for (text, more) in
        [("one\n", Some("one\n")), ("one\n", None), ("one\ntwo\n", Some("two\n")), ("other", None)]
    {
        let out = harness.update("tool_call_update", json!({"toolCallId": "t", "content": shown(text)}));
        match more {
            Some(more) => assert_eq!(
                (&only_draft(&out).body, only_draft(&out).text.as_deref()),
                (&Body::ToolOutputDelta, Some(more))
            ),
            None => assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "{text}"),
        }
    }
    let out = harness.update(
        "tool_call_update",
        json!({"toolCallId": "t", "status": "completed", "content": shown("all")}),
    );
    assert_eq!(finished(&out).1.as_deref(), Some("all"));
}

#[test]
fn a_change_is_shown_on_its_call_and_again_when_it_is_done() {
    let diff = json!([{"type": "diff", "path": "/w/a", "oldText": "x\ny\n", "newText": "X\ny\n"}]);
    let mut harness = DriverHarness::in_turn();
    let out = harness
        .update("tool_call", json!({"toolCallId": "t", "title": "Edit", "kind": "edit", "content": diff}));
    let [Body::ToolStarted(_), Body::FileDiff(running)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((running.status, running.changes.len()), (ToolStatus::Running, 1));
    assert_eq!(out.said[0].1.item, out.said[1].1.item);
    // Done, it shows less of it.
    let piece = json!([{"type": "diff", "path": "/w/a", "oldText": "x", "newText": "X"}]);
    let out = harness
        .update("tool_call_update", json!({"toolCallId": "t", "status": "completed", "content": piece}));
    let [Body::FileDiff(done), Body::ToolFinished(_)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((done.status, &done.changes), (ToolStatus::Completed, &running.changes));
    assert!(done.changes[0].diff.ends_with("@@ -1,2 +1,2 @@\n-x\n+X\n y\n"));
}

#[test]
fn calls_that_never_end_end_with_their_turn() {
    // what was told last, what was decided, how the turn ended, how the call did
    for (status, decision, stop, expected) in [
        ("pending", None, "end_turn", ToolStatus::Cancelled),
        ("in_progress", None, "end_turn", ToolStatus::Completed),
        ("pending", Some(Decision::AllowOnce), "end_turn", ToolStatus::Completed),
        ("pending", Some(Decision::Deny), "end_turn", ToolStatus::Declined),
        ("pending", Some(Decision::Deny), "cancelled", ToolStatus::Declined),
        ("in_progress", None, "cancelled", ToolStatus::Cancelled),
        ("in_progress", None, "refusal", ToolStatus::Cancelled),
    ] {
        let mut harness = DriverHarness::in_turn();
        let call = json!({"toolCallId": "t", "title": "x", "kind": "execute", "status": status});
        harness.update("tool_call", call.clone());
        if let Some(decision) = decision {
            let approval = approval_in(&request_permission(&mut harness, call)).approval;
            harness.decide(approval, decision);
        }
        let out = harness.answer_ok("session/prompt", json!({"stopReason": stop}));
        assert_eq!(finished(&out).0, expected, "{status} {decision:?} {stop}");
        assert!(matches!(&last_draft(&out).body, Body::TurnFinished(_)));
        // What comes after that changes nothing.
        let late = harness.update("tool_call_update", json!({"toolCallId": "t", "status": "failed"}));
        assert!(matches!(only_draft(&late).body, Body::Raw { .. }));
    }
}

#[test]
fn a_call_that_failed_since_somebody_said_no_is_declined() {
    let mut harness = DriverHarness::in_turn();
    let approval =
        approval_in(&request_permission(&mut harness, json!({"toolCallId": "t", "title": "x"}))).approval;
    harness.decide(approval, Decision::Deny);
    let out = harness.update("tool_call_update", json!({"toolCallId": "t", "status": "failed"}));
    assert_eq!(finished(&out).0, ToolStatus::Declined);
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    assert!(
        matches!(&only_draft(&out).body, Body::TurnFinished(end) if end.outcome == TurnOutcome::Completed)
    );
}

#[test]
fn a_list_that_a_tool_keeps_is_a_plan() {
    let mut harness = DriverHarness::in_turn();
    harness.update(
        "tool_call",
        json!({"toolCallId": "t", "title": "todowrite", "kind": "other", "rawInput": {}}),
    );
    let todos = json!({"todos": [{"content": "Look", "status": "completed"}, {"content": "Do", "status": "pending"}]});
    let out = harness
        .update("tool_call_update", json!({"toolCallId": "t", "status": "in_progress", "rawInput": todos}));
    let [Body::ToolUpdated(_), Body::PlanUpdated { steps }] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!(steps.len(), 2);
    let plan = json!({"entries": [{"content": "Look", "status": "completed", "priority": "high"}]});
    let again = harness.update("plan", plan);
    assert_eq!(only_draft(&again).item, out.said[1].1.item, "a turn has one plan");
}

#[test]
fn a_call_is_told_when_something_is_known_of_it() {
    let empty = json!({"toolCallId": "t", "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": {}, "content": []});
    let mut harness = DriverHarness::in_turn();
    let out = harness.update("tool_call", empty.clone());
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "{out:?}");
    let known = json!({"toolCallId": "t", "title": "echo hi", "rawInput": {"command": "echo hi", "description": "greet"},
        "content": [{"type": "content", "content": {"type": "text", "text": "greet"}}]});
    let out = harness.update("tool_call_update", known);
    assert!(matches!(only_draft(&out).body, Body::ToolStarted(_)), "a description is no output: {out:?}");
    assert_eq!(only_draft(&out).text.as_deref(), Some("echo hi"));
    // One that is cut before it says more is told all the same.
    let mut harness = DriverHarness::in_turn();
    harness.update("tool_call", empty);
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "cancelled"}));
    assert!(
        matches!(bodies(&out)[..], [Body::ToolStarted(_), Body::ToolFinished(_), Body::TurnFinished(_)]),
        "{out:?}"
    );
}

#[test]
fn a_call_that_is_refused_at_once_has_its_name() {
    let mut harness = DriverHarness::in_turn();
    let text = json!([{"type": "content", "content": {"type": "text", "text": "Plan mode is active."}}]);
    let refused = json!({"toolCallId": "t", "status": "failed", "content": text, "_meta": {"toolName": "run_shell_command"}});
    let out = harness.update("tool_call_update", refused);
    let [Body::ToolStarted(call), Body::ToolFinished(ended)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((call.name.as_str(), ended.status), ("run_shell_command", ToolStatus::Failed));
    assert_eq!(out.said[0].1.text.as_deref(), Some("run_shell_command"));
}

#[test]
fn of_a_report_for_the_model_people_see_the_output() {
    let mut harness = DriverHarness::in_turn();
    let call = json!({"toolCallId": "t", "kind": "execute", "status": "in_progress", "rawInput": {"command": "echo hi"}});
    harness.update("tool_call", call);
    let report = "Command: echo hi\nDirectory: (root)\nOutput: hi\nError: (none)\nExit Code: 3\nSignal: 0";
    let content = json!([{"type": "content", "content": {"type": "text", "text": report}}]);
    let out = harness.update(
        "tool_call_update",
        json!({"toolCallId": "t", "status": "completed", "content": content, "rawOutput": "hi"}),
    );
    let (_, text, code) = finished(&out);
    assert_eq!((text.as_deref(), code), (Some("hi"), Some(3)));
}

#[test]
fn pictures_that_a_call_shows_are_attached_to_its_end() {
    let mut harness = DriverHarness::in_turn();
    let shown = json!([
        {"type": "content", "content": {"type": "text", "text": "a screenshot"}},
        {"type": "content", "content": {"type": "image", "mimeType": "image/png", "data": "AAAA"}},
    ]);
    harness.update(
        "tool_call",
        json!({"toolCallId": "t", "kind": "other", "title": "shot", "status": "in_progress"}),
    );
    let out = harness
        .update("tool_call_update", json!({"toolCallId": "t", "status": "completed", "content": shown}));
    let Body::ToolFinished(outcome) = &last_draft(&out).body else { panic!("{out:?}") };
    assert_eq!(outcome.attachments.len(), 1);
    assert_eq!(outcome.attachments[0].media_type, "image/png");
    assert_eq!(last_draft(&out).text.as_deref(), Some("a screenshot"));
}
