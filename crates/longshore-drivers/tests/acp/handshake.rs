//! From the first line to a session that is ready, or why not.

use longshore_model::anchor::{Answer, ModelsQuery, NativeSessions, SessionsQuery, Start};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::event::Body;
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnErrorCode};
use serde_json::{Value, json};

use super::harness::{
    DriverHarness, NATIVE, bodies, greeting, last_draft, lines, only_draft, only_line, with_modes,
};

const OLD: &str = "s-0";

fn fault(code: FaultCode) -> Body {
    Body::SessionError(SessionFault { code })
}

#[test]
fn what_is_offered_is_what_the_row_says() {
    for (mut harness, offered) in [(DriverHarness::of("gemini"), false), (DriverHarness::unknown(), true)] {
        let hello = only_line(&harness.open(Mode::Ask, Start::New));
        assert_eq!((&hello["jsonrpc"], &hello["method"]), (&json!("2.0"), &json!("initialize")));
        assert_eq!(hello["params"]["protocolVersion"], 1);
        assert_eq!(hello["params"]["clientInfo"]["name"], "longshore");
        let capabilities = &hello["params"]["clientCapabilities"];
        assert_eq!(capabilities["fs"], json!({"readTextFile": offered, "writeTextFile": offered}));
        assert_eq!(capabilities["terminal"], offered);
        assert_eq!(capabilities["elicitation"], json!({"form": {}, "url": {}}));
        let new = only_line(&harness.answer_ok("initialize", greeting(json!({}))));
        assert_eq!(new["method"], "session/new");
        assert_eq!(new["params"], json!({"cwd": "/w", "mcpServers": []}));
    }
}

#[test]
fn a_session_is_ready_with_what_the_agent_says_of_itself() {
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    let models = json!({"currentModelId": "m-1", "availableModels": [{"modelId": "m-1", "name": "M"}]});
    let out = harness.answer_ok("session/new", json!({"sessionId": NATIVE, "models": models}));
    let Body::SessionReady(ready) = &only_draft(&out).body else { panic!("{out:?}") };
    assert_eq!((ready.native.as_deref(), ready.version.as_deref()), (Some(NATIVE), Some("9.9")));
    assert_eq!(ready.model.as_deref(), Some("m-1"));
    assert!(only_draft(&out).raw.is_some());
}

#[test]
fn what_is_said_before_the_session_has_a_name_is_heard_after_it_has() {
    let mut harness = DriverHarness::of("copilot");
    harness.open(Mode::Ask, Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    let commands = json!({"availableCommands": [{"name": "plan", "description": "plans"}]});
    let early = harness.update("available_commands_update", commands);
    // It is kept at once, in case that the session never comes to be.
    assert!(matches!(only_draft(&early).body, Body::Raw { .. }) && early.lines.is_empty());
    let out = harness.answer_ok("session/new", json!({"sessionId": NATIVE}));
    assert!(matches!(bodies(&out)[..], [Body::SessionReady(_), Body::CommandsListed { .. }]), "{out:?}");
    assert!(out.said[0].1.raw.is_some() && out.said[1].1.raw.is_none());

    // A session that never gets a name loses nothing either, and leaves no request without an answer.
    let mut harness = DriverHarness::of("copilot");
    harness.open(Mode::Ask, Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    harness.chunk("hello");
    let asked = harness.request(json!(1), "fs/read_text_file", json!({"path": "/w/a"}));
    assert!(matches!(only_draft(&asked).body, Body::Raw { .. }) && asked.lines.is_empty());
    let out = harness.answer_error("session/new", -32603, "no");
    assert!(matches!(only_draft(&out).body, Body::SessionError(_)), "{out:?}");
    assert_eq!(only_line(&out)["error"]["code"], -32602);
}

#[test]
fn the_past_is_asked_for_in_the_quietest_way_there_is() {
    for (capabilities, method) in [
        (json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}), "session/resume"),
        (json!({"loadSession": true, "sessionCapabilities": {"resume": null}}), "session/load"),
    ] {
        let mut harness = DriverHarness::unknown();
        harness.open(Mode::Ask, Start::Resume { native: OLD.to_owned() });
        let resume = only_line(&harness.answer_ok("initialize", greeting(capabilities)));
        assert_eq!(resume["method"], method);
        assert_eq!(resume["params"], json!({"sessionId": OLD, "cwd": "/w", "mcpServers": []}));
        let out = harness.answer_ok(method, Value::Null);
        assert!(
            matches!(&only_draft(&out).body, Body::SessionReady(ready) if ready.native.as_deref() == Some(OLD))
        );
    }
}

#[test]
fn a_past_that_is_told_again_is_not_taken_down_twice() {
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::Resume { native: NATIVE.to_owned() });
    harness.answer_ok("initialize", greeting(json!({"loadSession": true})));
    let is_raw = |out: &longshore_model::driver::Output| matches!(only_draft(out).body, Body::Raw { .. });
    let words = json!({"content": {"type": "text", "text": "hi"}});
    assert!(is_raw(&harness.update("user_message_chunk", words.clone())));
    assert!(is_raw(&harness.chunk("hello")));
    harness.answer_ok("session/load", Value::Null);
    // Some tell most of it only after they have answered.
    assert!(is_raw(&harness.chunk("hello")));
    assert!(is_raw(
        &harness.update("tool_call", json!({"toolCallId": "t", "title": "x", "status": "completed"}))
    ));
    harness.prompt("go");
    assert_eq!(last_draft(&harness.chunk("new")).body, Body::MessageDelta);
}

#[test]
fn a_prompt_waits_until_all_of_a_late_past_is_told() {
    let loaded = || {
        let mut harness = DriverHarness::of("gemini");
        harness.open(Mode::Ask, Start::Resume { native: NATIVE.to_owned() });
        harness.answer_ok("initialize", greeting(json!({"loadSession": true})));
        harness.answer_ok("session/load", Value::Null);
        assert!(harness.prompt("go").lines.is_empty());
        assert!(matches!(only_draft(&harness.chunk("long ago")).body, Body::Raw { .. }));
        harness
    };
    let mut harness = loaded();
    let out = harness.update("available_commands_update", json!({"availableCommands": []}));
    assert!(matches!(only_draft(&out).body, Body::CommandsListed { .. }));
    assert_eq!(only_line(&out)["method"], "session/prompt");
    assert_eq!(
        (last_draft(&harness.chunk("new")).body.clone(), harness.deadline()),
        (Body::MessageDelta, None)
    );

    // An agent that pauses for long has told it all.
    let mut harness = loaded();
    harness.wait(2);
    assert!(matches!(only_draft(&harness.chunk("and then")).body, Body::Raw { .. }));
    assert!(harness.wait(2).lines.is_empty());
    assert_eq!(only_line(&harness.wait(1))["method"], "session/prompt");
}

#[test]
fn loading_may_take_as_long_as_something_is_told() {
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::Resume { native: NATIVE.to_owned() });
    harness.answer_ok("initialize", greeting(json!({"loadSession": true})));
    for _ in 0..4 {
        assert!(harness.wait(20).finished.is_none());
        harness.chunk("long ago");
    }
    let out = harness.wait(30);
    assert_eq!(only_draft(&out).body, fault(FaultCode::Timeout));
    assert!(out.finished.is_some());
}

#[test]
fn an_agent_that_promises_to_resume_and_does_not_know_how_is_asked_to_load() {
    let promises = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::Resume { native: NATIVE.to_owned() });
    harness.answer_ok("initialize", greeting(promises.clone()));
    let out = harness.answer_error("session/resume", -32601, "\"Method not found\": session/resume");
    assert!(out.finished.is_none() && matches!(only_draft(&out).body, Body::Raw { .. }), "{out:?}");
    assert_eq!(only_line(&out)["method"], "session/load");
    harness.chunk("long ago");
    let out = harness.answer_ok("session/load", json!({}));
    assert!(bodies(&out).iter().any(|body| matches!(body, Body::SessionReady(_))), "{out:?}");
    // When it cannot do that either, it has forgotten.
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::Resume { native: NATIVE.to_owned() });
    harness.answer_ok("initialize", greeting(promises));
    harness.answer_error("session/resume", -32601, "no");
    let out = harness.answer_error("session/load", -32603, "no such session");
    assert_eq!(last_draft(&out).body, fault(FaultCode::ResumeFailed));
    assert!(out.finished.is_some());
}

#[test]
fn one_that_calls_itself_claude_is_told_to_ask_while_it_plans_and_to_guess_no_prompts() {
    for (name, told) in [("@agentclientprotocol/claude-agent-acp", true), ("qwen-code", false)] {
        let mut harness = DriverHarness::unknown();
        harness.open(Mode::Plan, Start::New);
        let mut greeting = greeting(json!({}));
        greeting["agentInfo"]["name"] = json!(name);
        let out = harness.answer_ok("initialize", greeting);
        let options = &only_line(&out)["params"]["_meta"]["claudeCode"]["options"];
        assert_eq!(options["settings"]["useAutoModeDuringPlan"] == false, told, "{name}: {out:?}");
        assert_eq!(options["promptSuggestions"] == false, told, "{name}: {out:?}");
    }
}

#[test]
fn what_cannot_be_resumed_says_why_and_ends_the_process() {
    for (start, capabilities, refused) in [
        (Start::Resume { native: OLD.to_owned() }, json!({}), None),
        (Start::Resume { native: OLD.to_owned() }, json!({"loadSession": true}), Some("session/load")),
        (Start::Fork { native: OLD.to_owned() }, json!({"loadSession": true}), None),
        (
            Start::Fork { native: OLD.to_owned() },
            json!({"sessionCapabilities": {"fork": {}}}),
            Some("session/fork"),
        ),
    ] {
        let mut harness = DriverHarness::unknown();
        harness.open(Mode::Ask, start.clone());
        let mut out = harness.answer_ok("initialize", greeting(capabilities));
        if let Some(method) = refused {
            out = harness.answer_error(method, -32002, "Resource not found");
            assert!(last_draft(&out).text.as_ref().unwrap().contains("Resource not found"));
        }
        assert_eq!(last_draft(&out).body, fault(FaultCode::ResumeFailed), "{start:?}");
        assert!(out.finished.is_some(), "{start:?}");
    }
}

#[test]
fn a_fork_is_a_session_of_its_own() {
    let mut harness = DriverHarness::of("opencode-acp");
    harness.open(Mode::Ask, Start::Fork { native: OLD.to_owned() });
    let fork =
        only_line(&harness.answer_ok("initialize", greeting(json!({"sessionCapabilities": {"fork": {}}}))));
    assert_eq!((&fork["method"], &fork["params"]["sessionId"]), (&json!("session/fork"), &json!(OLD)));
    let out = harness.answer_ok("session/fork", json!({"sessionId": NATIVE}));
    assert!(
        matches!(&only_draft(&out).body, Body::SessionReady(ready) if ready.native.as_deref() == Some(NATIVE))
    );
}

#[test]
fn a_story_goes_before_the_first_prompt_and_no_other() {
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::Told { story: "once".to_owned() });
    harness.answer_ok("initialize", greeting(json!({})));
    harness.answer_ok("session/new", json!({"sessionId": NATIVE}));
    let text = |text: &str| json!({"type": "text", "text": text});
    let first = only_line(&harness.prompt("go on"));
    assert_eq!(first["params"]["prompt"], json!([text("once"), text("go on")]));
    harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    assert_eq!(only_line(&harness.prompt("more"))["params"]["prompt"], json!([text("more")]));
}

#[test]
fn a_login_that_needs_nobody_is_tried_and_the_rest_is_said() {
    let methods = json!([
        {"id": "web", "name": "Web", "description": "Log in on the web."},
        {"type": "env_var", "id": "key", "name": "Key", "vars": [{"name": "MY_KEY"}]},
        {"id": "cli", "name": "CLI", "_meta": {"terminal-auth": {"command": "mine", "args": ["login"]}}},
    ]);
    let mut greeting = greeting(json!({}));
    greeting["authMethods"] = methods;

    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::New);
    harness.answer_ok("initialize", greeting.clone());
    let login = only_line(&harness.answer_error("session/new", -32000, "Authentication required"));
    assert_eq!((&login["method"], &login["params"]), (&json!("authenticate"), &json!({"methodId": "key"})));
    assert_eq!(only_line(&harness.answer_ok("authenticate", json!({})))["method"], "session/new");
    let out = harness.answer_ok("session/new", json!({"sessionId": NATIVE}));
    assert!(matches!(only_draft(&out).body, Body::SessionReady(_)));

    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::New);
    harness.answer_ok("initialize", greeting);
    harness.answer_error("session/new", -32000, "Authentication required");
    let out = harness.answer_error("authenticate", -32603, "MY_KEY is not set");
    assert_eq!(only_draft(&out).body, fault(FaultCode::StartFailed));
    assert_eq!(
        out.finished.as_deref(),
        Some(
            "mine wants a login first: Log in on the web, or set MY_KEY in its environment, or run `mine login`."
        )
    );

    let mut harness = DriverHarness::of("copilot");
    harness.open(Mode::Ask, Start::New);
    harness.answer_ok("initialize", super::harness::greeting(json!({})));
    let out = harness.answer_error("session/new", -32000, "Authentication required");
    assert_eq!(out.finished.as_deref(), Some("GitHub Copilot CLI wants a login first: run `copilot login`."));
}

/// A login that has run out is no loss of memory.
#[test]
fn an_agent_that_wants_a_login_before_it_resumes_has_forgotten_nothing() {
    let key = json!({"type": "env_var", "id": "key", "name": "Key", "vars": [{"name": "MY_KEY"}]});
    for (can, method) in [
        (json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}), "session/resume"),
        (json!({"loadSession": true}), "session/load"),
    ] {
        let mut greeting = greeting(can);
        greeting["authMethods"] = json!([key]);
        let mut harness = DriverHarness::unknown();
        harness.open(Mode::Ask, Start::Resume { native: NATIVE.to_owned() });
        harness.answer_ok("initialize", greeting);
        let login = only_line(&harness.answer_error(method, -32000, "Authentication required"));
        assert_eq!(login["method"], "authenticate");
        let again = only_line(&harness.answer_ok("authenticate", json!({})));
        assert_eq!((&again["method"], &again["params"]["sessionId"]), (&json!(method), &json!(NATIVE)));
        // The key is no good either: somebody has to log in, and the conversation waits for that.
        let out = harness.answer_error(method, -32000, "Authentication required");
        assert_eq!(only_draft(&out).body, fault(FaultCode::StartFailed));
        assert!(out.finished.is_some_and(|told| told.contains("wants a login first")));
    }
}

#[test]
fn what_is_not_answered_in_30_seconds_has_failed() {
    let mut harness = DriverHarness::unknown();
    assert_eq!(harness.deadline(), None);
    harness.open(Mode::Ask, Start::New);
    assert_eq!(harness.deadline(), Some(harness.now.plus_millis(30_000)));
    assert!(harness.wait(29).said.is_empty());
    let out = harness.wait(1);
    assert_eq!(only_draft(&out).body, fault(FaultCode::Timeout));
    assert!(out.finished.is_some());

    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    let out = harness.wait(30);
    assert_eq!(only_draft(&out).body, fault(FaultCode::Timeout));
    assert!(out.finished.is_some());
    // The answer that comes too late is kept.
    let late = harness.answer_ok("session/new", json!({"sessionId": NATIVE}));
    assert!(matches!(only_draft(&late).body, Body::Raw { .. }));
}

#[test]
fn an_agent_that_refuses_to_begin_ends_every_hope() {
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::New);
    let (query, _) = harness.ask(SessionsQuery { agent: "mine".into(), cursor: None, limit: 1 });
    let out = harness.answer_error("initialize", -32602, "protocolVersion");
    assert_eq!(only_draft(&out).body, fault(FaultCode::StartFailed));
    assert_eq!(out.answers[0].0, query);
    assert!(out.answers[0].1.is_err() && out.finished.is_some());
    let again = harness.open(Mode::Ask, Start::New);
    assert!(again.finished.is_some());
}

#[test]
fn a_prompt_before_the_session_is_there_fails_at_once() {
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Ask, Start::New);
    let out = harness.prompt("go");
    let Body::TurnFinished(end) = &only_draft(&out).body else { panic!("{out:?}") };
    assert_eq!(end.error.as_ref().unwrap().code, TurnErrorCode::AgentUnavailable);
    // What else it is told it need not hear.
    assert!(harness.tell(AgentCommand::SetMode(Mode::Full)).lines.is_empty());
}

#[test]
fn conversations_are_listed_where_the_agent_tells_them() {
    let mut harness = DriverHarness::unknown();
    let (query, _) = harness.ask(SessionsQuery { agent: "mine".into(), cursor: Some("2".into()), limit: 9 });
    let list =
        only_line(&harness.answer_ok("initialize", greeting(json!({"sessionCapabilities": {"list": {}}}))));
    assert_eq!((&list["method"], &list["params"]), (&json!("session/list"), &json!({"cursor": "2"})));
    let sessions = json!([
        {"sessionId": "a", "cwd": "/w", "title": "A", "updatedAt": "2026-11-15T18:51:19.198+00:00"},
        {"sessionId": "b", "title": null, "updatedAt": "yesterday"},
    ]);
    let out = harness.answer_ok("session/list", json!({"sessions": sessions, "nextCursor": "3"}));
    let (id, Ok(Answer::Sessions(NativeSessions { sessions, next }))) = &out.answers[0] else {
        panic!("{out:?}")
    };
    assert_eq!((id, next.as_deref()), (&query, Some("3")));
    assert_eq!((sessions[0].title.as_str(), sessions[0].cwd.as_deref()), ("A", Some("/w")));
    assert!(sessions[0].updated_at.is_some() && sessions[1].updated_at.is_none());
    assert!(out.finished.is_some());

    let mut harness = DriverHarness::of("gemini");
    harness.ask(SessionsQuery { agent: "gemini".into(), cursor: None, limit: 9 });
    let out = harness.answer_ok("initialize", greeting(json!({})));
    assert!(out.answers[0].1.is_err() && out.finished.is_some());
}

#[test]
fn models_are_told_with_a_session_that_nobody_speaks_to() {
    let mut harness = DriverHarness::of("codex-acp");
    harness.ask(ModelsQuery { agent: "codex-acp".into(), anew: false });
    let new = only_line(&harness.answer_ok("initialize", greeting(json!({}))));
    assert_eq!(new["method"], "session/new");
    let option = json!({
        "id": "model", "category": "model", "type": "select", "currentValue": "b",
        "options": [{"value": "a", "name": "A"}, {"group": "g", "name": "G", "options": [{"value": "b", "name": "B"}]}],
    });
    let out = harness.answer_ok("session/new", json!({"sessionId": "x", "configOptions": [option]}));
    let Ok(Answer::Models(models)) = &out.answers[0].1 else { panic!("{out:?}") };
    let told: Vec<(&str, bool)> = models.iter().map(|model| (model.title.as_str(), model.default)).collect();
    assert_eq!(told, [("A", false), ("B", true)]);
    assert!(out.finished.is_some());

    // A session that is there knows them already.
    let mut opened = with_modes("default", &["default"]);
    opened["models"] = json!({"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}]});
    let mut harness = DriverHarness::of("gemini").ready(Mode::Ask, opened);
    let (_, out) = harness.ask(ModelsQuery { agent: "gemini".into(), anew: false });
    assert!(matches!(&out.answers[0].1, Ok(Answer::Models(models)) if models.len() == 1));
    assert!(lines(&out).is_empty() && out.finished.is_none());
}
