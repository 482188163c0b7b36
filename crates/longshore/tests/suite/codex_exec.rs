//! What is particular to `codex exec`: a process for each turn, and a session that needs none.

use longshore_model::capability::Mode;
use longshore_model::event::{Body, Event};
use longshore_model::id::Seq;
use longshore_model::info::{Activity, SessionInfo};
use longshore_model::lifecycle::{FaultCode, TurnOutcome};
use serde_json::json;

use super::rig::Rig;
use super::verbs::{err, longshore, out};

const AGENT: &str = "codex-exec";

#[tokio::test]
async fn a_session_without_a_process_is_there_all_the_same() {
    let steps = json!([{ "do": [{ "say": "One." }] }, { "do": [{ "say": "Two." }] }]);
    let rig = Rig::with(steps).await;
    let mut talk = rig.open_with(AGENT, "plan").await;
    assert_eq!(talk.info().await.native, None, "nobody has said anything yet");
    let turn = talk.prompt("first").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let native = talk.info().await.native;
    assert!(native.is_some());
    let turn = talk.prompt("second").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let info = talk.info().await;
    assert_eq!((info.activity, info.native), (Activity::Idle, native), "{}", talk.story());
    assert_eq!((info.usage.input, info.usage.output), (Some(200), Some(40)));
    let used: Vec<_> = talk
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::TurnFinished(end) => Some(end.usage.and_then(|usage| usage.input)),
            _ => None,
        })
        .collect();
    assert_eq!(used, [Some(100), Some(100)], "of each turn, not of the thread");
    assert!(rig.last_heard_by_model().contains("first"), "it remembers");
    assert!(!talk.events.iter().any(|event| matches!(event.body, Body::SessionSleeping(_))));
}

#[tokio::test]
async fn a_mode_is_that_of_the_next_turn() {
    let run = json!({ "call": "exec_command", "args": { "cmd": "echo x > made.txt" } });
    let done = json!({ "do": [{ "say": "Done." }] });
    let rig = Rig::with(json!([{ "do": [run.clone()] }, done, { "do": [run] }, done])).await;
    let mut talk = rig.open_with(AGENT, "plan").await;
    let turn = talk.prompt("make it").await;
    talk.until_turn_ends(turn).await;
    assert!(!rig.work().join("made.txt").exists(), "{}", talk.story());
    assert!(talk.call("update", json!({ "mode": "ask" })).await.is_err());
    talk.call("update", json!({ "mode": "full" })).await.unwrap();
    let turn = talk.prompt("now make it").await;
    talk.until_turn_ends(turn).await;
    assert!(rig.work().join("made.txt").exists(), "{}", talk.story());
}

#[tokio::test]
async fn it_goes_on_after_the_hub_was_killed() {
    let mut rig =
        Rig::with(json!([{ "do": [{ "say": "Heron." }] }, { "do": [{ "say": "Still heron." }] }])).await;
    let mut talk = rig.open_with(AGENT, "plan").await;
    let turn = talk.prompt("name a bird").await;
    talk.until_turn_ends(turn).await;
    let session = talk.session;
    rig.kill().await;
    rig.start().await;
    let mut talk = rig.follow(session, Seq::ZERO).await;
    let turn = talk.prompt("and now?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(talk.events.iter().any(|event| matches!(event.body, Body::SessionRevived { from_log: false })));
    assert!(rig.last_heard_by_model().contains("Heron."), "it remembers");
}

#[tokio::test]
async fn what_it_has_forgotten_it_is_told_from_the_log() {
    let steps = json!([{ "do": [{ "say": "Heron." }] }, { "do": [{ "say": "I am told heron." }] }]);
    let rig = Rig::with(steps).await;
    let mut talk = rig.open_with(AGENT, "plan").await;
    let turn = talk.prompt("name a bird").await;
    talk.until_turn_ends(turn).await;
    for memory in ["codex/sessions", "codex/state_5.sqlite", "codex/thread_history_1.sqlite"] {
        let path = rig.folder.path().join(memory);
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    let turn = talk.prompt("which one?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let forgot =
        |body: &Body| matches!(body, Body::SessionError(fault) if fault.code == FaultCode::ResumeFailed);
    assert!(talk.events.iter().any(|event| forgot(&event.body)), "{}", talk.story());
    let heard = rig.last_heard_by_model();
    assert!(heard.contains("Heron."), "it is told");
    assert_eq!(heard.matches("which one?").count(), 1, "what it is asked is no part of the story: {heard}");
    let failed = |event: &Event| matches!(&event.body, Body::TurnFinished(end) if end.outcome != TurnOutcome::Completed);
    assert!(!talk.events.iter().any(failed), "no turn has failed\n{}", talk.story());
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    let steps = json!([{ "do": [{ "say": "Heron." }] }, { "do": [{ "say": "Of the fork." }] }]);
    let rig = Rig::with(steps).await;
    let mut talk = rig.open_with(AGENT, "plan").await;
    let turn = talk.prompt("name a bird").await;
    talk.until_turn_ends(turn).await;
    let fork: SessionInfo = serde_json::from_value(talk.call("fork", json!({})).await.unwrap()).unwrap();
    let mut other = rig.follow(fork.session_id, Seq::ZERO).await;
    let turn = other.prompt("go on").await;
    assert_eq!(other.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", other.story());
    assert!(rig.last_heard_by_model().contains("Heron."), "it remembers");
    let (one, two) = (talk.info().await.native, other.info().await.native);
    assert!(one.is_some() && two.is_some() && one != two, "{one:?} {two:?}");
}

#[tokio::test]
async fn an_interrupt_leaves_no_command_behind() {
    let run = json!({ "call": "exec_command", "args": { "cmd": "echo $$ > pid; sleep 600" } });
    let rig = Rig::with(json!([{ "do": [run] }])).await;
    let mut talk = rig.open_with(AGENT, "full").await;
    let turn = talk.prompt("wait").await;
    let file = rig.work().join("pid");
    let written = || std::fs::read_to_string(&file).ok().filter(|pid| pid.ends_with('\n'));
    let mut pace = tokio::time::interval(std::time::Duration::from_millis(10));
    let waiting = async {
        while written().is_none() {
            pace.tick().await;
        }
    };
    tokio::time::timeout(super::rig::WITHIN, waiting).await.expect("the command runs");
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    let shell = format!("/proc/{}", written().unwrap().trim());
    assert!(!std::path::Path::new(&shell).exists(), "the command outlived its turn");
}

#[tokio::test]
async fn images_reach_the_model() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Two dots." }] }])).await;
    let file = rig.work().join("dot.png");
    std::fs::write(&file, DOT).unwrap();
    let mut talk = rig.open_with(AGENT, "plan").await;
    let content = json!([
        { "type": "text", "text": "look" },
        { "type": "attachment", "mediaType": "image/png", "path": file },
        { "type": "attachment", "mediaType": "image/png", "data": DOT_IN_BASE64 },
    ]);
    let said = talk.call("prompt", json!({ "content": content })).await.unwrap();
    let turn = serde_json::from_value(said["turn"].clone()).unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.last_heard_by_model();
    assert_eq!(heard.matches(DOT_IN_BASE64).count(), 2, "{heard}");
}

/// A picture of one dot.
const DOT_IN_BASE64: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const DOT: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4, 0x89, 0x00,
    0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x64, 0xf8, 0xcf, 0x50, 0x0f, 0x00, 0x03,
    0x86, 0x01, 0x80, 0x5a, 0x34, 0x7d, 0x6b, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42,
    0x60, 0x82,
];

#[tokio::test]
async fn codex_takes_the_configuration_that_the_page_gives() {
    let page = include_str!("../../../../docs/agents-offline.md");
    let given = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let rig = Rig::with(json!([{ "do": [{ "say": "Hello from the page." }] }])).await;
    let home = rig.folder.path().join("as-the-page-says");
    std::fs::create_dir(&home).unwrap();
    let port = rig.root().rsplit(':').next().unwrap();
    std::fs::write(home.join("config.toml"), given.replace("PORT", port)).unwrap();
    let output = tokio::process::Command::new(super::rig::codex())
        .args(["exec", "--skip-git-repo-check", "hail"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", rig.folder.path().join("home"))
        .env("CODEX_HOME", &home)
        .current_dir(rig.work())
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(super::rig::WITHIN, output).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Hello from the page."), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn without_a_mode_it_works_in_the_one_that_allows_least_and_a_mode_that_it_has_not_opens_no_session() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Hello." }] }])).await;
    let refused = longshore(&rig, &["run", AGENT, "hi", "--mode", "ask"]).await;
    let words = "codex-exec has no mode ask; its modes are plan, auto-edit, full";
    assert!(refused.status.code() == Some(1) && err(&refused).contains(words), "{}", err(&refused));
    assert_eq!(out(&longshore(&rig, &["ls"]).await), "", "no session is left behind");
    assert!(rig.model.requests().requests.is_empty(), "the model is not asked");
    let can = rig.open_with(AGENT, "full").await.info().await.capabilities;
    assert!(!can.approvals && !can.streaming && !can.modes.contains(&Mode::Ask), "{can:?}");

    let run = longshore(&rig, &["run", AGENT, "hi"]).await;
    assert!(run.status.success() && out(&run).contains("Hello."), "{}{}", out(&run), err(&run));
    assert!(err(&run).contains("it works in the mode plan"), "{}", err(&run));
}

#[tokio::test]
async fn what_cannot_be_said_into_its_turn_is_said_to_be_queued() {
    let slow = json!({ "say": "It goes on. ".repeat(400), "delay_ms": 40 });
    let rig = Rig::with(json!([{ "do": [slow] }])).await;
    let mut talk = rig.open_with(AGENT, "plan").await;
    let turn = talk.prompt("deploy").await;
    talk.until_event("it works", |event| matches!(event.body, Body::TurnStarted { .. })).await;
    let steered = longshore(&rig, &["prompt", "-", "look left", "--steer", "--detach"]).await;
    let words = "codex-exec accepts no prompt while it works, so the prompt is queued: ";
    assert!(out(&steered).starts_with(words), "{}{}", out(&steered), err(&steered));
    talk.call("interrupt", json!({})).await.unwrap();
    talk.until_turn_ends(turn).await;
}
