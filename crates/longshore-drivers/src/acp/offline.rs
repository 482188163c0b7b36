//! The known agents that speak the protocol, on a scripted model. Nothing is known of those that the settings name.

use serde_json::json;

use crate::offline::{Calls, Offline, Place, env};
use crate::{claude, codex, opencode};

/// How Gemini's model has it do things.
pub const GEMINI_CALLS: Calls = Calls {
    run: |command| json!({ "call": "run_shell_command", "args": { "command": command, "description": "do it" } }),
    write: |path, line| json!({ "call": "write_file", "args": { "file_path": path, "content": format!("{line}\n") } }),
};

/// How Copilot's model has it do things.
pub const COPILOT_CALLS: Calls = Calls {
    run: |command| json!({ "call": "bash", "args": { "command": command, "description": "do it" } }),
    write: |path, line| json!({ "call": "create", "args": { "path": path, "file_text": format!("{line}\n") } }),
};

/// How such an agent runs without an account.
pub(super) fn offline(name: &str, place: Place<'_>) -> Option<Offline> {
    match name {
        "gemini" => Some(gemini(place)),
        "copilot" => Some(copilot(place)),
        // A name of a model that it does not know would cost it its tool for patches.
        "codex-acp" => Some(codex::offline::offline(
            place,
            name,
            "model = \"gpt-5.4\"\napproval_policy = \"untrusted\"\nsandbox_mode = \"danger-full-access\"",
        )),
        "claude-code-acp" => Some(claude::offline::offline(place)),
        "opencode-acp" => Some(opencode::offline::offline(place)),
        _ => None,
    }
}

fn gemini(place: Place<'_>) -> Offline {
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

fn copilot(place: Place<'_>) -> Offline {
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
