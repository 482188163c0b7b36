//! What a turn is made of, where no recording holds it; threads that others spawn; questions without a session.

use longshore_drivers::codex::name;
use longshore_model::anchor::{Answer, ModelsQuery, NativeSessions, SessionsQuery};
use longshore_model::capability::Mode;
use longshore_model::driver::Input;
use longshore_model::event::{Body, NoticeLevel, RawFault};
use longshore_model::item::{ToolKind, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::harness::{DriverHarness, TURN, lines, only_draft, only_line};

fn item(harness: &mut DriverHarness, step: &str, item: Value) -> Vec<Body> {
    let out = harness.note(&format!("item/{step}"), json!({"turnId": TURN, "item": item}));
    assert_eq!(out.said.iter().filter(|(_, draft)| draft.raw.is_some()).count(), 1);
    out.said.into_iter().map(|(_, draft)| draft.body).collect()
}

#[test]
fn a_command_is_as_harmless_as_the_worst_of_its_parts() {
    for (actions, kind) in [
        (vec!["read"], ToolKind::Read),
        (vec!["read", "read"], ToolKind::Read),
        (vec!["search"], ToolKind::Search),
        (vec!["listFiles", "read"], ToolKind::Search),
        (vec!["read", "unknown"], ToolKind::Execute),
        (vec!["of tomorrow"], ToolKind::Execute),
        (vec![], ToolKind::Execute),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let actions: Vec<Value> =
            actions.into_iter().map(|kind| json!({"type": kind, "command": "x"})).collect();
        let bodies = item(
            &mut harness,
            "started",
            json!({"type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'x y'", "commandActions": actions}),
        );
        let [Body::ToolStarted(call)] = bodies.as_slice() else { panic!("{bodies:?}") };
        assert_eq!((call.kind, call.command.as_deref()), (kind, Some("x y")));
        assert_eq!(call.input, json!({"command": "/bin/bash -lc 'x y'"}));
    }
}

#[test]
fn a_search_that_says_what_it_looks_for_only_when_it_has_is_updated() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    item(&mut harness, "started", json!({"type": "webSearch", "id": "w", "query": ""}));
    let bodies = item(
        &mut harness,
        "completed",
        json!({"type": "webSearch", "id": "w", "query": "rust", "action": {"type": "openPage", "url": "u"}}),
    );
    let [Body::ToolUpdated(call), Body::ToolFinished(outcome)] = bodies.as_slice() else {
        panic!("{bodies:?}")
    };
    assert_eq!(
        (call.kind, &call.input["query"], outcome.status),
        (ToolKind::Fetch, &json!("rust"), ToolStatus::Completed)
    );
}

#[test]
fn a_tool_that_was_never_started_is_started_when_it_ends() {
    for (kind, name) in
        [("imageView", "view_image"), ("imageGeneration", "image_generation"), ("sleep", "sleep")]
    {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let bodies = item(
            &mut harness,
            "completed",
            json!({"type": kind, "id": "i", "path": "/w/a.png", "result": "QUJD"}),
        );
        let [Body::ToolStarted(call), Body::ToolFinished(_)] = bodies.as_slice() else {
            panic!("{bodies:?}")
        };
        assert_eq!(call.name, name);
    }
}

#[test]
fn an_mcp_tool_gives_words_or_data_or_an_error() {
    let call = |more: Value| {
        let mut call = json!({"type": "mcpToolCall", "id": "m", "server": "demo", "tool": "get", "status": "completed", "arguments": {}});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let text = json!({"type": "text", "text": "hello"});
    for (more, said, result, status) in [
        (json!({"result": {"content": [text]}}), "hello", Value::Null, ToolStatus::Completed),
        (
            json!({"result": {"content": [text], "structuredContent": {"n": 1}}}),
            "hello",
            json!({"n": 1}),
            ToolStatus::Completed,
        ),
        (
            json!({"result": {"content": [{"type": "image", "data": "QUJD"}]}}),
            "",
            // It is attached, and not told as data once more.
            Value::Null,
            ToolStatus::Completed,
        ),
        (json!({"status": "failed", "error": {"message": "no"}}), "no", Value::Null, ToolStatus::Failed),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        item(&mut harness, "started", call(json!({"status": "inProgress"})));
        let out = harness.note("item/completed", json!({"turnId": TURN, "item": call(more)}));
        let Body::ToolFinished(outcome) = &only_draft(&out).body else { panic!("{out:?}") };
        assert_eq!(
            (only_draft(&out).text.as_deref(), &outcome.result, outcome.status),
            (Some(said), &result, status)
        );
    }
}

#[test]
fn a_thought_is_told_in_one_voice() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    item(&mut harness, "started", json!({"type": "reasoning", "id": "r", "summary": [], "content": []}));
    let delta = |harness: &mut DriverHarness, method: &str| {
        let out = harness.note(
            &format!("item/reasoning/{method}"),
            json!({"turnId": TURN, "itemId": "r", "delta": "x", "summaryIndex": 1}),
        );
        matches!(only_draft(&out).body, Body::ReasoningDelta)
    };
    assert!(delta(&mut harness, "textDelta"));
    assert!(!delta(&mut harness, "summaryTextDelta"), "the first voice goes on");
    assert!(!delta(&mut harness, "summaryPartAdded"));
    let out = harness.note("item/completed", json!({"turnId": TURN, "item": {"type": "reasoning", "id": "r", "summary": ["a", "b"], "content": ["raw"]}}));
    assert_eq!(only_draft(&out).text.as_deref(), Some("a\n\nb"), "the summary has the last word");

    item(&mut harness, "started", json!({"type": "reasoning", "id": "s"}));
    let out = harness.note(
        "item/completed",
        json!({"turnId": TURN, "item": {"type": "reasoning", "id": "s", "summary": [], "content": ["raw"]}}),
    );
    assert_eq!(only_draft(&out).text.as_deref(), Some("raw"));
}

#[test]
fn what_is_typed_into_a_command_is_told_and_a_look_is_not() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let typed = |stdin: &str| json!({"turnId": TURN, "itemId": "c", "processId": "1", "stdin": stdin});
    let out = harness.note("item/commandExecution/terminalInteraction", typed("y\n"));
    assert_eq!(only_draft(&out).body, Body::Notice { level: NoticeLevel::Info });
    let out = harness.note("item/commandExecution/terminalInteraction", typed(""));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
}

#[test]
fn an_mcp_server_that_does_not_start_is_told() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let out = harness.note(
        "mcpServer/startupStatus/updated",
        json!({"name": "demo", "status": "failed", "error": "no such file"}),
    );
    assert_eq!(only_draft(&out).text.as_deref(), Some("The MCP server demo did not start: no such file"));
}

#[test]
fn kinds_and_methods_of_tomorrow_are_kept() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    for (method, params) in [
        ("item/started", json!({"turnId": TURN, "item": {"type": "hologram", "id": "h"}})),
        ("item/completed", json!({"turnId": TURN, "item": {"type": "hologram", "id": "h"}})),
        ("item/started", json!({"turnId": TURN, "item": {"type": "hookPrompt", "id": "k", "fragments": []}})),
        ("thread/hologram/updated", json!({"x": [1, 2, {"y": null}]})),
    ] {
        let out = harness.note(method, params);
        assert_eq!(only_draft(&out).body, Body::Raw { kind: method.to_owned(), fault: None });
    }
    let out =
        harness.note("item/started", json!({"turnId": TURN, "item": {"type": "agentMessage", "id": 5}}));
    assert!(matches!(only_draft(&out).body, Body::Raw { fault: Some(_), .. }));
}

#[test]
fn what_could_not_be_read_as_a_line_is_kept_with_its_fault() {
    for fault in [RawFault::Truncated, RawFault::InvalidUtf8] {
        let mut harness = DriverHarness::ready(Mode::Ask);
        let out = harness.handle(Input::Garbled { text: "half a li".into(), fault });
        let draft = only_draft(&out);
        assert_eq!(draft.body, Body::Raw { kind: "garbled".to_owned(), fault: Some(fault) });
        assert_eq!(draft.raw.as_deref(), Some("half a li"));
    }
}

#[test]
fn newer_models_tell_each_step_in_the_life_of_a_child() {
    let step = |kind: &str, id: &str| json!({"type": "subAgentActivity", "id": id, "kind": kind, "agentThreadId": "child", "agentPath": "/root/worker"});
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let bodies = item(&mut harness, "started", step("started", "a"));
    let [
        Body::DelegationStarted(delegation),
        Body::SessionOpened(opened),
        Body::SessionReady(ready),
        Body::Raw { .. },
    ] = bodies.as_slice()
    else {
        panic!("{bodies:?}")
    };
    assert_eq!((opened.parent, ready.native.as_deref()), (Some(harness.session), Some("child")));
    let out = harness.note("turn/started", json!({"threadId": "child", "turn": {"id": "t"}}));
    assert_eq!(out.said[0].0, delegation.child);
    let bodies = item(&mut harness, "completed", step("interrupted", "b"));
    let [Body::DelegationFinished(end), Body::Raw { .. }] = bodies.as_slice() else { panic!("{bodies:?}") };
    assert_eq!((end.child, end.outcome), (delegation.child, TurnOutcome::Interrupted));
}

#[test]
fn a_stranger_whom_nobody_spawned_is_kept_and_no_session() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness.note("turn/started", json!({"threadId": "stranger", "turn": {"id": "t"}}));
    assert_eq!(out.said[0].0, harness.session);
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
}

#[test]
fn models_are_asked_for_page_by_page() {
    let mut harness = DriverHarness::new();
    let (id, out) = harness.ask(ModelsQuery { agent: name(), anew: false });
    assert_eq!(only_line(&out)["method"], "initialize");
    let out = harness.answer_ok("initialize", json!({"userAgent": "longshore/0.166.0"}));
    assert_eq!(lines(&out)[1]["method"], "model/list");
    let out = harness.answer_ok("model/list", json!({"data": [{"id": "a", "model": "a", "displayName": "A", "isDefault": true}], "nextCursor": "2"}));
    assert_eq!(only_line(&out)["params"], json!({"cursor": "2"}));
    let out = harness
        .answer_ok("model/list", json!({"data": [{"id": "b", "displayName": null}], "nextCursor": null}));
    let [(to, Ok(Answer::Models(models)))] = out.answers.as_slice() else { panic!("{out:?}") };
    let seen: Vec<(&str, &str, bool)> =
        models.iter().map(|model| (model.id.as_str(), model.title.as_str(), model.default)).collect();
    assert_eq!((*to, seen), (id, vec![("a", "A", true), ("b", "b", false)]));
    assert!(out.finished.is_some() && out.said.is_empty());
}

#[test]
fn conversations_are_listed_by_page() {
    let mut harness = DriverHarness::new();
    let (_, _) = harness.ask(SessionsQuery { agent: name(), cursor: Some("c".to_owned()), limit: 2 });
    let out = harness.answer_ok("initialize", json!({"userAgent": "longshore/0.166.0"}));
    let params = &lines(&out)[1]["params"];
    assert_eq!((&params["cursor"], &params["limit"]), (&json!("c"), &json!(2)));
    assert!(params["sourceKinds"].as_array().unwrap().contains(&json!("exec")));
    let data = json!([{"id": "t", "name": null, "preview": "hi", "cwd": "/w", "updatedAt": 5}]);
    let out = harness.answer_ok("thread/list", json!({"data": data, "nextCursor": "d"}));
    let [(_, Ok(Answer::Sessions(NativeSessions { sessions, next })))] = out.answers.as_slice() else {
        panic!("{out:?}")
    };
    assert_eq!((sessions[0].title.as_str(), next.as_deref()), ("hi", Some("d")));
    assert_eq!(sessions[0].updated_at, Some(Timestamp::from_micros(5_000_000)));
}

#[test]
fn a_question_that_is_not_answered_has_failed() {
    let mut harness = DriverHarness::new();
    let (_, _) = harness.ask(ModelsQuery { agent: name(), anew: false });
    let out = harness.wait(30);
    assert!(matches!(out.answers.as_slice(), [(_, Err(_))]) && out.finished.is_some());
    let (_, out) = harness.ask(ModelsQuery { agent: name(), anew: false });
    assert!(matches!(out.answers.as_slice(), [(_, Err(_))]));
}
