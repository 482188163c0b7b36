//! The verbs, as a person or a script types them.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use longshore_model::event::{Body, Event};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::rig::{Rig, TOKEN, WITHIN, codex};
use super::verbs::{err, longshore, out};

#[tokio::test]
async fn a_run_shows_the_turn_and_ends_with_its_figures() {
    let rig = Rig::with(json!([
        { "do": [{ "reason": "Let me see" }, { "call": "exec_command", "args": { "cmd": "echo hi" } }] },
        { "do": [{ "say": "# Done\n\nAll **well**." }] },
    ]))
    .await;
    let run = longshore(&rig, &["run", "codex", "look around", "--mode", "full"]).await;
    let shown = out(&run);
    assert_eq!(run.status.code(), Some(0), "{shown}{}", err(&run));
    for part in ["> look around", "echo hi", "Done", "All well.", "done in", "200 in"] {
        assert!(shown.contains(part), "`{part}` is missing in:\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colours into a pipe");

    let list = longshore(&rig, &["ls"]).await;
    assert!(out(&list).contains("look around"));
    let list: Value = serde_json::from_str(&out(&longshore(&rig, &["ls", "--json"]).await)).unwrap();
    assert_eq!(list["sessions"][0]["status"], "idle");
    assert!(out(&longshore(&rig, &["show"]).await).contains("All well."));
    assert!(out(&longshore(&rig, &["search", "well"]).await).contains("look around"));
    assert!(out(&longshore(&rig, &["agents"]).await).contains("0.166.0"));
    let doctor = longshore(&rig, &["doctor"]).await;
    assert!(
        out(&doctor).contains("Codex: 0.166.0") && out(&doctor).contains("log: sound"),
        "{}",
        out(&doctor)
    );
    assert_eq!(out(&longshore(&rig, &["token"]).await).trim(), TOKEN);
}

#[tokio::test]
async fn json_is_one_event_a_line() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Hello." }] }])).await;
    let run = longshore(&rig, &["run", "codex", "hi", "--mode", "full", "--json"]).await;
    let events: Vec<Event> = out(&run).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seqs: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert!(matches!(events.last().unwrap().body, Body::TurnFinished(_)));
}

#[tokio::test]
async fn a_failed_turn_is_exit_code_1() {
    let rig = Rig::with(
        json!([{ "http": 400, "body": { "error": { "message": "no such thing" } }, "repeat": "forever" }]),
    )
    .await;
    let run = longshore(&rig, &["run", "codex", "hi", "--mode", "full"]).await;
    assert_eq!(run.status.code(), Some(1), "{}", out(&run));
    assert!(out(&run).contains("no such thing"));
}

#[tokio::test]
async fn a_codex_that_refuses_its_own_settings_says_which() {
    let rig = Rig::with(json!([])).await;
    let config = rig.folder.path().join("codex/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let rest = before.lines().filter(|line| !line.starts_with("approval_policy"));
    let settings = ["approval_policy = \"untrusted\""].into_iter().chain(rest).collect::<Vec<_>>().join("\n");
    std::fs::write(&config, settings).unwrap();
    let run = longshore(&rig, &["run", "codex", "hi"]).await;
    let told = format!("{}{}", out(&run), err(&run));
    assert_eq!(run.status.code(), Some(1), "{told}");
    let words = told.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    let why = "approval_policy = \"untrusted\" is no longer supported; remove this setting";
    assert!(words.contains(why), "{told}");
    let first = told.lines().find(|line| line.contains("did not start")).unwrap_or_else(|| panic!("{told}"));
    assert!(!first.contains("<unknown>"), "{first}");
}

#[tokio::test]
async fn an_interrupted_turn_is_exit_code_130() {
    let rig = Rig::with(json!([{ "do": [{ "say": "word ".repeat(400), "delay_ms": 20 }] }])).await;
    let mut run = rig.longshore();
    let mut run = run
        .args(["run", "codex", "talk", "--mode", "full", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    while !lines.next_line().await.unwrap().expect("it ended early").contains("message_delta") {}
    let pid = rustix::process::Pid::from_raw(run.id().unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut last = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        last = line;
    }
    assert!(last.contains("\"interrupted\""), "{last}");
    let status = tokio::time::timeout(WITHIN, run.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(130));
}

#[tokio::test]
async fn an_approval_is_answered_from_another_terminal() {
    let rig = Rig::with(json!([
        { "do": [{ "call": "exec_command", "args": { "cmd": "touch one" } }] },
        { "do": [{ "call": "exec_command", "args": { "cmd": "touch two" } }] },
        { "do": [{ "say": "Done." }] },
    ]))
    .await;
    let nothing = longshore(&rig, &["approve"]).await;
    assert_eq!(nothing.status.code(), Some(3), "{}", err(&nothing));
    let mut talk = rig.talk("ask", "make them").await;
    talk.until_asked(1).await;
    assert!(out(&longshore(&rig, &["approve"]).await).contains("allowed"));
    let asked = talk.until_asked(2).await;
    let id = asked[0].request.approval.to_string();
    assert!(out(&longshore(&rig, &["deny", &id, "-m", "not that one"]).await).contains("denied"));
    talk.until_turn_ends(talk.last_turn()).await;
    assert!(rig.work().join("one").exists() && !rig.work().join("two").exists());
    let again = longshore(&rig, &["approve", &id]).await;
    assert_eq!(again.status.code(), Some(5), "{}", err(&again));
    assert!(err(&again).contains("owner has already decided this"));
}

#[tokio::test]
async fn errors_say_what_to_do_next() {
    let mut rig = Rig::with(json!([])).await;
    let unknown = longshore(&rig, &["run", "nobody", "hi"]).await;
    assert_eq!(unknown.status.code(), Some(3));
    assert!(err(&unknown).contains("longshore agents"), "{}", err(&unknown));
    let missing = longshore(&rig, &["show", "ffffffff"]).await;
    assert_eq!(missing.status.code(), Some(3), "{}", err(&missing));
    let quoted = longshore(&rig, &["show", "x\u{1b}]0;mine\u{7}\u{9b}2J"]).await;
    assert!(!err(&quoted).contains(['\u{1b}', '\u{7}', '\u{9b}']), "{:?}", err(&quoted));
    let quoted = longshore(&rig, &["show", "--json", "x\u{1b}]0;mine\u{7f}\u{9b}2J"]).await;
    assert!(!err(&quoted).contains(['\u{1b}', '\u{7f}', '\u{9b}']), "{:?}", err(&quoted));
    assert!(err(&quoted).contains("\\u009b") && serde_json::from_str::<Value>(&err(&quoted)).is_ok());
    let usage = longshore(&rig, &["run"]).await;
    assert_eq!(usage.status.code(), Some(2));
    rig.kill().await;
    let gone = longshore(&rig, &["down", "--json"]).await;
    assert_eq!(gone.status.code(), Some(6));
    let error: Value = serde_json::from_str(&err(&gone)).unwrap();
    assert!(error["error"]["hint"].as_str().unwrap().contains("longshore up"));
}

#[tokio::test]
async fn a_session_travels_to_another_hub() {
    let rig = Rig::with(json!([{ "do": [{ "say": "The word is heron." }] }])).await;
    let mut talk = rig.talk("full", "remember a word").await;
    talk.until_turn_ends_somehow().await;
    let file = rig.folder.path().join("session.ndjson");
    let export = longshore(&rig, &["export", "-o", file.to_str().unwrap()]).await;
    assert!(export.status.success(), "{}", err(&export));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds whatever the agent printed");
    let again = longshore(&rig, &["import", file.to_str().unwrap()]).await;
    assert_eq!(again.status.code(), Some(5), "it is here already");
    assert!(err(&again).contains("already has this session"), "{}", err(&again));

    let other = Rig::with(json!([])).await;
    let import = longshore(&other, &["import", file.to_str().unwrap()]).await;
    assert!(err(&import).contains("--cwd"), "nobody has been in its folder here: {}", err(&import));
    let here = other.work();
    let import =
        longshore(&other, &["import", "--cwd", here.to_str().unwrap(), file.to_str().unwrap()]).await;
    assert!(import.status.success(), "{}", err(&import));
    assert!(out(&longshore(&other, &["show"]).await).contains("The word is heron."));
    assert!(out(&longshore(&other, &["search", "heron"]).await).contains("remember a word"));
}

#[tokio::test]
async fn a_wire_is_recorded_and_replayed() {
    let rig = Rig::with(json!([])).await;
    let tape = rig.folder.path().join("tape.jsonl");
    let mut record = rig.longshore();
    let mut record = record
        .args(["record", "-o", tape.to_str().unwrap(), "--"])
        .arg(codex())
        .arg("app-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = record.stdin.take().unwrap();
    let hello = json!({ "id": 1, "method": "initialize", "params": { "clientInfo": { "name": "t", "version": "1" } } });
    stdin.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
    let mut said = BufReader::new(record.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).await.unwrap();
    assert!(line.contains("userAgent"), "{line}");
    drop(stdin);
    said.read_to_string(&mut line).await.unwrap();
    assert!(tokio::time::timeout(WITHIN, record.wait()).await.unwrap().unwrap().success());
    let replay = longshore(&rig, &["replay", tape.to_str().unwrap()]).await;
    assert!(out(&replay).contains("response:initialize"), "{}{}", out(&replay), err(&replay));
    let replay = longshore(&rig, &["replay", "--json", tape.to_str().unwrap()]).await;
    assert!(out(&replay).lines().all(|line| serde_json::from_str::<Event>(line).is_ok()));
    let nothing = longshore(&rig, &["replay", "/nowhere"]).await;
    assert_eq!(nothing.status.code(), Some(1));
}

#[tokio::test]
async fn completions_and_help_know_the_verbs() {
    let rig = Rig::with(json!([])).await;
    let endless = err(&longshore(&rig, &["import", "/dev/zero"]).await);
    assert!(endless.contains("not an export of Longshore"), "{endless}");
    let import = out(&longshore(&rig, &["import", "--help"]).await);
    assert!(import.contains("past conversations") && import.contains("watch_past"), "{import}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(out(&longshore(&rig, &["completions", shell]).await).contains("interrupt"));
    }
}
