//! What a tool changes, and what a turn has changed.

use longshore_model::item::{FileChange, FileChangeKind};
use serde_json::Value;

use crate::opencode::wire::{Diff, State};

/// What a call has changed, as far as it says so.
pub(super) fn changes_of(tool: &str, state: &State) -> Vec<FileChange> {
    if state.status != "completed" {
        return Vec::new();
    }
    let metadata = &state.metadata;
    if let Some(files) = metadata["files"].as_array() {
        let changes: Vec<FileChange> = files.iter().filter_map(change_of).collect();
        if !changes.is_empty() {
            return changes;
        }
    }
    let path = state.input["filePath"].as_str().or_else(|| metadata["filepath"].as_str());
    let (Some(path), "edit" | "write" | "multiedit") = (path, tool) else { return Vec::new() };
    if let Some(diff) = metadata["diff"].as_str().filter(|diff| !diff.is_empty()) {
        return vec![FileChange {
            path: path.to_owned(),
            kind: kind_of(diff),
            moved_to: None,
            diff: diff.to_owned(),
        }];
    }
    // A file that was not there before; of one that was, `write` does not say what it replaced.
    match (metadata["exists"].as_bool(), state.input["content"].as_str()) {
        (Some(false), Some(content)) => {
            let diff = added(content);
            vec![FileChange { path: path.to_owned(), kind: FileChangeKind::Add, moved_to: None, diff }]
        }
        (_, _) => Vec::new(),
    }
}

/// What a call would change, as the question about it says.
pub(super) fn asked_changes(metadata: &Value) -> Vec<FileChange> {
    if let Some(files) = metadata["files"].as_array() {
        let changes: Vec<FileChange> = files.iter().filter_map(change_of).collect();
        if !changes.is_empty() {
            return changes;
        }
    }
    let path = metadata["filepath"].as_str().or_else(|| metadata["filePath"].as_str());
    let diff = metadata["diff"].as_str().unwrap_or_default();
    let change = |path: &str| FileChange {
        path: path.to_owned(),
        kind: kind_of(diff),
        moved_to: None,
        diff: diff.to_owned(),
    };
    path.map(change).into_iter().collect()
}

/// The unified diff of everything that a turn has changed.
pub(super) fn turn_diff(summary: &Value) -> String {
    let patches = summary["diffs"].as_array().into_iter().flatten();
    patches.filter_map(|diff| diff["patch"].as_str()).collect::<Vec<_>>().join("")
}

fn change_of(file: &Value) -> Option<FileChange> {
    let diff: Diff = serde_json::from_value(file.clone()).ok()?;
    if diff.file.is_empty() {
        return None;
    }
    let kind = match diff.status.as_str() {
        "added" => FileChangeKind::Add,
        "deleted" => FileChangeKind::Delete,
        _ => kind_of(&diff.patch),
    };
    Some(FileChange { path: diff.file, kind, moved_to: None, diff: diff.patch })
}

/// What a diff does to its file, from the lines that its pieces begin and end with.
fn kind_of(diff: &str) -> FileChangeKind {
    let mut pieces = diff.lines().filter(|line| line.starts_with("@@"));
    match (pieces.next(), pieces.next()) {
        (Some(only), None) if only.starts_with("@@ -0,0 ") => FileChangeKind::Add,
        (Some(only), None) if only.contains(" +0,0 @@") => FileChangeKind::Delete,
        (_, _) => FileChangeKind::Update,
    }
}

/// The diff of a file that was not there before.
fn added(content: &str) -> String {
    let count = content.lines().count();
    let mut diff = format!("@@ -0,0 +1,{count} @@\n");
    for line in content.lines() {
        diff.push('+');
        diff.push_str(line);
        diff.push('\n');
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_diff_tell_what_happens_to_the_file() {
        assert_eq!(kind_of("--- a\n+++ a\n@@ -0,0 +1,2 @@\n+x\n+y\n"), FileChangeKind::Add);
        assert_eq!(kind_of("--- a\n+++ a\n@@ -1,2 +0,0 @@\n-x\n-y\n"), FileChangeKind::Delete);
        assert_eq!(kind_of("--- a\n+++ a\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"), FileChangeKind::Update);
        assert_eq!(kind_of(&added("one\ntwo\n")), FileChangeKind::Add);
    }
}
