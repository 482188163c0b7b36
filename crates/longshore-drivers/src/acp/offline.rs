//! The known ACP agents on a scripted model. For an agent of the settings, the settings must contain the
//! environment.

use serde_json::{Value, json};

use crate::offline::{Offline, OfflinePlace, ScriptedCalls, env};
use crate::{claude, codex, opencode};

/// The model's calls of Gemini's tools.
pub const GEMINI_CALLS: ScriptedCalls = ScriptedCalls {
    run: gemini_run,
    leave: gemini_run,
    write: |path, line| json!({ "call": "write_file", "args": { "file_path": path, "content": format!("{line}\n") } }),
    read: |path| Some(json!({ "call": "read_file", "args": { "file_path": path } })),
    edit: |edit| {
        let args = json!({
            "file_path": edit.path, "old_string": edit.old, "new_string": edit.new, "instruction": "change it",
        });
        json!({ "call": "replace", "args": args })
    },
};

/// The model's calls of Copilot's tools.
pub const COPILOT_CALLS: ScriptedCalls = ScriptedCalls {
    run: copilot_run,
    leave: copilot_run,
    write: |path, line| json!({ "call": "create", "args": { "path": path, "file_text": format!("{line}\n") } }),
    read: |path| Some(json!({ "call": "view", "args": { "path": path } })),
    edit: |edit| {
        let args = json!({ "path": edit.path, "old_str": edit.old, "new_str": edit.new });
        json!({ "call": "edit", "args": args })
    },
};

fn gemini_run(command: &str) -> Value {
    json!({ "call": "run_shell_command", "args": { "command": command, "description": "do it" } })
}

fn copilot_run(command: &str) -> Value {
    json!({ "call": "bash", "args": { "command": command, "description": "do it" } })
}

/// How a known agent runs without an account.
pub(super) fn offline(name: &str, place: OfflinePlace<'_>) -> Option<Offline> {
    match name {
        "gemini" => Some(gemini(place)),
        "copilot" => Some(copilot(place)),
        // With an unknown name of a model, Codex would have no tool for patches.
        "codex-acp" => Some(codex_acp(place, name)),
        "claude-code-acp" => Some(claude::offline::offline(place)),
        "opencode-acp" => Some(opencode::offline::offline(place)),
        _ => None,
    }
}

fn codex_acp(place: OfflinePlace<'_>, name: &str) -> Offline {
    let settings =
        "model = \"gpt-5.4\"\napproval_policy = \"untrusted\"\nsandbox_mode = \"danger-full-access\"";
    // The adapter requests an approval for every command. It refuses a command that itself requests wider
    // permissions.
    let calls = ScriptedCalls { leave: codex::CALLS.run, ..codex::CALLS };
    Offline { calls, ..codex::offline::offline(place, name, settings) }
}

fn gemini(place: OfflinePlace<'_>) -> Offline {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "enableAutoUpdate": false },
    });
    Offline {
        arguments: ["-m", "gemini-2.5-flash"].map(str::to_owned).into(),
        env: env([("GOOGLE_GEMINI_BASE_URL", place.model), ("GEMINI_API_KEY", "none")]),
        files: vec![("home/.gemini/settings.json".into(), settings.to_string())],
        calls: GEMINI_CALLS,
    }
}

fn copilot(place: OfflinePlace<'_>) -> Offline {
    Offline {
        arguments: Vec::new(),
        env: env([
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_PROVIDER_BASE_URL", &format!("{}/v1", place.model)),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", "scripted"),
        ]),
        files: Vec::new(),
        calls: COPILOT_CALLS,
    }
}
