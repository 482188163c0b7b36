//! The socket's manners: ids, methods, parameters, and frames that are none.

use longshore_facades::native::{calls, socket_methods};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::rig::Rig;
use crate::walk::params_of;

#[tokio::test]
async fn an_answer_has_the_id_of_its_request() {
    let rig = Rig::new().await;
    let mut socket = rig.socket().await;
    for id in [json!(7), json!("seven"), json!(null), json!(-1.5), json!("")] {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        socket.write(Message::text(request.to_string())).await;
        assert_eq!(socket.answer(&id).await["result"], json!({}), "{id}");
    }
    // A request without an id is done and not answered.
    socket.call("watch", json!({})).await.unwrap();
    let quiet = json!({ "jsonrpc": "2.0", "method": "open", "params": { "agent": "codex", "cwd": "/w" } });
    for request in [json!({ "method": "nonsense" }), json!({ "method": "session", "params": {} }), quiet] {
        socket.write(Message::text(request.to_string())).await;
    }
    let frame = socket.read().await.unwrap();
    assert_eq!((&frame["method"], frame.get("id")), (&json!("session"), None), "{frame}");
}

#[tokio::test]
async fn what_cannot_be_understood_gets_an_error_and_the_socket_lives() {
    let rig = Rig::new().await;
    let mut socket = rig.socket().await;
    let deep = "[".repeat(100_000);
    for (text, id, code, ours) in [
        ("{", json!(null), -32700, "invalid_request"),
        ("", json!(null), -32700, "invalid_request"),
        ("null", json!(null), -32600, "invalid_request"),
        ("[]", json!(null), -32600, "invalid_request"),
        ("[{\"id\":1,\"method\":\"ping\"}]", json!(null), -32600, "invalid_request"),
        (deep.as_str(), json!(null), -32600, "invalid_request"),
        ("{\"id\":{},\"method\":\"ping\"}", json!(null), -32600, "invalid_request"),
        ("{\"id\":1}", json!(1), -32600, "invalid_request"),
        ("{\"id\":2,\"method\":7}", json!(2), -32600, "invalid_request"),
        ("{\"id\":3,\"method\":\"nonsense\"}", json!(3), -32601, "no_method"),
        ("{\"id\":4,\"method\":\"ping\",\"params\":{\"a\":1}}", json!(4), -32602, "invalid_request"),
        ("{\"id\":5,\"method\":\"ping\",\"params\":[]}", json!(5), -32602, "invalid_request"),
        ("{\"id\":6,\"method\":\"session\",\"params\":{}}", json!(6), -32602, "invalid_request"),
        (
            "{\"id\":7,\"method\":\"session\",\"params\":{\"session\":\"x\"}}",
            json!(7),
            -32602,
            "invalid_request",
        ),
        (
            "{\"id\":8,\"method\":\"search\",\"params\":{\"q\":\"a\",\"limit\":-1}}",
            json!(8),
            -32602,
            "invalid_request",
        ),
    ] {
        socket.write(Message::text(text)).await;
        let answer = socket.answer(&id).await;
        assert_eq!(answer["error"]["code"], code, "{text:.80}: {answer}");
        assert_eq!(answer["error"]["data"]["code"], ours, "{text:.80}: {answer}");
        assert_eq!(answer["error"]["message"], answer["error"]["data"]["title"]);
    }
    assert_eq!(socket.call("ping", json!({})).await, Ok(json!({})));
    assert!(socket.farewell().await, "who says farewell is told farewell");
}

#[tokio::test]
async fn unknown_parameters_are_refused_for_every_method() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut socket = rig.socket().await;
    let own = socket_methods().map(|method| method.name);
    for method in calls().iter().map(|call| call.name).chain(own) {
        let mut params = params_of(method, &session.to_string());
        params["colour"] = json!("red");
        let problem = socket.call(method, params).await.expect_err(method);
        assert_eq!(problem["code"], "invalid_request", "{method}: {problem}");
        assert!(problem["title"].as_str().unwrap().contains("colour"), "{method}: {problem}");
    }
    assert!(rig.left().is_empty(), "nothing was done");
}

#[tokio::test]
async fn every_call_of_http_is_a_call_of_the_socket() {
    let mut rig = Rig::new().await;
    let mut socket = rig.socket().await;
    let opened = socket.call("open", json!({ "agent": "codex", "cwd": "/w" })).await.unwrap();
    let session: longshore_model::id::SessionId = opened["sessionId"].as_str().unwrap().parse().unwrap();
    let of = json!({ "session": session });
    rig.launched().await;
    rig.is_ready(session).await;
    let updated = socket.call("update", json!({ "session": session, "title": "told" })).await.unwrap();
    assert_eq!(updated["title"], "told");
    socket.call("prompt", json!({ "session": session, "content": "go" })).await.unwrap();
    assert_eq!(socket.call("interrupt", of.clone()).await.unwrap()["activity"], "working");
    for (method, path, params) in [
        ("agents", "/api/v1/agents".to_owned(), json!({})),
        ("models", "/api/v1/agents/codex/models".to_owned(), json!({ "agent": "codex" })),
        ("sessions", "/api/v1/sessions".to_owned(), json!({})),
        ("session", format!("/api/v1/sessions/{session}"), of.clone()),
        ("events", format!("/api/v1/sessions/{session}/events"), of.clone()),
        ("timeline", format!("/api/v1/sessions/{session}/timeline"), of.clone()),
        ("approvals", "/api/v1/approvals".to_owned(), json!({})),
        ("search", "/api/v1/search?q=go".to_owned(), json!({ "q": "go" })),
    ] {
        let answer: Value = socket.call(method, params).await.unwrap();
        assert_eq!(answer, rig.get(path).await.ok(200), "{method}");
    }
    assert_eq!(socket.refused("fork", of.clone()).await, "cannot_fork");
    assert_eq!(socket.call("close", of.clone()).await.unwrap()["activity"], "closed");
    assert_eq!(socket.refused("revive", of).await, "session_closed");
}

#[tokio::test]
async fn a_binary_frame_ends_the_socket_with_its_reason() {
    let rig = Rig::new().await;
    let mut socket = rig.socket().await;
    socket.write(Message::binary(vec![1, 2, 3])).await;
    assert_eq!(socket.ended().await, Some(1003));
}

#[tokio::test]
async fn more_calls_at_once_than_fit_are_refused_as_busy() {
    let rig = Rig::new().await;
    let mut socket = rig.socket().await;
    rig.answering.send_replace(false);
    let mut waiting = Vec::new();
    for _ in 0..32 {
        waiting.push(socket.send("agents", json!({})).await);
    }
    let problem = socket.call("agents", json!({})).await.unwrap_err();
    assert_eq!((&problem["code"], &problem["retry"]), (&json!("busy"), &json!(true)));
    let mut other = rig.socket().await;
    assert_eq!(other.call("ping", json!({})).await, Ok(json!({})), "another socket is not concerned");
    rig.answering.send_replace(true);
    for id in waiting {
        assert!(socket.answer(&json!(id)).await["result"]["agents"].is_array());
    }
    assert_eq!(socket.call("ping", json!({})).await, Ok(json!({})));
}
