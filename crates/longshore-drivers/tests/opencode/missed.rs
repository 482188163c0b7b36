//! What was missed while the stream of events was broken, sub-agents, and questions that concern no session.

use longshore_model::anchor::{
    Answer, MessagesQuery, ModelsQuery, NativeMessages, NativeSessions, SessionsQuery,
};
use longshore_model::approval::Decision;
use longshore_model::capability::Mode;
use longshore_model::driver::{Http, Input, Output};
use longshore_model::event::{Body, Draft};
use longshore_model::id::TurnId;
use serde_json::{Value, json};

use super::harness::{CHAT, DriverHarness, STEP, USER, approval_in, requests};

fn bodies(out: &Output) -> Vec<&Body> {
    let told = |draft: &&Draft| !matches!(draft.body, Body::Raw { .. });
    out.said.iter().map(|(_, draft)| draft).filter(told).map(|draft| &draft.body).collect()
}

fn reconnect(harness: &mut DriverHarness) -> Output {
    harness.handle(Input::Http(Http::Disconnected));
    harness.handle(Input::Http(Http::Connected))
}

/// What OpenCode has of the turn: two steps, of which nothing was heard but the beginning of the first.
fn messages(done: bool) -> Value {
    let end = if done { json!({"created": 1, "completed": 2}) } else { json!({"created": 1}) };
    let part = |id: &str, message: &str, mut part: Value| {
        part["id"] = json!(id);
        part["messageID"] = json!(message);
        part["sessionID"] = json!(CHAT);
        part
    };
    json!([
        {"info": {"id": "msg_0", "role": "user", "sessionID": CHAT}, "parts": [
            part("prt_0", "msg_0", json!({"type": "text", "text": "earlier"}))
        ]},
        {"info": {"id": USER, "role": "user", "sessionID": CHAT}, "parts": []},
        {"info": {"id": STEP, "role": "assistant", "sessionID": CHAT, "parentID": USER, "time": end}, "parts": [
            part("prt_1", STEP, json!({"type": "text", "text": "half of it", "time": {"end": 1}})),
            part("prt_2", STEP, json!({"type": "tool", "tool": "bash", "callID": "call_2", "state": {
                "status": "completed", "input": {"command": "ls"}, "output": "a", "metadata": {"exit": 0}}})),
        ]},
    ])
}

#[test]
fn a_turn_is_read_again_and_then_asked_about() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.delta("prt_1", "half");
    let out = reconnect(&mut harness);
    assert_eq!(requests(&out), ["GET /session/ses_1/message", "GET /permission", "GET /question"]);
    let out = harness.answer("GET /session/ses_1/message", 200, messages(true));
    let told = bodies(&out);
    assert!(matches!(
        told.as_slice(),
        [Body::MessageDone { .. }, Body::ToolStarted(_), Body::ToolFinished(_)]
    ));
    assert_eq!(requests(&out), ["GET /session/status"]);
    let out = harness.answer("GET /session/status", 200, json!({}));
    assert!(matches!(bodies(&out).as_slice(), [Body::TurnFinished(_)]));
    // Told again, it is no news.
    let out = harness.tool("prt_2", "bash", json!({"status": "completed", "output": "a"}));
    assert!(bodies(&out).is_empty());
}

#[test]
fn a_turn_that_goes_on_goes_on() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    reconnect(&mut harness);
    harness.answer("GET /session/ses_1/message", 200, messages(false));
    let out = harness.answer("GET /session/status", 200, json!({CHAT: {"type": "busy"}}));
    assert!(bodies(&out).is_empty());
    harness.step_done();
    assert!(matches!(bodies(&harness.idle()).as_slice(), [Body::TurnFinished(_)]));
}

#[test]
fn a_prompt_that_was_not_heard_of_is_found_again() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    reconnect(&mut harness);
    let out = harness.answer("GET /session/ses_1/message", 200, messages(true));
    assert!(matches!(bodies(&out)[0], Body::MessageDone { .. }), "{:?}", out.said);
    let out = harness.answer("GET /session/status", 200, json!({}));
    assert!(matches!(bodies(&out).as_slice(), [Body::TurnFinished(_)]));
}

#[test]
fn what_waits_is_found_and_what_no_longer_waits_is_dropped() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let gone = approval_in(&harness.asked("per_1", "bash", json!({}))).approval;
    reconnect(&mut harness);
    let ask = |id: &str, message: &str| json!({"id": id, "sessionID": CHAT, "permission": "bash", "tool": {"messageID": message, "callID": "c"}});
    let out = harness.answer("GET /permission", 200, json!([ask("per_2", STEP)]));
    let told = bodies(&out);
    let [Body::ApprovalExpired { approval }, Body::ApprovalRequested(found)] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(*approval, gone);
    assert_eq!(
        requests(&harness.decide(found.approval, Decision::AllowOnce)),
        ["POST /permission/per_2/reply"]
    );
    let asked = json!([{"id": "que_1", "sessionID": CHAT, "questions": [{"question": "Why?"}]}]);
    let out = harness.answer("GET /question", 200, asked);
    assert!(matches!(bodies(&out).as_slice(), [Body::QuestionAsked(_)]));
}

/// OpenCode lists for ever what a turn that was stopped waited for.
#[test]
fn an_ask_of_a_turn_that_is_over_is_not_shown_again() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.asked("per_1", "bash", json!({"tool": {"messageID": STEP, "callID": "c"}}));
    harness.step_done();
    harness.idle();
    harness.turn = TurnId(harness.session.0);
    harness.say("next");
    harness.event("message.updated", json!({"info": {"id": "msg_5", "role": "user", "sessionID": CHAT}}));
    reconnect(&mut harness);
    let old = json!([{"id": "per_1", "sessionID": CHAT, "permission": "bash",
        "tool": {"messageID": STEP, "callID": "c"}}]);
    assert!(bodies(&harness.answer("GET /permission", 200, old)).is_empty());
}

fn child(harness: &mut DriverHarness, id: &str) -> Output {
    let info = json!({"id": id, "parentID": CHAT, "title": "sub work", "directory": "/w"});
    harness.event("session.created", json!({"info": info, "sessionID": id}))
}

#[test]
fn a_sub_agent_is_a_session_with_the_rules_of_its_parent() {
    let mut harness = DriverHarness::in_turn(Mode::AutoEdit);
    harness.tool("prt_1", "task", json!({"status": "pending", "input": {}}));
    let out = child(&mut harness, "ses_2");
    let told = bodies(&out);
    let [Body::DelegationStarted(delegation), Body::SessionOpened(opened), Body::SessionReady(ready)] =
        told.as_slice()
    else {
        panic!("{told:?}")
    };
    assert_eq!((opened.parent, ready.native.as_deref()), (Some(harness.session), Some("ses_2")));
    assert_eq!(out.said.iter().filter(|(session, _)| *session == delegation.child).count(), 2);
    assert_eq!(requests(&out), ["PATCH /session/ses_2"]);
    let metadata = json!({"status": "running", "input": {"prompt": "p"}, "metadata": {"sessionId": "ses_2"}});
    let out = harness.tool("prt_1", "task", metadata);
    assert!(matches!(bodies(&out).as_slice(), [Body::ToolUpdated(_)]), "it is known whose it is");
}

#[test]
fn of_two_calls_the_one_that_says_so_has_the_child() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    for id in ["prt_1", "prt_2"] {
        harness.tool(id, "task", json!({"status": "pending", "input": {}}));
    }
    let out = child(&mut harness, "ses_2");
    assert!(matches!(bodies(&out).as_slice(), [Body::SessionOpened(_), Body::SessionReady(_)]));
    let running = json!({"status": "running", "input": {}, "metadata": {"sessionId": "ses_2"}});
    let out = harness.tool("prt_2", "task", running);
    let Some((_, started)) =
        out.said.iter().find(|(_, draft)| matches!(draft.body, Body::DelegationStarted(_)))
    else {
        panic!("{:?}", out.said)
    };
    let finished = json!({"status": "completed", "output": "done"});
    let end = harness.tool("prt_2", "task", finished);
    assert_eq!(end.said[0].1.item, started.item);
}

#[test]
fn with_its_parent_a_sub_agent_ends_too() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tool("prt_1", "task", json!({"status": "pending", "input": {}}));
    child(&mut harness, "ses_2");
    let out = harness.handle(Input::Close { session: harness.session });
    assert_eq!(out.ended.len(), 1);
    assert_eq!(requests(&out), ["POST /session/ses_1/abort"], "OpenCode stops the child with it");
}

#[test]
fn models_are_named_by_their_provider() {
    let mut harness = DriverHarness::new();
    let (id, out) = harness.ask(ModelsQuery { agent: "opencode".into(), anew: false });
    assert_eq!(requests(&out), ["GET /config/providers"]);
    let variants = json!({"high": {}, "own": {}, "low": {"reasoningEffort": "low"}, "medium": {}});
    let model = json!({"name": "Script One", "limit": {"context": 128_000}, "variants": variants});
    let providers = json!({"providers": [{"id": "scripted", "name": "Scripted", "models": {"script-1": model}}],
        "default": {"scripted": "script-1"}});
    let out = harness.answer("GET /config/providers", 200, providers);
    let (answered, Ok(Answer::Models(models))) = &out.answers[0] else { panic!("{:?}", out.answers) };
    assert_eq!(*answered, id);
    assert_eq!((models[0].id.as_str(), models[0].default), ("scripted/script-1", true));
    assert_eq!(models[0].efforts, ["low", "medium", "high", "own"], "from the least to the most");
}

#[test]
fn conversations_come_in_pages() {
    let mut harness = DriverHarness::new();
    let (_, out) =
        harness.ask(SessionsQuery { agent: "opencode".into(), cursor: Some("17".to_owned()), limit: 2 });
    assert_eq!(out.requests[0].path, "/experimental/session?archived=true&limit=2&cursor=17");
    let session = |id: &str, updated: u64| json!({"id": id, "title": "t", "directory": "/w", "time": {"updated": updated}});
    let out =
        harness.answer("GET /experimental/session", 200, json!([session("ses_1", 9), session("ses_2", 8)]));
    let (_, Ok(Answer::Sessions(NativeSessions { sessions, next }))) = &out.answers[0] else {
        panic!("{:?}", out.answers)
    };
    assert_eq!(
        (sessions[0].native.as_str(), next.as_deref()),
        ("ses_1", Some("9")),
        "there may be more of 8"
    );
    harness.ask(SessionsQuery { agent: "opencode".into(), cursor: None, limit: 2 });
    let out = harness.answer("GET /experimental/session", 200, json!([session("ses_3", 7)]));
    assert!(matches!(&out.answers[0], (_, Ok(Answer::Sessions(NativeSessions { next: None, .. })))));
    harness.ask(SessionsQuery { agent: "opencode".into(), cursor: None, limit: 2 });
    assert!(harness.answer("GET /experimental/session", 200, json!("<html>")).answers[0].1.is_err());
}

#[test]
fn messages_come_in_pages_as_they_are() {
    let mut harness = DriverHarness::new();
    let mut ask = |native: &str, cursor: Option<&str>| {
        let (native, cursor) = (native.to_owned(), cursor.map(str::to_owned));
        harness.ask(MessagesQuery { agent: "opencode".into(), native, cursor }).1
    };
    assert_eq!(
        ask("ses_1", Some("a+b=")).requests[0].path,
        "/session/ses_1/message?limit=100&before=a%2Bb%3D"
    );
    let out = ask("../config", None);
    assert!(out.requests.is_empty() && out.answers[0].1.is_err(), "no name of a conversation: {out:?}");
    let message =
        |n: u64| json!({"info": {"id": format!("msg_{n}"), "time": {"created": n}}, "parts": [{"x": n}]});
    let all: Vec<Value> = (5..105).map(message).collect();
    let out = harness.answer("GET /session/ses_1/message", 200, json!(all));
    let (_, Ok(Answer::Messages(NativeMessages { messages, before }))) = &out.answers[0] else {
        panic!("{:?}", out.answers)
    };
    assert_eq!((messages.len(), &*messages[0]), (100, message(5).to_string().as_str()));
    // `{"id":"msg_5","time":5}`
    assert_eq!(before.as_deref(), Some("eyJpZCI6Im1zZ181IiwidGltZSI6NX0="));
    assert!(out.said.is_empty(), "it concerns no session");
}
