//! `longshore doctor`: nothing to say of a healthy machine, and the fault of a sick one.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Output;

use longshore_model::time::Timestamp;
use serde_json::json;

use super::rig::{Rig, WITHIN};
use super::verbs::{err, longshore, out};

/// A machine with Codex and Claude Code, and with nothing else that is an agent; no hub runs.
struct Machine {
    rig: Rig,
}

impl Machine {
    async fn new() -> Self {
        let mut rig = Rig::with(json!([])).await;
        assert!(longshore(&rig, &["down"]).await.status.success());
        rig.gone().await;
        std::fs::remove_file(rig.folder.path().join("longshore/config.toml")).unwrap();
        let programs = rig.folder.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        for name in ["env", "git", "node", "sh"] {
            let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|at| at.exists());
            symlink(found.unwrap_or_else(|| panic!("no {name}")), programs.join(name)).unwrap();
        }
        Self { rig }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.rig.folder.path().join(name)
    }

    /// What it says of agents that could start in time. On a machine that is busy with others they may not, which it says.
    async fn doctor(&self) -> (Output, String) {
        let asked = async {
            loop {
                let (doctor, told) = self.doctor_once().await;
                if !told.contains("did not answer") {
                    return (doctor, told);
                }
            }
        };
        tokio::time::timeout(WITHIN, asked).await.expect("no agent ever starts in time")
    }

    async fn doctor_once(&self) -> (Output, String) {
        let mut command = self.rig.longshore();
        command.env("PATH", self.at("bin"));
        for (name, _) in super::agents::places() {
            if !["CODEX_PATH", "CLAUDE_PATH"].contains(&name) {
                command.env_remove(name);
            }
        }
        let doctor = command.arg("doctor").output().await.unwrap();
        let told = format!("{}{}", out(&doctor), err(&doctor));
        (doctor, told)
    }
}

#[tokio::test]
async fn a_doctor_finds_nothing_on_a_healthy_machine_and_tells_what_was_verified() {
    let machine = Machine::new().await;
    let (doctor, told) = machine.doctor().await;
    assert_eq!(doctor.status.code(), Some(0), "{told}");
    for line in ["✓ Codex: 0.166.0 at ", "✓ Codex (headless): ", "✓ Claude Code: 2.1.197 at ", "✓ log: sound"]
    {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(told.contains("- Gemini CLI: not set up\n    to use it: npm install"), "{told}");
    assert!(!told.contains("✗") && !told.contains("\n! "), "{told}");

    let found = |version: &str, differs: &[&str]| {
        let at = Timestamp::from_micros(0);
        json!({ "claude": { "version": version, "at": at, "played": 19, "compared": 19, "differs": differs } })
    };
    let file = machine.at("longshore/data/verified.json");
    for (found, line) in [
        (found("2.1.197", &[]), "✓ Claude Code: 2.1.197 at "),
        (found("2.1.197", &["plan"]), "! Claude Code: verified with 2.1.197, "),
        (found("2.1.325", &[]), "! Claude Code: 2.1.197 was never verified, only 2.1.325, "),
    ] {
        std::fs::write(&file, found.to_string()).unwrap();
        let (doctor, told) = machine.doctor().await;
        let line =
            told.lines().find(|told| told.starts_with(line)).unwrap_or_else(|| panic!("{line}: {told}"));
        let differs = &found["claude"]["differs"];
        match (found["claude"]["version"] == "2.1.197", differs == &json!([])) {
            (true, true) => assert!(line.ends_with(": all as recorded"), "{line}"),
            (true, false) => assert!(line.contains(": differs: plan"), "{line}"),
            (false, _) => assert!(told.contains("to be sure: longshore verify claude"), "{told}"),
        }
        assert_eq!(doctor.status.code(), Some(0), "it works; {told}");
    }
}

#[tokio::test]
async fn a_doctor_blames_no_agent_for_what_it_cannot_be_asked() {
    let rig = Rig::with(json!([])).await;
    let told = out(&longshore(&rig, &["doctor"]).await);
    assert!(told.contains("✓ Codex (headless): "), "{told}");
    assert!(!told.contains("does not start"), "{told}");
}

#[tokio::test]
async fn a_doctor_names_the_agent_that_its_own_settings_keep_from_starting() {
    let rig = Rig::with_config(json!([]), "\nthis is no setting\n").await;
    let doctor = longshore(&rig, &["doctor"]).await;
    let told = out(&doctor);
    assert_eq!(doctor.status.code(), Some(1), "{told}");
    // Whichever way it is driven, it is the same program with the same settings.
    for title in ["Codex", "Codex (headless)"] {
        let start = format!("✗ {title}: it does not start");
        let sick =
            told.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}: {told}"));
        assert!(sick.contains("config"), "{sick}");
    }
}

#[tokio::test]
async fn a_doctor_has_an_agent_start_anew_though_one_runs_and_the_hub_knows_its_models() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Hello." }] }])).await;
    let mut talk = rig.open("full").await;
    let turn = talk.prompt("hi").await;
    talk.until_turn_ends(turn).await;
    let known: serde_json::Value = talk.client.call("models", json!({ "agent": "codex" })).await.unwrap();
    assert_ne!(known["models"], json!([]), "{known}");

    let config = rig.folder.path().join("codex/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, text + "\nthis is no setting\n").unwrap();
    let doctor = longshore(&rig, &["doctor"]).await;
    let told = out(&doctor);
    assert!(doctor.status.code() == Some(1) && told.contains("✗ Codex: it does not start"), "{told}");
}
