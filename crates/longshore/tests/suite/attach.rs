//! `longshore attach` as a person has it at a terminal, and as a script has it in a pipe.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use longshore_model::capability::Mode;
use longshore_model::event::Body;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rig::{Rig, Talk, WITHIN};

/// A terminal with `attach` in it.
struct Terminal {
    terminal: pty_process::Pty,
    attach: tokio::process::Child,
    shown: String,
    /// How much of it was looked at.
    seen: usize,
}

impl Terminal {
    fn attach(rig: &Rig) -> Self {
        let (terminal, inside) = pty_process::open().unwrap();
        terminal.resize(pty_process::Size::new(40, 100)).unwrap();
        let plain = rig.longshore();
        let plain = plain.as_std();
        let variables = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let command = pty_process::Command::new(env!("CARGO_BIN_EXE_longshore")).env_clear().envs(variables);
        let command = command.env("TERM", "xterm-256color").env("NO_COLOR", "1").current_dir(rig.work());
        let attach = command.arg("attach").kill_on_drop(true).spawn(inside).unwrap();
        Self { terminal, attach, shown: String::new(), seen: 0 }
    }

    async fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).await.unwrap();
    }

    /// Reads until these words are shown, after those that were waited for before.
    async fn until(&mut self, words: &str) {
        let reading = async {
            loop {
                if let Some(at) = self.shown[self.seen..].find(words) {
                    self.seen += at + words.len();
                    return true;
                }
                let mut bytes = [0; 4096];
                match self.terminal.read(&mut bytes).await {
                    Ok(read @ 1..) => self.shown.push_str(&String::from_utf8_lossy(&bytes[..read])),
                    _ => return false,
                }
            }
        };
        let found = tokio::time::timeout(WITHIN, reading).await.unwrap_or(false);
        assert!(found, "`{words}` was never shown:\n{}", self.shown);
    }

    /// The rows that a person sees now.
    fn rows(&self) -> Vec<String> {
        let mut glass = Glass::default();
        glass.show(&self.shown);
        let rows = glass.rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned());
        rows.filter(|row| !row.is_empty()).collect()
    }

    async fn ends(mut self) -> (Option<i32>, String) {
        let mut bytes = [0; 4096];
        let draining = async {
            // The terminal reports an error when the program has ended.
            while let Ok(read @ 1..) = self.terminal.read(&mut bytes).await {
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        };
        if tokio::time::timeout(WITHIN, draining).await.is_err() {
            panic!("it did not end:\n{}", self.shown);
        }
        let status = tokio::time::timeout(WITHIN, self.attach.wait()).await.unwrap().unwrap();
        (status.code(), self.shown)
    }
}

/// What a terminal shows of what it is sent, as far as we and the input line use one.
#[derive(Default)]
struct Glass {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Glass {
    fn show(&mut self, text: &str) {
        let mut rest = text.chars();
        while let Some(next) = rest.next() {
            if self.rows.len() <= self.row {
                self.rows.resize(self.row + 1, Vec::new());
            }
            match next {
                '\r' => self.column = 0,
                '\n' => self.row += 1,
                '\u{7}' => {}
                '\u{1b}' => self.command(&mut rest),
                plain => {
                    let row = &mut self.rows[self.row];
                    row.resize(row.len().max(self.column + 1), ' ');
                    row[self.column] = plain;
                    self.column += 1;
                }
            }
        }
    }

    fn command(&mut self, rest: &mut std::str::Chars<'_>) {
        assert_eq!(rest.next(), Some('['), "a sequence of another kind");
        let mut code = String::new();
        let end = loop {
            match rest.next() {
                Some(end) if end.is_ascii_alphabetic() => break end,
                Some(part) => code.push(part),
                None => return,
            }
        };
        let count = code.parse::<usize>().unwrap_or(1).max(1);
        match end {
            'A' => self.row = self.row.saturating_sub(count),
            'C' => self.column += count,
            'J' => {
                self.rows.truncate(self.row + 1);
                self.rows[self.row].truncate(self.column);
            }
            'K' if code == "2" => self.rows[self.row].clear(),
            'K' => self.rows[self.row].truncate(self.column),
            'm' | 'h' | 'l' => {}
            other => panic!("nobody knows {other} in {code}"),
        }
    }
}

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
    let mut person = Terminal::attach(&rig);
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
    let mut glass = Glass::default();
    glass.show(&shown);
    let rows: Vec<String> = glass.rows.iter().map(|row| row.iter().collect::<String>()).collect();
    let once = rows.iter().filter(|row| row.trim_end() == "> talk to me").count();
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
    let mut person = Terminal::attach(&rig);
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
    let mut person = Terminal::attach(&rig);
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
    let mut person = Terminal::attach(&rig);
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
    let mut glass = Glass::default();
    glass.show(&shown);
    let rows: Vec<String> = glass.rows.iter().map(|row| row.iter().collect::<String>()).collect();
    for words in ["> talk to me", "> mind the gap"] {
        assert_eq!(rows.iter().filter(|row| row.trim_end() == words).count(), 1, "{words}: {rows:#?}");
    }
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
