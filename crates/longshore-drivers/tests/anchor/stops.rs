//! Stop means stop: interrupts that are not heeded, and what gets away from its group.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use longshore_drivers::discover::AgentSettings;
use longshore_drivers::leash::LeashRecord;
use longshore_model::event::{Body, NoticeLevel};
use longshore_model::lifecycle::SleepCause;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::rig::{Phone, Rig, listen, patient, soon};

#[tokio::test]
async fn an_agent_that_does_not_heed_an_interrupt_is_ended_with_its_turn() {
    let phone = Phone::new().await;
    let script =
        json!([{"do": "ignore_term"}, {"do": "call", "call": phone.number}, {"do": "echo"}, {"do": "hang"}]);
    let mut rig = Rig::with(script, 64, |config| config.limits.interrupt = Duration::from_millis(200));
    let session = rig.open().await;
    let call = phone.call().await;
    rig.prompt(session, "go on and on").await;
    rig.interrupt(session).await;
    let life = rig.life(session).await;
    assert_eq!(life.texts()[..2], ["go on and on", "interrupt"], "it heard of it");
    let notice = life.drafts.iter().find(|draft| draft.body == Body::Notice { level: NoticeLevel::Warning });
    let said = notice.and_then(|draft| draft.text.clone()).unwrap();
    assert!(said.starts_with("Fake did not stop within"), "{said}");
    let ends = |body: &Body| matches!(body, Body::TurnFinished(_));
    assert!(!life.drafts.iter().any(|draft| ends(&draft.body)), "the turn ends with the process, not before");
    assert_eq!((life.sleep.cause, life.sleep.signal), (SleepCause::Stopped, Some(9)));
    assert_eq!(listen(call).await, "", "it is dead");
}

/// An agent that is this script for the shell.
fn shell(script: &str) -> Rig {
    let settings = AgentSettings {
        path: Some("/bin/sh".into()),
        args: vec!["-c".to_owned(), script.to_owned()],
        ..AgentSettings::default()
    };
    Rig::with(json!([]), 64, |config| {
        config.limits = patient();
        config.settings.insert("fake".to_owned(), settings);
    })
}

/// The number that a process wrote into a file of its folder.
async fn number_in(folder: &Path, name: &str) -> i32 {
    let file = folder.join(name);
    soon(name, async {
        let mut pace = tokio::time::interval(Duration::from_millis(5));
        loop {
            pace.tick().await;
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                return pid.trim().parse().unwrap();
            }
        }
    })
    .await
}

fn lives(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn gone(pid: i32) {
    let mut pace = tokio::time::interval(Duration::from_millis(5));
    while lives(pid) {
        pace.tick().await;
    }
}

/// The ways in which a process gets away from its group, its parent and its environment.
const AWAY: &str = "
    setsid sh -c 'echo $$ > session; exec sleep 600' &
    setsid sh -c 'sleep 600 & echo $! > orphan' &
    env -i PATH=/bin:/usr/bin setsid sh -c 'echo $$ > bare; exec sleep 600' &
    env -i PATH=/bin:/usr/bin setsid sh -c 'sleep 600 & echo $! > lost' &
";

#[tokio::test]
async fn whoever_got_away_from_an_agent_ends_with_its_session() {
    let mut rig = shell(&format!("{AWAY} cat"));
    let launch = rig.launch();
    let (session, folder) = (launch.session, PathBuf::from(&launch.cwd));
    rig.send(longshore_model::anchor::ToAnchor::Open(launch)).await;
    let mut away = Vec::new();
    for name in ["session", "orphan", "bare", "lost"] {
        away.push((name, number_in(&folder, name).await));
    }
    assert!(away.iter().all(|(_, pid)| lives(*pid)));
    rig.stop(session).await;
    assert_eq!(rig.life(session).await.sleep.cause, SleepCause::Stopped);
    for (name, pid) in away {
        soon(name, gone(pid)).await;
    }
}

#[tokio::test]
async fn whoever_got_away_from_an_agent_ends_when_it_is_killed() {
    let mut rig = shell(&format!("echo $$ > self; {AWAY} cat"));
    let launch = rig.launch();
    let (session, folder) = (launch.session, PathBuf::from(&launch.cwd));
    rig.send(longshore_model::anchor::ToAnchor::Open(launch)).await;
    let mut away = Vec::new();
    for name in ["session", "orphan", "bare", "lost"] {
        away.push((name, number_in(&folder, name).await));
    }
    let agent = rustix::process::Pid::from_raw(number_in(&folder, "self").await).unwrap();
    rustix::process::kill_process(agent, rustix::process::Signal::KILL).unwrap();
    assert_eq!(rig.life(session).await.reason, "Fake was killed by SIGKILL");
    for (name, pid) in away {
        soon(name, gone(pid)).await;
    }
}

#[tokio::test]
async fn whoever_runs_from_process_to_process_is_caught() {
    let hop = "echo 'date +%s%N > hop; sleep 0.02; setsid sh hop.sh & ' > hop.sh; setsid sh hop.sh & cat";
    let mut rig = shell(hop);
    let launch = rig.launch();
    let (session, folder) = (launch.session, PathBuf::from(&launch.cwd));
    rig.send(longshore_model::anchor::ToAnchor::Open(launch)).await;
    let file = folder.join("hop");
    soon("a few hops", async {
        let mut pace = tokio::time::interval(Duration::from_millis(5));
        let mut seen = std::collections::HashSet::new();
        while seen.len() < 4 {
            pace.tick().await;
            seen.extend(std::fs::read_to_string(&file));
        }
    })
    .await;
    rig.stop(session).await;
    rig.life(session).await;
    let mine = |pid: &str| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    let runs = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| entry.file_name().into_string().ok()).any(|pid| mine(&pid))
    };
    soon("the end of it", async {
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        while runs() {
            pace.tick().await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_hub_left_that_was_killed_is_ended_by_the_next_and_nobody_else_is() {
    let name = "0123456789abcdef0123456789abcdef";
    let start = async |marked: bool| {
        let mut command = tokio::process::Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; echo up; exec sleep 600"]);
        if marked {
            command.env("LEASH_OF_LONGSHORE", format!("{name}:of-an-agent"));
        }
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(soon("it is up", lines.next_line()).await.unwrap().as_deref(), Some("up"));
        child
    };
    let (mut marked, mut bare, mut reused) = (start(true).await, start(false).await, start(false).await);
    let began = |child: &tokio::process::Child| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id().unwrap())).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse::<u64>().unwrap()
    };
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let record = format!(
        "{}\n{} {}\n{} {}",
        boot.trim(),
        bare.id().unwrap(),
        began(&bare),
        reused.id().unwrap(),
        began(&reused) + 1,
    );
    std::fs::write(folder.path().join(name), record).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not a record").unwrap();
    let at = folder.path().to_owned();
    let record =
        soon("the end of what was left", tokio::task::spawn_blocking(move || LeashRecord::begin(&at))).await;
    for child in [&mut marked, &mut bare] {
        let status = soon("its end", child.wait()).await.unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "it ignores SIGTERM");
    }
    assert!(reused.try_wait().unwrap().is_none(), "its number is that of another one");
    assert!(!folder.path().join(name).exists() && folder.path().join("notes.txt").exists());
    record.unwrap().end();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left to be ended");
}
