//! The changes of a tool call, and of a turn. OpenCode's diffs have their own headers, so the driver uses
//! only their hunks.

use longshore_model::item::{FileChange, FileChangeKind};
use serde_json::Value;

use crate::kit::diff::{change, change_of, hunks_of, short};
use crate::opencode::wire::{Diff, State};

/// The changes of a call, as far as the call reports them.
pub(super) fn changes_of(tool: &str, state: &State, cwd: &str) -> Vec<FileChange> {
    if state.status != "completed" {
        return Vec::new();
    }
    let metadata = &state.metadata;
    let changes = listed(&metadata["files"], cwd);
    if !changes.is_empty() {
        return changes;
    }
    let path = state.input["filePath"].as_str().or_else(|| metadata["filepath"].as_str());
    let (Some(path), "edit" | "write" | "multiedit") = (path, tool) else { return Vec::new() };
    if let Some(diff) = metadata["diff"].as_str().filter(|diff| !diff.is_empty()) {
        return vec![told(path, cwd, kind_of(diff), diff)];
    }
    // A file that did not exist before. For an existing file, `write` does not report the replaced content.
    match (metadata["exists"].as_bool(), state.input["content"].as_str()) {
        (Some(false), Some(content)) => vec![change(path, cwd, None, content)],
        (_, _) => Vec::new(),
    }
}

/// The changes that a request for permission shows.
pub(super) fn asked_changes(metadata: &Value, cwd: &str) -> Vec<FileChange> {
    let changes = listed(&metadata["files"], cwd);
    if !changes.is_empty() {
        return changes;
    }
    let path = metadata["filepath"].as_str().or_else(|| metadata["filePath"].as_str());
    let diff = metadata["diff"].as_str().unwrap_or_default();
    path.map(|path| told(path, cwd, kind_of(diff), diff)).into_iter().collect()
}

/// The unified diff of all changes of a turn, file by file in git's form.
pub(super) fn turn_diff(summary: &Value, cwd: &str) -> String {
    let changes = listed(&summary["diffs"], cwd).into_iter().filter(|change| !change.diff.is_empty());
    let as_git_tells = |FileChange { path, diff, .. }: FileChange| {
        let name = short(&path, cwd);
        format!("diff --git a/{name} b/{name}\n{diff}")
    };
    changes.map(as_git_tells).collect()
}

fn listed(files: &Value, cwd: &str) -> Vec<FileChange> {
    let change = |file: &Value| {
        let Diff { file, status, patch, .. } = serde_json::from_value(file.clone()).ok()?;
        let kind = match status.as_str() {
            "added" => FileChangeKind::Add,
            "deleted" => FileChangeKind::Delete,
            _ => kind_of(&patch),
        };
        (!file.is_empty()).then(|| told(&file, cwd, kind, &patch))
    };
    files.as_array().into_iter().flatten().filter_map(change).collect()
}

/// A change from one of OpenCode's diffs. An empty diff gives an empty change.
fn told(path: &str, cwd: &str, kind: FileChangeKind, diff: &str) -> FileChange {
    match hunks_of(diff) {
        "" => FileChange { path: path.to_owned(), kind, moved_to: None, diff: String::new() },
        hunks => change_of(path, cwd, kind, hunks),
    }
}

/// Whether a diff adds, changes or deletes its file, according to the lines with which its hunks begin and
/// end.
fn kind_of(diff: &str) -> FileChangeKind {
    let mut pieces = diff.lines().filter(|line| line.starts_with("@@"));
    match (pieces.next(), pieces.next()) {
        (Some(only), None) if only.starts_with("@@ -0,0 ") => FileChangeKind::Add,
        (Some(only), None) if only.contains(" +0,0 @@") => FileChangeKind::Delete,
        (_, _) => FileChangeKind::Update,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_diff_tell_what_happens_to_the_file() {
        assert_eq!(kind_of("--- a\n+++ a\n@@ -0,0 +1,2 @@\n+x\n+y\n"), FileChangeKind::Add);
        assert_eq!(kind_of("--- a\n+++ a\n@@ -1,2 +0,0 @@\n-x\n-y\n"), FileChangeKind::Delete);
        assert_eq!(kind_of("--- a\n+++ a\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"), FileChangeKind::Update);
    }

    #[test]
    fn a_change_has_the_headers_of_every_other_driver() {
        let state = |metadata: Value| State {
            status: "completed".to_owned(),
            input: serde_json::json!({ "filePath": "/w/a.txt", "content": "x" }),
            metadata,
            ..State::default()
        };
        let of = |metadata| changes_of("write", &state(metadata), "/w").remove(0).diff;
        let added = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n";
        assert_eq!(of(serde_json::json!({ "exists": false })), added);
        let theirs = "Index: /w/a.txt\n===\n--- /w/a.txt\t\n+++ /w/a.txt\t\n@@ -1,1 +1,1 @@\n-x\n+y\n";
        let ours = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-x\n+y\n";
        assert_eq!(of(serde_json::json!({ "diff": theirs })), ours);
        assert_eq!(
            asked_changes(&serde_json::json!({ "filepath": "a.txt", "diff": theirs }), "/w")[0].diff,
            ours
        );
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
            turn_diff(&diffs, "/w"),
            "diff --git a/a.txt b/a.txt\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+x\n\
             diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-x\n+y\n"
        );
        assert_eq!(turn_diff(&Value::Null, "/w"), "");
    }
}
