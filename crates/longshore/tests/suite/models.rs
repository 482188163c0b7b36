//! What an agent thinks with is told as it is, and kept with the conversation when the agent wakes.

use std::path::{Path, PathBuf};

use longshore_model::event::Body;
use longshore_model::id::Seq;
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::{SleepCause, TurnOutcome};
use serde_json::{Value, json};

use super::rig::{Rig, Talk};

/// Another one than it is started with.
const MODEL: &str = "gemini-2.5-pro";

fn says(words: &[&str]) -> Value {
    words.iter().map(|text| json!({ "do": [{ "say": text }] })).collect()
}

async fn go(talk: &mut Talk, words: &str) {
    let turn = talk.prompt(words).await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
}

/// The records of a conversation of Gemini, wherever it keeps them.
fn records(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => records(&entry.path(), ending, found),
            Ok(_) if entry.path().to_string_lossy().ends_with(ending) => found.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}

#[tokio::test]
async fn gemini_wakes_with_the_model_that_was_chosen_and_is_told_quietly_what_it_forgot() {
    let rig = Rig::with(says(&["One.", "Two."])).await;
    let open = json!({ "agent": "gemini", "cwd": rig.work(), "mode": "full", "model": MODEL });
    let info: SessionInfo = rig.client().await.call("open", open).await.unwrap();
    let mut talk = rig.follow(info.session_id, Seq::ZERO).await;
    go(&mut talk, "first").await;
    assert_eq!(talk.info().await.model.as_deref(), Some(MODEL), "{}", talk.story());
    let native = talk.info().await.native.unwrap();
    talk.call("release", json!({})).await.unwrap();
    talk.until("it sleeps", |talk| !talk.said(|body| matches!(body, Body::SessionSleeping(_))).is_empty())
        .await;
    // It clears a conversation away by itself when it finds more than one record of it.
    let mut found = Vec::new();
    records(rig.folder.path(), &format!("-{}.jsonl", &native[..8]), &mut found);
    for record in found {
        std::fs::remove_file(record).unwrap();
    }
    go(&mut talk, "second").await;
    assert_eq!(talk.info().await.model.as_deref(), Some(MODEL), "{}", talk.story());
    assert!(rig.model_heard(&["second", "One."]), "it was told what it had forgotten");
    assert_eq!(talk.said(|body| matches!(body, Body::SessionError(_))).len(), 1, "{}", talk.story());
    let fails = |body: &Body| matches!(body, Body::SessionSleeping(sleep) if sleep.cause == SleepCause::FailedToStart);
    assert_eq!(talk.said(fails), [""; 0], "{}", talk.story());
    let heard = rig.model.requests();
    let paths: Vec<&str> = heard.requests.iter().map(|request| request.path.as_str()).collect();
    assert!(paths.iter().all(|path| path.contains(MODEL)), "{paths:?}");
}

#[tokio::test]
async fn a_model_that_copilot_does_not_let_others_choose_is_refused() {
    let rig = Rig::with(says(&[])).await;
    let open = json!({ "agent": "copilot", "cwd": rig.work(), "model": "foo" });
    let refused = rig.client().await.call::<Value>("open", open).await.unwrap_err();
    assert!(refused.to_string().contains("copilot cannot change its model"), "{refused}");
}

#[tokio::test]
async fn an_effort_that_qwen_does_not_have_is_not_told_as_set() {
    let rig = Rig::with(says(&["One."])).await;
    let mut talk = rig.open_with("qwen", "full").await;
    go(&mut talk, "first").await;
    talk.call("update", json!({ "effort": "high" })).await.unwrap();
    let changes = |body: &Body| matches!(body, Body::EffortChanged { .. });
    talk.until("it says what it does", |talk| talk.said(changes).len() == 2).await;
    assert_eq!(talk.info().await.effort, None, "{}", talk.story());
}

#[tokio::test]
async fn a_chosen_effort_holds_while_codex_plans() {
    let rig = Rig::with(says(&["One."])).await;
    let mut talk = rig.open_thinking("codex", "plan", "high").await;
    go(&mut talk, "plan it").await;
    let told: Value = serde_json::from_str(&rig.last_heard_by_model()).unwrap();
    assert_eq!(told["reasoning"]["effort"], "high", "{told}");
}
