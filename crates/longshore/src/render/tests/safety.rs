//! Whatever an agent says: the terminal obeys nobody but us, and the stream reads like the whole.

use longshore_model::event::Event;
use proptest::prelude::*;
use serde_json::json;

use super::{ID, bare, body, event, shown};
use crate::render::wrap::width_of;
use crate::render::{Show, Style};

/// Text made to break markdown, terminals and column counts.
fn nasty() -> impl Strategy<Value = String> {
    let fragments = prop::sample::select(vec![
        "word ",
        "a",
        " ",
        "\n",
        "\n\n",
        "\n",
        "    ",
        "\t",
        "# ",
        "- ",
        "* ",
        "1. ",
        "2) ",
        "> ",
        "```",
        "```rs\n",
        "~~~\n",
        "|",
        "| a | b |\n|--|--|\n",
        "---\n",
        "===\n",
        "**",
        "_",
        "`",
        "~~",
        "[x](y)",
        "[x]: y\n",
        "![",
        "<br>",
        "<b>",
        "&#27;",
        "&#10;",
        "&amp;",
        "\\",
        "- [ ] ",
        "\u{1b}",
        "\u{1b}[31m",
        "\u{1b}[2J",
        "\u{1b}]0;t",
        "\u{7}",
        "\u{9b}1m",
        "\u{9d}",
        "\u{9c}",
        "\r",
        "\r\n",
        "\u{8}",
        "\0",
        "\u{7f}",
        "\u{202e}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "e\u{301}",
        "漢",
        "。",
        "👩\u{200d}👩\u{200d}👧",
        "🇩🇪",
        "\u{200d}",
        "\u{fe0f}",
        "longwordwithoutanyspace",
    ]);
    let piece =
        prop_oneof![8 => fragments.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn style(color: bool, width: usize) -> Style {
    Style { color, width, unicode: true, reasoning: Show::Full }
}

/// The text without the sequences that we print ourselves.
fn without_ink(printed: &str) -> String {
    let mut rest = printed;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        let ours = after.get(end..).is_some_and(|after| after.starts_with('m'));
        if !ours {
            text.push('\u{1b}');
        }
        rest = after.get(if ours { end + 1 } else { 0 }..).unwrap_or_default();
    }
    text + rest
}

/// The text in every place where an agent can put one.
fn everywhere(text: &str) -> Vec<Event> {
    let change = json!({"path": text, "kind": "update", "movedTo": text, "diff": format!("@@ -1 +1 @@\n-{text}\n+{text}")});
    let add = json!({"path": text, "kind": "add", "diff": text});
    let ask = |subject| {
        body(
            "approval_requested",
            json!({"approval": ID, "subject": subject,
            "options": ["allow_once", "allow_session", "allow_always", "deny", "cancel"]}),
        )
    };
    let mut events = vec![
        event(
            0,
            0,
            text,
            body(
                "session_opened",
                json!({"agent": text, "cwd": text, "mode": "ask", "model": text, "capabilities": {}}),
            ),
        ),
        event(0, 0, text, body("session_ready", json!({"native": text, "version": text, "model": text}))),
        event(0, 0, text, body("turn_started", json!({}))),
        event(
            0,
            0,
            text,
            body(
                "user_message",
                json!({"by": text, "attachments": [{"name": text, "mediaType": text, "data": ""}]}),
            ),
        ),
        event(1, 0, text, bare("message_delta")),
        event(1, 0, text, body("message_done", json!({"partial": true}))),
        event(2, 0, text, bare("reasoning_delta")),
        event(2, 9_000, text, body("reasoning_done", json!({}))),
        event(3, 0, text, body("plan_updated", json!({"steps": [{"text": text, "status": "pending"}]}))),
        event(
            4,
            0,
            text,
            body("tool_started", json!({"name": text, "kind": "other", "input": {text: text}})),
        ),
        event(4, 0, text, bare("tool_output_delta")),
        event(
            4,
            0,
            text,
            body("tool_updated", json!({"name": text, "kind": "execute", "command": text, "cwd": text})),
        ),
        event(4, 0, "", body("tool_finished", json!({"status": "failed", "result": text}))),
        event(5, 0, text, body("file_diff", json!({"status": "running", "changes": [change, add]}))),
        event(5, 0, text, body("file_diff", json!({"status": "failed", "changes": [change, add]}))),
        event(6, 0, text, ask(json!({"kind": "command", "command": text, "cwd": text, "always": [text]}))),
        event(6, 0, text, ask(json!({"kind": "edit", "changes": [change, add], "grantRoot": text}))),
        event(6, 0, text, ask(json!({"kind": "tool", "name": text, "input": {text: text}}))),
        event(6, 0, text, ask(json!({"kind": "permissions", "permissions": {text: text}}))),
        event(
            0,
            0,
            text,
            body(
                "approval_decided",
                json!({"approval": ID, "decision": "deny", "by": text, "message": text}),
            ),
        ),
        event(0, 0, text, body("approval_expired", json!({"approval": ID}))),
        event(
            0,
            0,
            text,
            body(
                "question_asked",
                json!({"question": ID, "source": text, "fields": [
            {"id": text, "label": text, "text": text, "kind": "one", "choices": [{"label": text, "description": text}]}]}),
            ),
        ),
        event(
            0,
            0,
            text,
            body(
                "question_answered",
                json!({"question": ID, "action": "accept", "answers": {text: text}, "by": text}),
            ),
        ),
        event(7, 0, text, body("delegation_started", json!({"child": ID, "agent": text}))),
        event(7, 0, text, body("delegation_finished", json!({"child": ID, "outcome": "failed"}))),
        event(0, 0, text, body("notice", json!({"level": "error"}))),
        event(0, 0, text, body("session_error", json!({"code": "refused"}))),
        event(0, 0, text, body("model_changed", json!({"model": text}))),
        event(0, 0, text, body("usage_limited", json!({"name": text, "usedPercent": 99.0}))),
        event(0, 0, text, body("prompt_queued", json!({"prompt": ID, "turnId": ID, "by": text}))),
        event(0, 0, text, bare("turn_diff")),
        event(
            0,
            0,
            text,
            body("turn_finished", json!({"outcome": "failed", "error": {"code": "other", "message": text}})),
        ),
        event(0, 0, text, body("session_sleeping", json!({"cause": "exited", "stderr": text}))),
        event(0, 0, text, bare("session_closed")),
    ];
    for event in &mut events {
        event.agent = text.into();
    }
    events
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_agent_commands_the_terminal(text in nasty(), color: bool, width in 20_usize..90) {
        let style = style(color, width);
        let mut renderer = crate::render::Renderer::new(style);
        for event in everywhere(&text) {
            let printed = renderer.event(&event);
            let status = renderer.status(event.at).unwrap_or_default();
            let visible = without_ink(&printed);
            prop_assert!(visible.chars().all(|c| c == '\n' || !c.is_control()), "{visible:?}");
            prop_assert!(color || !printed.contains('\u{1b}'), "{printed:?}");
            prop_assert!(printed.is_empty() || printed.ends_with('\n'));
            prop_assert!(without_ink(&status).chars().all(|c| !c.is_control()), "{status:?}");
            prop_assert!(width_of(&without_ink(&status)) < width, "{status:?}");
        }
    }

    #[test]
    fn a_stream_reads_like_the_whole(text in nasty(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12), width in 20_usize..90) {
        let done = event(1, 0, &text, body("message_done", json!({})));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
        cuts.sort_unstable();
        cuts.push(text.len());
        let mut from = 0;
        let mut streamed = Vec::new();
        for cut in cuts {
            streamed.push(event(1, 0, &text[from..cut], bare("message_delta")));
            from = cut;
        }
        let unfinished = shown(style(true, width), &streamed);
        streamed.push(done.clone());
        let whole = shown(style(true, width), &[done]);
        prop_assert_eq!(shown(style(true, width), &streamed), whole.clone());
        prop_assert_eq!(unfinished, whole);
    }

    #[test]
    fn nothing_is_wider_than_the_terminal(text in nasty(), width in 40_usize..90) {
        for event in everywhere(&text) {
            for line in shown(style(false, width), &[event]).lines() {
                prop_assert!(width_of(line) <= width, "{} {:?}", width_of(line), line);
            }
        }
    }
}

/// Each of these takes a parser or a layout that is careless about depth or length for ever.
#[test]
fn a_hostile_text_costs_no_more_than_its_length() {
    let texts = [
        ">".repeat(50_000),
        "- ".repeat(50_000),
        "[".repeat(50_000),
        "*a ".repeat(50_000),
        "x".repeat(1_000_000),
        format!("|{}\n|{}\n", "a|".repeat(2_000), "-|".repeat(2_000)),
        "- a\n".repeat(20_000),
        "```\n".repeat(20_001),
    ];
    for text in texts {
        let printed = shown(style(false, 80), &[event(1, 0, &text, body("message_done", json!({})))]);
        assert!(!printed.is_empty());
        assert!(printed.len() < 40 * text.len(), "{} bytes of {}", printed.len(), text.len());
    }
}
