//! Approvals and questions as they stream.

use longshore_model::event::{Body, Event};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::{ID, OTHER_ID, body, event, plain};
use crate::render::{Renderer, Style};

fn wants(item: u32, approval: &str, subject: Value) -> Event {
    let request = json!({"approval": approval, "subject": subject, "options": ["allow_once", "deny"]});
    event(item, 0, "Please.", body("approval_requested", request))
}

fn decides(approval: &str, decision: &str) -> Event {
    let decided = json!({"approval": approval, "decision": decision, "by": "phone"});
    event(0, 0, "", body("approval_decided", decided))
}

fn run(item: u32, command: &str) -> Event {
    let call = json!({"name": "exec_command", "kind": "execute", "command": command});
    event(item, 0, "", body("tool_started", call))
}

fn command(command: &str) -> Value {
    json!({"kind": "command", "command": command})
}

#[test]
fn a_card_goes_on_under_its_approval() {
    let printed = plain(&[
        run(1, "ls"),
        wants(1, ID, command("ls")),
        decides(ID, "allow_once"),
        event(1, 900, "a", body("tool_finished", json!({"status": "completed"}))),
    ]);
    assert_eq!(
        printed,
        "● Run  ls\n\n╭─ Run this command?\n│ $ ls\n│ Please.\n│\n│ y once   n no\n╰─\n\
         ✓ allowed once by phone\n  │ a\n  ✓ 0.9s\n"
    );
}

#[test]
fn an_approval_of_the_past_is_its_answer_under_the_card() {
    let asked = wants(1, ID, command("ls"));
    let Body::ApprovalRequested(request) = asked.body.clone() else { panic!("no approval") };
    let mut renderer = Renderer::new(Style { width: 60, ..Style::default() });
    let mut printed = renderer.event(&run(1, "ls"));
    renderer.decided_since(&asked, &request);
    printed.push_str(&renderer.event(&decides(ID, "allow_once")));
    assert_eq!(printed, "● Run  ls\n✓ allowed once by phone\n");
    renderer.decided_since(&asked, &request);
    printed.push_str(&renderer.event(&event(0, 0, "hi", json!({"type": "user_message", "payload": {}}))));
    let later = renderer.event(&decides(ID, "deny"));
    assert_eq!(later, "\n⊘ denied by phone · run ls\n");
}

#[test]
fn a_refusal_is_told_once() {
    let printed = plain(&[
        run(1, "ls"),
        wants(1, ID, command("ls")),
        decides(ID, "deny"),
        event(1, 900, "", body("tool_finished", json!({"status": "declined"}))),
    ]);
    assert!(printed.ends_with("╰─\n⊘ denied by phone\n"), "{printed}");
}

#[test]
fn decisions_out_of_order_say_what_they_are_about() {
    let printed = plain(&[
        wants(1, ID, command("make a")),
        wants(2, OTHER_ID, command("make b")),
        decides(ID, "deny"),
        decides(OTHER_ID, "allow_once"),
    ]);
    assert!(
        printed.ends_with("╰─\n\n⊘ denied by phone · run make a\n\n✓ allowed once by phone · run make b\n"),
        "{printed}"
    );
}

#[test]
fn changes_that_stand_right_above_are_not_repeated() {
    let changes = json!([{"path": "a", "kind": "add", "diff": "x\n"}]);
    let diff = event(1, 0, "", body("file_diff", json!({"status": "running", "changes": changes})));
    let asked = wants(1, ID, json!({"kind": "edit", "changes": changes}));
    assert_eq!(
        plain(&[diff.clone(), asked.clone()]),
        "● Create  a  +1\n  1 + x\n\n╭─ Change this file?\n│ Create  a  +1\n│ the changes above\n│ Please.\n│\n\
         │ y once   n no\n╰─\n"
    );
    let notice = event(0, 0, "hm", body("notice", json!({"level": "info"})));
    let apart = plain(&[diff, notice, asked]);
    assert!(apart.contains("│ Create  a  +1\n│   1 + x\n│ Please.\n"), "{apart}");
}

#[test]
fn a_void_approval_says_why() {
    let expired = event(0, 0, "codex is gone", body("approval_expired", json!({"approval": ID})));
    let printed = plain(&[wants(1, ID, command("ls")), expired]);
    assert!(printed.ends_with("╰─\n· the approval was withdrawn: codex is gone\n"), "{printed}");
}

#[test]
fn the_status_line_calls_for_the_reader() {
    let mut renderer = Renderer::new(Style::default());
    renderer.event(&run(1, "ls"));
    renderer.event(&wants(1, ID, command("ls")));
    let at = Timestamp::from_micros(0).plus_millis(3_000);
    assert_eq!(renderer.status(at).unwrap(), "? Your decision is needed: run ls · 3s");
    renderer.event(&wants(2, OTHER_ID, command("ps")));
    assert_eq!(renderer.status(at).unwrap(), "? Your decision is needed (and 1 more): run ls · 3s");
    renderer.event(&decides(ID, "allow_once"));
    renderer.event(&decides(OTHER_ID, "allow_once"));
    assert_eq!(renderer.status(at).unwrap(), "⠧ Run ls · 3s");
}

#[test]
fn a_call_that_asks_is_its_question_and_no_raw_input() {
    let input = json!({"questions": [{"header": "Colour", "question": "Which?", "options": []}]});
    let call = json!({"name": "AskUserQuestion", "kind": "other", "input": input});
    let began = event(1, 0, "AskUserQuestion", body("tool_started", call));
    let asked =
        json!({"question": ID, "fields": [{"id": "c", "label": "Colour", "text": "Which?", "kind": "text"}]});
    let answer = json!({"question": ID, "action": "accept", "answers": {"c": "Blue"}, "by": "owner"});
    let ended = event(
        1,
        0,
        "Your questions have been answered",
        body("tool_finished", json!({"status": "completed"})),
    );
    // Not all agents say which call it is that asks.
    for item in [1, 0] {
        let printed = plain(&[
            began.clone(),
            event(item, 0, "", body("question_asked", asked.clone())),
            event(0, 0, "", body("question_answered", answer.clone())),
            ended.clone(),
        ]);
        assert!(printed.starts_with("╭─") && printed.ends_with("Colour: Blue\n"), "{printed}");
        assert!(!printed.contains("AskUserQuestion") && !printed.contains('['), "{printed}");
    }
    // In the agent's own terminal nobody here was asked.
    let printed = plain(&[began, ended]);
    assert!(printed.starts_with("● Asked  a question\n  │ Your questions have been answered\n"), "{printed}");
}

#[test]
fn a_question_and_its_answer() {
    let asked = json!({"question": ID, "source": "linear", "fields": [
        {"id": "n", "label": "Count", "text": "How many?", "kind": "integer", "optional": true}]});
    let answer = json!({"question": ID, "action": "accept", "answers": {"n": 3}, "by": "owner"});
    let printed = plain(&[
        event(0, 0, "It is about the count.", body("question_asked", asked)),
        event(0, 0, "", body("question_answered", answer)),
    ]);
    assert_eq!(
        printed,
        "╭─ linear asks\n│ It is about the count.\n│\n│ How many?\n│   a whole number, empty leaves it out\n╰─\n\
         ✓ answered by owner · Count: 3\n"
    );
}
