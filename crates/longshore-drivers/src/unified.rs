//! Pieces of unified diffs that drivers make of what their agents tell.

use std::fmt::Write;

/// A path as seen from the work tree.
pub(crate) fn short<'a>(path: &'a str, cwd: &str) -> &'a str {
    let inside = path.strip_prefix(cwd.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path).trim_start_matches('/')
}

/// A hunk in which every line is new, or every line is gone.
pub(crate) fn all_lines(sign: char, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let count = content.lines().count();
    let mut hunk = match sign {
        '+' => format!("@@ -0,0 +1,{count} @@\n"),
        _ => format!("@@ -1,{count} +0,0 @@\n"),
    };
    for line in content.split_inclusive('\n') {
        // Writing to a string cannot fail.
        let _ = write!(hunk, "{sign}{line}");
    }
    if !content.ends_with('\n') {
        hunk.push_str("\n\\ No newline at end of file\n");
    }
    hunk
}
