//! A conversation of ours that goes on in the agent's own terminal: what is said there comes into the log in its place, and
//! the next prompt here goes on after it.

use std::path::PathBuf;

use longshore_model::event::{Body, Event};
use longshore_model::id::{Seq, TurnId};
use longshore_model::info::Activity;
use longshore_model::lifecycle::{FaultCode, TurnOutcome};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::agents;
use super::rig::{Rig, Talk, WITHIN, codex};

/// What the model says, one after another; titles are asked for at any time and count for nothing.
fn says(words: &[&str]) -> Value {
    let mut steps =
        vec![json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" })];
    steps.extend(words.iter().map(|text| json!({ "do": [{ "say": text }] })));
    json!(steps)
}

/// The same, with another step among them.
fn says_and(words: &[&str], step: Value, more: &[&str]) -> Value {
    let mut steps = says(words);
    let rest = more.iter().map(|text| json!({ "do": [{ "say": text }] }));
    steps.as_array_mut().unwrap().extend([step].into_iter().chain(rest));
    steps
}

/// A real agent as a person starts it, without us.
fn by_a_person(rig: &Rig, program: PathBuf) -> Command {
    let at = |name: &str| rig.folder.path().join(name);
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", at("home"))
        .env("TMPDIR", at("tmp"))
        .envs(agents::environment(rig.folder.path(), rig.root()))
        .env("CODEX_HOME", at("codex"))
        .current_dir(rig.work())
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
    command
}

/// The same, until it has ended.
async fn alone(rig: &Rig, program: PathBuf, arguments: &[&str]) {
    let mut command = by_a_person(rig, program);
    command.args(arguments);
    let output = tokio::time::timeout(WITHIN, command.output()).await.expect("it did not end").unwrap();
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", words(&output.stdout), words(&output.stderr));
}

/// A codex that somebody has left open with a conversation in it.
struct Holder {
    process: Child,
}

impl Holder {
    async fn of(rig: &Rig, native: &str) -> Self {
        let mut process = by_a_person(rig, codex())
            .arg("app-server")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let hello = json!({ "id": 1, "method": "initialize", "params": { "clientInfo": { "name": "holder", "version": "1" } } });
        let hold = json!({ "id": 2, "method": "thread/resume", "params": { "threadId": native } });
        let lines = format!("{hello}\n{}\n{hold}\n", json!({ "method": "initialized" }));
        process.stdin.as_mut().unwrap().write_all(lines.as_bytes()).await.unwrap();
        let mut told = BufReader::new(process.stdout.take().unwrap()).lines();
        let held = async {
            while let Some(line) = told.next_line().await.unwrap() {
                let line: Value = serde_json::from_str(&line).unwrap();
                if line["id"] == json!(2) {
                    assert!(line["result"].is_object(), "{line}");
                    return;
                }
            }
            panic!("it ended");
        };
        tokio::time::timeout(WITHIN, held).await.expect("it did not take the conversation");
        // Its pipe is read to the end, so that it never waits.
        tokio::spawn(async move { while let Ok(Some(_)) = told.next_line().await {} });
        Self { process }
    }

    async fn end(mut self) {
        drop(self.process.stdin.take());
        tokio::time::timeout(WITHIN, self.process.wait()).await.expect("it did not end").unwrap();
    }
}

async fn codex_alone(rig: &Rig, native: &str, words: &str) {
    alone(rig, codex(), &["exec", "--skip-git-repo-check", "resume", native, words]).await;
}

/// A version of Claude Code, by the name of its program.
async fn claude_alone(rig: &Rig, program: &str, native: &str, words: &str) {
    alone(rig, agents::agent(program), &["-p", "--resume", native, words]).await;
}

async fn native(talk: &mut Talk) -> String {
    talk.info().await.native.expect("the agent has a name for the conversation")
}

/// What people said, in the order of the log.
fn prompts(talk: &Talk) -> Vec<&str> {
    talk.said(|body| matches!(body, Body::UserMessage { .. }))
}

async fn go(talk: &mut Talk, words: &str) {
    let turn = talk.prompt(words).await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
}

/// Under its own name, and under one of the settings.
#[tokio::test]
async fn claude_goes_on_here_after_what_was_said_in_its_own_terminal() {
    claude_goes_on("claude", "claude").await;
}

#[tokio::test]
async fn a_claude_of_the_settings_goes_on_here_after_what_was_said_in_its_own_terminal() {
    claude_goes_on("claude-next", "claude-next").await;
}

/// Over ACP it is the same agent, with the same records.
#[tokio::test]
async fn claude_over_acp_goes_on_here_after_what_was_said_in_its_own_terminal() {
    claude_goes_on("claude-code-acp", "claude").await;
}

#[tokio::test]
async fn a_newer_claude_over_acp_goes_on_here_after_what_was_said_in_its_own_terminal() {
    claude_goes_on("claude-agent-acp", "claude-next").await;
}

async fn claude_goes_on(agent: &str, program: &str) {
    let rig = Rig::with(says(&["One.", "Two.", "Three."])).await;
    let mut talk = rig.open_with(agent, "full").await;
    go(&mut talk, "first here").await;
    let name = native(&mut talk).await;
    // The process of ours still runs, and does not know of this.
    claude_alone(&rig, program, &name, "second in the terminal").await;
    go(&mut talk, "third here").await;
    assert_eq!(prompts(&talk), ["first here", "second in the terminal", "third here"], "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two.", "Three."]);
    assert!(rig.model_heard(&["third here", "second in the terminal"]), "it remembers both");
    assert_eq!(talk.info().await.native.as_ref(), Some(&name));
    // It tells how it was started there.
    let released = talk.call("release", json!({})).await.unwrap();
    let line = released["handBack"]["command"].as_str().unwrap_or_else(|| panic!("no way back: {released}"));
    assert!(line.contains("claude") && line.ends_with(&format!("--resume {name}")), "{line}");
}

/// What is set here, and a command that the agent's program answers itself: the program writes some of it into the record
/// that it shares with its terminal, as if somebody had said it there.
async fn stays_here(agent: &str, model: &str, command: Option<&str>) {
    let rig = Rig::with(says(&["One.", "Two.", "Three."])).await;
    let mut talk = rig.open_with(agent, "full").await;
    go(&mut talk, "first here").await;
    for change in [json!({ "model": model }), json!({ "mode": "plan" }), json!({ "mode": "full" })] {
        talk.call("update", change).await.unwrap();
    }
    go(&mut talk, "second here").await;
    let mut said = vec!["first here", "second here"];
    if let Some(command) = command {
        go(&mut talk, command).await;
        said.push(command);
    }
    let found: Value = rig.client().await.call("importPast", json!({})).await.unwrap();
    assert_eq!(found["found"], json!(1), "{found}");
    // Before a prompt the record is looked at.
    go(&mut talk, "third here").await;
    said.push("third here");
    assert_eq!(prompts(&talk), said, "{}", talk.story());
    let left = talk.said(|body| matches!(body, Body::SessionSleeping(_)));
    assert!(left.is_empty(), "its process was ended: {}", talk.story());
}

#[tokio::test]
async fn a_claude_that_is_set_to_another_model_stays_here() {
    stays_here("claude", "sonnet", Some("/context")).await;
}

#[tokio::test]
async fn a_newer_claude_that_is_set_to_another_model_stays_here() {
    stays_here("claude-next", "sonnet", Some("/context")).await;
}

#[tokio::test]
async fn a_claude_over_acp_that_is_set_to_another_model_stays_here() {
    stays_here("claude-agent-acp", "sonnet", None).await;
}

#[tokio::test]
async fn a_codex_that_is_set_to_another_model_stays_here() {
    stays_here("codex", "gpt-5.4", None).await;
}

/// Both go on from the same place. The one here is told by its driver, the other one by the record that both write.
#[tokio::test]
async fn what_was_said_to_claude_in_its_terminal_while_it_worked_here_is_in_the_log_too() {
    let wait = json!({ "command": "until [ -e go ]; do sleep 0.05; done", "description": "wait" });
    let waits = json!({ "do": [{ "call": "Bash", "args": wait }] });
    let rig = Rig::with(says_and(&["One."], waits, &["Three.", "Two.", "Four.", "Five."])).await;
    let mut talk = rig.open_with("claude", "full").await;
    go(&mut talk, "first here").await;
    let name = native(&mut talk).await;
    let turn = talk.prompt("second here").await;
    talk.until_event("it works", |event| matches!(event.body, Body::ToolStarted(_))).await;
    // When it is there, the command waits for the file.
    rig.until_on_disk("until [ -e go ]").await;
    claude_alone(&rig, "claude", &name, "third in the terminal").await;
    assert_eq!(talk.end_of(turn), None, "the one here still works");
    std::fs::write(rig.work().join("go"), "").unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    go(&mut talk, "fourth here").await;
    let said = ["first here", "second here", "third in the terminal", "fourth here"];
    assert_eq!(prompts(&talk), said, "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two.", "Three.", "Four."]);
    let told = talk.said(|body| matches!(body, Body::Notice { .. }));
    assert_eq!(told.iter().filter(|told| told.contains("two branches")).count(), 1, "{told:?}");
    // It is not taken in again, not even by a hub that has to look at the whole record.
    let found: Value = rig.client().await.call("importPast", json!({})).await.unwrap();
    assert_eq!(found["found"], json!(1), "{found}");
    go(&mut talk, "fifth here").await;
    assert_eq!(prompts(&talk).len(), 5, "{}", talk.story());
}

#[tokio::test]
async fn a_headless_codex_goes_on_here_after_what_was_said_in_its_own_terminal() {
    let rig = Rig::with(says(&["One.", "Two.", "Three."])).await;
    let mut talk = rig.open_with("codex-exec", "full").await;
    go(&mut talk, "first here").await;
    let name = native(&mut talk).await;
    codex_alone(&rig, &name, "second in the terminal").await;
    go(&mut talk, "third here").await;
    assert_eq!(prompts(&talk), ["first here", "second in the terminal", "third here"], "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two.", "Three."]);
    assert!(rig.model_heard(&["third here", "second in the terminal"]), "it remembers both");
    assert_eq!(native(&mut talk).await, name);
}

#[tokio::test]
async fn what_was_said_to_codex_while_the_hub_was_down_is_in_the_log_before_the_next_prompt() {
    let mut rig = Rig::with(says(&["One.", "Two.", "Three."])).await;
    let mut talk = rig.talk("full", "first here").await;
    talk.until_turn_ends_somehow().await;
    let (name, session) = (native(&mut talk).await, talk.info().await.session_id);
    rig.kill().await;
    codex_alone(&rig, &name, "second in the terminal").await;
    rig.start().await;
    let mut talk = rig.follow(session, Seq::ZERO).await;
    go(&mut talk, "third here").await;
    assert_eq!(prompts(&talk), ["first here", "second in the terminal", "third here"], "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two.", "Three."]);
    assert!(rig.model_heard(&["third here", "second in the terminal"]), "it remembers both");
}

#[tokio::test]
async fn a_released_codex_goes_on_in_its_own_terminal_and_comes_back() {
    let rig = Rig::with(says(&["One.", "Two.", "Three."])).await;
    let mut talk = rig.talk("full", "first here").await;
    talk.until_turn_ends_somehow().await;
    let name = native(&mut talk).await;
    let released = talk.call("release", json!({})).await.unwrap();
    let line = released["handBack"]["command"].as_str().unwrap_or_else(|| panic!("no way back: {released}"));
    assert!(line.contains(&name), "{line}");
    talk.until("it sleeps", |talk| !talk.said(|body| matches!(body, Body::SessionSleeping(_))).is_empty())
        .await;
    // Codex refuses this as long as somebody else holds the conversation.
    codex_alone(&rig, &name, "second in the terminal").await;
    // Nobody says anything here: it is found all the same.
    let found: Value = rig.client().await.call("importPast", json!({})).await.unwrap();
    assert_eq!(found["found"], json!(1), "{found}");
    talk.until("it is read", |talk| talk.messages() == ["One.", "Two."]).await;
    assert_eq!(talk.info().await.activity, Activity::Sleeping);
    go(&mut talk, "third here").await;
    assert_eq!(prompts(&talk), ["first here", "second in the terminal", "third here"], "{}", talk.story());
    assert!(rig.model_heard(&["third here", "second in the terminal"]), "it remembers both");
}

/// People leave the terminal open. Codex lets only one program at a time hold a conversation, and has forgotten nothing.
#[tokio::test]
async fn a_conversation_that_another_codex_holds_waits_for_it_and_is_not_begun_again() {
    let rig = Rig::with(says(&["One.", "Two."])).await;
    let mut talk = rig.talk("full", "first here").await;
    talk.until_turn_ends_somehow().await;
    let name = native(&mut talk).await;
    talk.call("release", json!({})).await.unwrap();
    talk.until("it sleeps", |talk| !talk.said(|body| matches!(body, Body::SessionSleeping(_))).is_empty())
        .await;
    let holder = Holder::of(&rig, &name).await;
    let turn = talk.prompt("second here").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
    let told = talk.said(|body| matches!(body, Body::TurnFinished(_)));
    assert!(told.last().unwrap().contains("close it there"), "{told:?}");
    assert_eq!(native(&mut talk).await, name, "{}", talk.story());

    holder.end().await;
    go(&mut talk, "second here, again").await;
    assert_eq!(native(&mut talk).await, name, "{}", talk.story());
    assert!(rig.model_heard(&["first here", "second here, again"]), "it remembers");
    let forgot = |event: &Event| matches!(&event.body, Body::SessionError(fault) if fault.code == FaultCode::ResumeFailed);
    assert!(!talk.events.iter().any(forgot), "{}", talk.story());
}

/// A hub that was killed in the middle of a turn, with a prompt behind it that is held now; meanwhile somebody went on in the
/// terminal. Gives the turn of that prompt.
async fn cut_and_gone_on_elsewhere() -> (Rig, Talk, TurnId) {
    let slow = json!({ "do": [{ "say": "Half of an answer.", "chunks": 4, "delay_ms": 60_000 }] });
    let mut rig = Rig::with(says_and(&["One."], slow, &["Two.", "Three."])).await;
    let mut talk = rig.talk("full", "first here").await;
    talk.until_turn_ends_somehow().await;
    let (name, session) = (native(&mut talk).await, talk.info().await.session_id);
    let cut = talk.prompt("cut here").await;
    talk.until("it speaks", |talk| {
        talk.events.iter().any(|event| event.turn == Some(cut) && matches!(event.body, Body::MessageDelta))
    })
    .await;
    let held = talk.prompt("held here").await;
    rig.kill().await;
    rig.start().await;
    let mut talk = rig.follow(session, Seq::ZERO).await;
    talk.until_turn_ends(cut).await;
    codex_alone(&rig, &name, "second in the terminal").await;
    (rig, talk, held)
}

#[tokio::test]
async fn what_a_restart_cut_is_not_resumed_when_somebody_went_on_in_the_terminal() {
    let (_rig, mut talk, _) = cut_and_gone_on_elsewhere().await;
    talk.call("resume", json!({})).await.unwrap_err();
    talk.until("it is read", |talk| talk.messages().contains(&"Two.")).await;
    assert_eq!(prompts(&talk), ["first here", "cut here", "second in the terminal"], "{}", talk.story());
}

#[tokio::test]
async fn a_queue_that_is_sent_on_goes_on_after_what_was_said_in_the_terminal() {
    let (rig, mut talk, held) = cut_and_gone_on_elsewhere().await;
    talk.call("sendQueued", json!({ "all": true })).await.unwrap();
    assert_eq!(talk.until_turn_ends(held).await, TurnOutcome::Completed, "{}", talk.story());
    let said = ["first here", "cut here", "second in the terminal", "held here"];
    assert_eq!(prompts(&talk), said, "{}", talk.story());
    assert!(rig.model_heard(&["second in the terminal", "held here"]), "it remembers both");
}

#[tokio::test]
async fn a_released_opencode_goes_on_in_its_own_terminal_and_comes_back() {
    let rig = Rig::with(says(&["One.", "Two.", "Three."])).await;
    let mut talk = rig.open_with("opencode", "full").await;
    go(&mut talk, "first here").await;
    let name = native(&mut talk).await;
    talk.call("release", json!({})).await.unwrap();
    talk.until("it sleeps", |talk| !talk.said(|body| matches!(body, Body::SessionSleeping(_))).is_empty())
        .await;
    // It puts what is more than one word into quotes.
    alone(&rig, agents::agent("opencode"), &["run", "-s", &name, "second"]).await;
    go(&mut talk, "third here").await;
    assert_eq!(prompts(&talk), ["first here", "second", "third here"], "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two.", "Three."]);
    assert!(rig.model_heard(&["third here", "second"]), "it remembers both");
}

#[tokio::test]
async fn an_opencode_turn_that_a_killed_hub_cut_short_holds_nobody_up() {
    let slow = json!({ "do": [{ "say": "word ".repeat(400), "chunks": "words", "delay_ms": 50 }] });
    let mut rig = Rig::with(says_and(&[], slow, &["Two."])).await;
    let mut talk = rig.open_with("opencode", "full").await;
    talk.prompt("talk").await;
    talk.until_event("it speaks", |event| matches!(event.body, Body::MessageDelta)).await;
    rig.kill().await;
    rig.start().await;
    let mut talk = rig.follow(talk.session, Seq::ZERO).await;
    go(&mut talk, "go on").await;
    assert_eq!(prompts(&talk), ["talk", "go on"], "{}", talk.story());
    let log = std::fs::read_to_string(rig.hub_log()).unwrap();
    assert!(!log.contains("was not read in time"), "{log}");
}
