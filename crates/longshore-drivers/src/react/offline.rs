//! The built-in agent on a scripted model.

use longshore_model::service::ModelApi;
use serde_json::json;

use super::settings::VARIABLE;
use crate::offline::{Offline, OfflinePlace, ScriptedCalls, env};

/// How its model has it do things.
pub const CALLS: ScriptedCalls = ScriptedCalls {
    run: |command| json!({ "call": "shell", "args": { "command": command } }),
    leave: |command| {
        let args = json!({ "command": command, "escalate": true, "reason": "May it be done?" });
        json!({ "call": "shell", "args": args })
    },
    write: |path, line| json!({ "call": "write_file", "args": { "path": path, "content": format!("{line}\n") } }),
    read: |_| None,
    edit: |edit| json!({ "call": "apply_patch", "args": { "input": edit.patch() } }),
};

/// How it runs without an account: its settings say where the model is, and the variables that there is one. It speaks with
/// the model in the API of its settings.
pub(super) fn offline(place: OfflinePlace<'_>, api: Option<ModelApi>) -> Offline {
    let url = format!("{}/v1", place.model);
    let api = api.unwrap_or(ModelApi::Chat);
    let settings = json!({ "api": api, "base_url": url, "model": "scripted", "retry_ms": 10 });
    Offline {
        arguments: Vec::new(),
        env: env([(VARIABLE, &settings.to_string()), ("OPENAI_BASE_URL", &url), ("OPENAI_API_KEY", "none")]),
        files: Vec::new(),
        calls: CALLS,
    }
}
