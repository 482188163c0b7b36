//! The built-in agent as a supervisor: real agents work for it, side by side.

use std::collections::{HashMap, HashSet};

use longshore_model::event::{Body, Event};
use longshore_model::id::{ItemId, Seq, SessionId};
use longshore_model::info::{OpenApproval, SessionInfo};
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::rig::{Rig, Talk};

fn children(talk: &Talk) -> Vec<SessionId> {
    let child = |event: &Event| match &event.body {
        Body::DelegationStarted(delegation) => Some(delegation.child),
        _ => None,
    };
    talk.events.iter().filter_map(child).collect()
}

fn delegate(agent: &str, task: &str) -> Value {
    json!({ "call": format!("delegate_to_{agent}"), "args": { "task": task } })
}

/// The approvals of all sessions, once there is one.
async fn inbox(talk: &mut Talk) -> Vec<OpenApproval> {
    let mut pace = tokio::time::interval(std::time::Duration::from_millis(20));
    let waiting = async {
        loop {
            pace.tick().await;
            let inbox: Value = talk.client.call("approvals", json!({})).await.unwrap();
            let open: Vec<OpenApproval> = serde_json::from_value(inbox["approvals"].clone()).unwrap();
            if !open.is_empty() {
                return open;
            }
        }
    };
    tokio::time::timeout(super::rig::WITHIN, waiting).await.expect("nobody asks for anything")
}

#[tokio::test]
async fn codex_and_claude_work_side_by_side_for_it() {
    let words = |text: &str| json!({ "say": text, "delay_ms": 5 });
    let rig = Rig::with(json!([
        { "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" },
        { "when": { "contains": "Supervise" }, "do": [
            { "say": "Both shall count." },
            delegate("codex", "HERONS: count the herons and note it in herons.txt"),
            delegate("claude", "GULLS: count the gulls"),
        ] },
        { "when": { "contains": "HERONS" }, "do": [
            { "call": "exec_command", "args": { "cmd": "echo two > herons.txt" } },
        ] },
        { "when": { "contains": "HERONS" }, "do": [words("There are two herons.")] },
        { "when": { "contains": "GULLS" }, "do": [words("There are nine gulls.")] },
        { "when": { "contains": "Supervise" }, "do": [{ "say": "Two herons and nine gulls." }] },
    ]))
    .await;
    let mut talk = rig.open_with("react", "ask").await;
    let turn = talk.prompt("Supervise a count of birds").await;
    let open = inbox(&mut talk).await;
    assert_ne!(open[0].session, talk.session, "the child asks, and not its parent");
    assert!(!rig.work().join("herons.txt").exists());
    talk.decide(&open[0], "allow_once").await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(std::fs::read_to_string(rig.work().join("herons.txt")).unwrap(), "two\n");
    assert_eq!(talk.messages().last(), Some(&"Two herons and nine gulls."));

    let tools = talk.tools();
    let expected = [
        ("There are two herons.".to_owned(), Some(ToolStatus::Completed)),
        ("There are nine gulls.".to_owned(), Some(ToolStatus::Completed)),
    ];
    assert_eq!(tools, expected, "both results come back, in the order of the calls\n{}", talk.story());
    // Both at once, so that their pieces lie between each other.
    let mut streamed: HashMap<Option<ItemId>, String> = HashMap::new();
    for event in talk.events.iter().filter(|event| matches!(event.body, Body::ToolOutputDelta)) {
        streamed.entry(event.item).or_default().push_str(event.text.as_deref().unwrap_or_default());
    }
    let streamed: HashSet<&str> = streamed.values().map(String::as_str).collect();
    assert_eq!(streamed, HashSet::from(["There are two herons.", "There are nine gulls."]));

    let children = children(&talk);
    let mut agents = HashSet::new();
    for child in &children {
        let info: SessionInfo = talk.client.call("session", json!({ "session": child })).await.unwrap();
        assert_eq!(info.parent, Some(talk.session));
        assert!(info.usage.output.is_some(), "it has its own usage");
        agents.insert(info.provider.to_string());
    }
    assert_eq!(agents, HashSet::from(["codex".to_owned(), "claude".to_owned()]));
    // Claude may ask for a title even after all is done.
    let requests = rig.model.requests().requests;
    let heard = requests.iter().map(|request| request.body.to_string());
    let told =
        |heard: &String| heard.contains("There are two herons.") && heard.contains("There are nine gulls.");
    assert!(heard.filter(told).count() > 0, "the model was not told of both");
}

#[tokio::test]
async fn a_helper_of_its_own_kind_has_all_tools_and_an_interrupt_reaches_it() {
    let rig = Rig::with(json!([
        { "when": { "contains": "Supervise" }, "do": [delegate("think_execute", "HELP: write help.txt, then wait")] },
        { "when": { "contains": "HELP" }, "do": [
            { "call": "shell", "args": { "command": "echo help > help.txt; echo written; sleep 60" } },
        ] },
        { "when": { "contains": "go on" }, "do": [{ "say": "It was stopped." }] },
    ]))
    .await;
    let mut talk = rig.open_with("react", "full").await;
    let turn = talk.prompt("Supervise").await;
    talk.until_event("a child works", |event| matches!(event.body, Body::DelegationStarted(_))).await;
    let child = children(&talk)[0];
    let mut helper = rig.follow(child, Seq::ZERO).await;
    helper.until_event("it prints", |event| matches!(event.body, Body::ToolOutputDelta)).await;
    assert_eq!(std::fs::read_to_string(rig.work().join("help.txt")).unwrap(), "help\n");
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    let over = |event: &Event| matches!(&event.body, Body::DelegationFinished(end) if end.child == child);
    assert!(talk.events.iter().any(over), "what was delegated ends in the log too: {}", talk.story());
    helper.until_turn_ends_somehow().await;
    let ended = helper.end_of(helper.last_turn());
    assert_eq!(ended, Some(TurnOutcome::Interrupted), "{}", helper.story());
    let turn = talk.prompt("go on").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
}

#[tokio::test]
async fn a_child_that_fails_returns_its_error() {
    let rig = Rig::with(json!([
        { "when": { "contains": "Supervise" }, "do": [delegate("think_execute", "FAIL")] },
        { "when": { "contains": "FAIL" }, "http": 401, "body": { "error": { "message": "bad key" } } },
        { "when": { "contains": "Supervise" }, "do": [{ "say": "It failed." }] },
    ]))
    .await;
    let mut talk = rig.open_with("react", "full").await;
    let turn = talk.prompt("Supervise").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let (text, status) = talk.tools().remove(0);
    assert_eq!((text.as_str(), status), ("bad key", Some(ToolStatus::Failed)));
    assert!(rig.last_heard_by_model().contains("it failed: bad key"));
}
