//! `shell`.

use longshore_agent::tools::{Permit, Progress, ToolSettings, Toolbox};
use longshore_model::capability::Mode;
use longshore_model::item::{ToolKind, ToolStatus};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Bench, call, kept_and_missing};
use crate::soon;

#[tokio::test]
async fn lines_and_words_run_and_tell_how_they_ended() {
    let bench = Bench::new().await;
    let done = bench.run("shell", json!({ "command": "echo out; echo err >&2; pwd" })).await;
    assert_eq!(done.whole, format!("out\nerr\n{}\n", bench.root().display()));
    assert!(done.success && done.outcome.exit_code == Some(0) && done.outcome.duration_ms.is_some());

    let done = bench.run("shell", json!({ "command": ["echo", "Hello World", ">", "$HOME"] })).await;
    assert_eq!(done.content, "Hello World > $HOME\n");

    let failed = bench.run("shell", json!({ "command": "echo no; exit 3" })).await;
    assert_eq!(failed.content, "no\n[exit code 3]");
    assert_eq!((failed.success, failed.outcome.status), (false, ToolStatus::Failed));

    let killed = bench.run("shell", json!({ "command": "kill -9 $$" })).await;
    assert_eq!(killed.content, "[ended by SIGKILL]");
    let silent = bench.run("shell", json!({ "command": ["true"] })).await;
    assert_eq!(silent.content, "[no output]");
    let missing = bench.run("shell", json!({ "command": ["no-such-program"] })).await;
    assert!(missing.content.contains("no-such-program was not found"), "{}", missing.content);
}

#[tokio::test]
async fn the_folder_can_be_chosen_and_secrets_stay_here() {
    // Tests share their environment, so this one looks for what is surely in it.
    let bench = Bench::with(|settings| settings.secrets.push("PATH".to_owned())).await;
    bench.write("sub/file", "");
    let done = bench.run("shell", json!({ "command": "/bin/pwd; /usr/bin/env", "cwd": "sub" })).await;
    assert!(done.content.starts_with(&format!("{}/sub\n", bench.root().display())), "{}", done.content);
    assert!(!done.content.contains("\nPATH=/"), "{}", done.content);
    assert!(done.content.contains("\nPAGER=cat\n"), "{}", done.content);
    let wrong = bench.run("shell", json!({ "command": "ls", "cwd": "nowhere" })).await;
    assert!(wrong.content.contains("is no folder to run in"), "{}", wrong.content);
}

#[tokio::test]
async fn output_is_heard_while_it_runs_and_a_stop_ends_all_of_it() {
    let bench = Bench::new().await;
    let command = "echo begun; sleep 600 & echo $! > pid; wait";
    let mut running = bench.start(Mode::Full, "shell", json!({ "command": command }));
    running.until("begun").await;
    soon("the pid", async {
        while !std::fs::read_to_string(bench.root().join("pid")).is_ok_and(|pid| pid.ends_with('\n')) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    running.cancel.cancel();
    let stopped = running.result().await;
    assert_eq!(stopped.outcome.status, ToolStatus::Cancelled);
    assert_eq!(stopped.content, "begun\n[stopped by a person]");
    let pid: i32 = bench.read("pid").trim().parse().unwrap();
    soon("the end of what it started", gone(pid)).await;
}

#[tokio::test]
async fn a_stop_also_ends_what_left_the_group() {
    let bench = Bench::new().await;
    let command = "setsid sh -c 'echo $$ > pid; exec sleep 600' & wait";
    for stop in ["a person", "the time"] {
        let timeout = if stop == "a person" { 600_000 } else { 5_000 };
        let running = bench.start(Mode::Full, "shell", json!({ "command": command, "timeout_ms": timeout }));
        let pid: i32 = soon("the pid", async {
            loop {
                let said = std::fs::read_to_string(bench.root().join("pid")).unwrap_or_default();
                if let Some(pid) = said.strip_suffix('\n') {
                    break pid.parse().unwrap();
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
        if stop == "a person" {
            running.cancel.cancel();
        }
        running.result().await;
        soon("the end of what got away", gone(pid)).await;
        std::fs::remove_file(bench.root().join("pid")).unwrap();
    }
}

/// Waits until a process is gone, or only waits to be reaped.
async fn gone(pid: i32) {
    let stat = std::path::PathBuf::from(format!("/proc/{pid}/stat"));
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() {
        tokio::task::yield_now().await;
    }
}

/// The test runs itself once more as the process that is killed.
#[tokio::test]
async fn commands_and_terminals_end_when_we_are_killed() {
    const ROLE: &str = "TOOLS_TEST_TREE";
    let command = |file: &str| format!("echo $$ > {file}.new && mv {file}.new {file}; exec sleep 600");
    if let Ok(tree) = std::env::var(ROLE) {
        let tools = std::sync::Arc::new(Toolbox::new(ToolSettings::new(tree)).await);
        let run = async |name, arguments| {
            let permit = Permit { mode: Mode::Full, approved: true };
            tools.run(call(name, arguments), permit, mpsc::channel(1).0, CancellationToken::new()).await
        };
        run("unified_exec", json!({ "action": "start", "command": command("one"), "yield_ms": 0 })).await;
        run("shell", json!({ "command": command("two") })).await;
        panic!("it was not killed");
    }
    let bench = Bench::new().await;
    let mut other = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::commands::commands_and_terminals_end_when_we_are_killed"])
        .env(ROLE, bench.root())
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let pids = soon("the pids", async {
        let mut pace = tokio::time::interval(std::time::Duration::from_millis(5));
        loop {
            pace.tick().await;
            let pid = |file: &str| std::fs::read_to_string(bench.root().join(file)).ok()?.trim().parse().ok();
            if let (Some(one), Some(two)) = (pid("one"), pid("two")) {
                return [one, two];
            }
        }
    })
    .await;
    other.kill().await.unwrap();
    for pid in pids {
        soon("the end of a command", gone(pid)).await;
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_stopped_and_says_so() {
    let bench = Bench::new().await;
    let done = bench.run("shell", json!({ "command": "echo a; sleep 600", "timeout_ms": 300 })).await;
    assert_eq!(done.outcome.status, ToolStatus::Failed);
    assert!(done.content.starts_with("a\n[stopped after 300 ms;"), "{}", done.content);
}

#[tokio::test]
async fn long_output_is_whole_for_the_log_and_bounded_for_the_model() {
    let bench = Bench::new().await;
    let mut running = bench.start(Mode::Full, "shell", json!({ "command": "seq 1 200000" }));
    let mut heard = String::new();
    while let Some(Progress::Output(text)) = soon("more", running.progress.recv()).await {
        heard.push_str(&text);
    }
    let done = running.result().await;
    let all: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert!(done.whole == all && heard == all, "{} and {} of {}", done.whole.len(), heard.len(), all.len());
    assert!(done.content.len() < 17 * 1024, "{}", done.content.len());
    assert!(done.content.starts_with("1\n2\n") && done.content.ends_with("199999\n200000\n"));
    assert!(done.content.contains(" lines) left out ...]\n"), "{}", done.content);
}

#[tokio::test]
async fn what_the_model_is_told_to_be_missing_is_counted_from_all_that_was_printed() {
    let bench = Bench::new().await;
    let done =
        bench.run("shell", json!({ "command": "yes 0123456789abcde | head -n 1000000; exit 3" })).await;
    let (bytes, lines) = (16_000_000 + "[exit code 3]".len(), 1_000_001);
    for told in [&done.whole, &done.content] {
        let (kept, missing_bytes, missing_lines) = kept_and_missing(told);
        assert_eq!(kept.len() + missing_bytes, bytes, "of {} that are told", told.len());
        // A line that was cut in two may be kept on both sides.
        let counted = kept.lines().count() + missing_lines;
        assert!((lines..=lines + 1).contains(&counted), "{counted} of {lines}");
        assert!(kept.ends_with("\n[exit code 3]"));
    }
}

#[tokio::test]
async fn nobody_need_listen() {
    let bench = Bench::new().await;
    let mut running = bench.start(Mode::Full, "shell", json!({ "command": "seq 1 100000 | tail -1" }));
    running.progress.close();
    assert_eq!(running.result().await.content, "100000\n");
}

#[tokio::test]
async fn a_patch_that_is_given_to_the_shell_is_applied() {
    let bench = Bench::new().await;
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
    let words = json!({ "command": ["apply_patch", patch] });
    assert!(bench.run("shell", words).await.success);
    assert_eq!(bench.read("a"), "x\n");
    let patch = patch.replace(": a", ": b");
    let line = json!({ "command": ["bash", "-lc", format!("apply_patch <<'EOF'\n{patch}\nEOF\n")] });
    assert_eq!(bench.tools.tool_call(&call("shell", line.clone())).kind, ToolKind::Edit);
    assert!(bench.run("shell", line).await.success);
    assert_eq!(bench.read("b"), "x\n");
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_told() {
    let bench = Bench::new().await;
    for (name, arguments, told) in [
        ("shell", json!({}), "missing field `command`"),
        ("shell", json!({ "command": "" }), "the command is empty"),
        ("shell", json!({ "command": 3 }), "the arguments of shell do not fit"),
        ("unified_exec", json!({ "action": "jump" }), "unknown variant `jump`"),
        ("no_such_tool", json!({}), "there is no tool called `no_such_tool`; there are shell, unified_exec,"),
        ("server.tool", json!({}), "there is no tool called `server.tool`"),
    ] {
        let failed = bench.run(name, arguments).await;
        assert!(!failed.success && failed.content.contains(told), "{name}: {}", failed.content);
    }
}

#[tokio::test]
async fn calls_are_shown_with_their_command() {
    let bench = Bench::new().await;
    let shown = bench.tools.tool_call(&call("shell", json!({ "command": ["ls", "a b"], "workdir": "." })));
    assert_eq!(shown.kind, ToolKind::Execute);
    assert_eq!(shown.command.as_deref(), Some("ls 'a b'"));
    assert_eq!(shown.cwd, Some(bench.root().display().to_string()));
    assert_eq!(bench.tools.tool_call(&call("search", json!({ "pattern": "x" }))).kind, ToolKind::Search);
    assert_eq!(bench.tools.tool_call(&call("odd", json!(null))).kind, ToolKind::Other);
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_and_that_is_told() {
    let bench = Bench::new().await;
    let done = bench.run("shell", json!({ "command": "sleep 600 >/dev/null 2>&1 & echo started" })).await;
    // A shell that has just split still has its own name.
    assert!(done.content.starts_with("started\n[the command left "), "{}", done.content);
    assert!(
        done.content.ends_with("use unified_exec for a process that should continue]"),
        "{}",
        done.content
    );
    assert!(done.success);
    let done = bench.run("shell", json!({ "command": "sleep 0.01 & wait; echo done" })).await;
    assert_eq!(done.content, "done\n");
}
