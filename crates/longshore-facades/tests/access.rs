//! The security table: every call that changes something, tried by every device that may not.
//!
//! The walk goes over the table of calls, so that a new one cannot be forgotten. What a device may do follows from the
//! table's access, and the gate must refuse the rest and nothing else.

use std::cell::RefCell;
use std::io::Write;

use longshore_facades::native::calls;
use serde_json::{Value, json};

use crate::rig::{Rig, TOKEN};
use crate::walk::{NOBODY, access_of, is_unreadable, over_http, params_of};

/// The modes of devices that may not change what they like.
const MODES: [&str; 2] = ["read_only", "approve"];

#[tokio::test]
async fn a_device_that_may_not_changes_nothing_over_http() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let before = rig.hub.session(session).await.unwrap();
    for mode in MODES {
        let (token, _) = rig.device(mode).await;
        let mut refused = 0;
        for call in calls() {
            let params = params_of(call.name, &session.to_string());
            let request = over_http(&rig, call, &params).header("authorization", format!("Bearer {token}"));
            let reply = request.send().await;
            if call.access <= access_of(mode) {
                assert!(![401, 403].contains(&reply.status), "{mode} {}: {}", call.name, reply.text());
            } else {
                assert_eq!(reply.problem(), (403, "not_allowed".to_owned()), "{mode} {}", call.name);
                refused += 1;
            }
        }
        assert!(refused >= 22, "{refused}");
        let code =
            rig.bare("GET", "/admin/pair/qr.svg?code=x").header("authorization", format!("Bearer {token}"));
        assert_eq!(code.send().await.problem(), (403, "not_allowed".to_owned()), "{mode}");
        let anew = rig.bare("GET", "/api/v1/agents/codex/models?anew=true");
        let anew = anew.header("authorization", format!("Bearer {token}")).send().await;
        assert_eq!(anew.problem(), (403, "not_allowed".to_owned()), "that would start an agent");
    }
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty(), "no agent was told anything");
    assert_eq!(rig.get("/api/v1/devices").await.ok(200)["devices"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_device_that_may_not_changes_nothing_over_the_socket() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let before = rig.hub.session(session).await.unwrap();
    for mode in MODES {
        let (token, _) = rig.device(mode).await;
        let mut socket = rig.socket_of(&token).await.unwrap();
        let mut refused = 0;
        for call in calls() {
            let answer = socket.call(call.name, params_of(call.name, &session.to_string())).await;
            let code = answer.as_ref().err().map(|problem| problem["code"].clone());
            if call.access <= access_of(mode) {
                assert_ne!(code, Some(json!("not_allowed")), "{mode} {}", call.name);
                assert!(!answer.as_ref().is_err_and(|problem| is_unreadable(call, problem)), "{answer:?}");
            } else {
                assert_eq!(code, Some(json!("not_allowed")), "{mode} {}: {answer:?}", call.name);
                refused += 1;
            }
        }
        assert!(refused >= 22, "{refused}");
        let anew = json!({ "agent": "codex", "anew": true });
        assert_eq!(socket.refused("models", anew).await, "not_allowed", "that would start an agent");
    }
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty(), "no agent was told anything");
}

#[tokio::test]
async fn a_full_device_may_do_everything_but_what_is_the_owners() {
    let rig = Rig::new().await;
    let (token, _) = rig.device("full").await;
    let mut socket = rig.socket_of(&token).await.unwrap();
    for call in calls() {
        let answer = socket.call(call.name, params_of(call.name, NOBODY)).await;
        let is_refused = answer.as_ref().is_err_and(|problem| problem["code"] == "not_allowed");
        assert_eq!(is_refused, call.access > access_of("full"), "{}: {answer:?}", call.name);
    }
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
    let nowhere = rig.call("GET", "/api/v1/folders?path=boat").send().await;
    assert_eq!(nowhere.problem(), (400, "invalid_request".to_owned()));
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
        for path in ["api/v1/conversations/x/info", "api/v1/me", "admin/token/rotate", "nothing"] {
            let path = format!("/with-token/{}/{path}", secret.replace('%', "%25").replace('/', "%2F"));
            answers.push(rig.bare("GET", path).send().await.text().to_owned());
        }
        answers.push(
            rig.bare("POST", "/pair/token").json(&json!({ "tokens": secret })).send().await.text().to_owned(),
        );
        let _ = rig.socket_of(secret).await.map(drop);
        answers.push(
            rig.bare("GET", format!("/threads/x/events?token={secret}")).send().await.text().to_owned(),
        );
        let _ = crate::orbit::pocket::Pocket::with(rig.at, secret).await.map(drop);
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
