//! The first frame, and frames that are none.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{HELLO, OpenAgentsApp, request};
use crate::rig::{Rig, TOKEN};

async fn silent(rig: &Rig) -> OpenAgentsApp {
    let mut request = request(rig.at, "/openagents");
    request.headers_mut().insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
    OpenAgentsApp::connect(rig.at, request).await.unwrap()
}

#[tokio::test]
async fn the_handshake_is_what_the_app_decodes() {
    let mut rig = Rig::new().await;
    rig.ready().await;
    let mut app = silent(&rig).await;
    let result = app.shake_hands().await;
    assert_eq!(result["_meta"]["working_directory"], "/w", "where the last session was");
    assert_eq!(result["agent_info"]["name"], "longshore");
    // It may come once more, as bytes.
    app.send(Message::binary(HELLO.as_bytes().to_vec())).await;
    assert_eq!(app.answer(&json!(1)).await["result"]["protocol_version"], "0.2.2");
}

#[tokio::test]
async fn the_token_comes_as_browsers_and_others_send_it_and_nobody_is_let_in_without() {
    let rig = Rig::new().await;
    let escaped: String = form_urlencoded::byte_serialize(TOKEN.as_bytes()).collect();
    let by_address = request(rig.at, &format!("/openagents?token={escaped}"));
    OpenAgentsApp::connect(rig.at, by_address).await.unwrap().shake_hands().await;
    assert_eq!(OpenAgentsApp::connect(rig.at, request(rig.at, "/openagents")).await.err(), Some(401));
    let wrong = request(rig.at, "/openagents?token=wrong");
    assert_eq!(OpenAgentsApp::connect(rig.at, wrong).await.err(), Some(401));
    assert_eq!(rig.get("/openagents").await.problem().0, 400, "it is a socket and nothing else");
}

#[tokio::test]
async fn the_first_frame_decides_what_is_spoken() {
    let rig = Rig::new().await;
    let mut app = silent(&rig).await;
    assert_eq!(app.refused("session/new", json!({})).await.0, -32600);
    for version in [json!(1), json!("1.0"), json!("0.20"), json!(null)] {
        let (code, words) = app.refused("initialize", json!({ "protocol_version": version })).await;
        assert!(code == -32602 && words.contains("0.2"), "{version}: {words}");
    }
    assert_eq!(app.refused("session/new", json!({})).await.0, -32600, "it is still nobody that we know");
    app.shake_hands().await;
    app.call("session/new", json!({})).await;
}

#[tokio::test]
async fn what_cannot_be_understood_gets_an_error_and_harms_nothing() {
    let rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    for (frame, code) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        ("null", -32600),
        (r#"{"id":{},"method":"session/new"}"#, -32600),
        (r#"{"method":7}"#, -32600),
    ] {
        app.write(frame).await;
        let answer = app.answer(&json!(null)).await;
        assert_eq!(answer["error"]["code"], code, "{frame}: {answer}");
    }
    for (method, params, code) in [
        ("nonsense", json!({}), -32601),
        ("orchestrate/config.get", json!({}), -32601),
        ("session/new", json!({ "cwd": format!("/{}", "x".repeat(5_000)) }), -32602),
        ("session/prompt", json!({}), -32602),
        ("session/prompt", json!({ "session_id": "s", "prompt": "text" }), -32602),
        ("session/prompt", json!({ "session_id": "s", "prompt": [{ "type": "video" }] }), -32602),
        ("session/prompt", json!([]), -32602),
        ("session/set_mode", json!({ "session_id": "nobody", "mode_id": "codex" }), -32602),
        ("session/cancel", json!({ "session_id": "nobody" }), -32602),
        ("terminal/run", json!({ "session_id": "nobody", "command": "ls" }), -32602),
        ("fs/read_text_file", json!({ "path": "a" }), -32602),
        ("threads/list", json!({ "topK": -1 }), -32602),
        ("tinyvex/history.sessionTimeline", json!({ "limit": 3 }), -32602),
    ] {
        assert_eq!(app.refused(method, params.clone()).await.0, code, "{method} {params}");
    }
    // Answers of the app to nobody, and requests that want none.
    for quiet in [
        r#"{"jsonrpc":"2.0","id":"x","result":{"outcome":{"outcome":"cancelled"}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"nonsense"}"#,
    ] {
        app.write(quiet).await;
    }
    let mut seed = 1_u32;
    for _ in 0..500 {
        let mut bytes = HELLO.replace("initialize", "session/prompt").into_bytes();
        for _ in 0..4 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = seed as usize / 7 % bytes.len();
            bytes[at] = b"{}[]\",:0a\xe9"[(seed >> 24) as usize % 10];
        }
        app.send(Message::text(String::from_utf8_lossy(&bytes).into_owned())).await;
    }
    app.write(r#"{"jsonrpc":"2.0","id":"last","method":"session\/new","params":null}"#).await;
    loop {
        let frame = app.frame().await.expect("the socket ended");
        if frame["id"] == "last" {
            break assert!(frame["result"]["session_id"].is_string(), "{frame}");
        }
        assert!(frame.get("error").is_some() || frame.get("result").is_some(), "{frame}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_and_frames_without_end_close_only_their_own_connection() {
    let rig = Rig::new().await;
    let mut other = OpenAgentsApp::of_owner(&rig).await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    app.send(Message::binary(vec![0xff, 0xfe])).await;
    assert_eq!(app.ended().await, Some(1007));
    assert_eq!(other.call("threads/list", json!({ "topK": 10 })).await, json!({ "items": [] }));
}

#[tokio::test]
async fn without_sessions_every_list_is_empty_and_no_call_of_the_app_waits_for_ever() {
    let rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    assert_eq!(app.call("threads/list", json!({})).await, json!({ "items": [] }));
    assert_eq!(app.call("tinyvex/history.recentSessions", json!({})).await, json!([]));
    let nobody = json!({ "session_id": "6f1b1b8a-0000-7000-8000-000000000000" });
    assert_eq!(app.call("tinyvex/history.sessionTimeline", nobody.clone()).await, json!([]));
    assert_eq!(app.call("thread/load_latest_typed", json!({})).await, json!({ "id": "", "updates": [] }));
    assert_eq!(app.refused("thread/load_latest", json!({})).await.0, -32002);
    assert_eq!(app.call("session/cancel", nobody.clone()).await["status"], "no_active_session");
    let status = app.call("index.status", json!({})).await;
    assert_eq!(status, json!({ "workspace_path": "", "exists": false, "files_indexed": 0, "chunks": 0 }));
    let lost = app.prompt(nobody["session_id"].as_str().unwrap(), "hi").await;
    assert_eq!(lost["status"], "refused");
    let words: Value = app.next("agent_message_chunk").await;
    assert!(words.as_str().unwrap().contains("no session has this id"), "{words}");
}
