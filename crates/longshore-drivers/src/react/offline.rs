//! The built-in agent on a scripted model.

use longshore_model::service::ModelApi;
use serde_json::json;

use super::settings::VARIABLE;
use crate::offline::{Offline, OfflinePlace, ScriptedCalls, env};

/// The model's calls of the agent's tools.
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

/// How the agent runs without an account. Its settings contain the address of the model. The variables show
/// that there is a model service. The agent uses the API of its settings.
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
