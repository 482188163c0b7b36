//! Changes of files, as unified diffs with their headers.
//!
//! For an update, Codex gives hunks without a header. For an addition or a deletion, it gives the bare
//! content. If a file moves, a line after the hunks names the new path.

use std::collections::BTreeMap;

use longshore_model::item::{FileChange, FileChangeKind};

use crate::codex::wire::{Change, OldChange};
use crate::kit::diff::{all_lines, short};

/// The text before the new path of a moved file.
const MOVED_TO: &str = "\n\nMoved to: ";

/// The changes of a patch in a work tree.
pub(super) fn changes(changes: &[Change], cwd: &str) -> Vec<FileChange> {
    changes
        .iter()
        .map(|change| {
            let moved = change.kind.move_path.as_deref();
            file_change(&change.path, &change.kind.kind, moved, &change.diff, cwd)
        })
        .collect()
}

/// The changes of a patch in the form of the first protocol version.
pub(crate) fn old_changes(changes: &BTreeMap<String, OldChange>, cwd: &str) -> Vec<FileChange> {
    changes
        .iter()
        .map(|(path, change)| {
            let content = change.unified_diff.as_ref().or(change.content.as_ref());
            let content = content.map_or("", String::as_str);
            file_change(path, &change.kind, change.move_path.as_deref(), content, cwd)
        })
        .collect()
}

fn file_change(path: &str, kind: &str, moved: Option<&str>, content: &str, cwd: &str) -> FileChange {
    let shown = short(path, cwd);
    let (kind, moved_to, diff) = match kind {
        "add" => {
            let body = all_lines('+', content);
            (FileChangeKind::Add, None, format!("--- /dev/null\n+++ b/{shown}\n{body}"))
        }
        "delete" => {
            let body = all_lines('-', content);
            (FileChangeKind::Delete, None, format!("--- a/{shown}\n+++ /dev/null\n{body}"))
        }
        _ => {
            let (hunks, tail) = match content.rsplit_once(MOVED_TO) {
                Some((hunks, place)) if !place.contains('\n') => (hunks, Some(place)),
                Some(_) | None => (content, None),
            };
            let moved_to = moved.or(tail);
            let new = short(moved_to.unwrap_or(path), cwd);
            let headed = hunks.starts_with("--- ") || hunks.starts_with("diff --git");
            let mut diff =
                if headed { hunks.to_owned() } else { format!("--- a/{shown}\n+++ b/{new}\n{hunks}") };
            if !diff.ends_with('\n') {
                diff.push('\n');
            }
            (FileChangeKind::Update, moved_to.map(str::to_owned), diff)
        }
    };
    FileChange { path: path.to_owned(), kind, moved_to, diff }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_a_diff_with_a_header() {
        let cases = [
            ("/w/new.txt", "add", None, "a\nb\n", "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("/w/old.txt", "delete", None, "a\n", "--- a/old.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"),
            (
                "/w/cut.txt",
                "add",
                None,
                "a",
                "--- /dev/null\n+++ b/cut.txt\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n",
            ),
            ("/w/empty", "add", None, "", "--- /dev/null\n+++ b/empty\n"),
            (
                "/w/R.md",
                "update",
                Some("/w/D.md"),
                "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /w/D.md",
                "--- a/R.md\n+++ b/D.md\n@@ -1 +1 @@\n-a\n+b\n",
            ),
            (
                "/etc/hosts",
                "update",
                None,
                "@@ -1 +1 @@\n-a\n+b\n",
                "--- a/etc/hosts\n+++ b/etc/hosts\n@@ -1 +1 @@\n-a\n+b\n",
            ),
        ];
        for (path, kind, moved, content, diff) in cases {
            let change = file_change(path, kind, moved, content, "/w");
            assert_eq!(change.diff, diff, "of {path}");
            assert_eq!(change.moved_to.as_deref(), moved, "of {path}");
        }
    }
}
