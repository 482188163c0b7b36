//! Makes parts of unified diffs from what agents report.

use std::fmt::Write;

use longshore_model::item::{FileChange, FileChangeKind};
use similar::TextDiff;

/// The size above which a comparison takes too long: the diff then removes the whole text and adds the whole
/// text.
const COMPARED_LIMIT: usize = 1 << 20;
/// The head of a hunk whose place is unknown. It contains no numbers that a reader could mistake for a place.
const DEFAULT_CWD: &str = "@@ where in the file is not known\n";

/// A path, relative to the work tree.
pub fn short<'a>(path: &'a str, cwd: &str) -> &'a str {
    let inside = path.strip_prefix(cwd.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path).trim_start_matches('/')
}

/// An absolute path. Agents name the same file sometimes by its absolute path and sometimes by its relative
/// path.
pub fn whole(path: &str, cwd: &str) -> String {
    match path.starts_with('/') || cwd.is_empty() {
        true => path.to_owned(),
        false => format!("{}/{}", cwd.trim_end_matches('/'), path.trim_start_matches("./")),
    }
}

/// The change of a file whose text before and after is known; a new file has no text before.
pub fn change(path: &str, cwd: &str, before: Option<&str>, after: &str) -> FileChange {
    let (kind, hunks) = match before {
        None => (FileChangeKind::Add, all_lines('+', after)),
        Some(before) => (FileChangeKind::Update, between(before, after)),
    };
    change_of(path, cwd, kind, &hunks)
}

/// The change of a file, given as hunks.
pub fn change_of(path: &str, cwd: &str, kind: FileChangeKind, hunks: &str) -> FileChange {
    let name = short(path, cwd);
    let diff = match kind {
        FileChangeKind::Add => format!("--- /dev/null\n+++ b/{name}\n{hunks}"),
        FileChangeKind::Update => format!("--- a/{name}\n+++ b/{name}\n{hunks}"),
        FileChangeKind::Delete => format!("--- a/{name}\n+++ /dev/null\n{hunks}"),
    };
    FileChange { path: path.to_owned(), kind, moved_to: None, diff }
}

/// The hunks of a diff, without the lines before them.
pub fn hunks_of(diff: &str) -> &str {
    match diff.starts_with("@@") {
        true => diff,
        false => diff.find("\n@@").map_or("", |at| &diff[at + 1..]),
    }
}

/// The hunks between two whole texts.
pub fn between(before: &str, after: &str) -> String {
    if before.len() + after.len() > COMPARED_LIMIT {
        return replaced(before, after);
    }
    let diff = TextDiff::configure().algorithm(similar::Algorithm::Patience).diff_lines(before, after);
    diff.unified_diff().context_radius(3).to_string()
}

/// A hunk that replaces text at an unknown place.
pub fn somewhere(old: &str, new: &str) -> String {
    if old.is_empty() && new.is_empty() {
        return String::new();
    }
    let mut hunk = DEFAULT_CWD.to_owned();
    for (sign, words) in [('-', old), ('+', new)] {
        for line in words.lines() {
            // Writing to a string cannot fail.
            let _ = writeln!(hunk, "{sign}{line}");
        }
    }
    hunk
}

/// A hunk in which every line is added, or every line is removed.
pub fn all_lines(sign: char, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let count = content.lines().count();
    let head = match sign {
        '+' => format!("@@ -0,0 +1,{count} @@\n"),
        _ => format!("@@ -1,{count} +0,0 @@\n"),
    };
    head + &signed(sign, content)
}

/// A hunk that removes the whole text and adds the whole text.
fn replaced(before: &str, after: &str) -> String {
    let span = |text: &str| match text.lines().count() {
        0 => "0,0".to_owned(),
        count => format!("1,{count}"),
    };
    format!("@@ -{} +{} @@\n{}{}", span(before), span(after), signed('-', before), signed('+', after))
}

fn signed(sign: char, content: &str) -> String {
    let mut lines = String::with_capacity(content.len() + content.len() / 16);
    for line in content.split_inclusive('\n') {
        lines.push(sign);
        lines.push_str(line);
    }
    if !content.is_empty() && !content.ends_with('\n') {
        lines.push_str("\n\\ No newline at end of file\n");
    }
    lines
}
