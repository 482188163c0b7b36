//! The chunks protocol over real connections: what its front end sends, in its order, and what it depends on.

mod doors;
mod refusals;
mod turns;

use longshore_model::id::SessionId;
use serde_json::{Value, json};

use crate::http::{Call, Reply, Stream};
use crate::rig::Rig;

/// The name that the front end gives to a message.
pub(crate) const NAME: &str = "conversation:current_user_id:1794768302000";

/// A form as a browser writes it.
fn form(call: Call, fields: &[(&str, &str)]) -> Call {
    let field = |(name, value): &(&str, &str)| {
        format!("--XyZ\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body: String = fields.iter().map(field).collect();
    call.body("multipart/form-data; boundary=XyZ", format!("{body}--XyZ--\r\n"))
}

fn path(session: SessionId, rest: &str) -> String {
    format!("/api/v1/conversations/{session}/{rest}")
}

/// The message as the front end sends it.
fn message(rig: &Rig, session: SessionId, text: &str, name: &str) -> Call {
    let path = path(session, &format!("message?stream=true&session_id={name}"));
    form(rig.call("POST", path), &[("content", text), ("node_ids", "[]")])
}

pub(crate) async fn send(rig: &Rig, session: SessionId, text: &str, name: &str) -> Stream {
    let stream = message(rig, session, text, name).stream().await;
    assert_eq!(stream.reply.status, 200);
    assert_eq!(stream.reply.header("content-type"), Some("text/event-stream"));
    stream
}

/// The objects of a body, one after the other.
fn objects(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect()
}

/// What all objects say together.
pub(crate) fn said(text: &str) -> String {
    objects(text).iter().map(|object| object["message"].as_str().expect("a message is a string")).collect()
}

/// Status and text of an error, which is one of this protocol.
fn refused(reply: &Reply) -> (u16, String) {
    assert_eq!(reply.header("content-type"), Some("application/json"), "{reply:?}");
    let said = reply.json();
    assert_eq!(said.as_object().unwrap().keys().collect::<Vec<_>>(), ["detail"], "{said}");
    (reply.status, said["detail"].as_str().unwrap().to_owned())
}

async fn active(rig: &Rig, session: SessionId) -> Reply {
    rig.get(path(session, "active-session")).await
}

pub(crate) async fn messages(rig: &Rig, session: SessionId) -> Vec<(String, String)> {
    let all = rig.get(path(session, "messages?start=0&limit=1000")).await.ok(200);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(|one| (text(&one["type"]), text(&one["content"]))).collect()
}

fn pair(kind: &str, content: &str) -> (String, String) {
    (kind.to_owned(), content.to_owned())
}

/// The conversation that the front end opens.
pub(crate) async fn create(rig: &mut Rig) -> SessionId {
    let body = json!({
        "user_id": "u", "title": "Untitled", "status": "active", "project_ids": ["/w"], "agent_ids": ["codex"],
    });
    let made = rig.call("POST", "/api/v1/conversations?hidden=true").json(&body).send().await.ok(200);
    let session = made["conversation_id"].as_str().unwrap().parse().unwrap();
    rig.launched().await;
    rig.is_ready(session).await;
    session
}
