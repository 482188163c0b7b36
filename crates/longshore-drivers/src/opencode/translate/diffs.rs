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

/// The unified diff of everything that a turn has changed, file by file as git tells it.
pub(super) fn turn_diff(summary: &Value) -> String {
    let files = summary["diffs"].as_array().into_iter().flatten().filter_map(change_of);
    files.filter(|change| !change.diff.is_empty()).map(|change| as_git_tells(&change)).collect()
}

fn as_git_tells(FileChange { path, kind, diff, .. }: &FileChange) -> String {
    let pieces = diff.find("\n@@").map_or(diff.as_str(), |before| &diff[before + 1..]);
    let (old, new) = (format!("a/{path}"), format!("b/{path}"));
    let (before, after) = match kind {
        FileChangeKind::Add => ("/dev/null", new.as_str()),
        FileChangeKind::Delete => (old.as_str(), "/dev/null"),
        FileChangeKind::Update => (old.as_str(), new.as_str()),
    };
    format!("diff --git {old} {new}\n--- {before}\n+++ {after}\n{pieces}")
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

    #[test]
    fn what_a_turn_has_changed_is_told_as_git_tells_it() {
        let rule = "=".repeat(67);
        let patch = format!("Index: a.txt\n{rule}\n--- a.txt\t\n+++ a.txt\t\n@@ -0,0 +1,1 @@\n+x\n");
        let other = format!("Index: b.txt\n{rule}\n--- b.txt\t\n+++ b.txt\t\n@@ -1,1 +1,1 @@\n-x\n+y\n");
        let diffs = serde_json::json!({ "diffs": [
            { "file": "a.txt", "status": "added", "patch": patch },
            { "file": "b.txt", "status": "modified", "patch": other },
        ] });
        assert_eq!(
            turn_diff(&diffs),
            "diff --git a/a.txt b/a.txt\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+x\n\
             diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-x\n+y\n"
        );
        assert_eq!(turn_diff(&Value::Null), "");
    }
}
