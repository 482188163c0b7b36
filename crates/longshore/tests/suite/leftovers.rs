//! Nothing that agents started outlives them, the session or the hub.

use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::rig::{Rig, Talk, processes, processes_with, until};
use super::scripted::{CODEX, OPENCODE, steps};

/// An agent that cares neither for SIGTERM nor for the end of its input, with a child in its group and one that left it.
pub(super) const RUDE: &str = r#"
[agents.rude]
driver = "acp"
command = ["sh", "-c", "trap '' TERM; sleep 600 & setsid sleep 600 & echo up > rude.txt; while :; do sleep 0.1; done"]
"#;

/// The run of the hub, from the mark that its agents carry. The shell that waits for the end of the hub carries none.
fn run_of(rig: &Rig) -> String {
    let mark = |pid: i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut words = environment.split(|byte| *byte == 0);
        let mark = words.find_map(|one| one.strip_prefix(b"LEASH_OF_LONGSHORE="))?;
        String::from_utf8(mark.to_vec()).ok()
    };
    let mark = rig.agents().into_iter().find_map(mark).expect("no agent carries a mark");
    let run = mark.split(':').next().unwrap();
    assert_eq!(run.len(), 32, "{mark}");
    run.to_owned()
}

/// The processes that carry the mark of a run.
fn marked(run: &str) -> Vec<i32> {
    processes(|at| {
        let environment = std::fs::read(at.join("environ")).unwrap_or_default();
        environment.windows(run.len()).any(|part| part == run.as_bytes())
    })
}

async fn work(rig: &Rig, agent: &str, mode: &str) -> Talk {
    let mut talk = rig.open_with(agent, mode).await;
    talk.prompt(&format!("run it with {agent}")).await;
    talk
}

#[tokio::test]
async fn a_hub_that_is_killed_and_started_again_leaves_no_process_behind() {
    let mut rig = Rig::with(json!([])).await;
    rig.kill().await;
    let config = rig.folder.path().join("longshore/config.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, settings + RUDE).unwrap();
    rig.start().await;
    let file = |name: &str| rig.work().join(name);
    let command = |name: &str| {
        format!("setsid sh -c 'sleep 600; echo {name}' & echo up > {}; sleep 600", file(name).display())
    };
    let story: Value = json!([
        { "when": { "contains": "with codex" }, "do": [(CODEX.run)(&command("codex.txt"))] },
        { "when": { "contains": "with opencode" }, "do": [(OPENCODE.run)(&command("opencode.txt"))] },
        { "when": { "contains": "with react" }, "do": [{ "call": "shell", "args": { "command": command("react.txt") } }] },
    ]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talks = Vec::new();
    for agent in ["codex", "opencode", "react", "rude"] {
        talks.push(work(&rig, agent, "full").await);
    }
    for name in ["codex.txt", "opencode.txt", "react.txt", "rude.txt"] {
        let file = file(name);
        until(name, || file.exists()).await;
    }
    let run = run_of(&rig);
    assert!(marked(&run).len() >= 8, "{:?}", marked(&run));
    rig.kill().await;
    rig.start().await;
    until("all of it is gone", || marked(&run).is_empty()).await;
}

#[tokio::test]
async fn a_hub_that_is_killed_and_never_started_again_leaves_no_process_behind() {
    let mut rig = Rig::with(json!([])).await;
    rig.kill().await;
    std::fs::write(rig.folder.path().join("longshore/config.toml"), RUDE).unwrap();
    rig.start().await;
    rig.open_with("rude", "ask").await;
    let file = rig.work().join("rude.txt");
    until("it runs", || file.exists()).await;
    let run = run_of(&rig);
    assert!(marked(&run).len() >= 3, "{:?}", marked(&run));
    rig.kill().await;
    until("all of it is gone", || marked(&run).is_empty()).await;
}

/// Two agents that each start something that leaves its group, its parent and its environment behind.
const SECRETIVE: &str = r#"
[agents.one]
driver = "acp"
command = ["sh", "-c", "(setsid env -i sleep 7101 &); echo up > one.txt; while :; do sleep 0.1; done"]
[agents.two]
driver = "acp"
command = ["sh", "-c", "(setsid env -i sleep 7102 &); echo up > two.txt; while :; do sleep 0.1; done"]
"#;

/// The processes that one of these started and nobody can tell by their looks, but for where they run.
fn secret(rig: &Rig) -> Vec<i32> {
    let work = rig.work();
    processes(|at| {
        let environment = std::fs::read(at.join("environ")).unwrap_or_default();
        let command = std::fs::read(at.join("cmdline")).unwrap_or_default();
        let here = std::fs::read_link(at.join("cwd")).is_ok_and(|cwd| cwd == work);
        here && environment.is_empty() && command.starts_with(b"sleep")
    })
}

#[tokio::test]
async fn what_left_all_behind_ends_with_a_hub_that_is_killed_or_stopped() {
    let mut rig = Rig::with(json!([])).await;
    rig.kill().await;
    std::fs::write(rig.folder.path().join("longshore/config.toml"), SECRETIVE).unwrap();
    let leashes = rig.folder.path().join("longshore/data/leashes");
    let is_written = |pid: &i32| {
        let files = std::fs::read_dir(&leashes).into_iter().flatten().flatten();
        let written: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
        written.contains(&format!("\n{pid} "))
    };
    let open_both = async |rig: &Rig| {
        for agent in ["one", "two"] {
            rig.open_with(agent, "ask").await;
        }
        until("both run", || secret(rig).len() >= 2).await;
        secret(rig)
    };
    rig.start().await;
    let pids = open_both(&rig).await;
    until("all are written down", || pids.iter().all(is_written)).await;
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&leashes), 0o700);
    for file in std::fs::read_dir(&leashes).unwrap().flatten() {
        assert_eq!(mode(&file.path()), 0o600);
    }
    rig.kill().await;
    rig.start().await;
    until("the next hub ends them", || secret(&rig).iter().all(|pid| !pids.contains(pid))).await;

    // One that is stopped knows that they are its own, whichever agent started them.
    open_both(&rig).await;
    assert!(rig.longshore().arg("down").status().await.unwrap().success());
    rig.gone().await;
    assert_eq!(secret(&rig), Vec::<i32>::new());

    rig.start().await;
    let pids = open_both(&rig).await;
    until("all are written down", || pids.iter().all(is_written)).await;
    rig.kill().await;
    until("the shell that waits ends them", || secret(&rig).iter().all(|pid| !pids.contains(pid))).await;
}

#[tokio::test]
async fn what_a_killed_agent_ran_is_gone_with_it() {
    let rig = Rig::with(json!([])).await;
    let (begun, done) = (rig.work().join("begun.txt"), rig.work().join("done.txt"));
    let command = format!("echo up > {}; sleep 45; echo yes > {}", begun.display(), done.display());
    let story = json!([{ "do": [(CODEX.run)(&command)] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talk = rig.open_with("codex", "full").await;
    let turn = talk.prompt("run it").await;
    until("the command runs", || begun.exists()).await;
    rig.kill_agents();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
    until("the command is gone", || processes_with(&done).is_empty()).await;
    assert!(!done.exists());
    assert!(talk.story().contains("killed by SIGKILL"), "{}", talk.story());
}

#[tokio::test]
async fn a_prompt_that_interrupts_ends_what_the_agent_runs() {
    let rig = Rig::with(json!([])).await;
    let (begun, done) = (rig.work().join("begun.txt"), rig.work().join("done.txt"));
    let command = format!("echo up > {}; sleep 45; echo yes > {}", begun.display(), done.display());
    let story = json!([{ "do": [(CODEX.run)(&command)] }, { "do": [{ "say": "Next." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talk = rig.open_with("codex", "full").await;
    let first = talk.prompt("run it").await;
    until("the command runs", || begun.exists()).await;
    let second = talk.prompt_when("leave that", "interrupt").await;
    assert_eq!(talk.until_turn_ends(first).await, TurnOutcome::Interrupted, "{}", talk.story());
    assert_eq!(talk.until_turn_ends(second).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(processes_with(&done).is_empty() && !done.exists(), "{}", talk.story());
}

/// An agent that answers no prompt but the second, and takes no notice of an interrupt.
const DEAF: &str = r#"
const fs = require("fs");
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
process.on("SIGTERM", () => {});
setInterval(() => {}, 1000);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    say({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } });
  } else if (method === "session/new") {
    say({ id, result: { sessionId: "one" } });
  } else if (method === "session/load") {
    say({ id, result: {} });
  } else if (method === "session/prompt" && !fs.existsSync("asked.txt")) {
    fs.writeFileSync("asked.txt", "");
  } else if (method === "session/prompt") {
    const content = { type: "text", text: "Heard." };
    say({ method: "session/update", params: { sessionId: "one", update: { sessionUpdate: "agent_message_chunk", content } } });
    say({ id, result: { stopReason: "end_turn" } });
  }
});
"#;

#[tokio::test]
async fn an_agent_that_does_not_stop_is_ended_and_the_prompt_behind_it_is_heard_by_the_next() {
    let mut rig = Rig::with(json!([])).await;
    rig.kill().await;
    std::fs::write(rig.folder.path().join("deaf.js"), DEAF).unwrap();
    let program = rig.folder.path().join("deaf.js");
    let settings = format!("[agents.deaf]\ndriver = \"acp\"\ncommand = [\"node\", {program:?}]\n");
    std::fs::write(rig.folder.path().join("longshore/config.toml"), settings).unwrap();
    rig.start().await;
    let mut talk = rig.open_with("deaf", "ask").await;
    let first = talk.prompt("go on for ever").await;
    let asked = rig.work().join("asked.txt");
    until("it is at work", || asked.exists()).await;
    let second = talk.prompt_when("leave that", "interrupt").await;
    assert_eq!(talk.until_turn_ends(first).await, TurnOutcome::Interrupted, "{}", talk.story());
    assert!(talk.story().contains("did not stop within 10 s"), "{}", talk.story());
    assert_eq!(talk.until_turn_ends(second).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages(), ["Heard."], "{}", talk.story());
}
