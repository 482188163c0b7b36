//! What it asks, and how decisions and answers read in its words.

use std::collections::BTreeMap;

use longshore_model::approval::{
    AnswerAction, ApprovalDecision, Decision, FieldKind, QuestionAnswer, Subject,
};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::Output;
use longshore_model::event::Body;
use longshore_model::item::{FileChange, FileChangeKind, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::harness::{DriverHarness, approval_in, bodies, end_in, only_draft, only_line, plain, question_in};

use Decision::{AllowAlways, AllowOnce, AllowSession, Cancel, Deny};

const NO: &str = "The user said no to this.";

fn rule(tool: &str) -> Value {
    json!([{"type": "addRules", "rules": [{"toolName": tool}], "behavior": "allow", "destination": "session"}])
}

/// A request, what may be answered, and what a lasting yes says.
fn rows() -> Vec<(Value, &'static [Decision], Value)> {
    let local = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls *"}], "behavior": "allow", "destination": "localSettings"}]);
    let edits = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let all: &[Decision] = &[AllowOnce, AllowSession, Deny, Cancel];
    let once: &[Decision] = &[AllowOnce, Deny, Cancel];
    vec![
        // The rules that it suggests for commands are not heeded afterwards.
        (
            json!({"tool_name": "Bash", "input": {"command": "ls"}, "permission_suggestions": local}),
            all,
            rule("Bash"),
        ),
        (
            json!({"tool_name": "Edit", "input": {"file_path": "/w/a", "old_string": "x", "new_string": "y"}, "permission_suggestions": edits}),
            all,
            edits.clone(),
        ),
        (json!({"tool_name": "mcp__db__query", "input": {"q": 1}}), all, rule("mcp__db__query")),
        (
            json!({"tool_name": "Write", "input": {"file_path": "/w/a", "content": ""}, "decision_reason_type": "mode"}),
            once,
            Value::Null,
        ),
        // To go ahead with a plan and change files without asking.
        (json!({"tool_name": "ExitPlanMode", "input": {"plan": "p"}}), all, edits),
    ]
}

#[test]
fn every_decision_has_its_words() {
    for (mut request, options, lasting) in rows() {
        request["tool_use_id"] = json!("t");
        for decision in [AllowOnce, AllowSession, AllowAlways, Deny, Cancel] {
            let mut harness = DriverHarness::in_turn(Mode::Ask);
            let asked = approval_in(&harness.ask_approval("ask-1", request.clone()));
            assert_eq!(asked.options, options, "of {request}");
            if !options.contains(&decision) && decision != AllowAlways {
                continue;
            }
            let line = only_line(&harness.decide(asked.approval, decision));
            let input = &request["input"];
            let expected = match decision {
                AllowOnce => json!({"behavior": "allow", "updatedInput": input}),
                AllowSession | AllowAlways if lasting.is_null() => continue,
                AllowSession | AllowAlways => {
                    json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": lasting})
                }
                Deny => json!({"behavior": "deny", "message": NO}),
                Cancel => json!({"behavior": "deny", "message": NO, "interrupt": true}),
            };
            let response = json!({"subtype": "success", "request_id": "ask-1", "response": expected});
            assert_eq!(line, json!({"type": "control_response", "response": response}));
            // A second answer is too late.
            assert!(harness.decide(asked.approval, decision).lines.is_empty());
        }
    }
}

#[test]
fn a_yes_may_change_the_arguments_and_a_no_may_say_why() {
    let request = json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"});
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let asked = approval_in(&harness.ask_approval("a", request.clone()));
    let other = json!({"command": "pwd"});
    let decision = ApprovalDecision { input: Some(other.clone()), ..plain(AllowOnce) };
    let line = only_line(&harness.decide_so(asked.approval, decision));
    assert_eq!(line["response"]["response"]["updatedInput"], other);

    let asked = approval_in(&harness.ask_approval("b", request));
    let decision = ApprovalDecision { message: Some("use pwd".to_owned()), ..plain(Deny) };
    let line = only_line(&harness.decide_so(asked.approval, decision));
    assert_eq!(line["response"]["response"]["message"], "use pwd");
    let out = harness.tool_result("t", true, json!("use pwd"), Value::Null);
    let Body::ToolFinished(outcome) = &only_draft(&out).body else { panic!("{:?}", out.said) };
    assert_eq!(outcome.status, ToolStatus::Declined);
}

#[test]
fn an_ask_says_what_it_is_about() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let ask = |harness: &mut DriverHarness, id: &str, tool: &str, input: Value| {
        approval_in(&harness.ask_approval(id, json!({"tool_name": tool, "input": input, "tool_use_id": id})))
            .subject
    };
    let subject = ask(&mut harness, "1", "Bash", json!({"command": "ls -la"}));
    let cwd = Some("/w".to_owned());
    assert_eq!(subject, Subject::Command { command: "ls -la".to_owned(), cwd, always: Vec::new() });
    let subject = ask(&mut harness, "2", "mcp__db__query", json!({"q": 1}));
    assert_eq!(subject, Subject::Tool { name: "db.query".to_owned(), input: json!({"q": 1}) });
    for (id, tool, input, kind, diff) in [
        (
            "3",
            "Write",
            json!({"file_path": "/w/n", "content": "a\n"}),
            FileChangeKind::Add,
            "--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+a\n",
        ),
        (
            "4",
            "Edit",
            json!({"file_path": "/w/n", "old_string": "a", "new_string": "b\nc"}),
            FileChangeKind::Update,
            "--- a/n\n+++ b/n\n@@ where in the file is not known\n-a\n+b\n+c\n",
        ),
        (
            "5",
            "MultiEdit",
            json!({"file_path": "/w/n", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]}),
            FileChangeKind::Update,
            "--- a/n\n+++ b/n\n@@ where in the file is not known\n-a\n+b\n@@ where in the file is not known\n-c\n",
        ),
    ] {
        let Subject::Edit { changes, .. } = ask(&mut harness, id, tool, input) else { panic!("no edit") };
        assert_eq!((changes[0].kind, changes[0].diff.as_str()), (kind, diff));
    }
}

#[test]
fn a_plan_is_asked_about_as_a_plan_wherever_it_is_told() {
    let plan = |harness: &mut DriverHarness, input: Value| {
        let out = harness
            .ask_approval("1", json!({"tool_name": "ExitPlanMode", "input": input, "tool_use_id": "p"}));
        let Subject::Plan { plan } = approval_in(&out).subject else { panic!("{out:?}") };
        plan
    };
    let mut harness = DriverHarness::in_turn(Mode::Plan);
    assert_eq!(plan(&mut harness, json!({"plan": "# Plan"})), "# Plan");
    // Newer ones do not repeat what they said when they called.
    let mut harness = DriverHarness::in_turn(Mode::Plan);
    harness.tool_use("p", "ExitPlanMode", json!({"plan": "# Called"}));
    assert_eq!(plan(&mut harness, json!({})), "# Called");
    // Or write it into a file of theirs.
    let mut harness = DriverHarness::in_turn(Mode::Plan);
    for (id, tool, input) in [
        ("w", "Write", json!({"file_path": "/c/plans/a.md", "content": "# Written, one"})),
        ("e", "Edit", json!({"file_path": "/c/plans/a.md", "old_string": "one", "new_string": "two"})),
        ("o", "Write", json!({"file_path": "/w/other.md", "content": "no plan"})),
    ] {
        harness.tool_use(id, tool, input);
        harness.tool_result(id, false, json!("done"), json!({}));
    }
    harness.tool_use("p", "ExitPlanMode", json!({}));
    assert_eq!(plan(&mut harness, json!({})), "# Written, two");
}

/// The change that a request asks for.
fn change_in(out: &Output) -> FileChange {
    let Subject::Edit { mut changes, .. } = approval_in(out).subject else { panic!("no edit in {out:?}") };
    changes.remove(0)
}

#[test]
fn a_change_is_asked_about_with_the_lines_of_its_file() {
    let text = "fn a() {}\nfn b() {}\nfn a() {}\n";
    for (tool, input, diff) in [
        (
            "Edit",
            json!({"old_string": "b()", "new_string": "B()", "replace_all": false}),
            "@@ -1,3 +1,3 @@\n fn a() {}\n-fn b() {}\n+fn B() {}\n fn a() {}\n",
        ),
        (
            "Edit",
            json!({"old_string": "a()", "new_string": "A()", "replace_all": true}),
            "@@ -1,3 +1,3 @@\n-fn a() {}\n+fn A() {}\n fn b() {}\n-fn a() {}\n+fn A() {}\n",
        ),
        (
            "MultiEdit",
            json!({"edits": [{"old_string": "b", "new_string": "c"}, {"old_string": "c()", "new_string": "d()"}]}),
            "@@ -1,3 +1,3 @@\n fn a() {}\n-fn b() {}\n+fn d() {}\n fn a() {}\n",
        ),
        (
            "Write",
            json!({"content": "fn a() {}\nfn b() {}\n"}),
            "@@ -1,3 +1,2 @@\n fn a() {}\n fn b() {}\n-fn a() {}\n",
        ),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        harness.files.insert("/w/n".to_owned(), text.to_owned());
        let mut input = input;
        input["file_path"] = json!("/w/n");
        let out = harness.ask_approval("1", json!({"tool_name": tool, "input": input, "tool_use_id": "1"}));
        let change = change_in(&out);
        let expected = format!("--- a/n\n+++ b/n\n{diff}");
        assert_eq!((change.kind, change.diff), (FileChangeKind::Update, expected), "{tool}");
    }
}

#[test]
fn a_file_that_cannot_be_read_in_time_is_not_waited_for() {
    let request =
        json!({"tool_name": "Write", "input": {"file_path": "/w/n", "content": "b"}, "tool_use_id": "1"});
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.blind = true;
    let out = harness.ask_approval("1", request.clone());
    assert!(!bodies(&out, harness.session).iter().any(|body| matches!(body, Body::ApprovalRequested(_))));
    assert!(harness.deadline().is_some());
    assert_eq!(change_in(&harness.wait(6)).kind, FileChangeKind::Add);
    // A file that it has read is there.
    harness.tool_use("r", "Read", json!({"file_path": "/w/n"}));
    harness.tool_result("r", false, json!("1\ta"), Value::Null);
    harness.ask_approval("2", request.clone());
    assert_eq!(change_in(&harness.wait(6)).kind, FileChangeKind::Update);
    // It gives up before the file is read: nobody is asked.
    harness.ask_approval("3", request);
    harness.line(&json!({"type": "control_cancel_request", "request_id": "3"}));
    let out = harness.wait(6);
    assert!(out.said.is_empty(), "{:?}", out.said);
}

/// It never asks then; but what it wants to know, and its plan, are for a person.
#[test]
fn in_full_mode_the_driver_says_yes() {
    let mut harness = DriverHarness::in_turn(Mode::Full);
    let out = harness
        .ask_approval("1", json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"}));
    let yes = json!({"behavior": "allow", "updatedInput": {"command": "ls"}});
    assert_eq!(only_line(&out)["response"]["response"], yes);
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    approval_in(&harness.ask_approval("2", json!({"tool_name": "ExitPlanMode", "input": {"plan": "p"}})));
    question_in(
        &harness.ask_approval("3", json!({"tool_name": "AskUserQuestion", "input": {"questions": []}})),
    );
    // From the next ask on it may not.
    harness.tell(AgentCommand::SetMode(Mode::Ask));
    approval_in(
        &harness
            .ask_approval("4", json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "u"})),
    );
}

#[test]
fn an_ask_outlives_the_turn_and_can_be_taken_back() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let out = harness
        .ask_approval("late", json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"}));
    let asked = approval_in(&out);
    assert!(out.said.iter().all(|(_, draft)| draft.turn.is_none()));
    let out = harness.line(&json!({"type": "control_cancel_request", "request_id": "late"}));
    assert_eq!(only_draft(&out).body, Body::ApprovalExpired { approval: asked.approval });
    assert!(harness.decide(asked.approval, AllowOnce).lines.is_empty());
    let again = harness.line(&json!({"type": "control_cancel_request", "request_id": "late"}));
    assert!(matches!(only_draft(&again).body, Body::Raw { .. }));
}

#[test]
fn what_nobody_understands_is_refused() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    for request in [json!({"subtype": "hook_callback"}), json!({"subtype": "can_use_tool", "tool_name": 3})] {
        let out = harness.line(&json!({"type": "control_request", "request_id": "x", "request": request}));
        let response = &only_line(&out)["response"];
        assert_eq!((&response["subtype"], &response["request_id"]), (&json!("error"), &json!("x")));
        assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    }
}

fn questions() -> Value {
    json!({"questions": [
        {"question": "Which colour?", "header": "Colour", "multiSelect": false,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]},
        {"question": "Which sizes?", "header": "Size", "multiSelect": true,
            "options": [{"label": "S"}, {"label": "L"}]},
    ]})
}

#[test]
fn questions_are_answered_by_their_words() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let request = json!({"tool_name": "AskUserQuestion", "input": questions(), "tool_use_id": "q"});
    let out = harness.ask_approval("ask", request.clone());
    let asked = question_in(&out);
    let told = out.said.iter().find(|(_, draft)| matches!(draft.body, Body::QuestionAsked(_))).unwrap();
    assert_eq!(told.1.text, None, "every part has its own text");
    let kinds: Vec<_> =
        asked.fields.iter().map(|field| (field.id.as_str(), field.kind, field.open)).collect();
    assert_eq!(kinds, [("Which colour?", FieldKind::One, true), ("Which sizes?", FieldKind::Many, true)]);
    let answers = BTreeMap::from([
        ("Which colour?".to_owned(), json!("Blue")),
        ("Which sizes?".to_owned(), json!(["S", "L"])),
    ]);
    let answer = QuestionAnswer { action: AnswerAction::Accept, answers, by: "owner".to_owned() };
    let line =
        only_line(&harness.tell(AgentCommand::Answer { question: asked.question, answer: answer.clone() }));
    let mut input = questions();
    input["answers"] = json!({"Which colour?": "Blue", "Which sizes?": "S, L"});
    assert_eq!(line["response"]["response"], json!({"behavior": "allow", "updatedInput": input}));
    assert!(harness.tell(AgentCommand::Answer { question: asked.question, answer }).lines.is_empty());

    for action in [AnswerAction::Decline, AnswerAction::Cancel] {
        let asked = question_in(&harness.ask_approval("ask", request.clone()));
        let answer = QuestionAnswer { action, answers: BTreeMap::new(), by: "owner".to_owned() };
        let line = only_line(&harness.tell(AgentCommand::Answer { question: asked.question, answer }));
        assert_eq!(line["response"]["response"]["behavior"], "deny");
        assert_eq!(line["response"]["response"]["interrupt"], Value::Null);
    }
}

#[test]
fn a_plan_is_shown_before_it_is_asked_about() {
    let mut harness = DriverHarness::in_turn(Mode::Plan);
    let out = harness.tool_use("p", "ExitPlanMode", json!({"plan": "# Plan"}));
    assert_eq!(out.said[1].1.body, Body::PlanUpdated { steps: Vec::new() });
    assert_eq!(out.said[1].1.text.as_deref(), Some("# Plan"));
    let out = harness.ask_approval(
        "ask",
        json!({"tool_name": "ExitPlanMode", "input": {"plan": "# Plan"}, "tool_use_id": "p"}),
    );
    let asked = approval_in(&out);
    assert_eq!(bodies(&out, harness.session).len(), 1, "the call is known already");
    let plan = Subject::Plan { plan: "# Plan".to_owned() };
    assert_eq!(asked.subject, plan);
    // Newer ones do not repeat the plan, and are not told it either.
    let out =
        harness.ask_approval("again", json!({"tool_name": "ExitPlanMode", "input": {}, "tool_use_id": "p"}));
    let asked = approval_in(&out);
    assert_eq!(asked.subject, plan);
    let line = only_line(&harness.decide(asked.approval, AllowOnce));
    assert_eq!(line["response"]["response"]["updatedInput"], json!({}));
}

#[test]
fn a_cancel_ends_the_turn_as_interrupted_even_where_the_agent_says_that_all_is_well() {
    for (decision, expected) in [(Cancel, TurnOutcome::Interrupted), (Deny, TurnOutcome::Completed)] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let request = json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"});
        let asked = approval_in(&harness.ask_approval("a", request));
        harness.decide(asked.approval, decision);
        // So says 2.1.44; later versions say that the turn was aborted.
        let (_, end) = end_in(&harness.result(json!({"subtype": "success", "is_error": false}))).unwrap();
        assert_eq!(end.outcome, expected, "after {decision:?}");
    }
}
