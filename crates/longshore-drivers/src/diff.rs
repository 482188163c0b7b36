//! Pieces of unified diffs that drivers make of what their agents tell.

use std::fmt::Write;

use longshore_model::item::{FileChange, FileChangeKind};
use similar::TextDiff;

/// Beyond this a diff is not worth its time: the whole text goes and the whole text comes.
const COMPARED_LIMIT: usize = 1 << 20;
/// Heads a hunk of which nobody knows where it stands. A reader that looks for numbers finds none.
const DEFAULT_CWD: &str = "@@ where in the file is not known\n";

/// A path as seen from the work tree.
pub fn short<'a>(path: &'a str, cwd: &str) -> &'a str {
    let inside = path.strip_prefix(cwd.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path).trim_start_matches('/')
}

/// A path as seen from anywhere: agents name the same file now by its whole path, now from the work tree.
pub fn whole(path: &str, cwd: &str) -> String {
    match path.starts_with('/') || cwd.is_empty() {
        true => path.to_owned(),
        false => format!("{}/{}", cwd.trim_end_matches('/'), path.trim_start_matches("./")),
    }
}

/// A change of a file of which the text before and after is known; before it was there, there was none.
pub fn change(path: &str, cwd: &str, before: Option<&str>, after: &str) -> FileChange {
    let (kind, hunks) = match before {
        None => (FileChangeKind::Add, all_lines('+', after)),
        Some(before) => (FileChangeKind::Update, between(before, after)),
    };
    change_of(path, cwd, kind, &hunks)
}

/// A change of a file, in hunks.
pub fn change_of(path: &str, cwd: &str, kind: FileChangeKind, hunks: &str) -> FileChange {
    let name = short(path, cwd);
    let diff = match kind {
        FileChangeKind::Add => format!("--- /dev/null\n+++ b/{name}\n{hunks}"),
        FileChangeKind::Update => format!("--- a/{name}\n+++ b/{name}\n{hunks}"),
        FileChangeKind::Delete => format!("--- a/{name}\n+++ /dev/null\n{hunks}"),
    };
    FileChange { path: path.to_owned(), kind, moved_to: None, diff }
}

/// The hunks between two whole texts.
pub fn between(before: &str, after: &str) -> String {
    if before.len() + after.len() > COMPARED_LIMIT {
        return replaced(before, after);
    }
    let diff = TextDiff::configure().algorithm(similar::Algorithm::Patience).diff_lines(before, after);
    diff.unified_diff().context_radius(3).to_string()
}

/// A hunk that puts words in the place of others, wherever those stand.
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

/// A hunk in which every line is new, or every line is gone.
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

/// A hunk in which everything goes and everything comes.
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
