//! The changes of a turn as one unified diff, for agents that report each change by itself.

use longshore_model::item::{FileChange, FileChangeKind, ToolStatus};
use longshore_model::timeline::{Content, Item, ItemChange};

/// Whether a change of an item may change the diff of its turn.
pub(super) fn changed(change: &ItemChange<'_>) -> bool {
    change.grew.is_none() && !made(change.item).is_empty() || matches!(change.item.content, Content::TurnDiff)
}

/// The changes that an item has made to files.
fn made(item: &Item) -> &[FileChange] {
    match &item.content {
        Content::Tool { outcome: Some(outcome), changes, .. } if outcome.status == ToolStatus::Completed => {
            changes
        }
        Content::Diff { status: ToolStatus::Completed, changes } => changes,
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::Tool { .. }
        | Content::Diff { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::Delegation { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => &[],
    }
}

/// The diff of a turn with these items: the agent's own if it is one of git, or else that of all changes one after the
/// other.
pub(super) fn of_turn<'a>(items: impl Iterator<Item = &'a Item>, home: &str) -> String {
    let (mut all, mut own) = (String::new(), None);
    for item in items {
        if matches!(item.content, Content::TurnDiff) {
            own = Some(item.text.as_str());
        }
        made(item).iter().for_each(|change| all.push_str(&of_file(change, home)));
    }
    match own {
        Some(own) if own.starts_with("diff --git ") || all.is_empty() => own.to_owned(),
        Some(_) | None => all,
    }
}

/// A change with the head that git gives it.
fn of_file(change: &FileChange, home: &str) -> String {
    let within = |path: &str| {
        let path = path.strip_prefix(home).unwrap_or(path).trim_start_matches('/');
        path.to_owned()
    };
    let (old, new) = (within(&change.path), within(change.moved_to.as_deref().unwrap_or(&change.path)));
    let head = match change.kind {
        FileChangeKind::Add => format!("new file mode 100644\n--- /dev/null\n+++ b/{new}\n"),
        FileChangeKind::Delete => format!("deleted file mode 100644\n--- a/{old}\n+++ /dev/null\n"),
        FileChangeKind::Update if old != new => {
            format!("rename from {old}\nrename to {new}\n--- a/{old}\n+++ b/{new}\n")
        }
        FileChangeKind::Update => format!("--- a/{old}\n+++ b/{new}\n"),
    };
    let hunks = match change.diff.starts_with("@@") {
        true => change.diff.as_str(),
        false => change.diff.find("\n@@").map_or(change.diff.as_str(), |at| &change.diff[at + 1..]),
    };
    let end = if hunks.is_empty() || hunks.ends_with('\n') { "" } else { "\n" };
    format!("diff --git a/{old} b/{new}\n{head}{hunks}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_gets_the_head_that_git_gives_it() {
        let change = |path: &str, kind, diff: &str| FileChange {
            path: path.to_owned(),
            kind,
            moved_to: None,
            diff: diff.to_owned(),
        };
        let update = change("/w/a.rs", FileChangeKind::Update, "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b");
        assert_eq!(
            of_file(&update, "/w"),
            "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b\n"
        );
        let add = change("/w/new", FileChangeKind::Add, "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(
            of_file(&add, "/w"),
            "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
        );
        let moved =
            FileChange { moved_to: Some("/w/b".to_owned()), ..change("/w/a", FileChangeKind::Update, "") };
        assert!(of_file(&moved, "/w").contains("rename from a\nrename to b\n"));
    }
}
