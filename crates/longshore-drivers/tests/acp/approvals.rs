//! May it? What is asked, what can be answered, and what is answered then.

use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer, Subject};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::event::Body;
use longshore_model::item::ToolStatus;
use serde_json::{Value, json};

use super::harness::{
    DriverHarness, NATIVE, approval_in, bodies, last_draft, lines, only_draft, only_line, with_modes,
};
use crate::harness::plain;

fn options(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({"optionId": format!("id-{kind}"), "name": kind, "kind": kind})).collect()
}

fn ask_approval(harness: &mut DriverHarness, options: &Value) -> longshore_model::driver::Output {
    let call =
        json!({"toolCallId": "t", "title": "make a file", "kind": "execute", "rawInput": {"command": "ls"}});
    harness.request(
        json!("their-1"),
        "session/request_permission",
        json!({"toolCall": call, "options": options}),
    )
}

#[test]
fn only_what_is_offered_can_be_decided() {
    use Decision::{AllowAlways, AllowOnce, AllowSession, Cancel, Deny};
    let all = ["allow_always", "allow_once", "reject_once", "reject_always"];
    let cases: [(&str, &[&str], &[Decision]); 7] = [
        ("gemini", &all, &[AllowOnce, AllowSession, Deny, Cancel]),
        ("copilot", &all[..3], &[AllowOnce, AllowSession, Deny, Cancel]),
        ("claude-code-acp", &all[..3], &[AllowOnce, AllowSession, Deny, Cancel]),
        ("codex-acp", &all[..3], &[AllowOnce, AllowAlways, Cancel]),
        ("codex-acp", &["allow_once", "reject_once"], &[AllowOnce, Cancel]),
        ("opencode-acp", &["allow_once", "reject_always"], &[AllowOnce, Deny, Cancel]),
        ("gemini", &[], &[Cancel]),
    ];
    for (agent, offered, expected) in cases {
        let mut harness = DriverHarness::of(agent).ready(Mode::Ask, json!({"sessionId": NATIVE}));
        harness.prompt("go");
        let out = ask_approval(&mut harness, &options(offered));
        assert_eq!(approval_in(&out).options, expected, "{agent} {offered:?}");
    }
}

#[test]
fn a_decision_is_the_option_of_its_kind() {
    let selected = |kind: &str| json!({"outcome": {"outcome": "selected", "optionId": format!("id-{kind}")}});
    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
    let all = &["allow_always", "reject_always", "reject_once", "allow_once"][..];
    for (offered, decision, expected) in [
        (all, Decision::AllowOnce, selected("allow_once")),
        (all, Decision::AllowSession, selected("allow_always")),
        (all, Decision::AllowAlways, selected("allow_always")),
        (all, Decision::Deny, selected("reject_once")),
        (&["reject_always"], Decision::Deny, selected("reject_always")),
        (&["allow_once"], Decision::Deny, cancelled.clone()),
        (all, Decision::Cancel, cancelled),
    ] {
        let mut harness = DriverHarness::in_turn();
        let approval = approval_in(&ask_approval(&mut harness, &options(offered))).approval;
        let out = harness.decide(approval, decision);
        let said = lines(&out);
        assert_eq!((&said[0]["id"], &said[0]["result"]), (&json!("their-1"), &expected), "{decision:?}");
        let stops = said.iter().any(|line| line["method"] == "session/cancel");
        assert_eq!(stops, decision == Decision::Cancel, "{decision:?}");
        // It is decided once.
        assert!(harness.decide(approval, Decision::AllowOnce).lines.is_empty());
    }
}

#[test]
fn of_options_that_are_alike_the_one_that_allows_least_is_chosen() {
    let offered = json!([
        {"optionId": "server", "kind": "allow_always"}, {"optionId": "tool", "kind": "allow_always"},
        {"optionId": "once", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"},
    ]);
    let mut harness = DriverHarness::of("gemini").ready(Mode::Ask, json!({"sessionId": NATIVE}));
    harness.prompt("go");
    let approval = approval_in(&ask_approval(&mut harness, &offered)).approval;
    let out = harness.decide(approval, Decision::AllowSession);
    assert_eq!(only_line(&out)["result"]["outcome"]["optionId"], "tool");
}

#[test]
fn what_is_asked_for_is_a_command_a_change_or_a_tool() {
    let mut harness = DriverHarness::in_turn();
    let out = ask_approval(&mut harness, &options(&["allow_once"]));
    assert!(matches!(bodies(&out)[..], [Body::ToolStarted(_), Body::ApprovalRequested(_)]));
    assert_eq!(last_draft(&out).text.as_deref(), Some("make a file"));
    assert_eq!(last_draft(&out).item, out.said[0].1.item);
    let in_folder = |cwd: &str| Subject::Command {
        command: "ls".to_owned(),
        cwd: Some(cwd.to_owned()),
        always: Vec::new(),
    };
    assert_eq!(approval_in(&out).subject, in_folder("/w"), "that of the session");
    for name in ["cwd", "directory", "dir_path", "workdir"] {
        let call =
            json!({"toolCallId": name, "kind": "execute", "rawInput": {"command": "ls", name: "/w/sub"}});
        let request = json!({"toolCall": call, "options": options(&["allow_once"])});
        let out = harness.request(json!(name), "session/request_permission", request);
        assert_eq!(approval_in(&out).subject, in_folder("/w/sub"), "{name}");
    }

    let mut harness = DriverHarness::in_turn();
    let call = json!({"toolCallId": "e", "title": "Edit a", "kind": "edit",
        "content": [{"type": "diff", "path": "/w/a", "oldText": "x\n", "newText": "y\n"}]});
    harness.update("tool_call", call);
    // The request says nothing of the change, which is known already.
    let request =
        json!({"toolCall": {"toolCallId": "e", "title": "Edit file"}, "options": options(&["allow_once"])});
    let out = harness.request(json!(1), "session/request_permission", request);
    let Subject::Edit { changes, .. } = approval_in(&out).subject else { panic!("{out:?}") };
    assert!(changes[0].diff.contains("-x\n+y\n"));
    assert!(
        matches!(bodies(&out)[..], [Body::Raw { .. }, Body::ApprovalRequested(_)]),
        "the call keeps its own title"
    );

    let mut harness = DriverHarness::in_turn();
    let call = json!({"toolCallId": "m", "title": "mcp__everything__echo", "rawInput": {"message": "ping"}});
    let request = json!({"toolCall": call, "options": options(&["allow_once"])});
    let out = harness.request(json!(1), "session/request_permission", request);
    let tool = Subject::Tool { name: "mcp__everything__echo".to_owned(), input: json!({"message": "ping"}) };
    assert_eq!(approval_in(&out).subject, tool);
}

/// A request for permission to replace some words.
fn wants_to_edit(path: &str) -> Value {
    let input = json!({"file_path": path, "old_string": "two", "new_string": "2"});
    let shown = json!([{"type": "diff", "path": path, "oldText": "two", "newText": "2"}]);
    let call =
        json!({"toolCallId": "e", "title": "Edit a", "kind": "edit", "rawInput": input, "content": shown});
    json!({"toolCall": call, "options": options(&["allow_once"])})
}

#[test]
fn a_change_that_is_told_in_pieces_is_asked_about_with_its_lines() {
    let mut harness = DriverHarness::in_turn();
    harness.files.insert("/w/a".to_owned(), "one\ntwo\n".to_owned());
    // What is not known to stand anywhere is not shown as if it were.
    let call = wants_to_edit("a")["toolCall"].clone();
    let out = harness.update("tool_call", call);
    assert!(matches!(bodies(&out)[..], [Body::ToolStarted(_)]), "{out:?}");
    let out = harness.request(json!(1), "session/request_permission", wants_to_edit("/w/a"));
    let Subject::Edit { changes, .. } = approval_in(&out).subject else { panic!("{out:?}") };
    assert_eq!(changes.len(), 1, "one file, however it is named");
    assert_eq!(changes[0].diff, "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    // A second file is told as it is: there is none, so nobody knows where.
    let mut harness = DriverHarness::in_turn();
    let out = harness.request(json!(1), "session/request_permission", wants_to_edit("/w/b"));
    let Subject::Edit { changes, .. } = approval_in(&out).subject else { panic!("{out:?}") };
    assert!(changes[0].diff.contains("@@ where in the file is not known\n-two\n+2\n"), "{changes:?}");
}

#[test]
fn a_file_that_takes_too_long_is_not_waited_for_and_a_turn_that_ends_asks_nothing() {
    let mut harness = DriverHarness::in_turn();
    harness.blind = true;
    let out = harness.request(json!(1), "session/request_permission", wants_to_edit("/w/a"));
    assert!(matches!(bodies(&out)[..], [Body::ToolStarted(_)]), "{out:?}");
    assert!(harness.deadline().is_some());
    let out = harness.wait(6);
    assert!(matches!(approval_in(&out).subject, Subject::Edit { .. }));
    // The person stops the turn before the file is there.
    let mut harness = DriverHarness::in_turn();
    harness.blind = true;
    harness.request(json!(1), "session/request_permission", wants_to_edit("/w/a"));
    let turn = harness.turn;
    let out = harness.tell(AgentCommand::Interrupt { turn });
    assert!(lines(&out).iter().any(|line| line["result"]["outcome"]["outcome"] == "cancelled"), "{out:?}");
    let out = harness.wait(6);
    assert!(!bodies(&out).iter().any(|body| matches!(body, Body::ApprovalRequested(_))), "{out:?}");
}

#[test]
fn a_plan_is_asked_about_as_a_plan_and_may_go_ahead_with_edits_accepted() {
    let modes = with_modes("plan", &["default", "acceptEdits", "plan"]);
    let offered = json!([
        {"optionId": "auto", "kind": "allow_always"}, {"optionId": "ask", "kind": "allow_once"},
        {"optionId": "no", "kind": "reject_once"},
    ]);
    for (decision, mode) in
        [(Decision::AllowOnce, None), (Decision::AllowSession, Some("acceptEdits")), (Decision::Deny, None)]
    {
        let mut harness = DriverHarness::unknown().ready(Mode::Plan, modes.clone());
        harness.prompt("go");
        let call = json!({"toolCallId": "p", "title": "Approve Plan", "kind": "switch_mode", "status": "pending",
            "rawInput": {"plan": "# Plan"}});
        harness.update("tool_call", call);
        let request = json!({"toolCall": {"toolCallId": "p", "kind": "switch_mode", "rawInput": {}, "content": []}, "options": offered});
        let asked = approval_in(&harness.request(json!(1), "session/request_permission", request));
        assert_eq!(asked.subject, Subject::Plan { plan: "# Plan".to_owned() });
        let all = [Decision::AllowOnce, Decision::AllowSession, Decision::Deny, Decision::Cancel];
        assert_eq!(asked.options, all);
        let out = harness.decide(asked.approval, decision);
        let said = lines(&out);
        let chosen = if decision.allows() { "ask" } else { "no" };
        assert_eq!(said[0]["result"]["outcome"]["optionId"], chosen);
        assert_eq!(
            said.get(1).map(|line| line["params"]["modeId"].clone()),
            mode.map(Value::from),
            "{decision:?}"
        );
        let changed =
            bodies(&out).iter().any(|body| matches!(body, Body::ModeChanged { mode: Mode::AutoEdit }));
        assert_eq!(changed, mode.is_some());
    }
}

#[test]
fn a_plan_is_asked_about_as_a_plan_also_when_it_is_told_after_the_question() {
    let planning = || {
        let modes = with_modes("plan", &["default", "acceptEdits", "plan"]);
        let mut harness = DriverHarness::unknown().ready(Mode::Plan, modes);
        harness.prompt("go");
        let empty = json!({"toolCallId": "p", "title": "Approve Plan", "kind": "switch_mode", "status": "pending",
            "rawInput": {}, "content": []});
        harness.update("tool_call", empty.clone());
        let request =
            json!({"toolCall": empty, "options": options(&["allow_always", "allow_once", "reject_once"])});
        let out = harness.request(json!(1), "session/request_permission", request);
        assert!(matches!(bodies(&out)[..], [Body::ToolStarted(_)]), "{out:?}");
        harness
    };
    let mut harness = planning();
    let part = json!({"toolCallId": "p", "title": "Approve Plan", "kind": "switch_mode", "rawInput": {"plan": "# Plan"}});
    let asked = approval_in(&harness.update("tool_call_update", part));
    assert_eq!(asked.subject, Subject::Plan { plan: "# Plan".to_owned() });
    let all = [Decision::AllowOnce, Decision::AllowSession, Decision::Deny, Decision::Cancel];
    assert_eq!(asked.options, all);
    // A plan that never comes is not waited for.
    let asked = approval_in(&planning().wait(6));
    assert!(matches!(asked.subject, Subject::Tool { .. }), "{asked:?}");
    // And whoever wants to begin to plan has none.
    let mut harness = DriverHarness::in_turn();
    let begin = json!({"toolCallId": "e", "title": "EnterPlanMode", "kind": "switch_mode", "rawInput": {}});
    let request = json!({"toolCall": begin, "options": options(&["allow_once"])});
    approval_in(&harness.request(json!(1), "session/request_permission", request));
}

#[test]
fn more_than_this_command_may_be_allowed_for_ever() {
    for (amendment, always) in [
        (json!(["/bin/bash", "-lc", "git status"]), &[][..]),
        (json!(["git"]), &["git"][..]),
        (json!(null), &[][..]),
    ] {
        let mut harness = DriverHarness::of("codex-acp").ready(Mode::Ask, json!({"sessionId": NATIVE}));
        harness.prompt("go");
        let input = json!({"command": ["/bin/bash", "-lc", "git status"], "cwd": "/w", "reason": "to see",
            "proposed_execpolicy_amendment": amendment});
        let call = json!({"toolCallId": "t", "title": "git status", "kind": "execute", "rawInput": input});
        let request = json!({"toolCall": call, "options": options(&["allow_once", "allow_always"])});
        let out = harness.request(json!("u-1"), "session/request_permission", request);
        let always = always.iter().map(|word| (*word).to_owned()).collect();
        let expected =
            Subject::Command { command: "git status".to_owned(), cwd: Some("/w".to_owned()), always };
        assert_eq!(approval_in(&out).subject, expected);
        assert_eq!(last_draft(&out).text.as_deref(), Some("to see"));
    }
}

#[test]
fn whoever_stops_the_turn_answers_all_that_is_open() {
    let mut harness = DriverHarness::in_turn();
    let approval = approval_in(&ask_approval(&mut harness, &options(&["allow_once"]))).approval;
    let form = json!({"mode": "form", "message": "Who?", "requestedSchema": {"properties": {"name": {"type": "string"}}}});
    harness.request(json!(8), "elicitation/create", form);
    let said = lines(&harness.tell(AgentCommand::Interrupt { turn: harness.turn }));
    assert_eq!(said[0]["method"], "session/cancel");
    assert!(said[0]["id"].is_null());
    let answer = |id: Value| said.iter().find(|line| line["id"] == id).unwrap()["result"].clone();
    assert_eq!(answer(json!("their-1")), json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(answer(json!(8)), json!({"action": "cancel"}));
    assert!(harness.decide(approval, Decision::AllowOnce).lines.is_empty());
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "cancelled"}));
    assert!(
        matches!(bodies(&out)[..], [Body::ToolFinished(tool), Body::TurnFinished(_)] if tool.status == ToolStatus::Cancelled)
    );
}

#[test]
fn words_that_were_not_heard_are_told_once() {
    let mut harness = DriverHarness::in_turn();
    let mut refuse = |id: i64, words: &str| {
        let request = json!({"toolCall": {"toolCallId": format!("t-{id}"), "kind": "execute", "title": "ls"},
            "options": options(&["allow_once", "reject_once"])});
        let approval =
            approval_in(&harness.request(json!(id), "session/request_permission", request)).approval;
        let no = ApprovalDecision { message: Some(words.to_owned()), ..plain(Decision::Deny) };
        let out = harness.decide_so(approval, no);
        bodies(&out).iter().filter(|body| matches!(body, Body::Notice { .. })).count()
    };
    let told: Vec<usize> =
        [(1, "too many wait"), (2, "too many wait"), (3, "too many wait"), (4, "not this one")]
            .map(|(id, words)| refuse(id, words))
            .into();
    assert_eq!(told, [1, 0, 0, 1]);
}

#[test]
fn a_turn_that_ends_without_waiting_answers_what_it_left_open() {
    let mut harness = DriverHarness::in_turn();
    ask_approval(&mut harness, &options(&["allow_once"]));
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    assert_eq!(only_line(&out)["result"], json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn a_request_can_be_taken_back() {
    let mut harness = DriverHarness::in_turn();
    let approval = approval_in(&ask_approval(&mut harness, &options(&["allow_once"]))).approval;
    let line = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "their-1"}});
    let out = harness.line(&line);
    assert_eq!(only_draft(&out).body, Body::ApprovalExpired { approval });
    assert_eq!(only_line(&out)["error"]["code"], -32800);
    assert!(matches!(only_draft(&harness.line(&line)).body, Body::Raw { .. }));
}

#[test]
fn a_form_is_filled_in_and_an_address_is_gone_to() {
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "age": {"type": "integer"}, "name": {"type": "string", "title": "Name"},
    }});
    for (action, expected) in [
        (AnswerAction::Accept, json!({"action": "accept", "content": {"name": "Ada"}})),
        (AnswerAction::Decline, json!({"action": "decline"})),
        (AnswerAction::Cancel, json!({"action": "cancel"})),
    ] {
        let mut harness = DriverHarness::in_turn();
        let form = json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema});
        let out = harness.request(json!(5), "elicitation/create", form);
        let Body::QuestionAsked(asked) = &only_draft(&out).body else { panic!("{out:?}") };
        let fields: Vec<(&str, bool)> =
            asked.fields.iter().map(|field| (field.label.as_str(), field.optional)).collect();
        assert_eq!(fields, [("Name", false), ("age", true)]);
        let answers = [("name".to_owned(), json!("Ada"))].into();
        let answer = QuestionAnswer { action, answers, by: "owner".to_owned() };
        let out = harness.tell(AgentCommand::Answer { question: asked.question, answer });
        assert_eq!(only_line(&out)["result"], expected);
    }

    let mut harness = DriverHarness::in_turn();
    let page = json!({"mode": "url", "message": "Log in", "url": "https://x.org", "elicitationId": "e-1"});
    let out = harness.request(json!(5), "elicitation/create", page);
    assert_eq!(only_draft(&out).text.as_deref(), Some("Log in\nhttps://x.org"));
    let done =
        json!({"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": "e-1"}});
    let out = harness.line(&done);
    assert!(matches!(only_draft(&out).body, Body::QuestionExpired { .. }));
    assert_eq!(only_line(&out)["result"], json!({"action": "accept"}));
}

#[test]
fn every_request_is_answered() {
    for (method, params, code) in [
        ("_mine/magic", json!({}), -32601),
        ("session/unheard_of", json!({}), -32601),
        ("terminal/unheard_of", json!({}), -32601),
        ("session/request_permission", json!({"options": "all"}), -32602),
        ("fs/read_text_file", json!({"path": 7}), -32602),
    ] {
        for id in [json!(0), json!("a-1"), json!(1.5), json!({"odd": true})] {
            let mut harness = DriverHarness::in_turn();
            let out = harness.request(id.clone(), method, params.clone());
            let answer = only_line(&out);
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{method}");
            assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "{method}");
        }
    }
    // Even when there are too many of them.
    let mut harness = DriverHarness::in_turn();
    for id in 0..256 {
        assert_eq!(
            harness.request(json!(id), "fs/read_text_file", json!({"path": "/w/a"})).host_requests.len(),
            1
        );
    }
    let out = harness.request(json!(256), "fs/read_text_file", json!({"path": "/w/a"}));
    assert!(out.host_requests.is_empty() && only_line(&out)["error"]["code"] == -32603);

    let mut harness = DriverHarness::in_turn();
    let params = json!({"sessionId": "another", "path": "/w/a"});
    let out =
        harness.line(&json!({"jsonrpc": "2.0", "id": 1, "method": "fs/read_text_file", "params": params}));
    assert_eq!(only_line(&out)["error"]["code"], -32602);
}
