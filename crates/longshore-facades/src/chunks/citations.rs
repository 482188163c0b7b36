//! The files that a turn has read or changed: what the protocol calls citations.

use std::sync::Arc;

use longshore_model::item::{FileChange, ToolCall, ToolKind, ToolStatus};
use longshore_model::timeline::{Content, Item};

/// How many files a turn names. Every object of the stream repeats them.
pub(super) const CITED: usize = 100;

/// The members under which agents name the file of a call.
const PATHS: &[&str] =
    &["path", "file_path", "filePath", "absolute_path", "filename", "file", "notebook_path"];

/// The files of one turn, in the order of their first mention.
#[derive(Debug, Default)]
pub(super) struct Citations {
    files: Arc<Vec<String>>,
}

impl Citations {
    /// The files so far.
    pub(super) fn files(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.files)
    }

    /// Adds the files of an item that has ended well.
    pub(super) fn add(&mut self, item: &Item, cwd: &str) {
        match &item.content {
            Content::Tool { call, outcome, changes } => {
                if outcome.as_ref().is_some_and(|outcome| outcome.status == ToolStatus::Completed) {
                    self.add_all(path_of(call), cwd);
                    self.add_all(changed(changes), cwd);
                }
            }
            Content::Diff { status: ToolStatus::Completed, changes } => self.add_all(changed(changes), cwd),
            Content::Diff { .. }
            | Content::UserMessage { .. }
            | Content::Message { .. }
            | Content::Reasoning { .. }
            | Content::Plan { .. }
            | Content::TurnDiff
            | Content::Approval { .. }
            | Content::Question { .. }
            | Content::Delegation { .. }
            | Content::TurnEnd(_)
            | Content::Notice { .. } => {}
        }
    }

    fn add_all<'a>(&mut self, paths: impl IntoIterator<Item = &'a str>, cwd: &str) {
        for path in paths {
            let path = below(path, cwd);
            if !path.is_empty() && !self.files.iter().any(|known| known == path) && self.files.len() < CITED {
                Arc::make_mut(&mut self.files).push(path.to_owned());
            }
        }
    }
}

fn changed(changes: &[FileChange]) -> impl Iterator<Item = &str> {
    changes.iter().map(|change| change.moved_to.as_deref().unwrap_or(&change.path))
}

/// The file that a call is about.
fn path_of(call: &ToolCall) -> Option<&str> {
    match call.kind {
        ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            PATHS.iter().find_map(|name| call.input.get(name)?.as_str())
        }
        ToolKind::Execute
        | ToolKind::Search
        | ToolKind::Fetch
        | ToolKind::Think
        | ToolKind::Delegate
        | ToolKind::Other => None,
    }
}

/// A path without the work tree before it.
fn below<'a>(path: &'a str, cwd: &str) -> &'a str {
    let inside = path.strip_prefix(cwd.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path)
}
