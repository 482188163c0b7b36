//! The HTTP half of Codex Pocket's protocol, as its web app calls it.

mod access;
mod admin;
mod agents;
mod devices;
mod files;
mod traces;
mod web_dir;

use serde_json::Value;

use crate::http::{Call, Reply};
use crate::rig::Rig;

impl Rig {
    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call("POST", path).json(&body).send().await
    }

    /// A request with another token than the owner's.
    pub(crate) fn with_token(&self, token: &str, method: &'static str, path: &str) -> Call {
        self.bare(method, path).header("authorization", format!("Bearer {token}"))
    }
}

/// What went wrong, as the app reads it.
fn error_of(reply: &Reply, status: u16) -> String {
    assert_eq!(reply.status, status, "{}", reply.text());
    reply.json()["error"].as_str().unwrap().to_owned()
}
