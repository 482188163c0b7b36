//! Codex on a scripted model.

use serde_json::json;

use crate::offline::{Offline, OfflinePlace, ScriptedCalls, env};

/// The model's calls of Codex's tools.
pub const CALLS: ScriptedCalls = ScriptedCalls {
    // On a busy machine even a short command may outlive its turn, so the call waits for it.
    run: |command| json!({ "call": "exec_command", "args": { "cmd": command, "yield_time_ms": 30_000 } }),
    write: |path, line| {
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{line}\n*** End Patch\n");
        json!({ "custom": "apply_patch", "input": patch })
    },
    leave: |command| {
        let (permissions, why) = ("require_escalated", "May it be done?");
        let args = json!({ "cmd": command, "yield_time_ms": 30_000, "sandbox_permissions": permissions, "justification": why });
        json!({ "call": "exec_command", "args": args })
    },
    read: |_| None,
    edit: |edit| json!({ "custom": "apply_patch", "input": edit.patch() }),
};

/// How Codex runs without an account, with its home in this folder of the place.
pub(crate) fn offline(place: OfflinePlace<'_>, home: &str, settings: &str) -> Offline {
    Offline {
        arguments: Vec::new(),
        env: env([("CODEX_HOME", &place.at(home))]),
        files: vec![(format!("{home}/config.toml").into(), config(place, settings))],
        calls: CALLS,
    }
}

/// The configuration: these settings, and the address of the model.
fn config(place: OfflinePlace<'_>, settings: &str) -> String {
    format!(
        r#"{settings}
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "Scripted"
base_url = "{}/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[tools.update_plan]
enabled = true
"#,
        place.model
    )
}
