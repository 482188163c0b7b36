//! Changes of files, as unified diffs with their headers.
//!
//! A tool that has changed a file reports a `structuredPatch`, or the content of a new file. A tool that
//! requests permission reports only the old words and the new words. To find their place, the driver needs
//! the file.

use std::fmt::Write;

use longshore_model::item::{FileChange, FileChangeKind};
use serde_json::Value;

use crate::kit::diff::{change, change_of, somewhere};
use crate::kit::edits::{Before, FileEdit, Replacement};

/// The changes that a tool has made.
pub(crate) fn made(input: &Value, data: &Value, cwd: &str) -> Vec<FileChange> {
    let named = data["filePath"].as_str().or_else(|| data["notebook_path"].as_str());
    let Some(path) = named.or_else(|| path_of(input)) else { return Vec::new() };
    let is_new = data["type"] == "create" || (data["originalFile"].is_null() && data["content"].is_string());
    if is_new {
        let content = data["content"].as_str().or_else(|| input["content"].as_str()).unwrap_or_default();
        return vec![change(path, cwd, None, content)];
    }
    match patched(data, path, cwd) {
        Some(changed) => changed.into_iter().collect(),
        None => wanted(input, cwd, Before::Unread { there: true }),
    }
}

/// The diff of a `structuredPatch`, which may be empty; none if the result has none.
pub(crate) fn patched(data: &Value, path: &str, cwd: &str) -> Option<Option<FileChange>> {
    let hunks: String = data["structuredPatch"].as_array()?.iter().map(hunk).collect();
    Some((!hunks.is_empty()).then(|| change_of(path, cwd, FileChangeKind::Update, &hunks)))
}

/// The changes that a tool wants to make, as far as the driver knows the file.
pub(super) fn wanted(input: &Value, cwd: &str, before: Before<'_>) -> Vec<FileChange> {
    let Some(path) = path_of(input) else { return Vec::new() };
    vec![match edit_of(input) {
        Some(edit) => edit.change(path, cwd, before),
        // A cell of a notebook is not a line of its file.
        None => {
            let source = input["new_source"].as_str().unwrap_or_default();
            change_of(path, cwd, FileChangeKind::Update, &somewhere("", source))
        }
    }]
}

/// The change of the file, if the file's text can show it.
pub(super) fn edit_of(input: &Value) -> Option<FileEdit> {
    let one = |edit: &Value| {
        let word = |name: &str| edit[name].as_str().unwrap_or_default().to_owned();
        let all = edit["replace_all"].as_bool().unwrap_or(false);
        Replacement { old: word("old_string"), new: word("new_string"), all }
    };
    if let Some(edits) = input["edits"].as_array() {
        return Some(FileEdit::Replace(edits.iter().map(one).collect()));
    }
    if let Some(content) = input["content"].as_str() {
        return Some(FileEdit::Write(content.to_owned()));
    }
    (!input["old_string"].is_null() || !input["new_string"].is_null())
        .then(|| FileEdit::Replace(vec![one(input)]))
}

/// The file of a tool call.
pub(super) fn path_of(input: &Value) -> Option<&str> {
    input["file_path"].as_str().or_else(|| input["notebook_path"].as_str()).filter(|path| !path.is_empty())
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
