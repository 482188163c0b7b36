//! The security table: every call that changes something, tried by every device that may not.
//!
//! The walk goes over the described calls and over the methods of the socket as they are in the source, so that a new
//! one cannot be forgotten: it fails here until it is refused, or said to be everybody's own affair.

use std::cell::RefCell;
use std::io::Write;

use longshore_model::id::SessionId;
use serde_json::{Value, json};

use crate::rig::{Rig, TOKEN};

const METHODS: &str = include_str!("../src/native/socket_calls.rs");
const NOBODY: &str = "0190c0de-0000-7000-8000-000000000001";

/// What every device may do, since it concerns nobody else: its own presence and its own pushes.
const OWN: [&str; 4] = [
    "POST /api/v1/presence",
    "POST /api/v1/push/subscribe",
    "DELETE /api/v1/push/subscribe",
    "POST /api/v1/push/test",
];
/// What changes nothing, but shows more than the log does.
const SHOWN_TO_FEW: [&str; 2] = ["GET /api/v1/folders", "GET /admin/pair/qr.svg"];
/// What a device that approves may do besides looking.
const DECIDES: [&str; 1] = ["POST /api/v1/approvals/{id}"];

/// Methods of the socket that only look, or are everybody's own affair.
const LOOKS: [&str; 23] = [
    "subscribe",
    "unsubscribe",
    "watch",
    "unwatch",
    "ping",
    "agents",
    "models",
    "sessions",
    "session",
    "events",
    "timeline",
    "approvals",
    "handBack",
    "search",
    "me",
    "devices",
    "presence",
    "pushKey",
    "pushSubscribe",
    "pushUnsubscribe",
    "pushTest",
    "usage",
    "machines",
];

/// A body that every call can read.
fn body_of(call: &str) -> Option<Value> {
    Some(match call {
        "POST /api/v1/sessions" => json!({ "agent": "codex", "cwd": "/w" }),
        "PATCH /api/v1/sessions/{id}" => json!({ "title": "mine" }),
        "POST /api/v1/sessions/{id}/prompts" => json!({ "content": "go" }),
        "PATCH /api/v1/sessions/{id}/prompts/{prompt}" => json!({ "text": "go" }),
        "POST /api/v1/approvals/{id}" => json!({ "decision": "allow_once" }),
        "POST /api/v1/questions/{id}" => json!({ "answers": {} }),
        _ => return None,
    })
}

/// Parameters that every method can read.
fn params_of(method: &str, session: SessionId) -> Value {
    match method {
        "open" => json!({ "agent": "codex", "cwd": "/w" }),
        "update" => json!({ "session": session, "title": "mine" }),
        "prompt" => json!({ "session": session, "content": "go" }),
        "editPrompt" => json!({ "session": session, "prompt": NOBODY, "text": "go" }),
        "cancelPrompt" => json!({ "session": session, "prompt": NOBODY }),
        "interrupt" | "revive" | "close" | "fork" | "sendQueued" | "discardQueue" | "resume" | "release"
        | "deleteHistory" => json!({ "session": session }),
        "decide" => json!({ "approval": NOBODY, "decision": "allow_once" }),
        "answer" => json!({ "question": NOBODY, "answers": {} }),
        "import" => json!({ "events": [] }),
        "revoke" => json!({ "device": NOBODY }),
        _ => json!({}),
    }
}

#[tokio::test]
async fn a_device_that_may_not_changes_nothing_over_http() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let before = rig.hub.session(session).await.unwrap();
    let (look, _) = rig.device("read_only").await;
    let (approve, _) = rig.device("approve").await;
    let document = longshore_facades::native::openapi();
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let method = method.to_uppercase();
            let call = format!("{method} {path}");
            let is_open = operation.get("security").is_some();
            let changes = method != "GET" || SHOWN_TO_FEW.contains(&call.as_str());
            if is_open || !changes || OWN.contains(&call.as_str()) {
                continue;
            }
            let method =
                ["GET", "POST", "PATCH", "DELETE"].into_iter().find(|known| *known == method).unwrap();
            let at = path.replace("{id}", &session.to_string()).replace("{prompt}", NOBODY);
            for (token, allowed) in [(&look, false), (&approve, DECIDES.contains(&call.as_str()))] {
                let asked = rig.bare(method, at.as_str()).header("authorization", format!("Bearer {token}"));
                let asked = match body_of(&call) {
                    Some(body) => asked.json(&body),
                    None => asked,
                };
                let reply = asked.send().await;
                match allowed {
                    false => assert_eq!(reply.problem(), (403, "not_allowed".to_owned()), "{call}"),
                    true => assert_ne!(reply.status, 403, "{call}"),
                }
                tried += 1;
            }
        }
    }
    assert!(tried >= 30, "{tried}");
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty(), "no agent was told anything");
    assert_eq!(rig.get("/api/v1/devices").await.ok(200)["devices"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_device_that_may_not_changes_nothing_over_the_socket() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let before = rig.hub.session(session).await.unwrap();
    let methods: Vec<&str> = METHODS
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix('"')?.split_once("\" => "))
        .map(|(method, _)| method)
        .collect();
    for mode in ["read_only", "approve"] {
        let (token, _) = rig.device(mode).await;
        let mut socket = rig.socket_of(&token).await.unwrap();
        let mut tried = 0;
        for method in methods.iter().filter(|method| !LOOKS.contains(method)) {
            let refused = socket.refused(method, params_of(method, session)).await;
            let expected =
                if mode == "approve" && *method == "decide" { "unknown_ask" } else { "not_allowed" };
            assert_eq!(refused, expected, "{mode} {method}");
            tried += 1;
        }
        assert!(tried >= 16, "{tried}");
        let anew = json!({ "agent": "codex", "anew": true });
        assert_eq!(socket.refused("models", anew).await, "not_allowed", "that would start an agent");
    }
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty(), "no agent was told anything");
}

#[tokio::test]
async fn every_device_looks_and_an_approver_decides_what_was_asked_and_nothing_else() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let question = rig.question(session, turn, json!([])).await;
    let (look, _) = rig.device("read_only").await;
    let (approve, _) = rig.device("approve").await;
    let (mut look, mut approve) =
        (rig.socket_of(&look).await.unwrap(), rig.socket_of(&approve).await.unwrap());
    for socket in [&mut look, &mut approve] {
        socket.subscribe(session, 0).await;
        let inbox = socket.call("approvals", json!({})).await.unwrap();
        assert_eq!(inbox["approvals"][0]["approval"], json!(approval));
        assert_eq!(
            socket.call("presence", json!({ "session": session, "visible": true })).await,
            Ok(json!({}))
        );
        assert_eq!(socket.refused("answer", json!({ "question": question })).await, "not_allowed");
    }
    let decide = |more: Value| {
        let mut decide = json!({ "approval": approval, "decision": "allow_once" });
        decide.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        decide
    };
    assert_eq!(look.refused("decide", decide(json!({}))).await, "not_allowed");
    let other = decide(json!({ "input": { "command": "rm -rf /" } }));
    assert_eq!(approve.refused("decide", other).await, "not_allowed", "that would be another command");
    let words = decide(json!({ "message": "and then do this" }));
    assert_eq!(approve.refused("decide", words).await, "not_allowed", "that would be a prompt");
    let decided = approve.call("decide", decide(json!({}))).await.unwrap();
    assert_eq!(decided["decision"]["by"], "my approve phone");
}

#[tokio::test]
async fn a_full_device_works_as_the_owner_does() {
    let rig = Rig::new().await;
    let (token, _) = rig.device("full").await;
    let mut socket = rig.socket_of(&token).await.unwrap();
    let opened = socket.call("open", json!({ "agent": "codex", "cwd": "/w/boat" })).await.unwrap();
    assert_eq!(opened["provider"], "codex");
    let folders = socket.call("folders", json!({ "path": "/w" })).await.unwrap();
    assert_eq!(folders, json!({ "path": "/w", "parent": null, "folders": ["boat"], "recent": ["/w/boat"] }));
    let machines = socket.call("machines", json!({})).await.unwrap();
    assert_eq!(
        (&machines["machines"][0]["name"], machines["machines"][0]["agents"].as_array().unwrap().len()),
        (&json!("here"), 4)
    );
    assert_eq!(socket.call("usage", json!({ "days": 7 })).await.unwrap(), json!({ "days": [] }));
    assert!(socket.call("pair", json!({ "mode": "read_only" })).await.unwrap()["code"].is_string());
}

thread_local! {
    /// What this thread logged since it began to listen.
    static HEARD: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Keeps what is logged on threads that listen, and lets go of the rest.
struct Ear;

impl Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        HEARD.with_borrow_mut(|heard| heard.iter_mut().for_each(|heard| heard.extend_from_slice(bytes)));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// From here on all that this thread logs is kept. The subscriber is everybody's: one that is this thread's alone may
/// hear nothing of a line that another test came by first, for whether a line is heard at all is kept per process.
fn listen() {
    HEARD.set(Some(Vec::new()));
    tracing_subscriber::fmt().with_env_filter("trace").with_writer(|| Ear).init();
    tracing::callsite::rebuild_interest_cache();
}

#[tokio::test]
async fn no_token_is_ever_in_a_log_line_or_in_an_error() {
    listen();
    let rig = Rig::new().await;
    let (token, id) = rig.device("full").await;
    let mut answers = Vec::new();
    for secret in [TOKEN, token.as_str(), "wrong-s3cret"] {
        let bearer =
            |method, path: &str| rig.bare(method, path).header("authorization", format!("Bearer {secret}"));
        for (method, path) in
            [("GET", "/api/v1/nothing"), ("PUT", "/api/v1/me"), ("POST", "/api/v1/sessions")]
        {
            answers.push(bearer(method, path).send().await.text().to_owned());
        }
        let foreign = bearer("GET", "/api/v1/me").header("origin", "https://evil.example");
        answers.push(foreign.send().await.text().to_owned());
        answers.push(rig.bare("GET", format!("/api/v1/me?token={secret}")).send().await.text().to_owned());
        answers.push(
            rig.bare("POST", "/pair/token").json(&json!({ "tokens": secret })).send().await.text().to_owned(),
        );
        let _ = rig.socket_of(secret).await.map(drop);
    }
    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    let rotated = rig.call("POST", "/admin/token/rotate").send().await.ok(200);
    let logged = String::from_utf8(HEARD.take().unwrap()).unwrap();
    assert!(logged.contains("a device was paired") && logged.contains("was revoked"), "{logged}");
    for secret in [TOKEN, &token, "wrong-s3cret", rotated["token"].as_str().unwrap()] {
        assert!(!logged.contains(secret), "{secret} is in the log");
        for answer in &answers {
            assert!(!answer.contains(secret), "{secret} in {answer}");
        }
    }
}
