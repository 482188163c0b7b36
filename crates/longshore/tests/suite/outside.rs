//! A conversation of ours that goes on in the agent's own terminal: what is said there comes into the log in its place, and
//! the next prompt here goes on after it.

use std::path::PathBuf;

use longshore_model::event::Body;
use longshore_model::info::Activity;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::agents;
use super::rig::{Rig, Talk, WITHIN, codex};

/// What the model says, one after another; titles are asked for at any time and count for nothing.
fn says(words: &[&str]) -> Value {
    let mut steps =
        vec![json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" })];
    steps.extend(words.iter().map(|text| json!({ "do": [{ "say": text }] })));
    json!(steps)
}

/// A real agent as a person runs it, without us.
async fn alone(rig: &Rig, program: PathBuf, arguments: &[&str]) {
    let at = |name: &str| rig.folder.path().join(name);
    let mut command = tokio::process::Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", at("home"))
        .env("TMPDIR", at("tmp"))
        .envs(agents::environment(rig.folder.path(), rig.root()))
        .env("CODEX_HOME", at("codex"))
        .current_dir(rig.work())
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .args(arguments);
    let output = tokio::time::timeout(WITHIN, command.output()).await.expect("it did not end").unwrap();
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", words(&output.stdout), words(&output.stderr));
}

async fn codex_alone(rig: &Rig, native: &str, words: &str) {
    alone(rig, codex(), &["exec", "--skip-git-repo-check", "resume", native, words]).await;
}

async fn claude_alone(rig: &Rig, native: &str, words: &str) {
    alone(rig, agents::agent("claude"), &["-p", "--resume", native, words]).await;
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

#[tokio::test]
async fn claude_goes_on_here_after_what_was_said_in_its_own_terminal() {
    let rig = Rig::with(says(&["One.", "Two.", "Three."])).await;
    let mut talk = rig.open_with("claude", "full").await;
    go(&mut talk, "first here").await;
    let name = native(&mut talk).await;
    // The process of ours still runs, and does not know of this.
    claude_alone(&rig, &name, "second in the terminal").await;
    go(&mut talk, "third here").await;
    assert_eq!(prompts(&talk), ["first here", "second in the terminal", "third here"], "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two.", "Three."]);
    assert!(rig.model_heard(&["third here", "second in the terminal"]), "it remembers both");
    assert_eq!(talk.info().await.native, Some(name));
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
    let mut talk = rig.follow(session, longshore_model::id::Seq::ZERO).await;
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
