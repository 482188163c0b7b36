//! `unified_exec`.

use longshore_model::capability::Mode;
use longshore_model::item::ToolStatus;
use serde_json::{Value, json};

use super::{Bench, kept_and_missing};
use crate::soon;

/// Longer than anything takes when all is well, in milliseconds.
const PATIENT: u64 = 25_000;

async fn exec(bench: &Bench, arguments: Value) -> longshore_agent::tools::ToolResult {
    bench.run("unified_exec", arguments).await
}

#[tokio::test]
async fn a_terminal_goes_on_between_calls() {
    let bench = Bench::new().await;
    let start = json!({
        "action": "start", "command": "test -t 0 && echo a terminal; while read line; do echo got $line; done",
        "yield_ms": PATIENT, "until": "a terminal",
    });
    let begun = exec(&bench, start).await;
    assert!(begun.content.starts_with("a terminal\n"), "{}", begun.content);
    assert!(begun.content.ends_with("[session 1 is running]"), "{}", begun.content);
    assert_eq!(begun.outcome.result, json!({ "session": "1", "running": true }));

    for word in ["one", "two"] {
        let write = json!({
            "action": "write", "session": 1, "input": format!("{word}\n"), "yield_ms": PATIENT, "until": format!("got {word}\n"),
        });
        let told = exec(&bench, write).await;
        assert!(told.content.contains(&format!("got {word}\n")), "{}", told.content);
    }
    let nothing = exec(&bench, json!({ "action": "read", "session": "1" })).await;
    assert_eq!(nothing.content, "[session 1 is running]");

    let write = json!({ "action": "write", "session": "1", "input": "\u{4}", "yield_ms": PATIENT });
    let ended = exec(&bench, write).await;
    assert!(
        ended.success && ended.content.ends_with("[session 1 ended with exit code 0]"),
        "{}",
        ended.content
    );
    let gone = exec(&bench, json!({ "action": "read", "session": "1" })).await;
    assert_eq!(gone.content, "there is no session 1; none is open, start one");
}

#[tokio::test]
async fn waiting_hears_the_end_and_how_it_was() {
    let bench = Bench::new().await;
    let start = json!({ "action": "start", "command": "read x; echo bye; exit 4", "yield_ms": 0 });
    assert!(exec(&bench, start).await.success);
    let running = bench.start(
        Mode::Full,
        "unified_exec",
        json!({ "action": "yield", "session": "1", "yield_ms": PATIENT }),
    );
    let write = json!({ "action": "write", "session": "1", "input": "\n", "yield_ms": 0 });
    exec(&bench, write).await;
    // What it prints is for one of the two calls, its end for both.
    let ended = running.result().await;
    assert_eq!((ended.success, ended.outcome.exit_code), (false, Some(4)));
    assert!(ended.content.ends_with("[session 1 ended with exit code 4]"), "{}", ended.content);
}

#[tokio::test]
async fn a_terminal_can_be_killed_with_all_that_it_started() {
    let bench = Bench::new().await;
    let start = json!({
        "action": "start", "command": "trap '' HUP TERM; sleep 600 & echo child $!; wait", "yield_ms": PATIENT, "until": "child",
    });
    let begun = exec(&bench, start).await;
    let more = match begun.content.contains("child ") && begun.content.contains("\n[") {
        true => begun.content,
        false => {
            exec(&bench, json!({ "action": "yield", "session": "1", "yield_ms": PATIENT, "until": "\n" }))
                .await
                .content
        }
    };
    let killed = exec(&bench, json!({ "action": "kill", "session": "1" })).await;
    assert!(
        killed.success && killed.content.ends_with("[session 1 was ended by SIGKILL]"),
        "{}",
        killed.content
    );
    let pid = more.split("child ").nth(1).unwrap().lines().next().unwrap().trim();
    let stat = format!("/proc/{pid}/stat");
    soon("the end of the child", async {
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_left_a_terminal_ends_when_the_session_does() {
    let bench = Bench::new().await;
    let command = "setsid sh -c 'echo away $$; exec sleep 600' & wait";
    let start = json!({ "action": "start", "command": command, "yield_ms": PATIENT, "until": "\n" });
    let begun = exec(&bench, start).await.content;
    let pid = begun.split("away ").nth(1).unwrap().lines().next().unwrap().trim().to_owned();
    drop(bench);
    let stat = format!("/proc/{pid}/stat");
    soon("the end of what got away", async {
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_that_waits_can_be_stopped_while_the_terminal_goes_on() {
    let bench = Bench::new().await;
    let start = json!({ "action": "start", "command": "echo hi; read x", "yield_ms": PATIENT });
    let mut running = bench.start(Mode::Full, "unified_exec", start);
    running.until("hi").await;
    running.cancel.cancel();
    let stopped = running.result().await;
    assert_eq!(stopped.outcome.status, ToolStatus::Cancelled);
    let still = exec(&bench, json!({ "action": "read", "session": "1" })).await;
    assert_eq!(still.content, "[session 1 is running]");
}

#[tokio::test]
async fn there_is_a_limit_to_terminals() {
    let bench = Bench::new().await;
    for _ in 0..16 {
        let start = json!({ "action": "start", "command": "read x", "yield_ms": 0 });
        assert!(exec(&bench, start).await.success);
    }
    let start = json!({ "action": "start", "command": "read x", "yield_ms": 0 });
    let refused = exec(&bench, start).await;
    assert!(
        !refused.success && refused.content.contains("16 sessions are open already"),
        "{}",
        refused.content
    );
    assert!(exec(&bench, json!({ "action": "kill", "session": "7" })).await.success);
    let start = json!({ "action": "start", "command": "echo again", "yield_ms": PATIENT });
    assert!(exec(&bench, start).await.content.contains("[session 17 ended"));
}

#[tokio::test]
async fn what_a_terminal_leaves_in_the_background_ends_and_that_is_told() {
    let bench = Bench::new().await;
    // With the hangup of the terminal, and without.
    for line in ["sleep 600 & echo started", "trap '' HUP; sleep 600 & echo started"] {
        let done = exec(&bench, json!({ "action": "start", "command": line, "yield_ms": PATIENT })).await;
        assert!(done.success && done.content.starts_with("started\n"), "{}", done.content);
        // A shell that has just split still has its own name.
        assert!(done.content.contains("ended with exit code 0]\n[the command left "), "{}", done.content);
        assert!(done.content.ends_with("in the foreground of a session]"), "{}", done.content);
    }
    let line = "sleep 0.01 & wait; echo done";
    let done = exec(&bench, json!({ "action": "start", "command": line, "yield_ms": PATIENT })).await;
    assert_eq!(done.content, "done\n[session 3 ended with exit code 0]");
}

#[tokio::test]
async fn what_nobody_read_in_time_is_counted_once() {
    let bench = Bench::new().await;
    // It prints when nobody listens any more.
    let command =
        "until [ -e go ]; do sleep 0.01; done; yes 0123456789abcde | head -n 200000; touch printed; read x";
    exec(&bench, json!({ "action": "start", "command": command, "yield_ms": 0, "cwd": "." })).await;
    std::fs::write(bench.root().join("go"), "").unwrap();
    soon("all is printed", async {
        while !bench.root().join("printed").exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let wait = json!({ "action": "yield", "session": "1", "yield_ms": 200 });
    let done = exec(&bench, wait).await;
    for told in [&done.whole, &done.content] {
        let (kept, bytes, lines) = kept_and_missing(told);
        // The last of it may still be in the terminal.
        let all = kept.len() + bytes - "[session 1 is running]".len();
        assert!(all <= 3_200_000 && bytes > 2_000_000, "{all}, of which {bytes} are missing");
        assert!((bytes / 16).abs_diff(lines) <= 1, "{bytes} bytes, {lines} lines");
    }
}
