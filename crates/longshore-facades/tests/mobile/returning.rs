//! Coming back: what the phone missed, with an app that was only away, and with one that was started anew.

use longshore_model::event::{Body, Draft};
use serde_json::json;

use super::app::App;
use super::phone::Phone;
use crate::rig::Rig;

#[tokio::test]
async fn what_was_said_while_the_phone_was_away_is_shown_once() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    rig.message(session, turn, "before").await;
    let (mut phone, key) = rig.phone("full").await;
    phone.until("agentHistory").await;
    let item = rig.item();
    rig.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text("half of a mes")]).await;
    rig.message(session, turn, "seen").await;
    phone.has_said(session, "assistant: seen").await;
    let approval = rig.approval(session, turn).await;
    phone.until("permissionRequest").await;
    // The pong that confirms all this goes out with the next message of the phone.
    phone.settle().await;
    let Phone { app, wire, .. } = phone;
    drop(wire);

    let done = Body::MessageDone { phase: None, partial: false };
    rig.say(session, vec![Draft::new(done).turn(turn).item(item).text("half of a message")]).await;
    rig.message(session, turn, "missed").await;
    rig.call("POST", format!("/api/v1/approvals/{approval}"))
        .json(&json!({ "decision": "deny" }))
        .send()
        .await
        .ok(200);
    rig.finish(session, turn).await;
    rig.call("POST", format!("/api/v1/sessions/{session}/prompts"))
        .json(&json!({ "content": "more" }))
        .send()
        .await;
    rig.hub.settle().await;

    for app in [app, App::default()] {
        let is_fresh = app.agents.is_empty();
        let mut back = Phone::come_back(rig.at, &key.signed(0), app).await;
        back.has_said(session, "user: more").await;
        let mut said = back.said(session);
        said.sort();
        let mut expected = [
            "assistant: before",
            "assistant: half of a message",
            "assistant: missed",
            "assistant: seen",
            "user: go",
            "user: more",
        ];
        expected.sort_unstable();
        assert_eq!(said, expected, "fresh: {is_fresh}");
        let agent = back.app.agent(&session.to_string());
        assert!(agent.asked.is_empty(), "it was decided meanwhile");
        assert!(!back.heard.iter().any(|frame| frame["type"] == "agentResult"), "no bell for what is over");
    }
}

#[tokio::test]
async fn a_prompt_that_waited_is_in_the_history_once() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let (mut phone, key) = rig.phone("full").await;
    phone.until("agentHistory").await;
    phone.send(json!({ "type": "sendMessage", "agentId": session, "text": "next" })).await;
    phone.has_said(session, "user: next").await;
    phone.settle().await;
    drop(phone);
    rig.finish(session, turn).await;
    rig.command().await;
    let mut fresh = Phone::come(rig.at, &key.signed(0)).await;
    fresh.until("agentHistory").await;
    fresh.settle().await;
    assert_eq!(fresh.said(session), ["user: go", "user: next"]);
}

#[tokio::test]
async fn a_history_asked_for_again_does_not_double_anything() {
    let mut rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    let (session, turn) = rig.working().await;
    rig.message(session, turn, "one").await;
    phone.has_said(session, "assistant: one").await;
    let history = phone.ask(json!({ "type": "getHistory", "agentId": session }), "agentHistory").await;
    assert_eq!(history["messages"].as_array().unwrap().len(), 2);
    rig.message(session, turn, "two").await;
    phone.has_said(session, "assistant: two").await;
    assert_eq!(phone.said(session), ["user: go", "assistant: one", "assistant: two"]);
}

#[tokio::test]
async fn a_bubble_that_grows_is_begun_for_a_new_phone() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let item = rig.item();
    rig.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text("Hel")]).await;
    rig.hub.settle().await;
    let (mut phone, _) = rig.phone("full").await;
    phone.until("agentHistory").await;
    rig.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text("lo")]).await;
    phone.shows("the bubble", |app| app.agent(&session.to_string()).bubble == "Hello").await;
}

#[tokio::test]
async fn a_long_history_has_its_newest_rows() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    for at in 0..250 {
        let (item, done) = (rig.item(), Body::MessageDone { phase: None, partial: false });
        rig.say(session, vec![Draft::new(done).turn(turn).item(item).text(format!("m{at}"))]).await;
    }
    rig.hub.settle().await;
    let (mut phone, _) = rig.phone("read_only").await;
    let history = phone.until("agentHistory").await;
    let rows = history["messages"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[199]["content"][0]["text"]), (200, &json!("m249")));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_for_no_history_is_followed_all_the_same() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let code = rig.code("full").await;
    let key = super::phone::PhoneKey::new();
    let mut wire = super::phone::Wire::open(rig.at).await;
    wire.send(&key.pairing(code["pairingToken"].as_str().unwrap())).await;
    assert_eq!(wire.next().await.unwrap()["type"], "connected");
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    // It is followed from some moment on.
    loop {
        rig.message(session, turn, "words").await;
        wire.send(&json!({ "type": "ping" })).await;
        let frame = wire.next().await.unwrap();
        if frame["type"] == "assistantMessage" {
            break;
        }
    }
}
