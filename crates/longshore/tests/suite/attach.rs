//! `longshore attach` as a person has it at a terminal, and as a script has it in a pipe.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use longshore_model::capability::Mode;
use longshore_model::event::Body;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::rig::{Rig, Talk, WITHIN};
use super::terminal::{Terminal, rows_of};

fn prompts(talk: &Talk) -> Vec<String> {
    let said = talk.events.iter().filter(|event| matches!(event.body, Body::UserMessage { .. }));
    said.map(|event| event.text().to_owned()).collect()
}

#[tokio::test]
async fn what_is_typed_while_the_agent_talks_stands_until_it_is_sent_and_stands_once() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "Nothing yet." }] },
        { "do": [{ "say": "It goes on. ".repeat(60), "delay_ms": 40 }] },
        { "do": [{ "say": "Heard." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "hello").await;
    talk.until_turn_ends_somehow().await;
    let mut person = Terminal::with(&rig, &["attach"], &[]);
    person.until("Nothing yet.").await;
    person.until("/help").await;
    person.press("talk to me\r").await;
    person.until("Writing").await;
    person.press("half typ").await;
    person.press("ed words").await;
    person.until("> half typed words").await;
    // A paragraph is seen while it grows: a row of it stands above, and the words still stand below.
    person.until("It goes on. It goes on. It goes on. It goes on. It goes on. It goes on.").await;
    person.until("> half typed words").await;
    let rows = person.rows();
    assert_eq!(rows.last().map(String::as_str), Some("> half typed words"), "{rows:#?}");
    assert!(rows[rows.len() - 2].contains("Writing"), "{rows:#?}");
    person.press(" now\r").await;
    person.until("queued").await;
    person.until("Heard.").await;
    person.until("/help").await;
    person.press("\u{4}").await;
    let (code, shown) = person.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    talk.until("three prompts", |talk| prompts(talk).len() == 3).await;
    assert_eq!(prompts(&talk), ["hello", "talk to me", "half typed words now"]);
    let rows = rows_of(&shown);
    let once = rows.iter().filter(|row| *row == "> talk to me").count();
    assert_eq!(once, 1, "{rows:#?}");
}

#[tokio::test]
async fn keys_and_commands_stop_change_the_mode_deny_with_a_reason_and_remember() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "On and on. ".repeat(200), "delay_ms": 40 }] },
        { "do": [{ "call": "exec_command", "args": { "cmd": "touch made" } }] },
        { "do": [{ "say": "Understood." }], "repeat": "forever" },
    ]))
    .await;
    let mut talk = rig.open("ask").await;
    let mut person = Terminal::with(&rig, &["attach"], &[]);
    person.until("/help").await;
    person.press("first line\u{1b}\rsecond\\\rthird\r").await;
    person.until("Writing").await;
    person.press("\u{1b}").await;
    person.until("interrupted").await;
    talk.until_turn_ends_somehow().await;
    assert_eq!(talk.end_of(talk.last_turn()), Some(TurnOutcome::Interrupted));
    assert_eq!(prompts(&talk), ["first line\nsecond\nthird"]);
    person.press("/mode plan\r").await;
    person.until("mode: plan").await;
    person.press("\u{1b}[Z").await;
    person.until("mode: ask").await;
    person.press("/nonsense\r").await;
    person.until("there is no command /nonsense").await;
    person.press("make it\r").await;
    person.until("your answer: y").await;
    person.press("n not there\r").await;
    person.until("\"not there\"").await;
    person.until("Understood.").await;
    // While a turn runs the key is about the turn.
    person.until("done in").await;
    person.until("/help").await;
    person.press("\u{3}").await;
    person.until("Ctrl-C again leaves").await;
    person.press("\u{3}").await;
    let (code, shown) = person.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(!rig.work().join("made").exists());
    assert_eq!(talk.info().await.mode, Mode::Ask);
    let history = rig.folder.path().join("longshore/data/history");
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.contains("make it") && !kept.contains("not there"), "{kept}");
    assert_eq!(std::fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn what_was_begun_before_an_approval_came_up_is_a_prompt_and_no_answer() {
    let rig = Rig::with(json!([
        { "do": [
            { "say": "One moment. ".repeat(40), "delay_ms": 40 },
            { "call": "exec_command", "args": { "cmd": "touch made" } },
        ] },
        { "do": [{ "say": "Understood." }], "repeat": "forever" },
    ]))
    .await;
    let mut talk = rig.open("ask").await;
    let mut person = Terminal::with(&rig, &["attach"], &[]);
    person.until("/help").await;
    person.press("make it\r").await;
    person.until("Writing").await;
    person.press("no worries, also update the docs").await;
    person.until("your answer: y").await;
    person.press("\r").await;
    person.until("queued").await;
    person.until("your answer: y").await;
    person.press("y\r").await;
    person.until("allowed once").await;
    talk.until("both prompts", |talk| prompts(talk).len() == 2).await;
    assert_eq!(prompts(&talk), ["make it", "no worries, also update the docs"]);
    assert!(rig.work().join("made").exists());
}

#[tokio::test]
async fn words_that_steer_a_turn_stand_on_the_screen() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "It goes on. ".repeat(60), "delay_ms": 40 }] },
        { "do": [{ "say": "Heard." }], "repeat": "forever" },
    ]))
    .await;
    let mut talk = rig.open("full").await;
    let mut person = Terminal::with(&rig, &["attach"], &[]);
    person.until("/help").await;
    person.press("talk to me\r").await;
    person.until("Writing").await;
    person.press("mind the gap\u{13}").await;
    talk.until("both prompts", |talk| prompts(talk).len() == 2).await;
    person.until("Heard.").await;
    person.until("/help").await;
    person.press("\u{4}").await;
    let (_, shown) = person.ends().await;
    assert!(!shown.contains("queued"), "it was heard at once: {shown}");
    let rows = rows_of(&shown);
    for words in ["> talk to me", "> mind the gap"] {
        assert_eq!(rows.iter().filter(|row| *row == words).count(), 1, "{words}: {rows:#?}");
    }
}

#[tokio::test]
async fn what_the_program_says_to_a_terminal_is_no_wider_than_that() {
    let rig = Rig::with(json!([])).await;
    let mut talk = rig.open("full").await;
    talk.call("update", json!({ "title": "a title that is long ".repeat(5) })).await.unwrap();
    let fits = |shown: &str| {
        let rows = rows_of(shown);
        assert!(rows.iter().all(|row| row.chars().count() <= 100), "{rows:#?}");
    };
    let mut person = Terminal::with(&rig, &["attach"], &[]);
    person.until("/help").await;
    person.press("/help\r").await;
    person.until("leave; the session goes on").await;
    person.press("\u{4}").await;
    let (_, shown) = person.ends().await;
    assert!(shown.contains("a backslash at the end"), "{shown}");
    fits(&shown);

    let mut person = Terminal::with(&rig, &["delete", "-"], &[]);
    person.until("[y/N]").await;
    person.press("n\r").await;
    let (code, shown) = person.ends().await;
    assert_eq!(code, Some(2), "{shown}");
    fits(&shown);

    let (_, shown) = Terminal::with(&rig, &["pair"], &[]).ends().await;
    let (_, there) = shown.split_once("open  http://127.0.0.1:").unwrap();
    let port = there.split('/').next().unwrap();
    assert!(shown.contains(&format!("--bind 0.0.0.0:{port} --tls")), "{shown}");
    assert!(!shown.contains(['▀', '▄', '█']), "no phone would get there: {shown}");
    fits(&shown);
}

#[tokio::test]
async fn a_pipe_says_its_lines_and_leaves_when_they_are_answered() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Heard you." }] }])).await;
    let mut talk = rig.open("full").await;
    let mut attach = rig.longshore();
    let mut attach = attach.arg("attach").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    attach.stdin.take().unwrap().write_all(b"from a pipe\n").await.unwrap();
    let ended =
        tokio::time::timeout(WITHIN, attach.wait_with_output()).await.expect("it did not leave").unwrap();
    let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{shown}");
    assert!(shown.contains("> from a pipe") && shown.contains("Heard you."), "{shown}");
    talk.until("the prompt", |talk| prompts(talk) == ["from a pipe"]).await;
}
