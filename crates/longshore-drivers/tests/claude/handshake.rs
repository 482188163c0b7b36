//! From the command line to a session that is ready, or why not.

use longshore_drivers::claude::{arguments, native_id};
use longshore_model::anchor::{Answer, Launch, ModelsQuery, SessionsQuery, Start};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Input, Output};
use longshore_model::event::{Body, NoticeLevel};
use longshore_model::lifecycle::{FaultCode, SessionFault};
use serde_json::json;

use super::harness::{DriverHarness, bodies, lines, only_draft, only_line};

#[test]
fn a_launch_is_a_command_line() {
    let harness = DriverHarness::new();
    let id = harness.session.to_string();
    let base = arguments(None);
    for needed in ["-p", "--verbose", "--include-partial-messages", "--replay-user-messages"] {
        assert!(base.iter().any(|word| word == needed), "{needed} is missing");
    }
    let words = |mode, start, model: Option<&str>| {
        let mut launch = harness.launch(mode, start);
        launch.model = model.map(str::to_owned);
        arguments(Some(&launch)).split_off(base.len()).join(" ")
    };
    let resume = Start::Resume { native: "old".to_owned() };
    let fork = Start::Fork { native: "old".to_owned() };
    for (mode, start, model, expected) in [
        (Mode::Ask, Start::New, None, format!("--permission-mode default --session-id {id}")),
        (Mode::Plan, Start::New, None, format!("--permission-mode plan --session-id {id}")),
        (Mode::AutoEdit, Start::New, None, format!("--permission-mode acceptEdits --session-id {id}")),
        (Mode::Full, Start::New, None, format!("--permission-mode acceptEdits --session-id {id}")),
        (Mode::Ask, resume, Some("haiku"), "--permission-mode default --model haiku --resume old".to_owned()),
        (
            Mode::Ask,
            fork,
            None,
            format!("--permission-mode default --resume old --fork-session --session-id {id}"),
        ),
    ] {
        assert_eq!(words(mode, start, model), expected);
    }
}

/// The name that it had is taken; the next one must be another each time, and the same wherever it is asked for.
#[test]
fn a_conversation_that_is_told_gets_a_name_of_its_own() {
    let harness = DriverHarness::new();
    let named = |story: &str| native_id(&harness.launch(Mode::Ask, Start::Told { story: story.to_owned() }));
    assert_eq!(named("once"), named("once"));
    assert_ne!(named("once"), named("once upon a time"));
    assert_ne!(named("once"), harness.session.to_string());
    assert!(named("once").parse::<longshore_model::id::SessionId>().is_ok(), "{}", named("once"));
}

#[test]
fn the_answer_to_the_greeting_makes_it_ready() {
    let mut harness = DriverHarness::new();
    let hello = lines(&harness.open(Mode::Ask, Start::New));
    assert_eq!(hello[1]["request"], json!({"subtype": "initialize", "forwardSubagentText": true}));
    let out = harness.greet();
    let Body::SessionReady(ready) = &out.said[0].1.body else { panic!("{:?}", out.said) };
    assert_eq!(ready.native, Some(harness.session.to_string()));
    assert_eq!((ready.version.as_deref(), ready.model.as_deref()), (Some("2.1.197"), Some("opus-9")));
    let Body::CommandsListed { commands } = &out.said[1].1.body else { panic!("{:?}", out.said) };
    assert_eq!(commands[0].name, "compact");
    // The first turn says the same once more, which is no news.
    harness.say("go");
    assert!(matches!(only_draft(&harness.init()).body, Body::Raw { .. }));
}

#[test]
fn one_that_speaks_before_it_answers_is_ready_too() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::New);
    harness.say("go");
    let out = harness.line(&json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m",
        "claude_code_version": "3", "slash_commands": ["a", "b"]}));
    let Body::SessionReady(ready) = &out.said[0].1.body else { panic!("{:?}", out.said) };
    assert_eq!(ready.native.as_deref(), Some("s"));
    assert!(matches!(&out.said[1].1.body, Body::CommandsListed { commands } if commands.len() == 2));
    // The greeting that is never answered harms nobody.
    let out = harness.wait(61);
    assert!(out.said.is_empty() && out.finished.is_none());
}

#[test]
fn one_that_never_answers_is_given_up() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::New);
    assert!(harness.wait(59).finished.is_none());
    let out = harness.wait(2);
    assert_eq!(only_draft(&out).body, Body::SessionError(SessionFault { code: FaultCode::Timeout }));
    assert!(out.finished.is_some());
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let resume = || Start::Resume { native: "old".to_owned() };
    for (start, error, code) in [
        (resume(), "No conversation found with session ID: old", FaultCode::ResumeFailed),
        (Start::New, "the disk is full", FaultCode::StartFailed),
    ] {
        let mut harness = DriverHarness::new();
        harness.open(Mode::Ask, start);
        let line = json!({"subtype": "error_during_execution", "is_error": true, "errors": [error]});
        let out = harness.result(line);
        assert_eq!(only_draft(&out).body, Body::SessionError(SessionFault { code }));
        assert_eq!(out.finished.as_deref(), Some(error));
        // What comes after is kept and changes nothing.
        let late = harness.greet();
        assert!(matches!(only_draft(&late).body, Body::Raw { .. }));
    }
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, resume());
    harness.greet();
    let out = harness.answer_refused_open();
    assert_eq!(only_draft(&out).body, Body::SessionError(SessionFault { code: FaultCode::StartFailed }));
    assert!(out.finished.is_none(), "the first session goes on");
}

impl DriverHarness {
    /// A second session for the same process.
    fn answer_refused_open(&mut self) -> longshore_model::driver::Output {
        self.open(Mode::Ask, Start::New)
    }
}

#[test]
fn a_cleared_conversation_is_resumed_under_its_new_name() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let clear = json!({"type": "system", "subtype": "init", "session_id": "another", "model": "opus-9"});
    let out = harness.line(&clear);
    assert!(
        matches!(&only_draft(&out).body, Body::SessionReady(ready) if ready.native.as_deref() == Some("another"))
    );
}

#[test]
fn modes_and_models_are_set_and_what_changes_by_itself_is_told() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    for (mode, native) in [
        (Mode::Plan, "plan"),
        (Mode::AutoEdit, "acceptEdits"),
        (Mode::Full, "acceptEdits"),
        (Mode::Ask, "default"),
    ] {
        let line = only_line(&harness.tell(AgentCommand::SetMode(mode)));
        assert_eq!(line["request"], json!({"mode": native, "subtype": "set_permission_mode"}));
    }
    let status = |mode: &str| json!({"type": "system", "subtype": "status", "permissionMode": mode});
    for native in ["plan", "acceptEdits", "acceptEdits", "default"] {
        let out = harness.line(&status(native));
        assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "our own word {native} came back as news");
    }
    let out = harness.line(&status("acceptEdits"));
    assert_eq!(only_draft(&out).body, Body::ModeChanged { mode: Mode::AutoEdit });
    assert!(matches!(only_draft(&harness.line(&status("dontAsk"))).body, Body::Raw { .. }));

    let line = only_line(&harness.tell(AgentCommand::SetModel("haiku".to_owned())));
    assert_eq!(line["request"], json!({"model": "haiku", "subtype": "set_model"}));
    harness.say("go");
    let out = harness.line(&json!({"type": "system", "subtype": "init", "model": "haiku-4-5"}));
    assert!(matches!(&out.said[0].1.body, Body::ModelChanged { model } if model == "haiku-4-5"));
    let out = harness.answer_error("set_model", "no");
    assert_eq!(only_draft(&out).body, Body::Notice { level: NoticeLevel::Warning });
    // A request that nobody answers is told of.
    let out = harness.wait(31);
    assert_eq!(bodies(&out, harness.session).len(), 4, "{:?}", out.said);
    assert!(harness.deadline().is_none());
}

#[test]
fn models_are_told_to_whoever_asks() {
    let mut harness = DriverHarness::new();
    let (id, _) = harness.ask(ModelsQuery { agent: "claude".into(), anew: false });
    let (sessions, _) = harness.ask(SessionsQuery { agent: "claude".into(), cursor: None, limit: 1 });
    let out = harness.greet();
    let Ok(Answer::Models(models)) = &out.answers[0].1 else { panic!("{:?}", out.answers) };
    assert_eq!(out.answers[0].0, id);
    assert_eq!(
        (models[0].id.as_str(), models[0].title.as_str(), models[0].default),
        ("default", "Default", true)
    );
    assert_eq!(
        (models[1].id.as_str(), models[1].title.as_str(), models[1].default),
        ("haiku", "Haiku", false)
    );
    assert!(out.answers[1].0 == sessions && out.answers[1].1.is_err());
    assert!(out.finished.is_some() && out.said.is_empty());

    let mut harness = DriverHarness::new();
    harness.ask(ModelsQuery { agent: "claude".into(), anew: false });
    let out = harness.answer_error("initialize", "no");
    assert!(out.answers[0].1.is_err() && out.finished.is_some());
}

#[test]
fn a_story_goes_before_the_first_prompt_and_no_other() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Told { story: "once upon a time".to_owned() });
    harness.greet();
    let content = only_line(&harness.say("go"))["message"]["content"].clone();
    assert_eq!(
        content,
        json!([{"type": "text", "text": "once upon a time"}, {"type": "text", "text": "go"}])
    );
    harness.init();
    harness.replay();
    harness.result(json!({}));
    assert_eq!(only_line(&harness.say("on"))["message"]["content"], "on");
}

#[test]
fn whatever_comes_is_kept_and_nothing_is_kept_without_a_session() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    for (line, kind) in [
        (r#"{"type":"keep_alive"}"#, "keep_alive"),
        (r#"{"type":"system","subtype":"new_thing","x":1}"#, "system/new_thing"),
        (r#"{"type":"stream_event","event":{"type":"ping"}}"#, "stream_event/ping"),
        (r#"{"a":1}"#, "line"),
        ("not json", "malformed"),
        ("3", "malformed"),
    ] {
        let out = harness.handle(Input::Line(line.into()));
        let draft = only_draft(&out);
        assert!(
            matches!(&draft.body, Body::Raw { kind: said, .. } if said == kind),
            "{line}: {:?}",
            draft.body
        );
        assert_eq!(draft.raw.as_deref(), Some(line));
    }
    let mut nobody = DriverHarness::new();
    assert!(nobody.handle(Input::Line("x".into())).said.is_empty());
}

#[test]
fn how_hard_it_thinks_is_a_setting_above_those_of_the_person() {
    let mut harness = DriverHarness::new();
    let launch = Launch { effort: Some("low".to_owned()), ..harness.launch(Mode::Ask, Start::New) };
    let out = harness.handle(Input::Open(launch));
    let settings = |out: &Output| {
        let all = lines(out);
        let found = all.iter().find(|line| line["request"]["subtype"] == "apply_flag_settings");
        found.map(|line| line["request"]["settings"].clone())
    };
    assert_eq!(settings(&out), Some(json!({"useAutoModeDuringPlan": false, "effortLevel": "low"})));
    harness.greet();
    let out = harness.tell(AgentCommand::SetEffort("high".to_owned()));
    assert_eq!(settings(&out).unwrap()["effortLevel"], "high");
}
