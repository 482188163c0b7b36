//! The latest session, which is meant where none is named.

use serde_json::json;

use super::rig::Rig;
use super::terminal::Terminal;
use super::verbs::{err, longshore, out};

#[tokio::test]
async fn a_dash_is_the_session_that_a_person_spoke_to_last_and_not_the_one_whose_agent_did() {
    let waits = json!({ "cmd": "while [ ! -e go ]; do sleep 0.05; done", "yield_time_ms": 30_000 });
    let rig = Rig::with(json!([
        { "when": { "contains": "behind" }, "do": [{ "call": "exec_command", "args": waits }] },
        { "do": [{ "say": "Quick." }], "repeat": "forever" },
    ]))
    .await;
    let mut behind = rig.talk("full", "behind").await;
    let front = longshore(&rig, &["run", "codex", "front", "--mode", "full"]).await;
    assert!(front.status.success(), "{}{}", out(&front), err(&front));
    std::fs::write(rig.work().join("go"), "").unwrap();
    behind.until_turn_ends_somehow().await;
    let mut person = Terminal::with(&rig, &["prompt", "-", "for the one in front"], &[]);
    person.until("· front").await;
    let (code, shown) = person.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    let shown = out(&longshore(&rig, &["show", "-"]).await);
    assert!(shown.contains("> front") && shown.contains("> for the one in front"), "{shown}");
}
