//! Changes of files, as unified diffs with their headers. The protocol gives a text before and after. Some
//! agents give the whole file. Others give only the changed words, so the driver needs the file to find their
//! place.

use longshore_model::item::{FileChange, FileChangeKind, ToolCall, ToolKind};
use serde_json::Value;

use crate::acp::wire::ToolContent;
use crate::claude::translate::diffs::patched;
use crate::kit::diff::{all_lines, between, hunks_of, short, somewhere, whole};
use crate::kit::edits::whole_of;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The absolute path.
    path: String,
    kind: FileChangeKind,
    moved_to: Option<String>,
    old: String,
    new: String,
    /// Whether the words may occur in several places and change in all of them.
    all: bool,
    /// Whether the texts are only a part of the file, according to the arguments or the file itself.
    piece: bool,
    standing: EditPosition,
}

/// What the driver knows about the place of a change in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EditPosition {
    /// Nothing yet: the texts may be the whole file or a part of it.
    Unknown,
    /// The texts are the whole file.
    Whole,
    /// The agent reported the change line by line.
    Told(String),
}

/// Merges the diffs that a call shows into the known edits. Returns whether anything is new.
pub(super) fn lay_over(
    known: &mut Vec<Edit>,
    content: &[ToolContent],
    meta: &Value,
    call: &ToolCall,
    cwd: &str,
) -> bool {
    let mut changed = false;
    for shown in content.iter().filter(|shown| shown.kind == "diff") {
        let edit = edit_of(shown, meta, call, cwd);
        match known.iter_mut().find(|known| known.path == edit.path) {
            // Some agents show the whole file when they ask for permission, and only a part of it when they
            // are done.
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

fn edit_of(shown: &ToolContent, meta: &Value, call: &ToolCall, cwd: &str) -> Edit {
    // One agent describes the change of each file in its arguments, another one beside the diff.
    let told = &call.input["changes"][shown.path.as_str()];
    let kind = match (told["type"].as_str().or_else(|| shown.meta["kind"].as_str()), &shown.old_text) {
        (Some("delete"), _) => FileChangeKind::Delete,
        (Some("add"), _) | (_, None) => FileChangeKind::Add,
        (_, Some(_)) if call.kind == ToolKind::Delete && shown.new_text.is_empty() => FileChangeKind::Delete,
        (_, Some(_)) => FileChangeKind::Update,
    };
    let path = whole(&shown.path, cwd);
    let response = &meta["claudeCode"]["toolResponse"];
    let of_it = response["filePath"].as_str().is_some_and(|of| whole(of, cwd) == path);
    let lines = of_it.then(|| patched(response, &path, cwd)).flatten().flatten();
    let standing = match (lines, kind) {
        (Some(lines), FileChangeKind::Update) => EditPosition::Told(hunks_of(&lines.diff).to_owned()),
        // A deletion removes the whole file.
        (_, FileChangeKind::Delete) => EditPosition::Whole,
        (_, FileChangeKind::Add | FileChangeKind::Update) => EditPosition::Unknown,
    };
    Edit {
        path,
        kind,
        moved_to: told["move_path"].as_str().map(str::to_owned),
        old: shown.old_text.clone().unwrap_or_default(),
        new: shown.new_text.clone(),
        all: call.input["replace_all"].as_bool().unwrap_or(false),
        piece: is_piece(shown, &call.input),
        standing,
    }
}

/// Whether a diff shows exactly the words of the arguments.
fn is_piece(shown: &ToolContent, input: &Value) -> bool {
    let words =
        |edit: &Value| edit["old_string"].as_str().is_some_and(|old| Some(old) == shown.old_text.as_deref());
    words(input) || input["edits"].as_array().into_iter().flatten().any(words)
}

impl Edit {
    /// The path of the file.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the driver needs the file to find the place.
    pub(super) fn is_unplaced(&self) -> bool {
        self.standing == EditPosition::Unknown
    }

    /// Whether this is a part of a file at an unknown place.
    pub(super) fn is_stray(&self) -> bool {
        self.piece && self.is_unplaced()
    }

    /// Finds the place of the change in the file. `file` is the file before the change; none if it does not
    /// exist.
    pub(super) fn place(&mut self, file: Option<&str>) {
        match (self.kind, file) {
            (FileChangeKind::Add, None) => self.standing = EditPosition::Whole,
            // A new file that already exists replaces the old file.
            (FileChangeKind::Add, Some(text)) => {
                self.kind = FileChangeKind::Update;
                text.clone_into(&mut self.old);
                self.standing = EditPosition::Whole;
            }
            (FileChangeKind::Update, Some(text)) if text == self.old => self.standing = EditPosition::Whole,
            (FileChangeKind::Update, Some(text)) => {
                self.piece = true;
                if let Some((before, after)) = whole_of(&self.old, &self.new, self.all, text) {
                    (self.old, self.new) = (before.into_owned(), after);
                    self.standing = EditPosition::Whole;
                }
            }
            (FileChangeKind::Update, None) | (FileChangeKind::Delete, _) => {}
        }
    }

    /// The change as a diff for people.
    pub(super) fn change(&self, cwd: &str) -> FileChange {
        let name = short(&self.path, cwd);
        let new_name = short(self.moved_to.as_deref().unwrap_or(&self.path), cwd);
        let (from, to) = match self.kind {
            FileChangeKind::Add => ("/dev/null".to_owned(), format!("b/{new_name}")),
            FileChangeKind::Delete => (format!("a/{name}"), "/dev/null".to_owned()),
            FileChangeKind::Update => (format!("a/{name}"), format!("b/{new_name}")),
        };
        let hunks = match (&self.standing, self.kind) {
            (EditPosition::Told(hunks), _) => hunks.clone(),
            (_, FileChangeKind::Add) => all_lines('+', &self.new),
            (EditPosition::Unknown, FileChangeKind::Update) if self.is_stray() => {
                somewhere(&self.old, &self.new)
            }
            (_, FileChangeKind::Update | FileChangeKind::Delete) => between(&self.old, &self.new),
        };
        FileChange {
            path: self.path.clone(),
            kind: self.kind,
            moved_to: self.moved_to.clone(),
            diff: format!("--- {from}\n+++ {to}\n{hunks}"),
        }
    }
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

    fn edit(path: &str, old: Option<&str>, new: &str, call: &ToolCall) -> Edit {
        edit_of(&shown(path, old, new), &Value::Null, call, "/w")
    }

    fn diff(path: &str, old: Option<&str>, new: &str, call: &ToolCall) -> FileChange {
        edit(path, old, new, call).change("/w")
    }

    fn laid(known: &mut Vec<Edit>, shown: &[ToolContent]) -> bool {
        lay_over(known, shown, &Value::Null, &ToolCall::unknown(), "/w")
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
    fn a_piece_of_a_file_is_shown_where_it_stands() {
        let call = ToolCall::unknown();
        let mut piece = edit("a.txt", Some("two"), "2", &call);
        assert!(piece.is_unplaced());
        piece.place(Some("one\ntwo\n"));
        let made = piece.change("/w");
        assert_eq!((made.path.as_str(), piece.is_unplaced()), ("/w/a.txt", false));
        assert_eq!(made.diff, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
        let mut stray = edit("a.txt", Some("two"), "2", &call);
        stray.place(Some("two, two\n"));
        assert!(stray.change("/w").diff.contains("@@ where"), "{stray:?}");
        let words = ToolCall { input: json!({"old_string": "two\n", "new_string": "2\n"}), ..call.clone() };
        assert!(diff("a.txt", Some("two\n"), "2\n", &words).diff.contains("@@ where"));
        // An agent may report an existing file as new.
        let mut written = edit("a.txt", None, "b\n", &call);
        written.place(Some("a\n"));
        let made = written.change("/w");
        assert_eq!((made.kind, made.diff.contains("-a\n+b\n")), (FileChangeKind::Update, true));
    }

    #[test]
    fn lines_that_the_agent_numbered_keep_their_numbers() {
        let patch =
            json!([{"oldStart": 41, "oldLines": 1, "newStart": 41, "newLines": 1, "lines": ["-a", "+b"]}]);
        let meta = json!({"claudeCode": {"toolResponse": {"filePath": "a.txt", "structuredPatch": patch}}});
        let edit = edit_of(&shown("/w/a.txt", Some("a"), "b"), &meta, &ToolCall::unknown(), "/w");
        assert_eq!(edit.change("/w").diff, "--- a/a.txt\n+++ b/a.txt\n@@ -41,1 +41,1 @@\n-a\n+b\n");
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
        let added = edit_of(&beside, &Value::Null, &ToolCall::unknown(), "/w").change("/w");
        assert_eq!((added.kind, &added.diff[..13]), (FileChangeKind::Add, "--- /dev/null"));
        let deletes = ToolCall { kind: ToolKind::Delete, ..ToolCall::unknown() };
        assert_eq!(diff("/w/x", Some("a\n"), "", &deletes).kind, FileChangeKind::Delete);
        assert_eq!(diff("/w/x", Some("a\n"), "", &ToolCall::unknown()).kind, FileChangeKind::Update);
    }

    #[test]
    fn a_piece_of_what_is_known_is_nothing_new() {
        let mut known = Vec::new();
        assert!(laid(&mut known, &[shown("/w/a", Some("a\nb\n"), "A\nb\n")]));
        assert!(!laid(&mut known, &[shown("/w/a", Some("a"), "A")]));
        // The same file, with its path relative to the work tree.
        assert!(!laid(&mut known, &[shown("a", Some("a\nb\n"), "A\nb\n")]));
        assert!(!laid(&mut known, &[]));
        assert!(laid(&mut known, &[shown("/w/a", Some("x\n"), "y\n")]));
        assert!(laid(&mut known, &[shown("/w/b", None, "z\n")]));
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
