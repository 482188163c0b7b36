//! What must not happen: mutations without the right, and harm by odd messages.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::rig::Rig;

#[tokio::test]
async fn a_phone_that_may_not_changes_nothing() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let agent = session.to_string();
    let mutations = [
        json!({ "type": "createAgent", "agentType": "codex", "projectId": "/w" }),
        json!({ "type": "destroyAgent", "agentId": agent }),
        json!({ "type": "sendMessage", "agentId": agent, "text": "x" }),
        json!({ "type": "interruptAgent", "agentId": agent }),
        json!({ "type": "setAutoApprove", "agentId": agent, "enabled": true }),
        json!({ "type": "unregisterProject", "projectId": "/w" }),
        json!({ "type": "createWorktree", "projectId": "/w", "branchName": "b" }),
        json!({ "type": "removeWorktree", "projectId": "/w", "worktreePath": "/w/.worktrees/b" }),
        json!({ "type": "respondPermission", "agentId": agent, "requestId": format!("approval-{approval}"),
            "behavior": "deny" }),
    ];
    for (mode, allowed) in [("read_only", 0), ("approve", 1)] {
        let (mut phone, _) = rig.phone(mode).await;
        phone.until("agentHistory").await;
        for mutation in &mutations[..mutations.len() - allowed] {
            let refused = phone.ask(mutation.clone(), "error").await;
            assert!(
                refused["error"].as_str().unwrap().contains(&format!("mode {mode}")),
                "{mutation}: {refused}"
            );
        }
    }
    assert!(rig.left().is_empty());
    let info = rig.get(format!("/api/v1/sessions/{session}")).await.ok(200);
    assert_eq!(
        (&info["archived"], &info["mode"], info["queue"].as_array()),
        (&json!(false), &json!("ask"), None)
    );
}

#[tokio::test]
async fn odd_messages_get_an_error_and_harm_nothing() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let (mut phone, _) = rig.phone("full").await;
    phone.until("agentHistory").await;
    let nobody = "0190c0de-0000-7000-8000-000000000001";
    let deep = format!(
        "{{\"type\":\"respondPermission\",\"updatedInput\":{}1{}}}",
        "[".repeat(500),
        "]".repeat(500)
    );
    let texts = [
        "".to_owned(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "{\"type\":5}".to_owned(),
        "{\"type\":\"sendMessage\"}".to_owned(),
        json!({ "type": "sendMessage", "agentId": 5, "text": "x" }).to_string(),
        json!({ "type": "sendMessage", "agentId": nobody, "text": "x" }).to_string(),
        json!({ "type": "getHistory", "agentId": "x" }).to_string(),
        json!({ "type": "getHistory", "agentId": nobody }).to_string(),
        json!({ "type": "getGitStatus", "agentId": "../../etc" }).to_string(),
        json!({ "type": "respondPermission", "agentId": session, "requestId": "x", "behavior": "allow" })
            .to_string(),
        json!({ "type": "respondPermission", "agentId": session, "requestId": "x", "behavior": "maybe" })
            .to_string(),
        json!({ "type": "createAgent", "agentType": "ghost" }).to_string(),
        json!({ "type": "createAgent", "agentType": "codex", "projectId": "not/absolute" }).to_string(),
        json!({ "type": "createAgent", "agentType": "codex", "projectId": "/nowhere" }).to_string(),
        json!({ "type": "listModels", "agentType": "ghost" }).to_string(),
        deep,
    ];
    let asked = texts.len();
    for text in texts {
        phone.wire.write(Message::text(text.clone())).await;
        let error = phone.until("error").await;
        assert!(!error["error"].as_str().unwrap().is_empty(), "{text}");
    }
    phone.wire.write(Message::binary(vec![0xff; 64])).await;
    phone.until("error").await;
    // What is not known is ignored, as by the app's own server.
    phone.send(json!({ "type": "dance", "agentId": session })).await;
    phone.settle().await;
    let errors = phone.heard.iter().filter(|frame| frame["type"] == "error").count();
    assert_eq!(errors, asked + 1, "one each, and none for what is not known");
    assert!(rig.left().is_empty());
    phone.send(json!({ "type": "sendMessage", "agentId": session, "text": "go" })).await;
    phone.has_said(session, "user: go").await;
}

#[tokio::test]
async fn a_reader_sends_nothing_large_and_many_requests_are_bounded() {
    let rig = Rig::new().await;
    let (mut reader, _) = rig.phone("read_only").await;
    reader.send(json!({ "type": "ping", "x": "x".repeat(70_000) })).await;
    assert_eq!(reader.wire.closed().await, Some(1009));

    let (mut phone, _) = rig.phone("full").await;
    phone.settle().await;
    rig.answering.send_replace(false);
    for _ in 0..40 {
        phone.send(json!({ "type": "listModels", "agentType": "codex" })).await;
    }
    let error = phone.until("error").await;
    assert!(error["error"].as_str().unwrap().contains("too many"), "{error}");
    rig.answering.send_replace(true);
    let list = phone.until("modelList").await;
    assert_ne!(list["models"], json!([]));
}

/// Keys and pairing tokens are in nobody's answers.
#[tokio::test]
async fn what_is_secret_is_told_to_nobody_else() {
    let rig = Rig::new().await;
    let code = rig.code("full").await;
    let token = code["pairingToken"].as_str().unwrap();
    let (_, key) = rig.phone("full").await;
    let devices = rig.get("/api/v1/devices").await;
    let metrics = rig.get("/metrics").await;
    for text in [devices.text(), metrics.text()] {
        assert!(!text.contains(token) && !text.contains(&key.public()));
    }
    let listed: Value = devices.json();
    assert_eq!(listed["devices"][0]["label"], "Ada's phone");
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

#[tokio::test]
async fn spoiled_messages_harm_nothing() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    rig.approval(session, turn).await;
    let (mut phone, _) = rig.phone("read_only").await;
    phone.until("agentHistory").await;
    let kinds = [
        "createAgent",
        "destroyAgent",
        "sendMessage",
        "interruptAgent",
        "respondPermission",
        "setAutoApprove",
        "getHistory",
        "listProjects",
        "createWorktree",
        "removeWorktree",
        "getGitStatus",
        "getGitDiff",
        "getGitLog",
    ];
    let mut dice = Dice(0x5eed);
    for round in 0..600 {
        let whole = json!({ "type": kinds[round % kinds.len()], "agentId": session, "text": "x", "enabled": true,
            "behavior": "allow", "requestId": "approval-1", "projectId": "/w", "branchName": "b", "filePath": "a" });
        let mut bytes = whole.to_string().into_bytes();
        for _ in 0..=dice.next(6) {
            let at = dice.next(bytes.len());
            match dice.next(3) {
                0 => bytes[at] = 0x20 + dice.next(95) as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"\"{}[]:,\\\0"[dice.next(9)]),
            }
        }
        phone.wire.write(Message::text(String::from_utf8(bytes).unwrap())).await;
        if round % 8 == 0 {
            phone.settle().await;
        }
    }
    phone.settle().await;
    assert!(rig.left().is_empty(), "a reader changes nothing, whatever it sends");
    rig.message(session, turn, "still here").await;
    phone.has_said(session, "assistant: still here").await;
}
