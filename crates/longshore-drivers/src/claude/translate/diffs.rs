//! Changes of files, as unified diffs with their headers.
//!
//! A tool that changed a file says how in a `structuredPatch`; for a file that is new it says what is in it. A tool that
//! asks whether it may tells only which words it would put for which others, and not where they stand: the file tells.

use std::fmt::Write;

use longshore_model::item::{FileChange, FileChangeKind};
use serde_json::Value;

use crate::diff::{change, change_of, somewhere};
use crate::edits::{Before, FileEdit, Replacement};

/// What a tool changed.
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

/// What the `structuredPatch` of a result says, which may be nothing; none where there is none.
pub(crate) fn patched(data: &Value, path: &str, cwd: &str) -> Option<Option<FileChange>> {
    let hunks: String = data["structuredPatch"].as_array()?.iter().map(hunk).collect();
    Some((!hunks.is_empty()).then(|| change_of(path, cwd, FileChangeKind::Update, &hunks)))
}

/// What a tool wants to change, as far as the file is known.
pub(super) fn wanted(input: &Value, cwd: &str, before: Before<'_>) -> Vec<FileChange> {
    let Some(path) = path_of(input) else { return Vec::new() };
    vec![match wish_of(input) {
        Some(wish) => wish.change(path, cwd, before),
        // A cell of a notebook is no line of its file.
        None => {
            let source = input["new_source"].as_str().unwrap_or_default();
            change_of(path, cwd, FileChangeKind::Update, &somewhere("", source))
        }
    }]
}

/// What is to become of the file, where its text tells how that looks.
pub(super) fn wish_of(input: &Value) -> Option<FileEdit> {
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

/// The file that a tool is about.
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
