//! Held queues, sessions that a restart cut, that are handed back, deleted, or never opened: over HTTP and the socket.

use longshore_model::anchor::{FromAnchor, ToAnchor};
use longshore_model::command::AgentCommand;
use longshore_model::lifecycle::{Sleep, SleepCause};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn a_stop_holds_the_queue_and_a_person_sends_or_discards_it() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let place = format!("/api/v1/sessions/{session}");
    for text in ["a", "b", "c"] {
        let said = rig.call("POST", format!("{place}/prompts")).json(&json!({ "content": text }));
        said.send().await.ok(202);
    }
    rig.call("POST", format!("{place}/interrupt")).send().await.ok(200);
    assert!(matches!(rig.command().await, AgentCommand::Interrupt { .. }));
    rig.finish(session, turn).await;
    let held = rig.get(&place).await.ok(200);
    assert_eq!((&held["queueHeld"], &held["queue"][0]["held"]), (&json!(true), &json!(true)));
    assert!(rig.left().is_empty());
    let inbox = rig.get("/api/v1/approvals").await.ok(200);
    assert_eq!(inbox["held"][0]["sessionId"], json!(session));
    let sent = rig.call("POST", format!("{place}/queue/send")).send().await.ok(200);
    assert_eq!(sent["queue"].as_array().map(Vec::len), Some(2));
    assert!(matches!(rig.command().await, AgentCommand::Prompt { text, .. } if text == "a"));
    let mut socket = rig.socket().await;
    let sent = socket.call("sendQueued", json!({ "session": session, "all": true })).await.unwrap();
    assert_eq!(sent["queueHeld"], json!(false));
    assert_eq!(rig.get("/api/v1/approvals").await.ok(200)["held"], json!([]));
    let left = rig.call("DELETE", format!("{place}/queue")).send().await.ok(200);
    assert!(left.get("queue").is_none(), "{left}");
}

#[tokio::test]
async fn a_session_is_released_and_a_busy_one_is_not() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let place = format!("/api/v1/sessions/{session}/release");
    assert_eq!(rig.call("POST", &place).send().await.problem(), (409, "busy_turn".to_owned()));
    rig.finish(session, turn).await;
    let hub = rig.hub.clone();
    let call = rig.call("POST", &place);
    let released = tokio::spawn(call.send());
    loop {
        if let ToAnchor::Stop { session: of } = rig.told().await {
            assert_eq!(of, session);
            break;
        }
    }
    let (sleep, reason) = (Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "stopped".to_owned());
    hub.deliver(FromAnchor::Gone { session, sleep, reason }).await;
    released.await.unwrap().ok(200);
    let info = rig.get(format!("/api/v1/sessions/{session}")).await.ok(200);
    assert_eq!(info["activity"], "sleeping");
    let resumed = rig.call("POST", format!("/api/v1/sessions/{session}/resume")).send().await;
    assert_eq!(resumed.problem(), (409, "not_interrupted".to_owned()));
}

#[tokio::test]
async fn a_deleted_session_is_unknown_and_watchers_hear_of_it() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut socket = rig.socket().await;
    socket.call("watch", json!({})).await.unwrap();
    let place = format!("/api/v1/sessions/{session}");
    let deleted = rig.call("DELETE", format!("{place}/history")).send().await.ok(200);
    assert_eq!(deleted, json!({ "deleted": session }));
    assert_eq!(rig.get(&place).await.problem(), (404, "unknown_session".to_owned()));
    let told = socket.news("sessionDeleted").await;
    assert_eq!(told, json!({ "session": session }));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_refused_before_there_is_a_session() {
    let rig = Rig::new().await;
    let asked = json!({ "agent": "codex", "cwd": "/nowhere", "prompt": "go" });
    let refused = rig.call("POST", "/api/v1/sessions").json(&asked).send().await;
    assert_eq!(refused.problem(), (422, "bad_cwd".to_owned()));
    assert_eq!(rig.get("/api/v1/sessions").await.ok(200)["sessions"], json!([]));
}

#[tokio::test]
async fn the_inbox_has_what_a_person_decides_on_whole() {
    use longshore_model::approval::{ApprovalRequest, Decision, Subject};
    use longshore_model::event::{Body, Draft};
    use longshore_model::id::ApprovalId;

    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let approval = ApprovalId::mint(&mut rig.context());
    let command = "x".repeat(100_000);
    let subject = Subject::Command { command: command.clone(), cwd: None, always: Vec::new() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    rig.say(session, vec![Draft::new(Body::ApprovalRequested(request)).turn(turn)]).await;
    rig.hub.settle().await;
    let inbox = rig.get("/api/v1/approvals").await.ok(200);
    assert_eq!(inbox["approvals"][0]["subject"]["command"], json!(command));
    let one = rig.get(format!("/api/v1/sessions/{session}")).await.ok(200);
    assert_eq!(one["approvals"][0]["subject"]["command"], json!(command));
    let listed = rig.get("/api/v1/sessions").await.ok(200);
    let cut = listed["sessions"][0]["approvals"][0]["subject"]["command"].as_str().unwrap();
    assert!(cut.len() < 5_000 && cut.contains("characters left out"), "{}", cut.len());
    let said_to_be_cut = |told: &serde_json::Value| told["approvals"][0].get("cut").cloned();
    assert_eq!([&inbox, &one].map(said_to_be_cut), [None, None]);
    assert_eq!(said_to_be_cut(&listed["sessions"][0]), Some(json!(true)));
}
