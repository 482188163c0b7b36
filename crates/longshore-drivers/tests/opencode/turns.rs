//! Turns begin, rest and end.

use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::driver::Output;
use longshore_model::event::Body;
use longshore_model::id::PromptId;
use longshore_model::lifecycle::{TurnEnd, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use super::harness::{CHAT, DriverHarness, only_body, requests};

fn end_in(out: &Output) -> Option<TurnEnd> {
    out.said.iter().find_map(|(_, draft)| match &draft.body {
        Body::TurnFinished(end) => Some(end.clone()),
        _ => None,
    })
}

#[test]
fn a_turn_ends_when_opencode_rests_and_says_what_it_used() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.step_done();
    let out = harness.idle();
    let end = end_in(&out).unwrap();
    assert_eq!((end.outcome, end.cost_usd), (TurnOutcome::Completed, Some(0.5)));
    let usage = end.usage.unwrap();
    assert_eq!((usage.input, usage.cached_input), (Some(100), Some(40)));
    assert_eq!((usage.output, usage.reasoning), (Some(20), Some(3)));
    assert_eq!(harness.deadline(), None);
}

#[test]
fn what_is_not_known_is_not_nothing() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let tokens = json!({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    harness.step(json!({"time": {"completed": 1}, "tokens": tokens, "cost": 0}));
    let end = end_in(&harness.idle()).unwrap();
    assert_eq!((end.usage, end.cost_usd), (None, None));
}

/// It rests before the last words of a turn that was stopped, and once more after them.
#[test]
fn a_turn_that_is_stopped_ends_once_and_after_its_last_words() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.delta("prt_1", "half");
    let out = harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    assert_eq!(requests(&out), ["POST /session/ses_1/abort"]);
    harness.event("session.error", json!({"error": {"name": "MessageAbortedError", "data": {}}}));
    assert!(end_in(&harness.idle()).is_none());
    let out = harness.part("prt_1", "text", json!({"text": "half", "time": {"end": 1}}));
    assert!(matches!(out.said[0].1.body, Body::MessageDone { .. }));
    let error = json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}});
    let end = end_in(&harness.step(json!({"time": {"completed": 1}, "error": error}))).unwrap();
    assert_eq!(end.outcome, TurnOutcome::Interrupted);
    // The next turn is asked for already when it rests for the second time.
    harness.say("next");
    assert!(end_in(&harness.idle()).is_none());
    assert!(harness.deadline().is_some(), "whether it is heard of is looked after");
}

#[test]
fn a_message_that_stays_open_is_asked_about() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.idle();
    assert!(harness.wait(1).requests.is_empty());
    assert_eq!(requests(&harness.wait(1)), ["GET /session/status"]);
    let busy = json!({CHAT: {"type": "busy"}});
    assert!(end_in(&harness.answer("GET /session/status", 200, busy)).is_none());
    harness.idle();
    harness.wait(2);
    let end = end_in(&harness.answer("GET /session/status", 200, json!({}))).unwrap();
    assert_eq!(end.outcome, TurnOutcome::Completed);
}

#[test]
fn work_that_goes_on_is_no_rest() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.idle();
    harness.event("session.status", json!({"status": {"type": "busy"}}));
    assert_eq!(harness.deadline(), None);
    assert!(end_in(&harness.step_done()).is_none());
}

#[test]
fn a_prompt_that_nothing_comes_of_fails() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    harness.answer("POST /session/ses_1/prompt_async", 204, Value::Null);
    assert_eq!(requests(&harness.wait(30)), ["GET /session/status"]);
    // A status that does not come is asked for again.
    harness.no_answer("GET /session/status");
    assert_eq!(requests(&harness.wait(30)), ["GET /session/status"]);
    let end = end_in(&harness.answer("GET /session/status", 200, json!({}))).unwrap();
    assert_eq!(end.error.unwrap().code, TurnErrorCode::Timeout);
}

#[test]
fn a_prompt_that_is_refused_fails_with_the_reason() {
    for (status, body, words) in [
        (400, json!({"name": "BadRequest", "data": {"message": "Missing key"}}), "Missing key"),
        (500, json!("oops"), "status 500"),
    ] {
        let mut harness = DriverHarness::ready(Mode::Ask);
        harness.say("go");
        let end = end_in(&harness.answer("POST /session/ses_1/prompt_async", status, body)).unwrap();
        assert!(end.error.unwrap().message.ends_with(words));
    }
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    assert!(end_in(&harness.no_answer("POST /session/ses_1/prompt_async")).is_some());
    assert_eq!(harness.deadline(), None);
}

#[test]
fn an_error_has_a_word_that_is_the_same_for_every_agent() {
    for (name, data, code) in [
        ("ProviderAuthError", json!({"message": "no key"}), TurnErrorCode::Unauthorized),
        ("APIError", json!({"message": "m", "statusCode": 401}), TurnErrorCode::Unauthorized),
        ("APIError", json!({"message": "m", "statusCode": 402}), TurnErrorCode::UsageLimit),
        ("APIError", json!({"message": "m", "statusCode": 429}), TurnErrorCode::RateLimited),
        ("APIError", json!({"message": "m", "statusCode": 503}), TurnErrorCode::Overloaded),
        ("APIError", json!({"message": "m", "statusCode": 400}), TurnErrorCode::Other),
        ("ContextOverflowError", json!({"message": "m"}), TurnErrorCode::ContextWindow),
        ("UnknownError", json!({"message": "connect ECONNREFUSED 127.0.0.1:1"}), TurnErrorCode::Network),
        ("UnknownError", json!({}), TurnErrorCode::Other),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        harness.event("session.error", json!({"error": {"name": name, "data": data}}));
        harness.step_done();
        let end = end_in(&harness.idle()).unwrap();
        assert_eq!(end.outcome, TurnOutcome::Failed);
        assert_eq!(end.error.unwrap().code, code, "{name}");
    }
}

#[test]
fn a_turn_that_is_over_can_still_be_interrupted() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let end = end_in(&harness.tell(AgentCommand::Interrupt { turn: harness.turn })).unwrap();
    assert_eq!(end.outcome, TurnOutcome::Interrupted);
}

#[test]
fn what_is_said_while_it_works_is_said_into_the_turn() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let prompt = PromptId(harness.session.0);
    let (turn, text) = (harness.turn, "also this".to_owned());
    let out = harness.tell(AgentCommand::Steer { turn, prompt, text, attachments: Vec::new() });
    assert_eq!(requests(&out), ["POST /session/ses_1/prompt_async"]);
    let info = json!({"id": "msg_3", "role": "user", "sessionID": CHAT});
    let out = harness.event("message.updated", json!({"info": info}));
    assert!(matches!(out.said[0].1.body, Body::Raw { .. }), "the session has taken it down");
    harness.step_done();
    let info = json!({"id": "msg_4", "role": "assistant", "parentID": "msg_3", "sessionID": CHAT});
    harness.event("message.updated", json!({"info": info}));
    assert!(end_in(&harness.idle()).is_none(), "the answer to it is not done");
}

#[test]
fn turns_that_others_begin_are_told_with_their_words() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let info = json!({"id": "msg_9", "role": "user", "sessionID": CHAT});
    let out = harness.event("message.updated", json!({"info": info}));
    assert!(matches!(out.said[0].1.body, Body::TurnStarted { prompt: None }));
    let part = json!({"id": "prt_9", "type": "text", "text": "hi", "messageID": "msg_9", "sessionID": CHAT});
    let out = harness.event("message.part.updated", json!({"part": part}));
    assert!(matches!(out.said[0].1.body, Body::UserMessage { prompt: None, .. }));
    assert_eq!(out.said[0].1.text.as_deref(), Some("hi"));
}

#[test]
fn slash_commands_that_it_knows_are_run_as_such() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let out = harness.say("/init the tests");
    assert_eq!(requests(&out), ["POST /session/ses_1/command"]);
    assert!(out.requests[0].patient, "it is answered when the turn is over");
    let body = only_body(&out);
    assert_eq!((&body["command"], &body["arguments"]), (&json!("init"), &json!("the tests")));
    let mut harness = DriverHarness::ready(Mode::Ask);
    assert_eq!(requests(&harness.say("/unknown thing")), ["POST /session/ses_1/prompt_async"]);
}

#[test]
fn mode_and_model_go_with_the_prompt() {
    let mut harness = DriverHarness::ready(Mode::Plan);
    assert_eq!(only_body(&harness.say("plan"))["agent"], "plan");
    harness.tell(AgentCommand::SetMode(Mode::Ask));
    harness.tell(AgentCommand::SetModel("scripted/script/1".to_owned()));
    let body = only_body(&harness.say("do"));
    assert_eq!(body["agent"], "build");
    assert_eq!(body["model"], json!({"providerID": "scripted", "modelID": "script/1"}));
    assert_eq!(only_body(&harness.say("more"))["agent"], Value::Null);
    let out = harness.tell(AgentCommand::SetModel("nonsense".to_owned()));
    assert!(matches!(out.said[0].1.body, Body::Notice { .. }));
    assert_eq!(only_body(&harness.say("on"))["model"], Value::Null);
}

#[test]
fn attachments_are_files_wherever_they_are() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let attachment = |source| Attachment { name: None, media_type: "image/png".to_owned(), source };
    let attachments = vec![
        attachment(AttachmentSource::Data("AAAA".to_owned())),
        attachment(AttachmentSource::Path("/w/a.png".to_owned())),
        attachment(AttachmentSource::Url("https://x/a.png".to_owned())),
    ];
    let (turn, prompt) = (harness.turn, PromptId(harness.session.0));
    let text = String::new();
    let body = only_body(&harness.tell(AgentCommand::Prompt { turn, prompt, text, attachments }));
    let urls: Vec<&str> =
        body["parts"].as_array().unwrap().iter().map(|part| part["url"].as_str().unwrap()).collect();
    assert_eq!(urls, ["data:image/png;base64,AAAA", "file:///w/a.png", "https://x/a.png"]);
}

#[test]
fn how_hard_it_thinks_is_told_with_every_prompt() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    assert_eq!(only_body(&harness.say("first"))["variant"], serde_json::Value::Null);
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.tell(AgentCommand::SetEffort("high".to_owned()));
    assert_eq!(only_body(&harness.say("first"))["variant"], "high");
}
