//! `apply_patch`: changes several files in one text, all or none.
//!
//! ```text
//! *** Begin Patch
//! *** Add File: notes.txt
//! +the first line
//! *** Update File: src/old.rs
//! *** Move to: src/new.rs
//! @@ impl Thing
//!  a line that stays
//! -a line that goes
//! +a line that comes
//! *** Delete File: gone.txt
//! *** End Patch
//! ```
//!
//! How the tool finds the lines of a hunk, in this order, each from the end of the previous hunk:
//!
//! 1. Every `@@ text` names a line that comes before the hunk, or a part of it. Numbers of unified diffs
//!    (`@@ -1,2 +1,3 @@`) are ignored.
//! 2. The lines that stay and go must follow one another in the file. They are compared as they are; then without
//!    blanks at the end of lines; then without blanks at both ends; then with typographic dashes, quotes and blanks as
//!    plain ones. The first place that fits exactly is taken before any that fits loosely.
//! 3. `*** End of File` after a hunk prefers the end of the file. A hunk that only adds goes after its `@@` line, or to
//!    the end of the file without one. An empty line at the end of a hunk may be missing in the file.
//!
//! Unchanged lines stay as the file has them. The file keeps its line ends, also at its last line.

mod fit;
mod parse;

use super::edits::Edits;
use parse::{FilePatch, Patch};

/// The paths that a patch names, and whether it deletes any of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PatchTargets {
    pub(super) paths: Vec<String>,
    pub(super) deletes: bool,
}

/// The files that a patch names. This reads no file.
pub(super) fn named(text: &str) -> Result<PatchTargets, String> {
    let mut named = PatchTargets::default();
    for file in Patch::parse(text)?.files {
        match file {
            FilePatch::Add { path, .. } => named.paths.push(path),
            FilePatch::Delete { path } => {
                named.deletes = true;
                named.paths.push(path);
            }
            FilePatch::Update { path, moved_to, .. } => {
                named.paths.push(path);
                named.paths.extend(moved_to);
            }
        }
    }
    Ok(named)
}

/// Plans the changes of a patch, without making them. The error names every file that does not fit.
pub(super) fn plan(text: &str, edits: &mut Edits) -> Result<(), String> {
    let mut faults = Vec::new();
    for file in Patch::parse(text)?.files {
        let done = match file {
            FilePatch::Add { path, content } => edits.add(&path, content),
            FilePatch::Delete { path } => edits.delete(&path),
            FilePatch::Update { path, moved_to, hunks } => update(edits, &path, moved_to, &hunks),
        };
        faults.extend(done.err());
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("Nothing was changed. The patch does not fit:\n{}", faults.join("\n")))
}

fn update(
    edits: &mut Edits,
    path: &str,
    moved_to: Option<String>,
    hunks: &[parse::Hunk],
) -> Result<(), String> {
    let content = edits.text(path)?;
    let content = fit::apply(&content, hunks).map_err(|fault| format!("{path}: {fault}"))?;
    match moved_to {
        Some(target) => edits.relocate(path, &target, content),
        None => edits.change(path, content),
    }
}
