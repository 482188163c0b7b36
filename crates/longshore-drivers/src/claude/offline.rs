//! Claude Code on a scripted model.

use serde_json::{Value, json};

use crate::offline::{Offline, OfflinePlace, ScriptedCalls, env};

/// The model's calls of Claude Code's tools.
pub const CALLS: ScriptedCalls = ScriptedCalls {
    run,
    leave: run,
    write: |path, line| json!({ "call": "Write", "args": { "file_path": path, "content": format!("{line}\n") } }),
    read: |path| Some(json!({ "call": "Read", "args": { "file_path": path } })),
    edit: |edit| {
        let args = json!({ "file_path": edit.path, "old_string": edit.old, "new_string": edit.new });
        json!({ "call": "Edit", "args": args })
    },
};

fn run(command: &str) -> Value {
    json!({ "call": "Bash", "args": { "command": command, "description": "do it" } })
}

/// How Claude Code runs without an account.
pub(crate) fn offline(place: OfflinePlace<'_>) -> Offline {
    Offline {
        arguments: Vec::new(),
        env: env([
            ("CLAUDE_CONFIG_DIR", &place.at("claude")),
            ("ANTHROPIC_BASE_URL", place.model),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ]),
        files: Vec::new(),
        calls: CALLS,
    }
}
