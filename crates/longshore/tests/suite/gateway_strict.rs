//! Services that refuse what others take: those that want their thoughts back, and those that want speakers to take turns.

use longshore_model::event::Body;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::rig::Rig;
use super::story::{CLAUDE, CODEX, Cast};

/// A turn with two calls, one after the other, and a second turn; on a service that insists.
async fn two_turns(rig: Rig, cast: &Cast, insists: Value) {
    let call = |id: &str| {
        let mut call = (cast.run)(&format!("echo {id}"));
        (call["id"], call["signature"]) = (json!(id), json!(format!("signature of {id}")));
        call
    };
    let steps = json!([
        { "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" },
        { "do": [{ "reason": "Let me look" }, { "say": "Looking." }, call("functions.run:0")] },
        { "do": [{ "reason": "Once more" }, call("functions.run:1")] },
        { "do": [{ "reason": "Well" }, { "say": "Seen." }] },
        { "do": [{ "say": "Still here." }], "repeat": "forever" },
    ]);
    let script = json!({ "insist": insists, "steps": steps });
    rig.model.replace(longshore::script::Script::from_value(script).unwrap());
    let mut talk = rig.open_with(cast.name, "full").await;
    for (prompt, last) in [("look", "Seen."), ("are you there?", "Still here.")] {
        let turn = talk.prompt(prompt).await;
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
        assert_eq!(talk.messages().last(), Some(&last), "{}", talk.story());
    }
    let thoughts = talk.said(|body| matches!(body, Body::ReasoningDone { .. }));
    assert!(cast.name != "react" || !thoughts.is_empty(), "thoughts are shown too: {}", talk.story());
    let refused = rig
        .model
        .requests()
        .requests
        .into_iter()
        .filter(|request| request.step.is_none() && request.path.ends_with("/chat/completions"));
    assert_eq!(refused.count(), 0, "{}", talk.story());
}

fn thoughts() -> Value {
    json!(["thoughts", "signatures"])
}

#[tokio::test]
async fn the_built_in_agent_gives_a_service_its_thoughts_back() {
    two_turns(Rig::with(json!([])).await, &super::story::REACT, thoughts()).await;
}

#[tokio::test]
async fn codex_gives_a_service_that_chats_its_thoughts_back() {
    two_turns(Rig::through(Some("chat"), json!([])).await, &CODEX, thoughts()).await;
}

#[tokio::test]
async fn claude_gives_a_service_that_chats_its_thoughts_back() {
    two_turns(Rig::through(Some("chat"), json!([])).await, &CLAUDE, thoughts()).await;
}

#[tokio::test]
async fn the_built_in_agent_remembers_thoughts_when_it_is_killed() {
    let rig = Rig::with(json!([])).await;
    let call = json!({ "call": "shell", "id": "functions.shell:0", "args": { "command": "echo x" } });
    let steps = json!([
        { "do": [{ "reason": "Let me look" }, call] },
        { "do": [{ "say": "Seen." }] },
        { "do": [{ "say": "Still here." }] },
    ]);
    let script = json!({ "insist": ["thoughts"], "steps": steps });
    rig.model.replace(longshore::script::Script::from_value(script).unwrap());
    let mut talk = rig.open_with("react", "full").await;
    let turn = talk.prompt("look").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    rig.kill_agents();
    talk.until_event("it sleeps", |event| matches!(event.body, Body::SessionSleeping(_))).await;
    let turn = talk.prompt("and?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(3).await;
    assert!(
        heard.contains("\"reasoning_content\":\"Let me look\"") && heard.contains("functions.shell:0"),
        "{heard}"
    );
}

/// Prompts without calls; with one of them that fails, and a summary after it.
async fn turns_are_taken(rig: Rig, cast: &Cast, fails: bool) {
    let steps = json!([
        { "when": { "tools": false }, "do": [{ "say": "They spoke." }], "repeat": "forever" },
        { "do": [{ "say": "First." }] },
        { "when": { "contains": "fail" }, "http": 400, "body": { "error": { "message": "not today" } } },
        { "do": [{ "say": "Second." }], "repeat": "forever" },
    ]);
    let script = json!({ "insist": ["turns"], "steps": steps });
    rig.model.replace(longshore::script::Script::from_value(script).unwrap());
    let mut talk = rig.open_with(cast.name, "full").await;
    let turn = talk.prompt("one").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    if fails {
        let turn = talk.prompt("fail").await;
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
        let turn = talk.prompt("/compact").await;
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    }
    let turn = talk.prompt("two").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages().last(), Some(&"Second."), "{}", talk.story());
}

#[tokio::test]
async fn the_built_in_agent_takes_turns() {
    turns_are_taken(Rig::with(json!([])).await, &super::story::REACT, true).await;
}

#[tokio::test]
async fn codex_takes_turns_through_the_gateway() {
    turns_are_taken(Rig::through(Some("chat"), json!([])).await, &CODEX, false).await;
}

#[tokio::test]
async fn claude_takes_turns_through_the_gateway() {
    turns_are_taken(Rig::through(Some("chat"), json!([])).await, &CLAUDE, false).await;
}

#[tokio::test]
async fn what_is_said_into_a_turn_is_told_with_the_results_where_the_template_wants_it() {
    let rig = Rig::with(json!([])).await;
    let steps = json!([
        { "do": [{ "call": "shell", "args": { "command": "echo begun; sleep 1" } }] },
        { "do": [{ "say": "As you say." }] },
        { "do": [{ "say": "Still here." }] },
    ]);
    let script = json!({ "insist": ["turns"], "steps": steps });
    rig.model.replace(longshore::script::Script::from_value(script).unwrap());
    let mut talk = rig.open_with("react", "full").await;
    let turn = talk.prompt("run").await;
    talk.until_event("it prints", |event| matches!(event.body, Body::ToolOutputDelta)).await;
    assert_eq!(talk.prompt_when("rather do this", "steer").await, turn);
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let turn = talk.prompt("and?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages().last(), Some(&"Still here."), "{}", talk.story());
    assert_eq!(rig.model.requests().requests.len(), 4, "it is refused once, and asked rightly from then on");
    assert!(rig.heard_by_model(3).await.contains("<user-message>\\nrather do this"));
}
