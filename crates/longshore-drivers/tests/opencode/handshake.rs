//! From a launch to a session that is ready, or why not; and the end of one.

use longshore_model::anchor::Start;
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::Input;
use longshore_model::event::Body;
use longshore_model::lifecycle::FaultCode;
use serde_json::json;

use super::harness::{CHAT, DriverHarness, only_body, only_draft, requests};

#[test]
fn a_new_conversation_has_the_rules_of_its_mode() {
    for (mode, edit, bash) in [
        (Mode::Plan, "deny", "ask"),
        (Mode::Ask, "ask", "ask"),
        (Mode::AutoEdit, "allow", "ask"),
        (Mode::Full, "allow", "allow"),
    ] {
        let out = DriverHarness::new().open(mode, Start::New);
        assert_eq!(out.requests[0].path, "/session?directory=/w");
        let rules = only_body(&out)["permission"].as_array().unwrap().clone();
        // As OpenCode reads them: the last one that fits counts.
        let verdict = |permission: &str| {
            let fits =
                |rule: &&serde_json::Value| rule["permission"] == permission || rule["permission"] == "*";
            rules.iter().rev().find(fits).map(|rule| rule["action"].as_str().unwrap().to_owned())
        };
        assert_eq!(verdict("edit").as_deref(), Some(edit), "{mode}");
        assert_eq!(verdict("bash").as_deref(), Some(bash), "{mode}");
    }
}

#[test]
fn it_is_ready_with_its_answer_and_lists_its_commands() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::New);
    let out = harness.answer("POST /session", 200, json!({"id": CHAT, "version": "1.18.33"}));
    let Body::SessionReady(ready) = &only_draft(&out).body else { panic!("{:?}", out.said) };
    assert_eq!((ready.native.as_deref(), ready.version.as_deref()), (Some(CHAT), Some("1.18.33")));
    let out = harness.answer("GET /command", 200, json!([{"name": "init", "description": "d"}]));
    let Body::CommandsListed { commands } = &only_draft(&out).body else { panic!("{:?}", out.said) };
    assert_eq!((commands[0].name.as_str(), commands[0].description.as_str()), ("init", "d"));
}

#[test]
fn a_conversation_is_gone_on_with_under_the_rules_of_now() {
    let mut harness = DriverHarness::new();
    let out = harness.open(Mode::Full, Start::Resume { native: CHAT.to_owned() });
    assert_eq!(requests(&out), ["GET /session/ses_1"]);
    let out = harness.answer("GET /session/ses_1", 200, json!({"id": CHAT, "directory": "/elsewhere"}));
    assert!(matches!(only_draft(&out).body, Body::SessionReady(_)));
    assert_eq!(requests(&out), ["PATCH /session/ses_1", "GET /command"]);
    assert_eq!(out.requests[0].path, "/session/ses_1?directory=/elsewhere", "where it was held");
}

/// It tells of all that it copies, now before it answers and now after the first prompt.
#[test]
fn what_a_copy_took_over_is_no_news() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Fork { native: "ses_0".to_owned() });
    let copied =
        json!({"info": {"id": "msg_a", "role": "assistant", "sessionID": CHAT, "time": {"created": 5}}});
    harness.event("message.updated", copied.clone());
    let time = json!({"created": 9});
    harness.answer("POST /session/ses_0/fork", 200, json!({"id": CHAT, "directory": "/w", "time": time}));
    harness.event("message.updated", copied);
    harness.say("in the copy");
    let part = |id: &str, message: &str| {
        let time = json!({"start": 5, "end": 6});
        json!({"part": {"id": id, "type": "text", "text": "old", "messageID": message, "sessionID": CHAT, "time": time}})
    };
    for message in ["msg_a", "msg_b"] {
        let out = harness.event("message.part.updated", part("prt_1", message));
        assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "{message}: {:?}", out.said);
    }
}

#[test]
fn one_that_opencode_does_not_know_any_more_ends_its_session_and_no_other() {
    for start in [Start::Resume { native: CHAT.to_owned() }, Start::Fork { native: CHAT.to_owned() }] {
        let what = match start {
            Start::Fork { .. } => "POST /session/ses_1/fork",
            _ => "GET /session/ses_1",
        };
        let mut harness = DriverHarness::new();
        harness.open(Mode::Ask, start);
        let refusal = json!({"name": "NotFoundError", "data": {"message": "Session not found: ses_1"}});
        let out = harness.answer(what, 404, refusal);
        let Body::SessionError(fault) = &only_draft(&out).body else { panic!("{:?}", out.said) };
        assert_eq!(fault.code, FaultCode::ResumeFailed);
        assert_eq!(out.ended.len(), 1);
        assert!(out.finished.is_none());
    }
}

#[test]
fn an_answer_that_is_a_page_for_people_is_none() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::New);
    let out = harness.answer("POST /session", 200, json!("<!doctype html>"));
    let Body::SessionError(fault) = &only_draft(&out).body else { panic!("{:?}", out.said) };
    assert_eq!((fault.code, out.ended.len()), (FaultCode::StartFailed, 1));
}

#[test]
fn what_the_log_holds_is_told_with_the_first_prompt() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Told { story: "Once.".to_owned() });
    harness.answer("POST /session", 200, json!({"id": CHAT}));
    let texts = |out: &longshore_model::driver::Output| -> Vec<String> {
        let body = only_body(out);
        let parts = body["parts"].as_array().unwrap().iter();
        parts.map(|part| part["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&harness.say("go")), ["Once.", "go"]);
    harness.idle();
    assert_eq!(texts(&harness.say("on")), ["on"]);
}

#[test]
fn a_session_that_is_stopped_is_not_spoken_of_again() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness.handle(Input::Close { session: harness.session });
    assert_eq!(requests(&out), ["POST /session/ses_1/abort"]);
    assert!(harness.idle().said.is_empty());
    assert!(harness.delta("prt_1", "late").said.is_empty());
    assert!(harness.tell(AgentCommand::Archive(true)).requests.is_empty());
    assert_eq!(harness.deadline(), None);
}

#[test]
fn a_session_can_be_stopped_before_it_began() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::New);
    harness.handle(Input::Close { session: harness.session });
    let out = harness.answer("POST /session", 200, json!({"id": CHAT}));
    assert!(out.said.is_empty() && out.requests.is_empty());
}
