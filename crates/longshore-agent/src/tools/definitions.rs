//! The definitions of the built-in tools for the model.

use longshore_models::tool::ToolDefinition;
use serde_json::{Value, json};

use super::{exec, read, shell};

/// All definitions of the built-in tools.
pub(super) fn built_in() -> Vec<ToolDefinition> {
    vec![
        tool(
            "shell",
            &shell_text(),
            false,
            &["command"],
            json!({
                "command": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
                    "description": "A line for the shell, or a program and its arguments." },
                "cwd": text("The folder to run in; the work tree if left out."),
                "timeout_ms": integer("When to stop it."),
                "escalate": boolean("Run it outside of the sandbox. A person is asked first; give a reason."),
                "reason": text("Why it must run outside of the sandbox."),
            }),
        ),
        tool(
            "unified_exec",
            &exec_text(),
            false,
            &["action"],
            json!({
                "action": { "type": "string", "enum": ["start", "write", "read", "yield", "kill"] },
                "command": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
                    "description": "start: what to run." },
                "cwd": text("start: the folder to run in."),
                "session": text("write, read, yield, kill: the name that start gave."),
                "input": text("write: what to type. A line ends with \n; \u{3} is Ctrl-C."),
                "yield_ms": integer("How long to wait for output before the call returns; 1000 if left out."),
                "until": text("Return as soon as this was printed."),
                "escalate": boolean("start: run it outside of the sandbox. A person is asked first; give a reason."),
                "reason": text("Why it must run outside of the sandbox."),
            }),
        ),
        tool("apply_patch", PATCH, false, &["input"], json!({ "input": text("The whole patch.") })),
        tool(
            "write_file",
            "Writes a whole text file, with the folders that it needs. Use apply_patch for changes.",
            false,
            &["path", "content"],
            json!({ "path": text("Which file."), "content": text("All of it.") }),
        ),
        tool(
            "read_file",
            &format!(
                "Reads lines of a text file, with their numbers; {} of them if nothing else is said.",
                read::LINES
            ),
            true,
            &["path"],
            json!({
                "path": text("Which file."),
                "line": integer("The first line wanted, from 1."),
                "limit": integer("How many lines."),
            }),
        ),
        tool(
            "fetch_file",
            "Fetches a whole text file as it is, without line numbers.",
            true,
            &["path"],
            json!({ "path": text("Which file.") }),
        ),
        tool(
            "list_dir",
            "Lists a folder. Folders end with /.",
            true,
            &[],
            json!({
                "path": text("Which folder; the work tree if left out."),
                "depth": integer("How deep; 1 if left out."),
            }),
        ),
        tool(
            "search",
            "Looks for a regular expression in the text files of the work tree. Respects .gitignore.",
            true,
            &["pattern"],
            json!({
                "pattern": text("The regular expression."),
                "path": text("Where to look; the work tree if left out."),
                "glob": text("Which files: *.rs, or !*.md for all others."),
                "ignore_case": boolean("Whether upper and lower case are the same."),
                "literal": boolean("Whether the pattern is plain text."),
                "context": integer("How many lines around each match."),
                "limit": integer("How many matches."),
                "files_only": boolean("Whether only the names of files are wanted."),
            }),
        ),
        tool(
            "view_image",
            "Shows you an image: PNG, JPEG, GIF or WebP.",
            true,
            &["path"],
            json!({ "path": text("Which file.") }),
        ),
    ]
}

fn tool(
    name: &str,
    description: &str,
    side_by_side: bool,
    required: &[&str],
    properties: Value,
) -> ToolDefinition {
    let parameters = json!({ "type": "object", "properties": properties, "required": required });
    ToolDefinition { name: name.to_owned(), description: description.to_owned(), parameters, side_by_side }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn integer(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

fn boolean(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn shell_text() -> String {
    format!(
        "Runs a command to its end and returns what it printed. It is stopped after {} seconds if no timeout is given. \
         It runs in a sandbox: it writes in the work tree and in temporary folders only, and has no network unless \
         that was allowed.",
        shell::TIMEOUT.as_secs()
    )
}

fn exec_text() -> String {
    format!(
        "Runs commands in terminals that go on between calls: servers, watchers, programs that ask. start runs one and \
         names its session, write types into it, read tells what was printed since, yield waits for more, kill ends \
         it. At most {} at a time, in the same sandbox as shell.",
        exec::SESSIONS_LIMIT
    )
}

const PATCH: &str = "Changes files, all of them or none. The patch is\n\
*** Begin Patch\n\
*** Add File: PATH, then every line of the file with + before it\n\
*** Delete File: PATH\n\
*** Update File: PATH, then if it moves *** Move to: PATH, then hunks\n\
*** End Patch\n\
A hunk begins with @@, or @@ and a line that comes before it (a function, a class) to tell it from others. Then come \
lines: with a blank before those that stay (about three on either side), - before those that go, + before those that \
come. *** End of File after a hunk says that it is the last of the file.";
