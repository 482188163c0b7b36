//! Changes of files, as unified diffs with their headers.
//!
//! A tool that changed a file says how in a `structuredPatch`; for a file that is new it says what is in it. A tool that
//! asks whether it may tells only which words it would put for which others, and not where they stand.

use std::fmt::Write;

use longshore_model::item::{FileChange, FileChangeKind};
use serde_json::Value;

use crate::unified::{all_lines, short};

/// What a tool changed.
pub(crate) fn made(input: &Value, data: &Value, cwd: &str) -> Vec<FileChange> {
    let named = data["filePath"].as_str().or_else(|| data["notebook_path"].as_str());
    let Some(path) = named.or_else(|| path_of(input)) else { return Vec::new() };
    let shown = short(path, cwd);
    let is_new = data["type"] == "create" || (data["originalFile"].is_null() && data["content"].is_string());
    if is_new {
        let content = data["content"].as_str().or_else(|| input["content"].as_str()).unwrap_or_default();
        let diff = format!("--- /dev/null\n+++ b/{shown}\n{}", all_lines('+', content));
        return vec![change(path, FileChangeKind::Add, diff)];
    }
    let hunks = match data["structuredPatch"].as_array() {
        Some(hunks) => hunks.iter().map(hunk).collect::<String>(),
        None => wanted_hunks(input),
    };
    if hunks.is_empty() {
        return Vec::new();
    }
    vec![change(path, FileChangeKind::Update, format!("--- a/{shown}\n+++ b/{shown}\n{hunks}"))]
}

/// What a tool wants to change. It writes over a file only when it has read it, so a file `known` to it is there already.
pub(super) fn wanted(tool: &str, input: &Value, cwd: &str, known: bool) -> Vec<FileChange> {
    let Some(path) = path_of(input) else { return Vec::new() };
    let shown = short(path, cwd);
    if tool == "Write" && !known {
        let content = input["content"].as_str().unwrap_or_default();
        let diff = format!("--- /dev/null\n+++ b/{shown}\n{}", all_lines('+', content));
        return vec![change(path, FileChangeKind::Add, diff)];
    }
    let diff = format!("--- a/{shown}\n+++ b/{shown}\n{}", wanted_hunks(input));
    vec![change(path, FileChangeKind::Update, diff)]
}

/// The file that a tool is about.
pub(super) fn path_of(input: &Value) -> Option<&str> {
    input["file_path"].as_str().or_else(|| input["notebook_path"].as_str()).filter(|path| !path.is_empty())
}

/// Old words and new ones, as far as the call tells them.
fn wanted_hunks(input: &Value) -> String {
    let pair = |edit: &Value| {
        let word = |name: &str| edit[name].as_str().unwrap_or_default();
        replaced(word("old_string"), word("new_string"))
    };
    if let Some(edits) = input["edits"].as_array() {
        return edits.iter().map(pair).collect();
    }
    let whole = input["content"].as_str().or_else(|| input["new_source"].as_str());
    match whole {
        Some(content) => all_lines('+', content),
        None => pair(input),
    }
}

fn replaced(old: &str, new: &str) -> String {
    if old.is_empty() && new.is_empty() {
        return String::new();
    }
    let mut text = format!("@@ -1,{} +1,{} @@\n", old.lines().count(), new.lines().count());
    for (sign, words) in [('-', old), ('+', new)] {
        for line in words.lines() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{sign}{line}");
        }
    }
    text
}

/// One hunk of a `structuredPatch`.
fn hunk(hunk: &Value) -> String {
    let number = |name: &str| hunk[name].as_u64().unwrap_or(0);
    let mut text = format!(
        "@@ -{},{} +{},{} @@\n",
        number("oldStart"),
        number("oldLines"),
        number("newStart"),
        number("newLines")
    );
    for line in hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn change(path: &str, kind: FileChangeKind, diff: String) -> FileChange {
    FileChange { path: path.to_owned(), kind, moved_to: None, diff }
}
