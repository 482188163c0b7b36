//! Guesses how a model makes an unknown agent do things, if the agent at least runs on a scripted model. The
//! scripted model calls tools by the names that most agents use. The request says which of these tools the
//! agent has.

use longshore_drivers::offline::ScriptedCalls;
use serde_json::{Value, json};

/// The tool calls for any agent.
pub(super) const CALLS: ScriptedCalls = ScriptedCalls {
    run,
    leave: run,
    write: |path, line| {
        let content = format!("{line}\n");
        json!({
            "call": ["write_file", "Write", "write", "create", "create_file", "write_to_file"],
            "args": {
                "file_path": path, "path": path, "filePath": path, "absolute_path": path,
                "content": content, "file_text": content, "text": content, "contents": content,
            },
        })
    },
    read: |path| {
        Some(json!({
            "call": ["read_file", "Read", "read", "view", "open_file"],
            "args": { "file_path": path, "path": path, "filePath": path, "absolute_path": path },
        }))
    },
    edit: |edit| {
        json!({
            "call": ["edit", "Edit", "replace", "str_replace", "edit_file"],
            "args": {
                "file_path": edit.path, "path": edit.path, "filePath": edit.path, "absolute_path": edit.path,
                "old_string": edit.old, "old_str": edit.old, "oldString": edit.old, "old_text": edit.old,
                "new_string": edit.new, "new_str": edit.new, "newString": edit.new, "new_text": edit.new,
                "instruction": "change it",
            },
        })
    },
};

fn run(command: &str) -> Value {
    json!({
        "call": ["run_shell_command", "Bash", "bash", "shell", "exec_command", "execute_command", "run_command", "run_terminal_cmd"],
        "args": { "command": command, "cmd": command, "description": "do it", "is_background": false },
    })
}
