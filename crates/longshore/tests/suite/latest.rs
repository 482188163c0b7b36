//! The latest session, which is meant where none is named.

use serde_json::json;

use super::rig::Rig;
use super::terminal::Terminal;
use super::verbs::{err, json_of, longshore, out};

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
    person.until("(front)").await;
    let (code, shown) = person.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    let shown = out(&longshore(&rig, &["show", "-"]).await);
    assert!(shown.contains("> front") && shown.contains("> for the one in front"), "{shown}");
}

#[tokio::test]
async fn a_dash_passes_over_what_has_ended_and_undoes_the_last_archive() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Done." }], "repeat": "forever" }])).await;
    let mut ids = Vec::new();
    for words in ["first", "second", "third"] {
        let run = longshore(&rig, &["run", "react", words, "--mode", "full"]).await;
        assert!(run.status.success(), "{}{}", out(&run), err(&run));
        let shown = json_of(&longshore(&rig, &["show", "-", "--json"]).await);
        ids.push(shown["session"]["sessionId"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned());
    }
    let told = async |arguments: &[&str]| {
        let done = longshore(&rig, arguments).await;
        assert!(done.status.success(), "{arguments:?}: {}{}", out(&done), err(&done));
        format!("{}{}", out(&done), err(&done))
    };
    let last = |at: usize| &ids[at][ids[at].len() - 8..];
    // The one that was archived last, though a person last spoke in another one that is archived.
    assert!(told(&["archive", &ids[2]]).await.contains(last(2)));
    assert!(told(&["archive", &ids[0]]).await.contains(last(0)));
    assert!(told(&["archive", "--undo", "-"]).await.contains(last(0)));
    assert!(told(&["archive", "--undo", "-"]).await.contains(last(2)));
    let none = longshore(&rig, &["archive", "--undo", "-"]).await;
    assert!(none.status.code() == Some(3) && err(&none).contains("no session is archived"), "{}", err(&none));

    assert!(told(&["close", "-"]).await.contains(last(2)));
    assert!(told(&["show", "-"]).await.contains("> third"), "what has ended can be looked at");
    let prompted = longshore(&rig, &["prompt", "-", "more"]).await;
    assert!(err(&prompted).contains(&format!("to {} (second)", last(1))), "{}", err(&prompted));
    assert!(told(&["show", &ids[1]]).await.contains("> more"), "the latest one that is open was spoken to");
    // Where all have ended, that is said.
    for id in &ids[..2] {
        told(&["close", id]).await;
    }
    let late = longshore(&rig, &["prompt", "-", "more"]).await;
    assert!(late.status.code() == Some(5), "{:?} {}", late.status, err(&late));
}
