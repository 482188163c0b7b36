//! Prints a made-up session the way a terminal shows it: `cargo run --example look -- [columns] [plain] [ascii]`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use longshore::render::{
    Hit, Renderer, Show, Style, agents_table, search_hits, session_detail, sessions_table,
};
use longshore_model::event::Event;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

const SESSION: &str = "01931f5e-7a2b-7c3d-8e4f-a1b2c3d4e5f6";
const START: i64 = 1_794_768_300_000_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|given| given == word);
    let style = Style {
        color: !has("plain"),
        width: words.iter().find_map(|word| word.parse().ok()).unwrap_or(80),
        unicode: !has("ascii"),
        reasoning: if has("think") { Show::Full } else { Show::Folded },
    };
    let mut renderer = Renderer::new(style);
    for (index, (item, millis, text, body)) in story().into_iter().enumerate() {
        let mut event = json!({
            "seq": index + 1, "sessionId": SESSION, "provider": "codex", "text": text,
            "timestamp": Timestamp::from_micros(START).plus_millis(millis),
            "item": (item > 0).then(|| format!("01931f5e-7a2b-7c3d-8e4f-{item:012}")),
        });
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let event: Event = serde_json::from_value(event).unwrap();
        print!("{}", renderer.event(&event));
        if has("status")
            && let Some(status) = renderer.status(event.at.plus_millis(1_234))
        {
            println!("{status}");
        }
    }
    print!("{}", renderer.finish());
    lists(&style);
}

fn lists(style: &Style) {
    let now = Timestamp::from_micros(START).plus_millis(7_200_000);
    let session = |id: u32, more: Value| -> SessionInfo {
        let mut session = json!({
            "provider": "codex", "sessionId": format!("01931f5e-7a2b-7c3d-8e4f-a1b2{id:08x}"), "title": "Untitled",
            "status": "idle", "createdAt": Timestamp::from_micros(START), "updatedAt": Timestamp::from_micros(START),
            "activity": "idle", "cwd": "/w/demo", "mode": "ask", "capabilities": {}, "head": 42,
            "usage": {"input": 120_000, "cachedInput": 80_000, "output": 3_400}, "archived": false,
        });
        session.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(session).unwrap()
    };
    let approval = json!({
        "session": SESSION, "seq": 3, "requestedAt": Timestamp::from_micros(START), "approval": SESSION,
        "subject": {"kind": "command", "command": "git push"}, "options": ["allow_once", "deny"],
    });
    let sessions = [
        session(
            0xc3d4_e5f6,
            json!({"title": "Fix the flaky login test and say why it was flaky", "project": "demo",
            "activity": "waiting", "status": "active", "approvals": [approval], "costUsd": 0.31, "model": "gpt-5",
            "git": {"branch": "fix/login-redirect", "dirty": 3}, "contextPercent": 12}),
        ),
        session(
            0x1a2b_3c4d,
            json!({"title": "漢字のテスト", "activity": "working", "status": "active",
            "provider": "claude", "project": "i18n", "git": {"branch": "main", "dirty": 0}}),
        ),
        session(0x9f8e_7d6c, json!({"title": "Upgrade axum", "activity": "sleeping", "status": "error"})),
        session(0x0badcafe, json!({"title": "Old notes", "activity": "closed", "status": "completed"})),
    ];
    println!("\n{}", sessions_table(&sessions, now, style));
    println!("{}", session_detail(&sessions[0], None, now, style));
    let agents = json!([
        {"name": "codex", "title": "Codex", "path": "/usr/local/bin/codex", "version": "0.99.0",
         "install": "npm install -g @openai/codex", "capabilities": {"modes": ["plan", "ask", "auto-edit", "full"]}},
        {"name": "claude", "title": "Claude Code", "install": "npm install -g @anthropic-ai/claude-code",
         "capabilities": {}},
        {"name": "opencode", "title": "OpenCode", "install": "npm install -g opencode-ai", "capabilities": {}},
    ]);
    let agents: Vec<_> = serde_json::from_value(agents).unwrap();
    println!("{}", agents_table(&agents, &Default::default(), style));
    let session: SessionId = SESSION.parse().unwrap();
    let hit = |seq, snippet| Hit {
        session,
        seq: Seq(seq),
        title: "Fix the flaky login test",
        at: Timestamp::from_micros(START),
        snippet,
    };
    let hits = [
        hit(12, "the redirect races the cookie: login sees\nno session"),
        hit(340, "test login::redirects ... ok"),
    ];
    print!("{}", search_hits(&hits, "login redirect", now, style));
}

const ANSWER: &str = "## What was wrong\n\nThe redirect was sent **before** the cookie was stored, so the *next* request \
    sometimes had no session. `login()` now waits for `store()`; see [the docs](https://docs.rs/axum).\n\n\
    1. `src/login.rs`: wait for the store, which is a rather long explanation that goes on and on for a while\n\
    2. `tests/login.rs`: a test\n   - that fails without the fix\n   - and passes with it\n\n\
    ```rust\nasync fn login(jar: Jar) -> Redirect {\n    store(jar.clone()).await; // here\n}\n```\n\n\
    | before | after | note |\n|:--|--:|---|\n| 3 of 10 failed | 0 of 200 | measured on two cores with `--test-threads 8` |\n\
    | 漢字 | 1 | wide |\n\n> It never was the network.\n\n- [x] fixed\n- [ ] told the others\n";

/// Item, milliseconds since the start, text, type and payload.
fn story() -> Vec<(u32, i64, Option<&'static str>, Value)> {
    let of = |kind: &str, payload: Value| json!({"type": kind, "payload": payload});
    let bare = |kind: &str| json!({"type": kind});
    let run = |command: &str| {
        of(
            "tool_started",
            json!({"name": "exec_command", "kind": "execute", "command": command, "cwd": "/w/demo"}),
        )
    };
    let change = |path: &str, kind: &str, diff: &str| json!({"path": path, "kind": kind, "diff": diff});
    let edits = json!([
        change(
            "src/login.rs",
            "update",
            "@@ -41,5 +41,6 @@\n async fn login(jar: Jar) -> Redirect {\n-    spawn(store(jar.clone()));\n-    Redirect::to(\"/home\")\n+    // The cookie must be there before the browser asks for it.\n+    store(jar.clone()).await;\n+    Redirect::to(\"/home\")\n }\n@@ -90,2 +91,2 @@\n \tlet a = 1;\n-\tlet b = 2;\n+\tlet b = 3;\n"
        ),
        change(
            "tests/login.rs",
            "add",
            "#[test]\nfn waits_for_the_cookie() {\n    assert!(login().has_cookie());\n}\n"
        ),
    ]);
    let prompt = "01931f5e-7a2b-7c3d-8e4f-000000000099";
    let turn = "01931f5e-7a2b-7c3d-8e4f-000000000098";
    let chunks = ["## What", " was wrong\n\nThe redirect was sent **bef"];
    vec![
        (
            0,
            0,
            None,
            of(
                "session_opened",
                json!({"agent": "codex", "cwd": "/w/demo", "mode": "ask", "capabilities": {}}),
            ),
        ),
        (0, 300, None, of("session_ready", json!({"native": "t1", "version": "0.99.0", "model": "gpt-5"}))),
        (
            0,
            301,
            Some("fix it"),
            of("prompt_queued", json!({"prompt": prompt, "turnId": turn, "by": "owner"})),
        ),
        (0, 302, None, of("turn_started", json!({"prompt": prompt}))),
        (
            1,
            303,
            Some("Fix the flaky login test and say why it was flaky"),
            of("user_message", json!({"by": "owner"})),
        ),
        (2, 500, None, bare("reasoning_started")),
        (2, 600, Some("**Looking for the race**\n\nThe test "), bare("reasoning_delta")),
        (
            2,
            3_700,
            Some("**Looking for the race**\n\nThe test fails sometimes, so something is not awaited."),
            of("reasoning_done", json!({})),
        ),
        (
            0,
            3_800,
            None,
            of(
                "plan_updated",
                json!({"steps": [
            {"text": "Find the race", "status": "in_progress"}, {"text": "Fix it", "status": "pending"},
            {"text": "Run the test two hundred times", "status": "pending"}]}),
            ),
        ),
        (
            3,
            3_900,
            Some("I will look at both ends at once."),
            of("message_done", json!({"phase": "commentary"})),
        ),
        (4, 4_000, None, run("/bin/bash -lc 'cargo test login'")),
        (5, 4_100, None, run("/bin/bash -lc 'rg -n cookie src'")),
        (
            5,
            4_200,
            Some("src/login.rs:42: spawn(store(jar))\n"),
            of("tool_finished", json!({"status": "completed", "exitCode": 0, "durationMs": 31})),
        ),
        (4, 5_000, Some("running 14 tests\n"), bare("tool_output_delta")),
        (
            4,
            9_000,
            Some(
                "   Compiling demo\n\u{1b}[1mrunning\u{1b}[0m 14 tests\ntest a ... ok\ntest b ... ok\ntest c ... ok\ntest d ... ok\ntest e ... ok\ntest f ... ok\ntest g ... ok\n10%\r50%\r100%\ntest login::redirects ... FAILED\n\nfailures:\n    login::redirects: no session for this request, which is a line longer than any terminal should be\n\ntest result: FAILED. 13 passed; 1 failed\n",
            ),
            of("tool_finished", json!({"status": "failed", "exitCode": 101, "durationMs": 4_900})),
        ),
        (6, 9_100, Some("src/login.rs"), of("tool_started", json!({"name": "Read", "kind": "read"}))),
        (6, 9_150, Some("a\nb\nc\n"), of("tool_finished", json!({"status": "completed", "durationMs": 12}))),
        (7, 9_500, None, of("file_diff", json!({"status": "running", "changes": edits}))),
        (
            7,
            9_600,
            Some("The fix and its test."),
            of(
                "approval_requested",
                json!({"approval": prompt, "subject": {"kind": "edit", "changes": edits}, "options": ["allow_once", "allow_session", "deny", "cancel"]}),
            ),
        ),
        (
            7,
            12_000,
            None,
            of("approval_decided", json!({"approval": prompt, "decision": "allow_once", "by": "phone"})),
        ),
        (7, 12_100, None, of("file_diff", json!({"status": "completed", "changes": edits}))),
        (0, 12_200, Some("Reconnecting... 1/5"), of("notice", json!({"level": "warning"}))),
        (8, 12_300, None, run("/bin/bash -lc 'git push --force origin main'")),
        (
            8,
            12_400,
            Some("So that you can try it."),
            of(
                "approval_requested",
                json!({"approval": turn, "subject": {"kind": "command", "command": "/bin/bash -lc 'git push --force origin main'", "cwd": "/w/demo", "always": ["git", "push"]}, "options": ["allow_once", "allow_session", "allow_always", "deny", "cancel"]}),
            ),
        ),
        (
            8,
            15_000,
            None,
            of(
                "approval_decided",
                json!({"approval": turn, "decision": "deny", "by": "owner", "message": "no force"}),
            ),
        ),
        (8, 15_100, None, of("tool_finished", json!({"status": "declined"}))),
        (
            9,
            15_200,
            Some("Which branch then?"),
            of(
                "question_asked",
                json!({"question": turn, "fields": [
            {"id": "b", "label": "Branch", "text": "Which branch shall I push to?", "kind": "one", "open": true, "choices": [
                {"label": "fix/login", "description": "a new one, for review by somebody who knows the cookie code"}, {"label": "main", "description": "fast forward"}]}]}),
            ),
        ),
        (
            9,
            17_000,
            None,
            of(
                "question_answered",
                json!({"question": turn, "action": "accept", "answers": {"b": "fix/login"}, "by": "owner"}),
            ),
        ),
        (
            0,
            17_100,
            None,
            of(
                "plan_updated",
                json!({"steps": [
            {"text": "Find the race", "status": "completed"}, {"text": "Fix it", "status": "completed"},
            {"text": "Run the test two hundred times", "status": "in_progress"}]}),
            ),
        ),
        (
            10,
            17_200,
            Some("Check the cookie code of the mobile client"),
            of("delegation_started", json!({"child": SESSION, "agent": "claude"})),
        ),
        (
            10,
            19_200,
            Some("It waits already."),
            of("delegation_finished", json!({"child": SESSION, "outcome": "completed"})),
        ),
        (11, 20_000, Some(chunks[0]), bare("message_delta")),
        (11, 20_010, Some(chunks[1]), bare("message_delta")),
        (11, 21_000, Some(ANSWER), of("message_done", json!({"phase": "final_answer"}))),
        (0, 21_100, Some("diff --git a/x b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"), bare("turn_diff")),
        (
            0,
            21_200,
            None,
            of(
                "turn_finished",
                json!({"outcome": "completed", "usage": {"input": 48_200, "cachedInput": 40_100, "output": 1_870, "contextUsed": 31_000, "contextWindow": 258_400}, "costUsd": 0.31, "durationMs": 20_898}),
            ),
        ),
        (0, 25_000, None, of("turn_started", json!({}))),
        (
            12,
            25_100,
            Some("Now do the same for logout.\nCarefully."),
            of(
                "user_message",
                json!({"by": "phone", "attachments": [{"name": "shot.png", "mediaType": "image/png", "path": "/tmp/shot.png"}]}),
            ),
        ),
        (13, 26_000, Some("I begin\n\nwith the"), bare("message_delta")),
        (13, 27_000, Some("I begin\n\nwith the lo"), of("message_done", json!({"partial": true}))),
        (
            0,
            27_100,
            None,
            of(
                "turn_finished",
                json!({"outcome": "failed", "error": {"code": "usage_limit", "message": "You've hit your usage limit."}}),
            ),
        ),
        (
            0,
            28_000,
            Some("stdin closed"),
            of(
                "session_sleeping",
                json!({"cause": "exited", "exitCode": 1, "stderr": "thread 'main' panicked\nat src/main.rs\n"}),
            ),
        ),
    ]
}
