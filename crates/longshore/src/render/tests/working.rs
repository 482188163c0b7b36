//! Tools, changes, turns, the life of a session, the status line.

use longshore_model::event::Event;
use longshore_model::item::ToolCall;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::{ID, bare, body, event, plain, shown};
use crate::render::{Renderer, Style};

fn run(item: u32, command: &str) -> Event {
    let call = json!({"name": "exec_command", "kind": "execute", "command": command, "cwd": "/w"});
    event(item, 0, "", body("tool_started", call))
}

fn ended(item: u32, output: &str, outcome: Value) -> Event {
    event(item, 1_500, output, body("tool_finished", outcome))
}

fn opened() -> Event {
    event(
        0,
        0,
        "",
        body("session_opened", json!({"agent": "codex", "cwd": "/w", "mode": "ask", "capabilities": {}})),
    )
}

const OPENED: &str = "· session c3d4e5f6 · codex in /w · mode ask\n";

#[test]
fn a_command_is_a_card() {
    let printed = plain(&[
        opened(),
        run(1, "git status"),
        event(1, 5, "On br", bare("tool_output_delta")),
        ended(1, "On branch main\n", json!({"status": "completed", "exitCode": 0, "durationMs": 420})),
    ]);
    assert_eq!(printed, format!("{OPENED}\n● Run  git status\n  │ On branch main\n  ✓ 0.4s\n"));
}

#[test]
fn a_command_that_a_turn_leaves_running_is_told() {
    let done = body("turn_finished", json!({"outcome": "completed"}));
    let printed = plain(&[opened(), run(1, "sleep 20"), event(0, 5, "", done)]);
    assert_eq!(printed, format!("{OPENED}\n● Run  sleep 20\n\n· still running: Run sleep 20\n\n✓ done\n"));
}

#[test]
fn colours_tell_how_it_ended() {
    let colored = Style { color: true, ..Style::default() };
    let printed = shown(
        colored,
        &[run(1, "false"), ended(1, "", json!({"status": "failed", "exitCode": 1, "durationMs": 80}))],
    );
    assert_eq!(
        printed,
        "\u{1b}[34m●\u{1b}[0m \u{1b}[1mRun\u{1b}[0m  false\n       \u{1b}[2min /w\u{1b}[0m\n  \
         \u{1b}[31m✗\u{1b}[0m \u{1b}[31mexit 1 · 80ms\u{1b}[0m\n"
    );
}

#[test]
fn long_output_shows_its_end() {
    let output: String = (1..=52).map(|line| format!("line {line}\n")).collect();
    let printed = plain(&[opened(), run(1, "seq"), ended(1, &output, json!({"status": "completed"}))]);
    let tail: String = (43..=52).map(|line| format!("  │ line {line}\n")).collect();
    assert_eq!(printed, format!("{OPENED}\n● Run  seq\n  │ … 42 more lines\n{tail}  ✓ 1.5s\n"));
}

#[test]
fn output_that_was_not_kept_is_told_with_its_size() {
    let kept = |from: u32| -> String { (from..from + 20).map(|line| format!("line {line}\n")).collect() };
    let gap = "[... 95805696 bytes (47902848 lines) left out ...]";
    let output = format!("{}{gap}\n{}", kept(1), kept(21));
    let printed = plain(&[opened(), run(1, "yes"), ended(1, &output, json!({"status": "completed"}))]);
    let tail: String = (31..=40).map(|line| format!("  │ line {line}\n")).collect();
    assert_eq!(printed, format!("{OPENED}\n● Run  yes\n  │ … 31 more lines\n  │ {gap}\n{tail}  ✓ 1.5s\n"));
}

#[test]
fn output_cannot_command_the_terminal() {
    let output = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[31mred\u{1b}[0m\n10%\r100%\n\u{9b}31mc1\n";
    let printed =
        plain(&[opened(), run(1, "x"), ended(1, output, json!({"status": "completed", "durationMs": 1}))]);
    assert_eq!(printed, format!("{OPENED}\n● Run  x\n  │ red\n  │ 100%\n  │ c1\n  ✓ 1ms\n"));
}

#[test]
fn commands_that_run_at_once_are_named_again() {
    let done = |item, output: &str| ended(item, output, json!({"status": "completed", "durationMs": 1_000}));
    let printed = plain(&[
        opened(),
        run(1, "make a"),
        run(2, "make b"),
        run(3, "make b"),
        done(1, "a"),
        done(3, "b3"),
        done(2, "b2"),
    ]);
    assert_eq!(
        printed,
        format!(
            "{OPENED}\n● Run  make a\n● Run  make b\n● Run  make b #2\n\n↳ Run  make a\n  │ a\n  ✓ 1.0s\n\n\
             ↳ Run  make b #2\n  │ b3\n  ✓ 1.0s\n\n↳ Run  make b\n  │ b2\n  ✓ 1.0s\n"
        )
    );
}

#[test]
fn other_tools_say_what_they_do() {
    let call = |kind: &str, input: Value| {
        body("tool_started", json!({"name": "srv.do", "kind": kind, "input": input}))
    };
    let done = json!({"status": "completed", "durationMs": 10});
    let printed = plain(&[
        event(1, 0, "src/a.rs", call("read", Value::Null)),
        ended(1, "a\nb\n", done.clone()),
        event(2, 0, "", call("other", json!({"id": 7, "text": "hi"}))),
        ended(2, "", json!({"status": "completed", "durationMs": 10, "result": {"ok": true}})),
        ended(9, "who was it?", json!({"status": "cancelled"})),
    ]);
    assert_eq!(
        printed,
        "● Read  src/a.rs\n  ✓ 2 lines · 10ms\n\n● srv.do  id: 7, text: hi\n  │ {\n  │   \"ok\": true\n  │ }\n  ✓ 10ms\n\n\
         ● A tool\n  │ who was it?\n  ■ stopped\n"
    );
}

#[test]
fn a_call_is_shown_once_there_is_something_to_say() {
    let call = |command: Option<&str>| json!({"name": "Bash", "kind": "execute", "command": command});
    let mut renderer = Renderer::new(Style::default());
    assert_eq!(renderer.event(&event(1, 0, "", body("tool_started", call(None)))), "");
    assert_eq!(renderer.event(&event(1, 0, "", body("tool_updated", call(Some("ls"))))), "● Run  ls\n");
    assert_eq!(renderer.event(&event(1, 0, "", body("tool_updated", call(Some("ls"))))), "");
    assert_eq!(renderer.event(&event(1, 0, "", body("tool_updated", call(Some("ls -a"))))), "↳ Run  ls -a\n");
}

#[test]
fn a_change_is_shown_once_and_its_status_after_it() {
    let change = json!([{"path": "a.rs", "kind": "update", "diff": "@@ -1 +1 @@\n-a\n+b\n"}]);
    let diff =
        |status: &str| event(1, 0, "", body("file_diff", json!({"status": status, "changes": change})));
    assert_eq!(
        plain(&[diff("running"), diff("running"), diff("completed")]),
        "● Edit  a.rs  +1 -1\n  1 - a\n  1 + b\n  ✓ applied\n"
    );
    assert_eq!(plain(&[diff("completed")]), "✓ Edit  a.rs  +1 -1\n  1 - a\n  1 + b\n");
    let notice = event(0, 0, "hm", body("notice", json!({"level": "info"})));
    assert_eq!(
        plain(&[diff("running"), notice, diff("failed")]),
        "● Edit  a.rs  +1 -1\n  1 - a\n  1 + b\n\n· hm\n\n✗ not applied: a.rs\n"
    );
}

#[test]
fn the_changes_of_a_tool_stand_in_its_card() {
    let change = json!([{"path": "a.rs", "kind": "add", "diff": "x\n"}]);
    let printed = plain(&[
        event(1, 0, "a.rs", body("tool_started", json!({"name": "Write", "kind": "edit"}))),
        event(1, 0, "", body("file_diff", json!({"status": "completed", "changes": change}))),
        ended(1, "The file was written.", json!({"status": "completed", "durationMs": 7})),
    ]);
    assert_eq!(printed, "● Edit  a.rs\n  a.rs  +1\n  1 + x\n  ✓ 7ms\n");
}

#[test]
fn a_turn_ends_with_a_footer() {
    let printed = plain(&[
        event(0, 0, "", body("turn_started", json!({}))),
        event(0, 1, "", body("usage_updated", json!({"contextUsed": 50, "contextWindow": 100}))),
        event(0, 2, "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", bare("turn_diff")),
        event(0, 2_500, "", body("turn_finished", json!({"outcome": "completed", "usage": {"output": 20}}))),
    ]);
    assert_eq!(printed, "✓ done in 2.5s · 1 file +1 -1 · 20 out · context 50%\n");
}

#[test]
fn a_name_that_is_given_in_a_turn_is_no_second_greeting() {
    let mut named = event(0, 0, "", body("session_ready", json!({"native": "t"})));
    named.turn = Some("01931f5e-7a2b-7c3d-8e4f-000000000009".parse().unwrap());
    let printed = plain(&[opened(), event(0, 0, "", body("session_ready", json!({}))), named]);
    assert_eq!(printed, format!("{OPENED}· codex is ready\n"));
}

#[test]
fn the_life_of_a_session() {
    let printed = plain(&[
        opened(),
        event(0, 0, "", body("session_ready", json!({"native": "t", "version": "1.2", "model": "m"}))),
        event(0, 0, "", body("mode_changed", json!({"mode": "auto-edit"}))),
        event(0, 0, "", body("model_changed", json!({"model": "n"}))),
        event(0, 0, "Reconnecting 1/5", body("notice", json!({"level": "warning"}))),
        event(0, 0, "", body("usage_limited", json!({"name": "5h", "usedPercent": 50.0}))),
        event(0, 0, "", body("usage_limited", json!({"name": "5h", "usedPercent": 91.6, "resetsAt": 7200}))),
        event(0, 0, "", body("session_sleeping", json!({"cause": "exited", "signal": 9, "stderr": "bye\n"}))),
        event(0, 0, "", body("session_revived", json!({"fromLog": false}))),
        event(0, 0, "no such thread", body("session_error", json!({"code": "resume_failed"}))),
        event(0, 0, "codex resume t", bare("session_handed_off")),
        event(0, 0, "", bare("session_closed")),
    ]);
    assert_eq!(
        printed,
        format!(
            "{OPENED}· codex 1.2 is ready with m\n· mode: auto-edit\n· model: n\n! Reconnecting 1/5\n\
             ! 92% of 5h is used, starts over in 2h\n✗ codex ended (signal 9)\n  │ bye\n  the next prompt wakes it\n\
             · codex resumed and remembers\n✗ codex does not remember the conversation: no such thread\n  \
             it is told what the log holds\n\
             · the session goes on in the agent's own terminal: codex\n  resume t\n· the session has ended\n"
        )
    );
}

#[test]
fn the_last_words_of_an_agent_are_shown_whole() {
    let stderr = format!("Error: {}remove this setting", "it is no longer supported; ".repeat(6));
    let sleeping = json!({"cause": "failed_to_start", "stderr": format!("{stderr}\n\n   5: <unknown>\n")});
    let printed = plain(&[event(0, 0, "", body("session_sleeping", sleeping))]);
    let told: Vec<&str> = printed.lines().filter_map(|line| line.trim_start().strip_prefix('│')).collect();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&told.join(" ")).starts_with(&words(&stderr)), "{printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
}

#[test]
fn an_agent_that_was_stopped_on_purpose_has_no_last_words() {
    let sleeping = json!({"cause": "hub_restarted", "stderr": "noise\n"});
    let printed = plain(&[event(0, 0, "shut down", body("session_sleeping", sleeping))]);
    assert_eq!(printed, "☾ the hub restarted, and codex stopped with it\n  the next prompt wakes it\n");
}

#[test]
fn files_are_named_as_seen_from_the_work_tree() {
    let changes = json!([{"path": "/w/src/a", "kind": "add", "diff": "x\n"}, {"path": "/wide", "kind": "add", "diff": "y\n"}]);
    let diff = event(1, 0, "", body("file_diff", json!({"status": "running", "changes": changes})));
    let printed = plain(&[opened(), diff]);
    assert_eq!(printed, format!("{OPENED}\n● Create  src/a  +1\n  1 + x\n● Create  /wide  +1\n  1 + y\n"));
}

#[test]
fn metadata_is_not_drawn() {
    let printed = plain(&[
        event(0, 0, "T", bare("title_changed")),
        event(0, 0, "", body("raw", json!({"kind": "x"}))),
        event(0, 0, "", body("git_changed", json!({"branch": "b", "dirty": 0}))),
        event(0, 0, "", body("commands_listed", json!({"commands": []}))),
        event(0, 0, "p", body("prompt_queued", json!({"prompt": ID, "turnId": ID, "by": "owner"}))),
    ]);
    assert_eq!(printed, "");
}

#[test]
fn delegated_work_is_named() {
    let end = event(1, 0, "fine", body("delegation_finished", json!({"child": ID, "outcome": "completed"})));
    let begin =
        event(1, 0, "Look at it", body("delegation_started", json!({"child": ID, "agent": "claude"})));
    let note = event(0, 0, "hm", body("notice", json!({"level": "info"})));
    let head = "● Delegate  to claude (session c3d4e5f6)\n    Look at it\n";
    assert_eq!(plain(&[begin.clone(), end.clone()]), format!("{head}  │ fine\n  ✓ done\n"));
    assert_eq!(
        plain(&[begin, note, end]),
        format!("{head}\n· hm\n\n↳ Delegate  session c3d4e5f6\n  │ fine\n  ✓ done\n")
    );
}

#[test]
fn the_status_line_tells_what_runs() {
    let mut renderer = Renderer::new(Style { width: 40, ..Style::default() });
    let at = |millis| Timestamp::from_micros(0).plus_millis(millis);
    assert_eq!(renderer.status(at(0)), None);
    renderer.event(&opened());
    assert_eq!(renderer.status(at(1_000)).unwrap(), "⠹ Starting codex · 1s");
    renderer.event(&event(0, 2_000, "", body("turn_started", json!({}))));
    assert_eq!(renderer.status(at(2_080)).unwrap(), "⠦ Working · 0s");
    renderer.event(&event(1, 2_000, "", bare("reasoning_started")));
    assert_eq!(renderer.status(at(2_160)).unwrap(), "⠧ Thinking · 0s");
    renderer.event(&event(1, 2_000, "", body("reasoning_done", json!({}))));
    renderer.event(&event(2, 2_000, "", bare("message_started")));
    assert_eq!(renderer.status(at(63_000)).unwrap(), "⠧ Writing · 1m 01s");
    renderer.event(&run(3, "sleep 100"));
    renderer.event(&event(3, 0, "tick\n\u{1b}[1mtock\u{1b}[0m\n", bare("tool_output_delta")));
    assert_eq!(renderer.status(at(5_000)).unwrap(), "⠹ Run sleep 100 · 5s · tock");
    renderer.event(&run(4, "cargo test --workspace --all-targets"));
    let status = renderer.status(at(5_000)).unwrap();
    assert_eq!(status, "⠹ Run cargo test --workspace --al… · 5s");
    let ascii = Renderer::new(Style { unicode: false, ..Style::default() });
    assert_eq!(ascii.status(at(0)), None);
}

#[test]
fn a_plain_terminal_gets_ascii_signs() {
    let ascii = Style { unicode: false, ..Style::default() };
    let printed = shown(
        ascii,
        &[opened(), run(1, "ls"), ended(1, "é\n", json!({"status": "completed", "durationMs": 5}))],
    );
    assert_eq!(printed, "- session c3d4e5f6 - codex in /w - mode ask\n\n* Run  ls\n  | é\n  v 5ms\n");
}

#[test]
fn what_shows_itself_needs_no_card() {
    let call = |at, name: &str, kind: &str, input: serde_json::Value| {
        event(at, 0, "", body("tool_started", json!({"name": name, "kind": kind, "input": input})))
    };
    let ended =
        |at, text: &str, status: &str| event(at, 0, text, body("tool_finished", json!({"status": status})));
    let plan = |at| call(at, "update_plan", "think", json!({"plan": []}));
    assert_eq!(plain(&[plan(1), ended(1, "the plan is shown", "completed")]), "");
    assert!(plain(&[plan(1), ended(1, "no such step", "failed")]).contains("no such step"));

    let begin =
        event(1, 0, "Look at it", body("delegation_started", json!({"child": ID, "agent": "claude"})));
    let end = event(1, 0, "fine", body("delegation_finished", json!({"child": ID, "outcome": "completed"})));
    let delegate = call(1, "delegate_to_claude", "delegate", json!({"task": "Look at it"}));
    assert_eq!(
        plain(&[delegate.clone(), begin, end, ended(1, "fine", "completed")]),
        "● Delegate  to claude (session c3d4e5f6)\n    Look at it\n  │ fine\n  ✓ done\n"
    );
    let refused = plain(&[delegate, ended(1, "there is no agent called claude", "failed")]);
    assert!(refused.contains("Delegate") && refused.contains("there is no agent"), "{refused}");
}

#[test]
fn the_end_of_a_call_that_began_before_has_its_name_also_when_it_ends_while_one_looks() {
    let call: ToolCall =
        serde_json::from_value(json!({"name": "shell", "kind": "execute", "command": "make", "input": {}}))
            .unwrap();
    for runs in [true, false] {
        let mut renderer = Renderer::new(Style::default());
        let now = Timestamp::from_micros(0);
        renderer.began_before(super::item_id(1), now, &call, "shell", runs);
        assert_eq!(renderer.status(now).is_some(), runs);
        let ended = event(1, 0, "built", body("tool_finished", json!({"status": "completed"})));
        assert!(renderer.event(&ended).starts_with("● Run  make\n  │ built\n"));
    }
}

#[test]
fn what_runs_on_when_the_turn_is_over_is_named() {
    let call = json!({"name": "shell", "kind": "execute", "command": "sleep 20", "input": {}});
    let printed = plain(&[
        event(0, 0, "", body("turn_started", json!({}))),
        event(1, 0, "", body("tool_started", call)),
        event(0, 900, "", body("turn_finished", json!({"outcome": "completed"}))),
    ]);
    assert_eq!(printed, "● Run  sleep 20\n\n· still running: Run sleep 20\n\n✓ done in 0.9s\n");
}

#[test]
fn what_a_tool_gave_besides_words_is_named() {
    let call = json!({"name": "screenshot", "kind": "other", "input": {"page": "start"}});
    let outcome = json!({"status": "completed", "durationMs": 80, "attachments": [
        {"mediaType": "image/png", "name": "start.png", "data": "AAAA"}]});
    let printed = plain(&[
        event(1, 0, "", body("tool_started", call)),
        event(1, 80, "", body("tool_finished", outcome)),
    ]);
    assert!(printed.contains("  │ + start.png (image/png)\n  ✓ 80ms"), "{printed}");
}

#[test]
fn a_queue_that_is_held_says_what_to_do() {
    let printed = plain(&[event(0, 0, "1 prompt is held", bare("queue_held"))]);
    assert!(
        printed.contains("1 prompt is held; `longshore queue send") && printed.contains("/send"),
        "{printed}"
    );
    assert!(!printed.contains("them"), "it may be one: {printed}");
}
