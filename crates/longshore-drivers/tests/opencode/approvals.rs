//! What OpenCode asks, and how an answer reads in its words.

use longshore_model::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer, Subject};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::event::Body;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::harness::{DriverHarness, approval_in, only_body, plain, question_in, requests};

#[test]
fn decisions_read_so_in_their_words() {
    for (decision, message, expected) in [
        (Decision::AllowOnce, None, json!({"reply": "once"})),
        (Decision::AllowAlways, None, json!({"reply": "always"})),
        (Decision::Deny, Some("use rg"), json!({"reply": "reject", "message": "use rg"})),
        (Decision::Cancel, Some("stop"), json!({"reply": "reject"})),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let approval = approval_in(&harness.asked("per_1", "bash", json!({}))).approval;
        let decision = ApprovalDecision { message: message.map(str::to_owned), ..plain(decision) };
        let out = harness.decide_so(approval, decision.clone());
        assert_eq!(requests(&out), ["POST /permission/per_1/reply"]);
        assert_eq!(only_body(&out), expected);
        assert!(harness.decide_so(approval, decision).requests.is_empty(), "once is enough");
    }
}

/// Without a word it would stop the turn.
#[test]
fn a_no_always_has_words_so_that_the_model_goes_on() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let approval = approval_in(&harness.asked("per_1", "bash", json!({}))).approval;
    let body = only_body(&harness.decide(approval, Decision::Deny));
    assert!(body["message"].as_str().is_some_and(|words| !words.is_empty()));
}

#[test]
fn for_this_session_is_a_rule_of_the_session() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let approval = approval_in(&harness.asked("per_1", "bash", json!({}))).approval;
    let out = harness.decide(approval, Decision::AllowSession);
    assert_eq!(requests(&out), ["PATCH /session/ses_1", "POST /permission/per_1/reply"]);
    let rule: Value = serde_json::from_str(out.requests[0].body.as_deref().unwrap()).unwrap();
    let expected = json!([{"permission": "bash", "pattern": "ls *", "action": "allow"}]);
    assert_eq!(rule["permission"], expected);
    assert!(
        out.requests.iter().all(|request| request.session == Some(harness.session)),
        "one after the other"
    );
}

#[test]
fn what_cannot_be_allowed_for_longer_is_not_offered_for_longer() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let request = approval_in(&harness.asked("per_1", "bash", json!({"always": []})));
    assert_eq!(request.options, [Decision::AllowOnce, Decision::Deny, Decision::Cancel]);
}

/// Denied at once it would take all the others with it.
#[test]
fn a_no_waits_until_nothing_else_does() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let first = approval_in(&harness.asked("per_1", "bash", json!({}))).approval;
    let second = approval_in(&harness.asked("per_2", "bash", json!({}))).approval;
    assert!(harness.decide(first, Decision::Deny).requests.is_empty());
    let out = harness.decide(second, Decision::AllowOnce);
    assert_eq!(requests(&out), ["POST /permission/per_2/reply", "POST /permission/per_1/reply"]);
}

#[test]
fn what_goes_with_another_one_needs_no_decision_any_more() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let first = approval_in(&harness.asked("per_1", "bash", json!({}))).approval;
    let second = approval_in(&harness.asked("per_2", "bash", json!({}))).approval;
    harness.decide(first, Decision::Cancel);
    let out = harness.event("permission.replied", json!({"requestID": "per_1", "reply": "reject"}));
    assert!(matches!(out.said[0].1.body, Body::Raw { .. }));
    let out = harness.event("permission.replied", json!({"requestID": "per_2", "reply": "reject"}));
    assert!(matches!(out.said[0].1.body, Body::ApprovalExpired { approval } if approval == second));
    harness.step_done();
    let out = harness.idle();
    let Body::TurnFinished(end) = &out.said[0].1.body else { panic!("{:?}", out.said) };
    assert_eq!(end.outcome, TurnOutcome::Interrupted);
}

/// Its own times begin before it asks: how long the tool itself took is for the session to say.
#[test]
fn the_time_of_a_call_that_was_asked_about_is_not_told() {
    let ran = |harness: &mut DriverHarness, asks: bool| {
        let input = json!({"command": "make"});
        let running = json!({"status": "running", "input": input, "time": {"start": 1_000}});
        harness.tool("prt_1", "bash", running);
        if asks {
            let tool = json!({"messageID": "msg_1", "callID": "call_prt_1"});
            let approval = approval_in(&harness.asked("per_1", "bash", json!({"tool": tool}))).approval;
            harness.decide(approval, Decision::AllowOnce);
        }
        let done = json!({
            "status": "completed", "input": input, "output": "", "metadata": {"exit": 0},
            "time": {"start": 1_000, "end": 601_000},
        });
        let out = harness.tool("prt_1", "bash", done);
        let ended = out.said.iter().find_map(|(_, draft)| match &draft.body {
            Body::ToolFinished(outcome) => Some(outcome.duration_ms),
            _ => None,
        });
        ended.expect("the call has ended")
    };
    assert_eq!(ran(&mut DriverHarness::in_turn(Mode::Ask), false), Some(600_000));
    assert_eq!(ran(&mut DriverHarness::in_turn(Mode::Ask), true), None);
}

#[test]
fn an_answer_that_comes_too_late_is_no_fault() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let approval = approval_in(&harness.asked("per_1", "bash", json!({}))).approval;
    harness.decide(approval, Decision::AllowOnce);
    let gone = json!({"_tag": "PermissionNotFoundError", "message": "Permission request not found: per_1"});
    let out = harness.answer("POST /permission/per_1/reply", 404, gone);
    assert!(matches!(out.said[0].1.body, Body::Raw { .. }), "{:?}", out.said);
    let approval = approval_in(&harness.asked("per_2", "bash", json!({}))).approval;
    harness.decide(approval, Decision::AllowOnce);
    let out = harness.no_answer("POST /permission/per_2/reply");
    assert!(matches!(out.said[0].1.body, Body::SessionError(_)), "{:?}", out.said);
}

#[test]
fn modes_answer_what_a_sub_agent_asks_all_the_same() {
    let asked = |mode, permission| {
        let out = DriverHarness::in_turn(mode).asked("per_1", permission, json!({}));
        (!out.requests.is_empty()).then(|| only_body(&out)["reply"].as_str().unwrap().to_owned())
    };
    assert_eq!(asked(Mode::Full, "bash").as_deref(), Some("once"));
    assert_eq!(asked(Mode::AutoEdit, "edit").as_deref(), Some("once"));
    assert_eq!(asked(Mode::AutoEdit, "bash"), None);
    assert_eq!(asked(Mode::Plan, "edit").as_deref(), Some("reject"));
    assert_eq!(asked(Mode::Ask, "edit"), None);
}

#[test]
fn what_it_is_about_is_told_by_kind() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let asked = |harness: &mut DriverHarness, id: &str, permission: &str, metadata: Value| {
        approval_in(&harness.asked(id, permission, json!({"metadata": metadata}))).subject
    };
    let subject = asked(&mut harness, "per_1", "bash", json!({"command": "ls; pwd"}));
    assert!(matches!(subject, Subject::Command { command, .. } if command == "ls; pwd"));
    let diff = json!({"filepath": "/w/a", "diff": "@@ -1 +1 @@\n-a\n+b\n"});
    let subject = asked(&mut harness, "per_2", "edit", diff);
    assert!(matches!(subject, Subject::Edit { changes, .. } if changes[0].path == "/w/a"));
    let subject = asked(&mut harness, "per_3", "external_directory", json!({"filepath": "/etc/x"}));
    assert!(matches!(subject, Subject::Permissions { .. }));
    let subject = asked(&mut harness, "per_4", "webfetch", json!({"url": "https://x"}));
    assert!(matches!(subject, Subject::Tool { name, .. } if name == "webfetch"));
}

fn question(harness: &mut DriverHarness) -> longshore_model::approval::QuestionRequest {
    let questions = json!([
        {"question": "Which?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue"}]},
        {"question": "What else?", "header": "More", "options": [{"label": "A"}, {"label": "B"}], "multiple": true},
        {"question": "Why?", "header": "Reason", "options": []},
    ]);
    question_in(&harness.event("question.asked", json!({"id": "que_1", "questions": questions})))
}

#[test]
fn questions_are_answered_by_their_place() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let asked = question(&mut harness);
    let mut answer =
        QuestionAnswer { action: AnswerAction::Accept, answers: Default::default(), by: "o".into() };
    answer.answers.insert("1".to_owned(), json!("Blue"));
    answer.answers.insert("2".to_owned(), json!(["A", "B"]));
    answer.answers.insert("3".to_owned(), json!("because"));
    let out = harness.tell(AgentCommand::Answer { question: asked.question, answer });
    assert_eq!(requests(&out), ["POST /question/que_1/reply"]);
    assert_eq!(only_body(&out)["answers"], json!([["Blue"], ["A", "B"], ["because"]]));
}

#[test]
fn a_question_that_is_declined_lets_the_agent_go_on_and_one_that_is_waved_away_stops_it() {
    for (action, path, outcome) in [
        (AnswerAction::Decline, "POST /question/que_1/reply", TurnOutcome::Completed),
        (AnswerAction::Cancel, "POST /question/que_1/reject", TurnOutcome::Interrupted),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let asked = question(&mut harness);
        let answer = QuestionAnswer { action, answers: Default::default(), by: "o".into() };
        let out = harness.tell(AgentCommand::Answer { question: asked.question, answer });
        assert_eq!(requests(&out), [path]);
        harness.step_done();
        let out = harness.idle();
        assert!(matches!(&out.said[0].1.body, Body::TurnFinished(end) if end.outcome == outcome));
    }
}
