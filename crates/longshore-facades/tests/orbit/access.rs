//! Who may come in and what each may do; messages that nobody should send.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::pocket::{DISMISSED, Pocket, escaped};
use crate::rig::{Rig, TOKEN};

/// Every request that changes something.
fn changes(session: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("thread/start", json!({ "cwd": "/w" })),
        ("thread/archive", json!({ "threadId": session })),
        ("thread/unarchive", json!({ "threadId": session })),
        ("turn/start", json!({ "threadId": session, "input": [{ "type": "text", "text": "go" }] })),
        ("sendPrompt", json!({ "threadId": session, "message": "go" })),
        ("turn/interrupt", json!({ "threadId": session })),
        ("anchor.listDirs", json!({ "path": "" })),
    ]
}

#[tokio::test]
async fn without_a_token_nobody_comes_in_and_a_page_is_told_to_upgrade() {
    let rig = Rig::new().await;
    for path in ["/ws", "/ws/client"] {
        let stranger = rig.bare("GET", path).send().await;
        assert_eq!((stranger.status, stranger.text()), (401, "Unauthorised"));
        assert_eq!(stranger.header("content-type"), Some("text/plain; charset=utf-8"));
        let page = rig.get(path).await;
        assert_eq!((page.status, page.text()), (426, "Upgrade required"));
    }
    assert_eq!(Pocket::with(rig.at, "guess").await.err().unwrap(), (401, "Unauthorised".to_owned()));
    let pocket = Pocket::connect(&rig).await;
    let cookie = pocket.cookie.clone().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
}

#[tokio::test]
async fn the_cookie_of_the_socket_opens_what_the_ui_asks_without_its_token() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let pocket = Pocket::connect(&rig).await;
    let cookie = pocket.cookie.as_deref().unwrap().split(';').next().unwrap().to_owned();
    for path in
        [format!("/api/threads/{session}/search?q=x"), format!("/api/threads/{session}/export?format=json")]
    {
        assert_eq!(rig.bare("GET", &path).send().await.status, 401);
        assert_eq!(rig.bare("GET", &path).header("cookie", &cookie).send().await.status, 200, "{path}");
    }
    let import =
        || rig.bare("POST", "/api/threads/import").header("cookie", &cookie).json(&json!({ "events": [] }));
    assert_eq!(import().send().await.status, 403, "another page could send that");
    assert_eq!(
        import().header("origin", format!("http://{}", rig.at)).send().await.status,
        400,
        "nothing is in it"
    );
}

#[tokio::test]
async fn a_device_that_may_not_changes_nothing_and_answers_nothing() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let question =
        rig.question(session, turn, json!([{ "id": "a", "label": "", "text": "a?", "kind": "text" }])).await;
    let before = rig.hub.session(session).await.unwrap();
    for mode in ["read_only", "approve"] {
        let (token, _) = rig.device(mode).await;
        let mut pocket = Pocket::with(rig.at, &token).await.unwrap();
        for (method, params) in changes(&session.to_string()) {
            let error = pocket.call(method, params.clone()).await.unwrap_err();
            assert_eq!(error["code"], -32003, "{mode} {method}");
            if mode == "read_only" {
                assert_eq!(error["message"], format!("Read-only token session cannot call {method}"));
            }
            pocket.say(json!({ "method": method, "params": params })).await;
            pocket.until("an error without an id", |frame| frame["type"] == "orbit.error").await;
        }
        let words = json!({ "answers": { "a": { "answers": ["x"] } } });
        let mut answers = vec![json!({ "id": format!("question-{question}"), "result": words })];
        if mode == "read_only" {
            answers.push(json!({ "id": format!("approval-{approval}"), "result": { "decision": "accept" } }));
            let rpc = format!("approval-{approval}");
            answers.push(json!({ "type": "acp:approval_decision", "rpcId": rpc, "optionId": "allow_once" }));
        }
        for answer in answers {
            pocket.say(answer.clone()).await;
            let refused = pocket.until("a refusal", |frame| frame["type"] == "orbit.error").await;
            assert!(refused["rpcId"].is_string(), "{mode} {answer}: {refused}");
        }
        for (method, params) in [
            ("thread/list", json!({})),
            ("thread/read", json!({ "threadId": session, "includeTurns": true })),
            ("model/list", json!({})),
            ("collaborationMode/list", json!({})),
        ] {
            pocket.call(method, params).await.unwrap_or_else(|error| panic!("{mode} {method}: {error}"));
        }
        let bearer = format!("Bearer {token}");
        let archive =
            rig.bare("PATCH", format!("/api/threads/{session}/archive")).json(&json!({ "archived": true }));
        assert_eq!(archive.header("authorization", &bearer).send().await.status, 403, "{mode}");
        let import = rig.bare("POST", "/api/threads/import").json(&json!({ "events": [{}] }));
        assert_eq!(import.header("authorization", &bearer).send().await.status, 403, "{mode}");
    }
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty(), "no agent was told anything");
}

#[tokio::test]
async fn a_device_that_only_approves_denies_what_it_dismisses_and_stops_nothing() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let (token, _) = rig.device("approve").await;
    let mut pocket = Pocket::with(rig.at, &token).await.unwrap();
    pocket.say(json!({ "id": format!("approval-{approval}"), "result": { "decision": "cancel" } })).await;
    assert!(matches!(rig.command().await, longshore_model::command::AgentCommand::Decide { .. }));
    pocket.settle().await;
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn a_revoked_device_leaves_at_once() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let (token, id) = rig.device("full").await;
    let mut pocket = Pocket::with(rig.at, &token).await.unwrap();
    pocket.open(session).await;
    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    assert_eq!(pocket.ended().await, Some((DISMISSED.0, DISMISSED.1.to_owned())));
    rig.message(session, turn, "not for you").await;
    assert_eq!(Pocket::with(rig.at, &token).await.err().unwrap().0, 401);
    let mut owner = Pocket::connect(&rig).await;
    rig.call("POST", "/admin/token/rotate").send().await.ok(200);
    assert_eq!(owner.ended().await, Some((DISMISSED.0, DISMISSED.1.to_owned())));
}

#[tokio::test]
async fn what_makes_no_sense_gets_an_error_and_harms_nothing() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let before = rig.hub.session(session).await.unwrap();
    let mut pocket = Pocket::connect(&rig).await;
    pocket.settle().await;
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let odd = [
        "".to_owned(),
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "\"ping\"".to_owned(),
        "{}".to_owned(),
        deep,
        json!({ "type": "orbit.nothing" }).to_string(),
        json!({ "type": "orbit.subscribe" }).to_string(),
        json!({ "type": "orbit.push-subscribe", "endpoint": "http://127.0.0.1/x" }).to_string(),
        json!({ "type": "orbit.push-subscribe", "endpoint": "x", "p256dh": "x", "auth": "x" }).to_string(),
        json!({ "type": "orbit.push-test" }).to_string(),
        json!({ "type": "orbit.subscribe", "threadId": "codex:1" }).to_string(),
        json!({ "type": "orbit.subscribe", "threadId": "0190b5c2-0000-7000-8000-000000000000" }).to_string(),
        json!({ "type": "acp:approval_decision", "rpcId": "7", "optionId": "allow_once" }).to_string(),
        json!({ "id": "approval-0190b5c2-0000-7000-8000-000000000000", "result": { "decision": "accept" } })
            .to_string(),
        json!({ "id": 7, "result": {} }).to_string(),
        json!({ "id": "approval-x", "error": {} }).to_string(),
        json!({ "method": "turn/start" }).to_string(),
        json!({ "method": "no/such" }).to_string(),
        json!({ "method": 5 }).to_string(),
    ];
    for text in odd {
        pocket.write(Message::text(text.clone())).await;
        let frame = pocket.read().await;
        assert_eq!(frame["type"], "orbit.error", "{text:.80}");
        assert!(!frame["error"].as_str().unwrap().is_empty());
    }
    pocket.write(Message::binary(vec![1, 2, 3])).await;
    assert_eq!(pocket.read().await["type"], "orbit.error");
    let unknown = "0190b5c2-0000-7000-8000-000000000000";
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("thread/read", json!({}), -32602),
        ("thread/read", json!({ "threadId": 7 }), -32602),
        ("thread/read", json!([1]), -32602),
        ("thread/read", json!({ "threadId": "codex:abc" }), -32602),
        ("thread/read", json!({ "threadId": unknown, "includeTurns": true }), -32000),
        ("thread/list", json!({ "limit": -1 }), -32602),
        ("turn/start", json!({ "threadId": session, "input": "hello" }), -32602),
        ("turn/start", json!({ "threadId": session, "input": [] }), -32000),
        ("turn/start", json!({ "threadId": unknown, "input": [{ "type": "text", "text": "x" }] }), -32000),
        ("thread/start", json!({ "cwd": "relative" }), -32602),
        ("thread/start", json!({ "cwd": "/w", "provider": "ghost" }), -32000),
        ("thread/start", json!({ "cwd": "/w", "provider": "nobody" }), -32000),
    ] {
        assert_eq!(pocket.refused(method, params.clone()).await, code, "{method} {params}");
    }
    let long = "k".repeat(2_000);
    let error = pocket.reliably(&long, "thread/archive", json!({ "threadId": session })).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_its_own_connection_only() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut other = Pocket::connect(&rig).await;
    other.open(session).await;
    let (token, _) = rig.device("read_only").await;
    let mut pocket = Pocket::with(rig.at, &token).await.unwrap();
    let params = json!({ "threadId": session, "input": "x".repeat(80 << 20) });
    let long = json!({ "method": "turn/start", "id": 1, "params": params });
    pocket.shout(long.to_string()).await;
    other.settle().await;
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn a_token_in_an_address_opens_only_what_clients_read_so() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let token = escaped(TOKEN);
    let events = format!("/threads/{session}/events");
    assert_eq!(rig.bare("GET", format!("{events}?token={token}")).send().await.status, 200);
    assert_eq!(rig.bare("GET", format!("{events}?token=guess")).send().await.status, 401);
    assert_eq!(rig.bare("GET", format!("/api/v1/me?token={token}")).send().await.status, 401);
    assert_eq!(
        rig.bare("GET", format!("/api/threads/{session}/export?token={token}")).send().await.status,
        401
    );
    let archive = rig.bare("PATCH", format!("/api/threads/{session}/archive?token={token}"));
    assert_eq!(archive.json(&json!({ "archived": true })).send().await.status, 401);
}

#[tokio::test]
async fn messages_that_are_cut_anywhere_harm_nothing() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let before = rig.hub.session(session).await.unwrap();
    let (token, _) = rig.device("read_only").await;
    let mut pocket = Pocket::with(rig.at, &token).await.unwrap();
    let mut messages: Vec<String> = changes(&session.to_string())
        .into_iter()
        .map(|(method, params)| {
            json!({ "method": method, "id": 777_777, "params": params, "clientRequestId": "k" }).to_string()
        })
        .collect();
    messages.push(json!({ "type": "orbit.subscribe", "threadId": session }).to_string());
    messages.push(
        json!({ "id": format!("approval-{approval}"), "result": { "decision": "accept" } }).to_string(),
    );
    for text in &messages {
        for at in (0..text.len()).step_by(3) {
            pocket.write(Message::text(&text[..at])).await;
            let mut harmed = text.clone().into_bytes();
            harmed[at] = b"{}[],:\"0"[at % 8];
            pocket.write(Message::text(String::from_utf8(harmed).unwrap())).await;
        }
        pocket.settle().await;
    }
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn errors_over_http_are_those_that_the_ui_reads() {
    let rig = Rig::new().await;
    for path in ["/threads/codex:1/events", "/api/threads/x/search?q=a", "/api/threads/x/export"] {
        let reply = rig.get(path).await;
        let (status, fault) = (reply.status, reply.json()["error"].clone());
        assert!(
            status == 404 && fault.as_str().unwrap().starts_with("no session has this id"),
            "{path}: {fault}"
        );
    }
    let nobody = "0190b5c2-0000-7000-8000-000000000000";
    let odd = rig.get(format!("/threads/{nobody}/events?limit=many")).await;
    assert!(odd.status == 400 && odd.json()["error"].is_string(), "{}", odd.text());
    let odd = rig
        .call("PATCH", format!("/api/threads/{nobody}/archive"))
        .json(&json!({ "archived": "yes" }))
        .send()
        .await;
    assert!(odd.status == 400 && odd.json()["error"].is_string(), "{}", odd.text());
}
