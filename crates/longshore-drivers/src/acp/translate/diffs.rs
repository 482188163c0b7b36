//! Changes of files, as unified diffs with their headers. The protocol gives the text before and after.

use longshore_model::item::{FileChange, FileChangeKind, ToolCall, ToolKind};
use similar::TextDiff;

use crate::acp::wire::ToolContent;

/// Beyond this a diff is not worth its time: the whole text goes and the whole text comes.
const COMPARED_LIMIT: usize = 1 << 20;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    path: String,
    kind: FileChangeKind,
    moved_to: Option<String>,
    old: String,
    new: String,
}

/// Lays the diffs that a call shows over those that are known. Whether anything is new.
pub(super) fn lay_over(known: &mut Vec<Edit>, content: &[ToolContent], call: &ToolCall) -> bool {
    let mut changed = false;
    for shown in content.iter().filter(|shown| shown.kind == "diff") {
        let edit = edit_of(shown, call);
        match known.iter_mut().find(|known| known.path == edit.path) {
            // Some agents show the whole file when they ask, and only a piece of it when they are done.
            Some(known) if known.old.contains(&edit.old) && known.new.contains(&edit.new) => {}
            Some(known) => {
                *known = edit;
                changed = true;
            }
            None => {
                known.push(edit);
                changed = true;
            }
        }
    }
    changed
}

fn edit_of(shown: &ToolContent, call: &ToolCall) -> Edit {
    // One agent says in its arguments what becomes of each file, and one beside the change.
    let told = &call.input["changes"][shown.path.as_str()];
    let kind = match (told["type"].as_str().or_else(|| shown.meta["kind"].as_str()), &shown.old_text) {
        (Some("delete"), _) => FileChangeKind::Delete,
        (Some("add"), _) | (_, None) => FileChangeKind::Add,
        (_, Some(_)) if call.kind == ToolKind::Delete && shown.new_text.is_empty() => FileChangeKind::Delete,
        (_, Some(_)) => FileChangeKind::Update,
    };
    Edit {
        path: shown.path.clone(),
        kind,
        moved_to: told["move_path"].as_str().map(str::to_owned),
        old: shown.old_text.clone().unwrap_or_default(),
        new: shown.new_text.clone(),
    }
}

impl Edit {
    /// The file that it is about.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// As a person reads it.
    pub(super) fn change(&self, cwd: &str) -> FileChange {
        let name = short(&self.path, cwd);
        let new_name = short(self.moved_to.as_deref().unwrap_or(&self.path), cwd);
        let (from, to) = match self.kind {
            FileChangeKind::Add => ("/dev/null".to_owned(), format!("b/{new_name}")),
            FileChangeKind::Delete => (format!("a/{name}"), "/dev/null".to_owned()),
            FileChangeKind::Update => (format!("a/{name}"), format!("b/{new_name}")),
        };
        let hunks = if self.old.len() + self.new.len() > COMPARED_LIMIT {
            replaced(&self.old, &self.new)
        } else {
            let diff = TextDiff::configure()
                .algorithm(similar::Algorithm::Patience)
                .diff_lines(self.old.as_str(), self.new.as_str());
            diff.unified_diff().context_radius(3).to_string()
        };
        FileChange {
            path: self.path.clone(),
            kind: self.kind,
            moved_to: self.moved_to.clone(),
            diff: format!("--- {from}\n+++ {to}\n{hunks}"),
        }
    }
}

/// A path as seen from the work tree.
fn short<'a>(path: &'a str, cwd: &str) -> &'a str {
    let inside = path.strip_prefix(cwd.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path).trim_start_matches('/')
}

/// A hunk in which everything goes and everything comes.
fn replaced(old: &str, new: &str) -> String {
    let span = |text: &str| match text.lines().count() {
        0 => "0,0".to_owned(),
        count => format!("1,{count}"),
    };
    let mut hunk = format!("@@ -{} +{} @@\n", span(old), span(new));
    for (sign, text) in [('-', old), ('+', new)] {
        for line in text.split_inclusive('\n') {
            hunk.push(sign);
            hunk.push_str(line);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            hunk.push_str("\n\\ No newline at end of file\n");
        }
    }
    hunk
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(path: &str, old: Option<&str>, new: &str) -> ToolContent {
        ToolContent {
            kind: "diff".to_owned(),
            path: path.to_owned(),
            old_text: old.map(str::to_owned),
            new_text: new.to_owned(),
            ..ToolContent::default()
        }
    }

    fn diff(path: &str, old: Option<&str>, new: &str, call: &ToolCall) -> FileChange {
        edit_of(&shown(path, old, new), call).change("/w")
    }

    #[test]
    fn every_change_is_a_diff_with_a_header() {
        let call = ToolCall::unknown();
        let cases = [
            ("/w/new.txt", None, "a\nb\n", "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("/w/a.txt", Some("a\nb\n"), "A\nb\n", "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n"),
            (
                "/w/cut.txt",
                Some("a"),
                "b",
                "--- a/cut.txt\n+++ b/cut.txt\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
            ),
            ("/w/empty", None, "", "--- /dev/null\n+++ b/empty\n"),
            ("in.txt", Some("a\n"), "b\n", "--- a/in.txt\n+++ b/in.txt\n@@ -1 +1 @@\n-a\n+b\n"),
            ("/etc/hosts", Some("a\n"), "b\n", "--- a/etc/hosts\n+++ b/etc/hosts\n@@ -1 +1 @@\n-a\n+b\n"),
        ];
        for (path, old, new, expected) in cases {
            assert_eq!(diff(path, old, new, &call).diff, expected, "of {path}");
        }
    }

    #[test]
    fn an_agent_may_say_what_becomes_of_a_file() {
        let changes = json!({"changes": {
            "/w/gone": {"type": "delete"},
            "/w/here": {"type": "update", "move_path": "/w/there"},
        }});
        let call = ToolCall { input: changes, ..ToolCall::unknown() };
        let gone = diff("/w/gone", Some("a\n"), "", &call);
        assert_eq!(gone.kind, FileChangeKind::Delete);
        assert_eq!(gone.diff, "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        let moved = diff("/w/here", Some("a\n"), "b\n", &call);
        assert_eq!(moved.moved_to.as_deref(), Some("/w/there"));
        assert!(moved.diff.starts_with("--- a/here\n+++ b/there\n"));
        let beside = ToolContent { meta: json!({"kind": "add"}), ..shown("/w/new", Some(""), "a\n") };
        let added = edit_of(&beside, &ToolCall::unknown()).change("/w");
        assert_eq!((added.kind, &added.diff[..13]), (FileChangeKind::Add, "--- /dev/null"));
        let deletes = ToolCall { kind: ToolKind::Delete, ..ToolCall::unknown() };
        assert_eq!(diff("/w/x", Some("a\n"), "", &deletes).kind, FileChangeKind::Delete);
        assert_eq!(diff("/w/x", Some("a\n"), "", &ToolCall::unknown()).kind, FileChangeKind::Update);
    }

    #[test]
    fn a_piece_of_what_is_known_is_nothing_new() {
        let call = ToolCall::unknown();
        let mut known = Vec::new();
        assert!(lay_over(&mut known, &[shown("/w/a", Some("a\nb\n"), "A\nb\n")], &call));
        assert!(!lay_over(&mut known, &[shown("/w/a", Some("a"), "A")], &call));
        assert!(!lay_over(&mut known, &[], &call));
        assert!(lay_over(&mut known, &[shown("/w/a", Some("x\n"), "y\n")], &call));
        assert!(lay_over(&mut known, &[shown("/w/b", None, "z\n")], &call));
        assert_eq!(known.len(), 2);
    }

    #[test]
    fn a_huge_change_is_told_without_comparing() {
        let (old, new) = ("a\n".repeat(400_000), "b\n".repeat(400_000));
        let change = diff("/w/big", Some(&old), &new, &ToolCall::unknown());
        assert!(change.diff.starts_with("--- a/big\n+++ b/big\n@@ -1,400000 +1,400000 @@\n-a\n"));
        assert_eq!(change.diff.lines().count(), 800_003);
    }
}
