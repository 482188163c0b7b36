//! The verbs `verify` and `record`: what they print, remember and refuse.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use longshore::scenario::shape::shape_of;
use longshore::scenario::{RecordedAgent, differences, scenario};
use longshore_model::event::Event;
use longshore_model::id::Seq;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::agents;
use super::rig::Rig;

/// What a verb said, and how it ended.
pub(super) struct VerbOutput {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) code: Option<i32>,
}

/// A folder for the verbs, with nobody's settings in it.
pub(super) struct VerbFolder {
    folder: TempDir,
}

impl VerbFolder {
    pub(super) fn new() -> Self {
        Self { folder: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// With all real agents.
    pub(super) async fn longshore(&self, words: &[&str], more: &[(&str, &Path)]) -> VerbOutput {
        let places = agents::places();
        let places = places.iter().map(|(name, path)| (*name, path.as_path()));
        self.alone(words, &places.chain(more.iter().copied()).collect::<Vec<_>>()).await
    }

    /// With no agent but the built-in one.
    async fn alone(&self, words: &[&str], more: &[(&str, &Path)]) -> VerbOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.folder.path());
        command.env("LONGSHORE_HOME", self.at("longshore")).envs(more.iter().copied());
        // An account of somebody else, which no agent may see.
        command.env("OPENAI_API_KEY", "leaked").env("ANTHROPIC_API_KEY", "leaked");
        let output =
            command.args(words).current_dir(self.folder.path()).kill_on_drop(true).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        VerbOutput { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }

    pub(super) fn set_up(&self, settings: &str) {
        std::fs::create_dir_all(self.at("longshore")).unwrap();
        std::fs::write(self.at("longshore/config.toml"), settings).unwrap();
    }

    /// Nothing is left of what was played.
    pub(super) fn is_tidy(&self) -> bool {
        !self.at("longshore/data/trials").exists()
    }
}

/// An agent of the settings that speaks ACP.
fn of_settings(name: &str, command: &[&str]) -> String {
    format!("[agents.{name}]\ndriver = \"acp\"\ncommand = {command:?}\n")
}

/// A program in the place of Codex.
fn in_place_of_codex(desk: &VerbFolder, script: &str) -> PathBuf {
    let path = desk.at("codex-of-tomorrow");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn an_update_that_breaks_something_is_told_in_words() {
    let desk = VerbFolder::new();
    let (real, version) = (agents::agent("codex"), RecordedAgent::of("codex").unwrap().version.unwrap());
    let change = format!(
        r#"s/"exitCode":0/"exitCode":1/; s/"status":"completed","commandActions"/"status":"failed","commandActions"/; s/{version}/99.0.0/"#
    );
    let starts = desk.at("starts");
    let script = format!("echo \"$1\" >> {starts:?}\nexec 3<&0\n{real:?} \"$@\" <&3 | sed -u '{change}'");
    let codex = in_place_of_codex(&desk, &script);
    let words = ["verify", "codex", "open", "plain", "allowed", "queue"];
    let told = desk.longshore(&words, &[("CODEX_PATH", &codex)]).await;
    assert_eq!(told.code, Some(1), "{}{}", told.out, told.err);
    let command = "expr 770000 + 7 > made.txt; cat made.txt";
    let lines: Vec<&str> = told.out.lines().collect();
    assert!(lines[0].starts_with("Codex 99.0.0, recorded with 0."), "{}", told.out);
    assert_eq!(lines[1..3], ["✓ open     as recorded", "✓ plain    as recorded"], "{}", told.out);
    assert_eq!(lines[3], format!("✗ allowed  tool call `{command}`: exit 1 instead of 0"));
    assert_eq!(lines[4], format!("           tool call `{command}`: status failed instead of completed"));
    assert_eq!(lines[5], "✓ queue    as recorded", "what differs spoils nothing after it");
    assert!(lines[6].contains("4 scenarios ran in") && lines[6].ends_with("s, 1 differ"), "{}", told.out);
    assert!(lines[7].starts_with("`longshore record codex allowed` records the messages"), "{}", told.out);
    let started = std::fs::read_to_string(starts).unwrap();
    let played = started.lines().filter(|word| *word == "app-server").count();
    assert_eq!(played, 2, "one process plays until something differs, and another one the rest: {started}");
    assert!(desk.is_tidy());
}

#[tokio::test]
async fn an_agent_that_does_not_start_is_tried_once() {
    let desk = VerbFolder::new();
    let codex = in_place_of_codex(&desk, "echo 'no heron, no codex' >&2; exit 3");
    let told = desk.longshore(&["verify", "codex", "--json"], &[("CODEX_PATH", &codex)]).await;
    assert_eq!(told.code, Some(1), "{}{}", told.out, told.err);
    let said: Value = serde_json::from_str(&told.out).unwrap();
    let rows = said["scenarios"].as_array().unwrap();
    assert_eq!((&rows[0]["scenario"], &rows[0]["ok"]), (&json!("open"), &json!(false)), "{said:#}");
    let why = rows[0]["differs"][0].as_str().unwrap();
    assert!(why.starts_with("it did not begin to listen"), "{why}");
    assert!(rows[1..].iter().all(|row| row["not_played"] == "the agent does not start"), "{said:#}");
}

#[tokio::test]
async fn another_expectation_can_be_written_and_compared_with() {
    let desk = VerbFolder::new();
    let (seen, other) = (desk.at("seen.json"), desk.at("other.json"));
    let told = desk.longshore(&["verify", "codex", "plain", "--write", "seen.json"], &[]).await;
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let text = std::fs::read_to_string(&seen).unwrap();
    let recorded = RecordedAgent::of("codex").unwrap();
    assert_eq!(RecordedAgent::parse(&text).unwrap().scenarios["plain"], recorded.scenarios["plain"]);
    std::fs::write(&other, text.replace("Hello, a heron.", "Hello, an egret.")).unwrap();
    let told = desk.longshore(&["verify", "codex", "plain", "--expect", "other.json"], &[]).await;
    assert_eq!(told.code, Some(1), "{}{}", told.out, told.err);
    let differs = "message `Hello, an egret.`: text `Hello, a heron.` instead of `Hello, an egret.`";
    assert!(told.out.contains(differs), "{}", told.out);
}

#[tokio::test]
async fn of_an_agent_of_the_settings_as_much_is_tried_as_can_be() {
    let desk = VerbFolder::new();
    desk.set_up(&of_settings("mine", &[agents::agent("codex-acp").to_str().unwrap()]));
    let told = desk.longshore(&["verify", "mine", "--json"], &[]).await;
    assert_eq!(told.code, Some(1), "most of it was not tried: {}{}", told.out, told.err);
    let said: Value = serde_json::from_str(&told.out).unwrap();
    let rows = said["scenarios"].as_array().unwrap();
    assert_eq!((&rows[0]["scenario"], &rows[0]["ok"]), (&json!("open"), &json!(true)), "{said:#}");
    let why = "Longshore does not know how to set a scripted model for this agent";
    assert!(rows[1..].iter().all(|row| row["ok"].is_null() && row["not_played"] == why), "{said:#}");
    assert_eq!((&said["ok"], &said["played"]), (&json!(false), &json!(1)), "{said:#}");
    let told = desk.longshore(&["verify", "mine"], &[]).await;
    let last = told.out.lines().last().unwrap();
    assert!(told.code == Some(1) && last.ends_with("s: this does not verify mine"), "{}", told.out);
    assert!(last.starts_with("1 of 20 scenarios ran in "), "{last}");
    assert!(!desk.at("longshore/data/verified.json").exists(), "nobody may take it for verified");
    let told = desk.longshore(&["verify", "mine", "open"], &[]).await;
    assert_eq!(told.code, Some(0), "what was asked for was tried: {}", told.out);
    let told = desk.longshore(&["verify", "mine", "plain"], &[]).await;
    assert_eq!(told.code, Some(1), "what was not tried is not good: {}", told.out);
    assert!(told.out.contains("set `verify_env` under [agents.mine]"), "{}", told.out);
    assert!(told.out.ends_with("no scenario ran, so nothing is known about mine\n"), "{}", told.out);
    let told = desk.longshore(&["record", "mine", "edit"], &[]).await;
    assert_eq!(told.code, Some(2), "{}{}", told.out, told.err);
    assert!(told.err.contains("--driver acp -- PROGRAM"), "{}", told.err);
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let desk = VerbFolder::new();
    let told = desk.longshore(&["verify", "codx"], &[]).await;
    assert_eq!(told.code, Some(3));
    assert!(
        told.err.contains("no agent is called `codx`") && told.err.contains("the agents are codex, "),
        "{}",
        told.err
    );
    let told = desk.longshore(&["record", "codex", "eddit"], &[]).await;
    assert_eq!(told.code, Some(3));
    assert!(told.err.contains("the scenarios are open, plain, streaming"), "{}", told.err);
    for words in [&["record"][..], &["record", "--", "cat"]] {
        let told = desk.longshore(words, &[]).await;
        assert_eq!(told.code, Some(2), "{words:?}: {}", told.err);
        assert!(told.err.contains("`longshore record -o FILE -- PROGRAM`"), "{words:?}: {}", told.err);
    }
    let told = desk.longshore(&["verify", "codex"], &[("CODEX_PATH", Path::new("/no/codex"))]).await;
    assert_eq!(told.code, Some(3));
    assert!(told.err.contains("npm install -g @openai/codex"), "{}", told.err);
    desk.set_up(&of_settings("mine", &["/no/qwen"]));
    for words in [&["verify", "mine"][..], &["record", "mine", "edit"]] {
        let told = desk.longshore(words, &[]).await;
        assert_eq!(told.code, Some(3), "{words:?}: {}", told.err);
        assert!(
            told.err.contains(" is not set up") && told.err.contains("hint: put /no/qwen where"),
            "{}",
            told.err
        );
        assert!(!told.err.contains("install it with"), "a sentence is no command: {}", told.err);
    }
}

/// What a capture becomes is what the session was.
async fn a_recording_replays_as_it_was(agent: &str, driver: &str, name: &str) {
    let desk = VerbFolder::new();
    let told = desk.longshore(&["record", agent, name, "-o", "tape.jsonl"], &[]).await;
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let text = std::fs::read_to_string(desk.at("tape.jsonl")).unwrap();
    let heading: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let recorded = RecordedAgent::of(agent).unwrap();
    let version = recorded.version.unwrap();
    assert_eq!(
        heading,
        json!({ "capture": 1, "driver": driver, "agent": format!("{agent}-{version}"), "scenario": name })
    );
    let place = desk.folder.path().file_name().unwrap().to_str().unwrap();
    let named: Vec<&str> =
        text.match_indices(place).map(|(at, _)| &text[at.saturating_sub(90)..at + 90]).collect();
    assert_eq!(named, [""; 0], "paths are made up");
    assert!(!text.contains("leaked"), "no account gets in");
    let told = desk.longshore(&["replay", "tape.jsonl", "--json"], &[]).await;
    assert_eq!(told.code, Some(0), "{}", told.err);
    let events: Vec<Event> = told.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shape = shape_of(&events.iter().collect::<Vec<_>>(), Seq::ZERO, scenario(name).unwrap());
    assert_eq!(differences(&recorded.scenarios[name], &shape), [""; 0], "{agent}");
}

#[tokio::test]
async fn a_recording_of_codex_replays_as_it_was() {
    a_recording_replays_as_it_was("codex", "codex", "edit").await;
}

#[tokio::test]
async fn a_recording_over_acp_replays_as_it_was() {
    a_recording_replays_as_it_was("codex-acp", "acp", "allowed").await;
}

#[tokio::test]
async fn a_recording_of_a_server_replays_as_it_was() {
    a_recording_replays_as_it_was("opencode", "opencode", "plain").await;
}

#[tokio::test]
async fn an_agent_that_was_never_recorded_is_said_to_be_so() {
    let desk = VerbFolder::new();
    let program = desk.at("another");
    std::fs::write(&program, format!("#!/bin/sh\nexec {:?} --acp\n", agents::agent("qwen"))).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pointed =
        r#"{ OPENAI_BASE_URL = "${MODEL_URL}/v1", OPENAI_API_KEY = "none", OPENAI_MODEL = "scripted" }"#;
    let settings = of_settings("mine", &[program.to_str().unwrap()]);
    desk.set_up(&format!("{settings}verify_env = {pointed}\n"));
    let told = desk.longshore(&["verify", "mine", "plain", "allowed"], &[]).await;
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let lines: Vec<&str> = told.out.lines().collect();
    assert!(lines[0].ends_with("never recorded: only the scenarios' own checks apply"), "{}", told.out);
    assert_eq!(lines[2], "✓ allowed  passes its own checks; never recorded", "{}", told.out);
    assert!(lines[3].contains("none compared with a recording"), "{}", told.out);
}

#[tokio::test]
async fn what_was_verified_is_remembered_and_told() {
    let desk = VerbFolder::new();
    desk.set_up("[agents.react]\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    let told = desk.alone(&["verify", "react", "plain"], &[]).await;
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    assert!(!desk.at("longshore/data/verified.json").exists(), "a part says nothing of the whole");
    let told = desk.alone(&["verify", "react"], &[]).await;
    assert!(told.out.contains(" s, all as recorded"), "{}{}", told.out, told.err);
    let all = std::fs::read_to_string(desk.at("longshore/data/verified.json")).unwrap();
    let told = desk.alone(&["agents"], &[]).await;
    assert_eq!(told.code, Some(0), "{}", told.err);
    let row = told.out.lines().find(|line| line.starts_with("react\t")).unwrap();
    assert!(row.contains("\tverified with ") && row.ends_with(": all as recorded"), "{row}");
    let told = desk.alone(&["down"], &[]).await;
    assert_eq!(told.code, Some(0), "{}", told.err);
    // Another version than the one that is here now.
    let version = env!("CARGO_PKG_VERSION");
    std::fs::write(desk.at("longshore/data/verified.json"), all.replace(version, "0.0.1")).unwrap();
    let told = desk.alone(&["doctor"], &[]).await;
    assert!(told.out.contains("✗ Built-in agent: "), "its server is down\n{}", told.out);
    assert_eq!(told.code, Some(1), "{}", told.out);
}

#[tokio::test]
async fn a_hub_tells_what_was_verified_and_warns_nobody_of_that_version() {
    let rig = Rig::with(json!([])).await;
    let mut client = rig.client().await;
    let mut newer = async || {
        let known: Value = client.call("agents", json!({ "models": "known" })).await.unwrap();
        let mut agents = known["agents"].as_array().unwrap().iter();
        agents.find(|agent| agent["name"] == "claude-next").unwrap().clone()
    };
    let agent = newer().await;
    let remark = agent["remark"].as_str().unwrap_or_default();
    assert!(remark.contains(" is newer than "), "{agent}");
    let at = Timestamp::from_micros(0);
    let found = json!({ "version": agent["version"], "at": at, "played": 19, "compared": 19, "differs": [] });
    let file = rig.folder.path().join("longshore/data/verified.json");
    std::fs::write(file, json!({ "claude-next": found }).to_string()).unwrap();
    let told = newer().await;
    assert_eq!((&told["remark"], &told["verified"]), (&Value::Null, &found));
}
