//! Every call of the table, made over HTTP and over the socket with the same parameters.

use longshore_facades::auth::Access;
use longshore_facades::native::{Call, Verb};
use serde_json::{Value, json};

use crate::http;
use crate::rig::Rig;

/// An id that belongs to nothing.
pub(crate) const NOBODY: &str = "0190c0de-0000-7000-8000-000000000001";

/// Parameters that a call can read. Whoever adds a call that needs some adds them here.
pub(crate) fn params_of(method: &str, session: &str) -> Value {
    match method {
        "open" => json!({ "agent": "codex", "cwd": "/w" }),
        "models" => json!({ "agent": "codex" }),
        "update" => json!({ "session": session, "title": "mine" }),
        "prompt" => json!({ "session": session, "content": "go" }),
        "editPrompt" => json!({ "session": session, "prompt": NOBODY, "text": "go" }),
        "cancelPrompt" => json!({ "session": session, "prompt": NOBODY }),
        "session" | "interrupt" | "revive" | "close" | "fork" | "sendQueued" | "discardQueue" | "resume"
        | "release" | "handBack" | "deleteHistory" | "events" | "timeline" | "subscribe" | "unsubscribe" => {
            json!({ "session": session })
        }
        "decide" => json!({ "approval": NOBODY, "decision": "allow_once" }),
        "answer" => json!({ "question": NOBODY, "answers": {} }),
        "search" => json!({ "q": "words" }),
        "import" => json!({ "events": [] }),
        "revoke" => json!({ "device": NOBODY }),
        "addProject" | "removeProject" => json!({ "path": "/w" }),
        "presence" => json!({ "visible": false }),
        "pushSubscribe" => {
            json!({ "subscription": { "endpoint": "https://push.example/1", "keys": { "p256dh": "", "auth": "" } } })
        }
        _ => json!({}),
    }
}

/// A call over HTTP, without a token: what its path names is in the path, the rest in the query or in the body.
pub(crate) fn over_http(rig: &Rig, call: &Call, params: &Value) -> http::Call {
    let (mut path, mut rest) = (call.path.to_owned(), Vec::new());
    for (name, value) in params.as_object().unwrap() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let named = path.replace(&format!("{{{name}}}"), &text);
        if named == path {
            rest.push((name, value, text));
        }
        path = named;
    }
    assert!(!path.contains('{'), "{} needs more parameters: {path}", call.name);
    if call.verb == Verb::Get {
        let query: Vec<String> = rest.iter().map(|(name, _, text)| format!("{name}={text}")).collect();
        return rig.bare(call.verb.name(), format!("{path}?{}", query.join("&")));
    }
    let request = rig.bare(call.verb.name(), path);
    match rest.is_empty() {
        true => request,
        false => {
            request.json(&rest.into_iter().map(|(name, value, _)| (name.clone(), value.clone())).collect())
        }
    }
}

/// Whether the call could not read its parameters.
pub(crate) fn is_unreadable(call: &Call, problem: &Value) -> bool {
    problem["title"].as_str().unwrap().starts_with(&format!("{}: ", call.name))
}

/// What a device of this mode may do, as docs/api.md says it.
pub(crate) fn access_of(mode: &str) -> Access {
    match mode {
        "read_only" => Access::Read,
        "approve" => Access::Decide,
        "full" => Access::Act,
        other => panic!("no device has the mode {other}"),
    }
}
