//! What real agents hand back besides words, and how hard they are told to think.

use longshore_model::command::AttachmentSource;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::Content;
use serde_json::{Value, json};

use super::rig::Rig;
use super::scripted::{CLAUDE, CLAUDE_AGENT_ACP, CLAUDE_NEXT, CODEX, OPENCODE, REACT, ScriptedAgent, steps};

/// A picture of one dot.
const DOT: &[u8] = b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0d\x49\x44\x41\x54\x78\xda\x63\xfc\xcf\xc0\x50\x0f\x00\x04\x85\x01\x80\x84\xa9\x8c\x21\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

async fn shows_a_picture(cast: &ScriptedAgent, tool: &str, argument: &str) {
    let rig = Rig::with(json!([])).await;
    let path = rig.work().join("dot.png");
    std::fs::write(&path, DOT).unwrap();
    let read = json!({ "call": tool, "args": { argument: path } });
    let story = steps(json!([{ "do": [read] }, { "do": [{ "say": "A dot." }] }]));
    rig.model.replace(longshore_models::script::Script::from_value(story).unwrap());
    let mut talk = rig.open_with(cast.name, "ask").await;
    let turn = talk.prompt("look").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let attached = talk.timeline.items.iter().find_map(|item| match &item.content {
        Content::Tool { outcome: Some(outcome), .. } => outcome.attachments.first(),
        _ => None,
    });
    let attached = attached.unwrap_or_else(|| panic!("no picture\n{}", talk.story()));
    assert!(attached.media_type.starts_with("image/"), "{}", attached.media_type);
    assert!(matches!(&attached.source, AttachmentSource::Data(data) if !data.is_empty()));
}

#[tokio::test]
async fn a_picture_that_claude_reads_is_kept() {
    shows_a_picture(&CLAUDE, "Read", "file_path").await;
}

#[tokio::test]
async fn a_picture_that_a_newer_claude_reads_is_kept() {
    shows_a_picture(&CLAUDE_NEXT, "Read", "file_path").await;
}

#[tokio::test]
async fn a_picture_that_claude_over_acp_reads_is_kept() {
    shows_a_picture(&CLAUDE_AGENT_ACP, "Read", "file_path").await;
}

#[tokio::test]
async fn a_picture_that_codex_views_is_kept() {
    shows_a_picture(&CODEX, "view_image", "path").await;
}

#[tokio::test]
async fn a_picture_that_the_built_in_agent_views_is_kept() {
    shows_a_picture(&REACT, "view_image", "path").await;
}

/// The model hears how hard to think, from the beginning and after a change.
async fn thinks_as_hard_as_it_is_told(cast: &ScriptedAgent, heard: fn(&Value) -> Option<&str>) {
    let story = steps(json!([{ "do": [{ "say": "One." }] }, { "do": [{ "say": "Two." }] }]));
    let rig = Rig::with(story).await;
    let mut talk = rig.open_thinking(cast.name, "ask", "low").await;
    let turn = talk.prompt("first").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    talk.call("update", json!({ "effort": "high" })).await.unwrap();
    let turn = talk.prompt("second").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.info().await.effort.as_deref(), Some("high"));
    let requests = rig.model.requests().requests;
    let efforts: Vec<String> =
        requests.iter().filter_map(|request| heard(&request.body)).map(str::to_owned).collect();
    // What an agent asks for besides, such as a title, is thought about as it likes, and comes whenever it likes.
    let told: Vec<&String> =
        efforts.iter().filter(|effort| ["low", "high"].contains(&effort.as_str())).collect();
    assert!(told.first().is_some_and(|effort| *effort == "low"), "{efforts:?}");
    assert!(told.last().is_some_and(|effort| *effort == "high"), "{efforts:?}");
}

fn in_messages(body: &Value) -> Option<&str> {
    body["output_config"]["effort"].as_str()
}

#[tokio::test]
async fn claude_thinks_as_hard_as_it_is_told() {
    thinks_as_hard_as_it_is_told(&CLAUDE, in_messages).await;
}

#[tokio::test]
async fn a_newer_claude_thinks_as_hard_as_it_is_told() {
    thinks_as_hard_as_it_is_told(&CLAUDE_NEXT, in_messages).await;
}

#[tokio::test]
async fn claude_over_acp_thinks_as_hard_as_it_is_told() {
    thinks_as_hard_as_it_is_told(&CLAUDE_AGENT_ACP, in_messages).await;
}

#[tokio::test]
async fn codex_thinks_as_hard_as_it_is_told() {
    thinks_as_hard_as_it_is_told(&CODEX, |body| body["reasoning"]["effort"].as_str()).await;
}

#[tokio::test]
async fn opencode_thinks_as_hard_as_it_is_told() {
    thinks_as_hard_as_it_is_told(&OPENCODE, |body| body["reasoning_effort"].as_str()).await;
}

#[tokio::test]
async fn opencode_lists_how_hard_its_models_can_think() {
    let rig = Rig::with(json!([])).await;
    let mut client = rig.client().await;
    // On a busy machine it takes longer to start than a question may take.
    let mut tries = 0;
    let listed: Value = loop {
        tries += 1;
        match client.call("models", json!({ "agent": OPENCODE.name })).await {
            Ok(listed) => break listed,
            Err(error) => assert!(tries < 8, "{error}"),
        }
    };
    let models = listed["models"].as_array().or(listed.as_array()).unwrap();
    let scripted = models.iter().find(|model| model["id"] == "scripted/scripted").unwrap();
    assert_eq!(scripted["efforts"], json!(["low", "medium", "high"]), "{listed}");
}
