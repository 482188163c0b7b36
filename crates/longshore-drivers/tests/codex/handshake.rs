//! From the first line to a session that is ready, or why not.

use longshore_model::anchor::Start;
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, NoticeLevel};
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnErrorCode};
use serde_json::{Value, json};

use super::harness::{DriverHarness, THREAD, lines, only_draft, only_line};

const OLD: &str = "thread-0";

fn greet(harness: &mut DriverHarness) -> longshore_model::driver::Output {
    harness.answer_ok("initialize", json!({"userAgent": "longshore/0.166.0 (Debian)"}))
}

#[test]
fn a_mode_is_an_approval_policy_and_a_sandbox() {
    for (mode, approval, sandbox) in [
        (Mode::Plan, "untrusted", "read-only"),
        (Mode::Ask, "untrusted", "workspace-write"),
        (Mode::AutoEdit, "on-request", "workspace-write"),
        (Mode::Full, "never", "danger-full-access"),
    ] {
        let mut harness = DriverHarness::new();
        let hello = only_line(&harness.open(mode, Start::New));
        assert_eq!(hello["params"]["clientInfo"]["name"], "longshore");
        assert_eq!(hello["params"]["capabilities"]["experimentalApi"], true);
        let begun = lines(&greet(&mut harness));
        assert_eq!(begun[0], json!({"method": "initialized"}));
        assert_eq!(begun[1]["method"], "thread/start");
        assert_eq!(
            begun[1]["params"],
            json!({"cwd": "/w", "approvalPolicy": approval, "sandbox": sandbox}),
            "of {mode}"
        );
    }
}

#[test]
fn a_mode_that_changes_is_told_at_once_and_again_with_the_next_turn() {
    for (mode, approval, sandbox) in [
        (Mode::Ask, "untrusted", "workspaceWrite"),
        (Mode::AutoEdit, "on-request", "workspaceWrite"),
        (Mode::Full, "never", "dangerFullAccess"),
        (Mode::Plan, "untrusted", "readOnly"),
    ] {
        let mut harness = DriverHarness::ready(Mode::Ask);
        let update = only_line(&harness.tell(AgentCommand::SetMode(mode)));
        assert_eq!(update["method"], "thread/settings/update");
        let turn = only_line(&harness.say("go"));
        for said in [&update, &turn] {
            assert_eq!(said["params"]["approvalPolicy"], approval);
            assert_eq!(said["params"]["sandboxPolicy"], json!({"type": sandbox}));
            let planning = said["params"]["collaborationMode"]["mode"].as_str();
            assert_eq!(planning, (mode == Mode::Plan).then_some("plan"));
        }
        // An older codex that does not know the request is told with the turn, so nobody need hear of it.
        let refused = harness.answer_error("thread/settings/update", "unknown variant");
        assert!(matches!(only_draft(&refused).body, Body::Raw { .. }));
    }
}

#[test]
fn a_chosen_effort_holds_while_it_plans() {
    let mut harness = DriverHarness::ready(Mode::Plan);
    let told = |line: &Value| line["params"]["collaborationMode"]["settings"]["reasoning_effort"].clone();
    assert_eq!(told(&only_line(&harness.say("plan it"))), Value::Null, "codex chooses it");
    let mut harness = DriverHarness::ready(Mode::Plan);
    harness.tell(AgentCommand::SetEffort("high".to_owned()));
    assert_eq!(told(&only_line(&harness.say("plan it"))), "high");
}

#[test]
fn planning_ends_when_the_mode_does() {
    let mut harness = DriverHarness::in_turn(Mode::Plan);
    harness.note("turn/completed", json!({"turn": {"id": "turn-1", "status": "completed"}}));
    harness.tell(AgentCommand::SetMode(Mode::Ask));
    let turn = only_line(&harness.say("do it"));
    assert_eq!(turn["params"]["collaborationMode"]["mode"], "default");
    assert_eq!(turn["params"]["collaborationMode"]["settings"]["model"], "gpt-5.5");
}

#[test]
fn a_story_goes_before_the_first_prompt_and_no_other() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Told { story: "once upon a time".to_owned() });
    greet(&mut harness);
    harness.answer_ok("thread/start", json!({"thread": {"id": THREAD}}));
    let first = only_line(&harness.say("go on"));
    assert_eq!(
        first["params"]["input"],
        json!([{"type": "text", "text": "once upon a time"}, {"type": "text", "text": "go on"}])
    );
    harness.answer_ok("turn/start", json!({"turn": {"id": "a"}}));
    let second = only_line(&harness.say("more"));
    assert_eq!(second["params"]["input"], json!([{"type": "text", "text": "more"}]));
}

#[test]
fn a_thread_that_cannot_be_resumed_says_why_and_ends_the_process() {
    for (reason, code) in [
        ("no rollout found for thread id thread-0", FaultCode::ResumeFailed),
        ("invalid session id: invalid length", FaultCode::ResumeFailed),
        ("thread not found: thread-0", FaultCode::ResumeFailed),
        // It has not forgotten anything.
        ("failed to load configuration: config.toml:3: no", FaultCode::StartFailed),
    ] {
        let mut harness = DriverHarness::new();
        harness.open(Mode::Ask, Start::Resume { native: OLD.to_owned() });
        let resume = &lines(&greet(&mut harness))[1];
        assert_eq!(resume["method"], "thread/resume");
        assert_eq!(resume["params"]["threadId"], OLD);
        assert_eq!(resume["params"]["excludeTurns"], true);
        let out = harness.answer_error("thread/resume", reason);
        let draft = only_draft(&out);
        assert_eq!(draft.body, Body::SessionError(SessionFault { code }), "{reason}");
        assert_eq!(draft.text.as_deref(), Some(reason));
        assert!(draft.raw.is_some());
        assert_eq!(out.finished.as_deref(), Some(reason));
    }
}

#[test]
fn a_thread_that_another_codex_holds_is_not_forgotten() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Resume { native: OLD.to_owned() });
    greet(&mut harness);
    let out = harness.answer_error("thread/resume", "thread thread-0 already has an active writer");
    assert_eq!(only_draft(&out).body, Body::SessionError(SessionFault { code: FaultCode::StartFailed }));
    let told = out.finished.as_deref().unwrap_or_default();
    assert!(told.contains("close it there") && told.contains("already has an active writer"), "{told}");
    assert!(out.lines.is_empty(), "no other thread is begun");
}

#[test]
fn an_archived_thread_is_taken_out_and_resumed() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Resume { native: OLD.to_owned() });
    greet(&mut harness);
    let out = harness.answer_error("thread/resume", "session thread-0 is archived. Run `codex unarchive`");
    assert_eq!(only_line(&out)["method"], "thread/unarchive");
    let out = harness.answer_ok("thread/unarchive", json!({}));
    assert_eq!(only_line(&out)["method"], "thread/resume");
    let out = harness.answer_ok("thread/resume", json!({"thread": {"id": OLD}, "model": "m"}));
    assert!(
        matches!(&only_draft(&out).body, Body::SessionReady(ready) if ready.native.as_deref() == Some(OLD))
    );

    // It is tried once.
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Resume { native: OLD.to_owned() });
    greet(&mut harness);
    harness.answer_error("thread/resume", "session is archived");
    harness.answer_ok("thread/unarchive", json!({}));
    let out = harness.answer_error("thread/resume", "session is archived");
    assert!(out.finished.is_some() && out.lines.is_empty());
}

#[test]
fn a_fork_is_a_session_of_its_own() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Fork { native: OLD.to_owned() });
    let fork = &lines(&greet(&mut harness))[1];
    assert_eq!((&fork["method"], &fork["params"]["threadId"]), (&json!("thread/fork"), &json!(OLD)));
    let out =
        harness.answer_ok("thread/fork", json!({"thread": {"id": "thread-2", "path": "/p"}, "model": "m"}));
    let Body::SessionReady(ready) = &only_draft(&out).body else { panic!("{out:?}") };
    assert_eq!((ready.native.as_deref(), ready.transcript.as_deref()), (Some("thread-2"), Some("/p")));
    assert_eq!(ready.version.as_deref(), Some("0.166.0"));
}

#[test]
fn a_configuration_that_codex_threw_away_is_refused_with_its_words() {
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::New);
    greet(&mut harness);
    let warning =
        json!({"summary": "Invalid configuration; using defaults.", "details": "config.toml:10: no"});
    let out = harness.line(&json!({"method": "configWarning", "params": warning}));
    let draft = only_draft(&out);
    assert_eq!(draft.body, Body::SessionError(SessionFault { code: FaultCode::BadConfiguration }));
    assert_eq!(draft.text.as_deref(), Some("Invalid configuration; using defaults.\nconfig.toml:10: no"));
    assert!(out.finished.is_some());
    // Whatever it says after that, it is not ready.
    let out = harness.answer_ok("thread/start", json!({"thread": {"id": THREAD}}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    assert!(harness.wait(60).said.is_empty());
}

#[test]
fn another_configuration_warning_is_only_a_notice() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let out = harness.line(&json!({"method": "configWarning", "params": {"summary": "no bubblewrap"}}));
    assert_eq!(only_draft(&out).body, Body::Notice { level: NoticeLevel::Warning });
    assert!(out.finished.is_none());
    // A session that wakes has heard it already.
    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::Resume { native: THREAD.to_owned() });
    greet(&mut harness);
    let out = harness.line(&json!({"method": "configWarning", "params": {"summary": "no bubblewrap"}}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "{out:?}");
}

#[test]
fn what_is_not_answered_in_30_seconds_has_failed() {
    let mut harness = DriverHarness::new();
    assert_eq!(harness.deadline(), None);
    harness.open(Mode::Ask, Start::New);
    assert_eq!(harness.deadline(), Some(harness.now.plus_millis(30_000)));
    assert!(harness.wait(29).said.is_empty());
    let out = harness.wait(1);
    assert_eq!(only_draft(&out).body, Body::SessionError(SessionFault { code: FaultCode::Timeout }));
    assert!(out.finished.is_some());

    let mut harness = DriverHarness::new();
    harness.open(Mode::Ask, Start::New);
    greet(&mut harness);
    let out = harness.wait(30);
    assert_eq!(only_draft(&out).body, Body::SessionError(SessionFault { code: FaultCode::Timeout }));
    assert!(out.finished.is_some());

    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    let out = harness.wait(30);
    let Body::TurnFinished(end) = &only_draft(&out).body else { panic!("{out:?}") };
    assert_eq!(end.error.as_ref().unwrap().code, TurnErrorCode::Timeout);
    assert_eq!(only_draft(&out).turn, Some(harness.turn));
    // The answer that comes too late is kept, and the turn that begins all the same is codex's own.
    assert!(matches!(
        only_draft(&harness.answer_ok("turn/start", json!({"turn": {"id": "t"}}))).body,
        Body::Raw { .. }
    ));
    let out = harness.note("turn/started", json!({"turn": {"id": "t"}}));
    assert_eq!(only_draft(&out).body, Body::TurnStarted { prompt: None });

    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    let out = harness.wait(30);
    assert_eq!(only_draft(&out).body, Body::SessionError(SessionFault { code: FaultCode::Timeout }));
    assert_eq!(harness.deadline(), None);
}
