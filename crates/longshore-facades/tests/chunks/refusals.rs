//! Who may not, and what is not understood: the errors of the protocol, and nothing harmed.

use serde_json::{Value, json};

use super::{NAME, create, form, message, path, refused, send};
use crate::http::Call;
use crate::rig::Rig;

/// Every request that changes something.
fn mutations(rig: &Rig, id: &str) -> Vec<Call> {
    let post = |rest: &str, body: Value| rig.bare("POST", format!("/api/v1/conversations{rest}")).json(&body);
    vec![
        post("", json!({ "project_ids": ["/w"], "agent_ids": ["codex"] })),
        form(rig.bare("POST", format!("/api/v1/conversations/{id}/message")), &[("content", "go")]),
        post(&format!("/{id}/message"), json!({ "content": "go" })),
        post(&format!("/{id}/regenerate"), json!({})),
        post(&format!("/{id}/stop"), json!({})),
        rig.bare("PATCH", format!("/api/v1/conversations/{id}/rename")).json(&json!({ "title": "x" })),
        rig.bare("PATCH", format!("/api/v1/conversations/{id}/agent")).json(&json!({ "agent_id": "codex" })),
        rig.bare("DELETE", format!("/api/v1/conversations/{id}")),
        rig.bare("POST", "/api/v2/project/%2Fw/message/").json(&json!({ "content": "go" })),
    ]
}

#[tokio::test]
async fn a_device_that_may_not_changes_nothing_and_may_follow() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    drop(send(&rig, session, "go", NAME).await);
    rig.command().await;
    let before = rig.hub.session(session).await.unwrap();
    for mode in ["read_only", "approve"] {
        let (token, _) = rig.device(mode).await;
        for call in mutations(&rig, &session.to_string()) {
            let reply = call.header("authorization", format!("Bearer {token}")).send().await;
            let (status, said) = refused(&reply);
            assert!(status == 403 && said.contains(mode), "{said}");
        }
        let looks = [("GET", "info"), ("GET", "messages"), ("GET", "active-session"), ("GET", "task-status")];
        for (method, rest) in looks {
            let call =
                rig.bare(method, path(session, rest)).header("authorization", format!("Bearer {token}"));
            assert_eq!(call.send().await.status, 200, "{mode} {rest}");
        }
        let call = rig.bare("POST", path(session, &format!("resume/{NAME}?cursor=0-0")));
        let mut stream = call.header("authorization", format!("Bearer {token}")).stream().await;
        stream.until("}").await;
    }
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty(), "no agent was told anything");
}

#[tokio::test]
async fn a_revoked_device_gets_no_more_of_its_stream() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let (token, id) = rig.device("full").await;
    let call = message(&rig, session, "go", NAME).header("authorization", format!("Bearer {token}"));
    let mut stream = call.stream().await;
    stream.until("}").await;
    rig.command().await;
    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    assert_eq!(stream.knock().await, 0, "the connection ends");
    let again =
        message(&rig, session, "go", NAME).header("authorization", format!("Bearer {token}")).send().await;
    assert_eq!(refused(&again).0, 401);
}

#[tokio::test]
async fn without_a_token_there_is_nothing() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    for call in mutations(&rig, &session.to_string()) {
        assert_eq!(refused(&call.send().await).0, 401);
    }
    for rest in ["info", "messages", "active-session", "task-status"] {
        let reply = rig.bare("GET", path(session, rest)).send().await;
        assert_eq!(refused(&reply).0, 401, "{rest}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    let wrong = rig.bare("GET", path(session, "info")).header("x-api-key", "wrong").send().await;
    assert_eq!(refused(&wrong).0, 401);
}

#[tokio::test]
async fn what_is_not_understood_gets_an_error_and_harms_nothing() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let before = rig.hub.session(session).await.unwrap();
    let message = || rig.call("POST", path(session, "message"));
    let multipart = |body: &str| message().body("multipart/form-data; boundary=B", body.as_bytes());
    let part = "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n";
    let cases = [
        (form(message(), &[("content", "  "), ("node_ids", "[]")]), 400, "Message content cannot be empty"),
        (form(message(), &[("content", "x"), ("node_ids", "{")]), 400, "Invalid node_ids format"),
        (form(message(), &[("content", "x"), ("attachment_ids", "1")]), 400, "keeps no uploads"),
        (multipart(""), 400, "broken"),
        (multipart("--B"), 400, "broken"),
        (multipart(part), 400, "broken"),
        (multipart("--B\r\n\u{fffd}\r\n\r\nx\r\n--B--"), 400, "broken"),
        (message().body("multipart/form-data", "x"), 400, "boundary"),
        (message().body("application/json", "{"), 400, "no message"),
        (message().body("application/json", "[[[[[[[["), 400, "no message"),
        (message().json(&json!({ "content": 7 })), 400, "no message"),
        (message().body("application/json", vec![0xff; 9]), 400, "no message"),
        (
            rig.call("POST", path(session, "message?stream=maybe")).json(&json!({ "content": "x" })),
            400,
            "stream",
        ),
        (
            rig.call("POST", path(session, &format!("message?session_id={}", "x".repeat(600))))
                .json(&json!({ "content": "x" })),
            400,
            "longer than 512 bytes",
        ),
        (
            rig.call("POST", path(session, "message?format=xml")).json(&json!({ "content": "x" })),
            400,
            "json, ndjson or sse",
        ),
        (rig.call("GET", path(session, "message")), 405, "method"),
        (
            rig.call("PATCH", path(session, "rename")).json(&json!({ "title": " " })),
            400,
            "Title cannot be empty",
        ),
        (rig.call("PATCH", path(session, "rename")).json(&json!([])), 400, "no object"),
        (
            rig.call("PATCH", path(session, "agent")).json(&json!({ "agent_id": "plain" })),
            400,
            "keeps its agent",
        ),
        (rig.call("GET", path(session, "messages?start=-1")), 400, "start"),
        (rig.call("GET", "/api/v1/conversations/nobody/info"), 404, ""),
        (rig.call("GET", format!("/api/v1/conversations/{}/info", "0".repeat(32))), 404, ""),
        (rig.call("POST", "/api/v1/conversations").body("application/json", "null"), 400, "no object"),
    ];
    for (call, status, words) in cases {
        let (found, said) = refused(&call.send().await);
        assert!(found == status && said.contains(words), "{found} {said}, and not {status} {words}");
    }
    let large = message()
        .header("content-type", "application/json")
        .header("content-length", "99000000")
        .send()
        .await;
    assert_eq!(refused(&large).0, 413);
    assert_eq!(large.header("x-content-type-options"), Some("nosniff"), "the headers of every answer stay");
    let foreign =
        rig.call("GET", path(session, "info")).header("origin", "https://evil.example").send().await;
    assert_eq!(refused(&foreign).0, 403);
    let long = rig.call("GET", path(session, "info")).header("x-long", "x".repeat(70_000)).send().await;
    assert_eq!(refused(&long).0, 431);
    let nowhere = json!({ "project_ids": ["/nowhere"], "agent_ids": ["codex"] });
    let reply = rig.call("POST", "/api/v1/conversations").json(&nowhere).send().await;
    assert_eq!(refused(&reply).0, 422);
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty());
}
