//! OpenCode on a scripted model.

use serde_json::{Value, json};

use crate::offline::{Offline, OfflinePlace, ScriptedCalls, env};

/// The model's calls of OpenCode's tools.
pub const CALLS: ScriptedCalls = ScriptedCalls {
    run,
    leave: run,
    write: |path, line| json!({ "call": "write", "args": { "filePath": path, "content": format!("{line}\n") } }),
    read: |path| Some(json!({ "call": "read", "args": { "filePath": path } })),
    edit: |edit| {
        let args = json!({ "filePath": edit.path, "oldString": edit.old, "newString": edit.new });
        json!({ "call": "edit", "args": args })
    },
};

fn run(command: &str) -> Value {
    json!({ "call": "bash", "args": { "command": command, "description": "do it" } })
}

/// How OpenCode runs without an account.
pub(crate) fn offline(place: OfflinePlace<'_>) -> Offline {
    Offline {
        arguments: Vec::new(),
        env: env([
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            ("OPENCODE_CONFIG_CONTENT", &config(place)),
        ]),
        files: Vec::new(),
        calls: CALLS,
    }
}

/// The configuration. Its provider is a part of OpenCode, so that OpenCode downloads nothing.
fn config(place: OfflinePlace<'_>) -> String {
    let model =
        json!({ "tool_call": true, "reasoning": true, "limit": { "context": 100_000, "output": 8_000 } });
    json!({
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "enabled_providers": ["scripted"],
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{}/v1", place.model), "apiKey": "none" },
            "models": { "scripted": model },
        } },
        "autoupdate": false,
        "share": "disabled",
        "permission": { "bash": "ask", "edit": "ask" },
    })
    .to_string()
}
