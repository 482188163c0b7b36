//! What codex asks before it acts, and how decisions read in its words.

use longshore_model::approval::{ApprovalDecision, Decision, Subject};
use longshore_model::capability::Mode;
use longshore_model::event::Body;
use longshore_model::item::FileChangeKind;
use serde_json::{Value, json};

use super::harness::{DriverHarness, THREAD, TURN, approval_in, lines, only_draft, only_line, plain};

use Decision::{AllowAlways, AllowOnce, AllowSession, Cancel, Deny};

/// A request of codex and what each decision answers. `None` where the decision is not offered.
struct Row {
    method: &'static str,
    params: Value,
    options: &'static [Decision],
    answers: Vec<(Decision, Value)>,
}

fn rows() -> Vec<Row> {
    let word = |word: &str| json!({"decision": word});
    let amendment =
        json!({"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["git", "fetch"]}}});
    let wanted = json!({"network": {"enabled": true}});
    let tool = |action: &str, content: Value, persist: Option<&str>| json!({"action": action, "content": content, "_meta": persist.map(|persist| json!({"persist": persist}))});
    let meta = |persist: Value| json!({"codex_approval_kind": "mcp_tool_call", "persist": persist, "tool_params": {"x": 1}});
    vec![
        Row {
            method: "item/commandExecution/requestApproval",
            params: json!({"itemId": "c", "command": "/bin/bash -lc 'git fetch origin'", "proposedExecpolicyAmendment": ["git", "fetch"]}),
            options: &[AllowOnce, AllowSession, AllowAlways, Deny, Cancel],
            answers: vec![
                (AllowOnce, word("accept")),
                (AllowSession, word("acceptForSession")),
                (AllowAlways, amendment),
                (Deny, word("decline")),
                (Cancel, word("cancel")),
            ],
        },
        Row {
            method: "item/commandExecution/requestApproval",
            params: json!({"itemId": "c", "command": "ls"}),
            options: &[AllowOnce, AllowSession, Deny, Cancel],
            answers: vec![(AllowAlways, word("acceptForSession"))],
        },
        Row {
            method: "item/fileChange/requestApproval",
            params: json!({"itemId": "p"}),
            options: &[AllowOnce, AllowSession, Deny, Cancel],
            answers: vec![
                (AllowOnce, word("accept")),
                (AllowSession, word("acceptForSession")),
                (Deny, word("decline")),
                (Cancel, word("cancel")),
            ],
        },
        Row {
            method: "item/permissions/requestApproval",
            params: json!({"itemId": "r", "permissions": wanted}),
            options: &[AllowOnce, AllowSession, Deny, Cancel],
            answers: vec![
                (AllowOnce, json!({"permissions": wanted, "scope": "turn"})),
                (AllowSession, json!({"permissions": wanted, "scope": "session"})),
                (Deny, json!({"permissions": {}, "scope": "turn"})),
                (Cancel, json!({"permissions": {}, "scope": "turn"})),
            ],
        },
        Row {
            method: "mcpServer/elicitation/request",
            params: json!({"serverName": "demo", "mode": "form", "message": "run tool \"write\"?", "_meta": meta(json!(["session", "always"]))}),
            options: &[AllowOnce, AllowSession, AllowAlways, Deny, Cancel],
            answers: vec![
                (AllowOnce, tool("accept", json!({}), None)),
                (AllowSession, tool("accept", json!({}), Some("session"))),
                (AllowAlways, tool("accept", json!({}), Some("always"))),
                (Deny, tool("decline", Value::Null, None)),
                (Cancel, tool("cancel", Value::Null, None)),
            ],
        },
        Row {
            method: "mcpServer/elicitation/request",
            params: json!({"serverName": "demo", "mode": "form", "message": "?", "_meta": meta(json!("session"))}),
            options: &[AllowOnce, AllowSession, Deny, Cancel],
            answers: vec![],
        },
        Row {
            method: "execCommandApproval",
            params: json!({"conversationId": THREAD, "callId": "c", "command": ["bash", "-lc", "ls"]}),
            options: &[AllowOnce, AllowSession, Deny, Cancel],
            answers: vec![
                (AllowOnce, word("approved")),
                (AllowSession, word("approved_for_session")),
                (Deny, word("denied")),
                (Cancel, word("abort")),
            ],
        },
        Row {
            method: "applyPatchApproval",
            params: json!({"conversationId": THREAD, "callId": "p", "fileChanges": {"/w/a": {"type": "add", "content": "x\n"}}}),
            options: &[AllowOnce, AllowSession, Deny, Cancel],
            answers: vec![(AllowOnce, word("approved")), (Cancel, word("abort"))],
        },
    ]
}

#[test]
fn every_decision_has_its_word_in_every_kind_of_request() {
    for Row { method, params, options, answers } in rows() {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let out = harness.request(json!(0), method, params.clone());
        assert_eq!(approval_in(&out).options, options, "of {method} {params}");
        for (decision, answer) in answers {
            let mut harness = DriverHarness::in_turn(Mode::Ask);
            let asked = approval_in(&harness.request(json!(0), method, params.clone()));
            let out = harness.decide(asked.approval, decision);
            assert_eq!(lines(&out)[0], json!({"id": 0, "result": answer}), "{decision:?} of {method}");
            // A second answer, and the word that the request is closed, change nothing.
            assert!(harness.decide(asked.approval, decision).lines.is_empty());
            let closed = harness.note("serverRequest/resolved", json!({"requestId": 0}));
            assert!(matches!(only_draft(&closed).body, Body::Raw { .. }));
        }
    }
}

#[test]
fn where_no_word_stops_the_turn_it_is_interrupted() {
    for (method, stops) in
        [("item/permissions/requestApproval", true), ("item/fileChange/requestApproval", false)]
    {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let asked = approval_in(&harness.request(json!(0), method, json!({"itemId": "x"})));
        let sent = lines(&harness.decide(asked.approval, Cancel));
        let interrupted = sent.iter().any(|line| line["method"] == "turn/interrupt");
        assert_eq!(interrupted, stops, "of {method}");
    }
}

#[test]
fn a_no_with_a_word_says_the_word_into_the_turn() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let asked = approval_in(&harness.request(
        json!(0),
        "item/commandExecution/requestApproval",
        json!({"itemId": "c", "command": "rm x"}),
    ));
    let decision = ApprovalDecision { message: Some("use git rm".to_owned()), ..plain(Deny) };
    let sent = lines(&harness.decide_so(asked.approval, decision));
    assert_eq!(sent[0], json!({"id": 0, "result": {"decision": "decline"}}));
    assert_eq!(
        (&sent[1]["method"], &sent[1]["params"]["expectedTurnId"]),
        (&json!("turn/steer"), &json!(TURN))
    );
    assert_eq!(sent[1]["params"]["input"], json!([{"type": "text", "text": "use git rm"}]));
}

#[test]
fn a_patch_shows_the_changes_of_its_item() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let changes = json!([{"path": "/w/new.txt", "kind": {"type": "add"}, "diff": "hello\n"}]);
    harness.note("item/started", json!({"turnId": TURN, "item": {"type": "fileChange", "id": "p", "status": "inProgress", "changes": changes}}));
    let out = harness.request(
        json!(0),
        "item/fileChange/requestApproval",
        json!({"itemId": "p", "grantRoot": "/w"}),
    );
    let Subject::Edit { changes, grant_root } = approval_in(&out).subject else { panic!("{out:?}") };
    assert_eq!((changes[0].kind, changes[0].path.as_str()), (FileChangeKind::Add, "/w/new.txt"));
    assert_eq!(changes[0].diff, "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+hello\n");
    assert_eq!(grant_root.as_deref(), Some("/w"));
}

#[test]
fn two_requests_are_answered_in_any_order_and_never_confused_with_ours() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    // Their numbers are those of requests of ours that are long answered.
    let first = approval_in(&harness.request(
        json!(1),
        "item/commandExecution/requestApproval",
        json!({"itemId": "a", "command": "a"}),
    ));
    let second = approval_in(&harness.request(
        json!("two"),
        "item/commandExecution/requestApproval",
        json!({"itemId": "b", "command": "b"}),
    ));
    assert_ne!(first.approval, second.approval);
    assert_eq!(
        only_line(&harness.decide(second.approval, Deny)),
        json!({"id": "two", "result": {"decision": "decline"}})
    );
    assert_eq!(
        only_line(&harness.decide(first.approval, AllowOnce)),
        json!({"id": 1, "result": {"decision": "accept"}})
    );
}

#[test]
fn a_request_that_nobody_answered_expires() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let asked = approval_in(&harness.request(
        json!(5),
        "item/commandExecution/requestApproval",
        json!({"itemId": "c", "command": "ls"}),
    ));
    // It may be told after the turn is over.
    harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "interrupted"}}));
    let out = harness.note("serverRequest/resolved", json!({"requestId": 5}));
    assert_eq!(only_draft(&out).body, Body::ApprovalExpired { approval: asked.approval });
    assert!(harness.decide(asked.approval, AllowOnce).lines.is_empty());
}

#[test]
fn a_request_that_codex_repeats_is_one() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let params = json!({"itemId": "c", "command": "ls"});
    harness.request(json!(0), "item/commandExecution/requestApproval", params.clone());
    let out = harness.request(json!(0), "item/commandExecution/requestApproval", params);
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }) && out.lines.is_empty());
}

#[test]
fn codex_of_old_asks_without_an_id_and_is_answered_by_item() {
    for (decision, word) in [(AllowOnce, "accept"), (Deny, "decline"), (Cancel, "decline")] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let item = json!({"type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'ls'", "status": "inProgress"});
        harness.note("item/started", json!({"turnId": TURN, "item": item}));
        let out = harness.line(&json!({"method": "item/commandExecution/requestApproval", "params": {"itemId": "c", "reason": "why not"}}));
        let asked = approval_in(&out);
        assert_eq!(asked.options, [AllowOnce, Deny, Cancel]);
        assert!(matches!(&asked.subject, Subject::Command { command, .. } if command == "ls"));
        assert_eq!(only_draft(&out).text.as_deref(), Some("why not"));
        assert_eq!(only_draft(&out).turn, Some(harness.turn));
        let sent = lines(&harness.decide(asked.approval, decision));
        assert_eq!(
            (&sent[0]["method"], &sent[0]["params"]),
            (&json!("item/approve"), &json!({"itemId": "c", "decision": word}))
        );
        assert_eq!(sent.len(), if decision == Cancel { 2 } else { 1 });
    }
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness.line(&json!({"method": "item/commandExecution/requestApproval", "params": {"itemId": "c", "parsedCmd": ["ls", "-l"]}}));
    assert!(matches!(&approval_in(&out).subject, Subject::Command { command, .. } if command == "ls -l"));
}

/// A repository can bring a program whose name ends as those of shells do.
#[test]
fn a_shell_is_hidden_only_if_it_is_one() {
    let of_old =
        json!({"conversationId": THREAD, "callId": "c", "command": ["./evil.sh", "-c", "cargo test"]});
    let asked = json!({"itemId": "c", "command": "./evil.sh -c 'cargo test'"});
    for (method, params) in
        [("execCommandApproval", of_old), ("item/commandExecution/requestApproval", asked)]
    {
        let out = DriverHarness::in_turn(Mode::Ask).request(json!(0), method, params);
        let Subject::Command { command, .. } = approval_in(&out).subject else { panic!("{out:?}") };
        assert_eq!(command, "./evil.sh -c 'cargo test'", "of {method}");
    }
    let amended = |amendment: Value| {
        let params = json!({"itemId": "c", "command": "/bin/bash -lc 'cargo test'", "proposedExecpolicyAmendment": amendment});
        let out = DriverHarness::in_turn(Mode::Ask).request(
            json!(0),
            "item/commandExecution/requestApproval",
            params,
        );
        match approval_in(&out).subject {
            Subject::Command { always, .. } => always,
            other => panic!("{other:?}"),
        }
    };
    assert!(amended(json!(["/bin/bash", "-lc", "cargo test"])).is_empty());
    assert!(amended(json!(["cargo", "test"])).is_empty());
    assert_eq!(amended(json!(["./evil.sh", "-c", "cargo test"])), ["./evil.sh", "-c", "cargo test"]);
}

#[test]
fn what_nobody_understands_is_answered_with_an_error_and_kept() {
    for method in
        ["currentTime/read", "attestation/generate", "account/chatgptAuthTokens/refresh", "of/tomorrow"]
    {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let out = harness.request(json!(9), method, json!({}));
        assert_eq!(only_line(&out)["error"]["code"], -32601);
        assert_eq!(only_draft(&out).body, Body::Raw { kind: method.to_owned(), fault: None });
    }
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness.request(json!(9), "item/commandExecution/requestApproval", json!({"itemId": 5}));
    assert_eq!(only_line(&out)["error"]["code"], -32602);
    let out = harness.request(json!(9), "item/tool/call", json!({"tool": "lookup", "callId": "d"}));
    assert_eq!(only_line(&out)["result"]["success"], false);
}
