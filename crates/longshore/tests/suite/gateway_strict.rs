//! Services that refuse what others take: those that want their thoughts back, and those that want speakers to take turns.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use longshore_model::event::{Body, Event};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::service::ModelApi;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;

use super::gateway::{gateway, on};
use super::rig::Rig;
use super::scripted::{CLAUDE, CODEX, ScriptedAgent};

/// A turn with two calls, one after the other, and a second turn; on a service that insists.
async fn two_turns(rig: Rig, cast: &ScriptedAgent, insists: Value) {
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
    rig.model.replace(longshore_models::script::Script::from_value(script).unwrap());
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
    two_turns(Rig::with(json!([])).await, &super::scripted::REACT, thoughts()).await;
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
    rig.model.replace(longshore_models::script::Script::from_value(script).unwrap());
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
async fn turns_are_taken(rig: Rig, cast: &ScriptedAgent, fails: bool) {
    let steps = json!([
        { "when": { "tools": false }, "do": [{ "say": "They spoke." }], "repeat": "forever" },
        { "do": [{ "say": "First." }] },
        { "when": { "contains": "fail" }, "http": 400, "body": { "error": { "message": "not today" } } },
        { "do": [{ "say": "Second." }], "repeat": "forever" },
    ]);
    let script = json!({ "insist": ["turns"], "steps": steps });
    rig.model.replace(longshore_models::script::Script::from_value(script).unwrap());
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
    turns_are_taken(Rig::with(json!([])).await, &super::scripted::REACT, true).await;
}

#[tokio::test]
async fn codex_takes_turns_through_the_gateway() {
    turns_are_taken(Rig::through(Some("chat"), json!([])).await, &CODEX, false).await;
}

#[tokio::test]
async fn claude_takes_turns_through_the_gateway() {
    turns_are_taken(Rig::through(Some("chat"), json!([])).await, &CLAUDE, false).await;
}

/// A command that is steered, and one that is stopped: the words of a person come right after its result.
async fn words_after_results(agent: &str, insists: &str) {
    let rig = Rig::with(json!([])).await;
    let steps = json!([
        { "do": [{ "call": "shell", "args": { "command": "echo begun; sleep 1" } }] },
        { "do": [{ "say": "As you say." }] },
        { "do": [{ "call": "shell", "args": { "command": "echo again; sleep 60" } }] },
        { "do": [{ "say": "Still here." }] },
    ]);
    let script = json!({ "insist": [insists], "steps": steps });
    rig.model.replace(longshore_models::script::Script::from_value(script).unwrap());
    let mut talk = rig.open_with(agent, "full").await;
    let turn = talk.prompt("run").await;
    talk.until_event("it prints", |event| matches!(event.body, Body::ToolOutputDelta)).await;
    assert_eq!(talk.prompt_when("rather do this", "steer").await, turn);
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let turn = talk.prompt("once more").await;
    let prints = |event: &Event| event.turn == Some(turn) && matches!(event.body, Body::ToolOutputDelta);
    talk.until_event("it prints again", prints).await;
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    let turn = talk.prompt("and?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages().last(), Some(&"Still here."), "{}", talk.story());
    assert_eq!(rig.model.requests().requests.len(), 5, "it is refused once, and asked rightly from then on");
    let heard = rig.heard_by_model(5).await;
    assert!(heard.contains("<user-message>\\nrather do this"), "{heard}");
    assert!(heard.contains("<user-message>\\nand?"), "{heard}");
}

macro_rules! words_after_results {
    ($($case:ident: $agent:literal $insists:literal;)*) => {$(
        #[tokio::test]
        async fn $case() { words_after_results($agent, $insists).await; }
    )*};
}

words_after_results! {
    words_after_results_are_told_with_them_where_the_template_wants_it: "react" "turns";
    words_after_results_are_told_with_them_where_the_server_calls_it_its_own_fault: "react" "template";
    words_after_results_are_told_with_them_to_mistral: "react" "order";
    words_after_results_are_told_with_them_in_responses: "react-responses" "turns";
    words_after_results_are_told_with_them_in_messages: "react-messages" "turns";
}

/// A call of an answer without a thought, on a service that wants none; then it wants all that it never gave.
async fn what_was_never_thought_is_filled_in(rig: Rig, cast: &ScriptedAgent) {
    let title = json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" });
    let steps = json!([title, { "do": [(cast.run)("echo x")] }, { "do": [{ "say": "Seen." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps).unwrap());
    let mut talk = rig.open_with(cast.name, "full").await;
    let turn = talk.prompt("look").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let steps = json!([title, { "do": [{ "say": "Still here." }], "repeat": "forever" }]);
    let script = json!({ "insist": thoughts(), "steps": steps });
    rig.model.replace(longshore_models::script::Script::from_value(script).unwrap());
    for prompt in ["are you there?", "and now?"] {
        let turn = talk.prompt(prompt).await;
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
        assert_eq!(talk.messages().last(), Some(&"Still here."), "{}", talk.story());
    }
    let requests = rig.model.requests().requests;
    let refused = requests.iter().filter(|request| request.step.is_none()).count();
    assert_eq!(refused, 2, "it is refused once for each, and asked rightly from then on");
}

#[tokio::test]
async fn the_built_in_agent_fills_in_what_was_never_thought() {
    what_was_never_thought_is_filled_in(Rig::with(json!([])).await, &super::scripted::REACT).await;
}

#[tokio::test]
async fn codex_goes_on_where_what_was_never_thought_is_wanted() {
    what_was_never_thought_is_filled_in(Rig::through(Some("chat"), json!([])).await, &CODEX).await;
}

/// As Claude Code asks after a tool was stopped: words of a person behind the result.
fn words_behind_a_result() -> Value {
    json!({ "model": "m", "max_tokens": 9, "messages": [
        { "role": "user", "content": "run" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "f", "input": {} }] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "a", "content": "stopped" },
            { "type": "text", "text": "rather do this" },
        ] },
    ] })
}

#[tokio::test]
async fn a_client_that_speaks_after_results_is_heard_where_the_template_wants_turns() {
    for insists in ["turns", "template", "order"] {
        for service in [ModelApi::Chat, ModelApi::Responses] {
            let steps = json!([{ "do": [{ "say": "As you say." }], "repeat": "forever" }]);
            let (served, gateway) = on(json!({ "insist": [insists], "steps": steps }), service).await;
            for requests in [2, 3] {
                let response = gateway.ask("/messages", &words_behind_a_result()).await;
                assert_eq!(response.status(), 200, "{insists} {service:?}");
                let heard = served.model.requests().requests;
                assert_eq!(heard.len(), requests, "it is refused once, and asked rightly from then on");
                let last = heard.last().unwrap().body.to_string();
                assert!(last.contains("<user-message>\\nrather do this"), "{last}");
            }
        }
    }
}

/// Both are under way when the service refuses them.
#[tokio::test]
async fn two_clients_at_once_both_learn_what_the_service_wants() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let both = Arc::new(Barrier::new(2));
    let service = move |body: String| {
        let both = Arc::clone(&both);
        async move {
            if body.contains("<user-message>") {
                let said = json!({ "message": { "content": "As you say." }, "finish_reason": "stop" });
                return (StatusCode::OK, Json(json!({ "choices": [said] })));
            }
            both.wait().await;
            let why = json!({ "error": { "message": "roles must alternate" } });
            (StatusCode::BAD_REQUEST, Json(why))
        }
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(service)).await });
    let gateway = gateway(&format!("http://{address}/v1"), ModelApi::Chat, None).await;
    let body = words_behind_a_result();
    let (one, other) = tokio::join!(gateway.ask("/messages", &body), gateway.ask("/messages", &body));
    assert_eq!((one.status(), other.status()), (StatusCode::OK, StatusCode::OK));
}

/// OpenRouter has begun its answer when whoever it asks refuses.
#[tokio::test]
async fn a_refusal_that_comes_as_a_stream_teaches_as_well() {
    let refusal = json!({ "code": "400", "message": "Unexpected role 'user' after role 'tool'" });
    let steps = json!([{ "do": [{ "fail": refusal }] }, { "do": [{ "say": "As you say." }] }]);
    let (served, gateway) = on(steps.clone(), ModelApi::Chat).await;
    assert_eq!(gateway.ask("/messages", &words_behind_a_result()).await.status(), 200);
    assert_eq!(served.model.requests().requests.len(), 2);

    let rig = Rig::with(steps).await;
    let mut talk = rig.open_with("react", "full").await;
    let turn = talk.prompt("hello").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let notices = talk.said(|body| matches!(body, Body::Notice { .. }));
    assert!(notices.is_empty(), "it is asked otherwise, and not again: {notices:?}");
}
