//! File changes in colour: a heading per file with its counts, line numbers, long ones folded.

use longshore_model::item::{FileChange, FileChangeKind};

use super::clean::{clean, untab};
use super::human::plural;
use super::line::InkLine;
use super::style::{Ink, Style, ink};
use super::wrap::{behind, chop};

/// How many lines of a diff are shown before it is folded.
pub(super) const FOLD: usize = 60;

/// One line of a patch.
#[derive(Clone, Debug, PartialEq)]
enum PatchLine {
    Kept(Option<usize>, String),
    Added(Option<usize>, String),
    Removed(Option<usize>, String),
    /// Lines between two hunks are left out.
    Skip,
}

/// How many lines come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) files: usize,
    pub(super) added: usize,
    pub(super) removed: usize,
}

/// The name of what happens to a file, for the head of its card.
pub(super) fn verb(change: &FileChange) -> &'static str {
    match change.kind {
        FileChangeKind::Update if change.moved_to.is_some() => "Move",
        FileChangeKind::Add => "Create",
        FileChangeKind::Update => "Edit",
        FileChangeKind::Delete => "Delete",
    }
}

/// The file and its counts: `src/lib.rs  +3 -1`.
pub(super) fn title(change: &FileChange, style: &Style) -> InkLine {
    let mut line = InkLine::of(&clean(&change.path), ink::BOLD);
    if let Some(target) = &change.moved_to {
        line.push(&format!(" {} ", style.signs().arrow), ink::DIM);
        line.push(&clean(target), ink::BOLD);
    }
    line.append(counts_of(&rows(change, &change.diff)).line());
    line
}

/// The changes of one or more files, at most `fold` lines of them. `head` draws the heading of a file.
pub(super) fn lines(
    changes: &[FileChange],
    fold: usize,
    hint: &str,
    style: &Style,
    mut head: impl FnMut(&FileChange) -> Vec<InkLine>,
) -> Vec<InkLine> {
    let mut left = fold;
    let mut lines = Vec::new();
    for change in changes {
        lines.extend(head(change));
        let rows = rows(change, &clean(&change.diff));
        let shown = left.min(rows.len());
        lines.extend(rows.iter().take(shown).flat_map(|row| row_lines(row, number_width(&rows), style)));
        left -= shown;
        let folded = rows.len() - shown;
        if folded > 0 {
            let more = format!("  {} {}{hint}", style.signs().more, plural(folded, "more line"));
            lines.push(InkLine::of(&more, ink::DIM));
        }
    }
    lines
}

/// Whether nothing of it is folded.
pub(super) fn fits(changes: &[FileChange]) -> bool {
    changes.iter().map(|change| rows(change, &change.diff).len()).sum::<usize>() <= FOLD
}

/// What a whole unified diff comes to.
pub(super) fn count(diff: &str) -> Counts {
    let mut counts = counts_of(&unified(diff));
    counts.files = diff.lines().filter(|line| line.starts_with("diff --git ")).count();
    counts
}

impl Counts {
    /// `  +3 -1`, or nothing.
    fn line(self) -> InkLine {
        let mut line = InkLine::default();
        if self.added > 0 {
            line.push(&format!("  +{}", self.added), ink::GOOD);
        }
        if self.removed > 0 {
            line.push(if self.added > 0 { " " } else { "  " }, ink::PLAIN);
            line.push(&format!("-{}", self.removed), ink::BAD);
        }
        line
    }
}

fn counts_of(rows: &[PatchLine]) -> Counts {
    let added = rows.iter().filter(|row| matches!(row, PatchLine::Added(..))).count();
    let removed = rows.iter().filter(|row| matches!(row, PatchLine::Removed(..))).count();
    Counts { files: 1, added, removed }
}

fn number_width(rows: &[PatchLine]) -> usize {
    let number = |row: &PatchLine| match row {
        PatchLine::Kept(number, _) | PatchLine::Added(number, _) | PatchLine::Removed(number, _) => *number,
        PatchLine::Skip => None,
    };
    rows.iter().filter_map(number).max().map_or(0, |number| number.to_string().len())
}

fn row_lines(row: &PatchLine, number_width: usize, style: &Style) -> Vec<InkLine> {
    let (number, sign, text, ink): (&Option<usize>, &str, &str, Ink) = match row {
        PatchLine::Kept(number, text) => (number, " ", text, ink::PLAIN),
        PatchLine::Added(number, text) => (number, "+", text, ink::GOOD),
        PatchLine::Removed(number, text) => (number, "-", text, ink::BAD),
        PatchLine::Skip => (&None, style.signs().more, "", ink::DIM),
    };
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    let gap = if number_width > 0 { " " } else { "" };
    let first =
        InkLine::of(&format!("  {number:>number_width$}{gap}"), ink::DIM).with(&format!("{sign} "), ink);
    let rest = InkLine::of(&" ".repeat(first.width()), ink::PLAIN);
    let code = InkLine::of(&untab(text, 4), ink);
    behind(chop(&code, style.columns().saturating_sub(first.width())), &first, &rest)
}

/// Agents send the content of a file that comes or goes, or a diff of it; both are understood.
fn rows(change: &FileChange, diff: &str) -> Vec<PatchLine> {
    let has_hunks = diff.lines().any(|line| line.starts_with("@@"));
    let whole = |row: fn(Option<usize>, String) -> PatchLine| {
        diff.lines().enumerate().map(|(index, line)| row(Some(index + 1), line.to_owned())).collect()
    };
    match change.kind {
        FileChangeKind::Add if !has_hunks => whole(PatchLine::Added),
        FileChangeKind::Delete if !has_hunks => whole(PatchLine::Removed),
        FileChangeKind::Add | FileChangeKind::Delete | FileChangeKind::Update => unified(diff),
    }
}

/// How much of a hunk is still to come, and where it stands.
#[derive(Default)]
struct Hunk {
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
    counted: bool,
}

fn unified(diff: &str) -> Vec<PatchLine> {
    let mut rows = Vec::new();
    let mut hunk = Hunk::default();
    for line in diff.lines() {
        // No line of a hunk begins so, whatever its head promised.
        if line.starts_with("@@") {
            if !rows.is_empty() {
                rows.push(PatchLine::Skip);
            }
            hunk = Hunk::of(line).unwrap_or_default();
            continue;
        }
        let inside = hunk.counted && hunk.old_left + hunk.new_left > 0 && !line.starts_with("diff --git ");
        if (inside || !is_header(line)) && !line.starts_with('\\') {
            rows.push(hunk.row(line));
        }
    }
    rows
}

impl Hunk {
    /// From `@@ -12,3 +12,4 @@`.
    fn of(line: &str) -> Option<Hunk> {
        let range = |word: &str, sign: char| -> Option<(usize, usize)> {
            let range = word.strip_prefix(sign)?;
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        let mut words = line.split(' ').skip(1);
        let (old, old_left) = range(words.next()?, '-')?;
        let (new, new_left) = range(words.next()?, '+')?;
        Some(Hunk { old, new, old_left, new_left, counted: true })
    }

    fn row(&mut self, line: &str) -> PatchLine {
        let (sign, text) = match line.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => (sign, &line[1..]),
            // An empty line of context has lost its space on the way.
            _ => (' ', line),
        };
        let text = text.to_owned();
        let (old, new) = (self.counted.then_some(self.old), self.counted.then_some(self.new));
        if sign != '+' {
            self.old = self.old.saturating_add(1);
            self.old_left = self.old_left.saturating_sub(1);
        }
        if sign != '-' {
            self.new = self.new.saturating_add(1);
            self.new_left = self.new_left.saturating_sub(1);
        }
        match sign {
            '+' => PatchLine::Added(new, text),
            '-' => PatchLine::Removed(old, text),
            _ => PatchLine::Kept(new, text),
        }
    }
}

fn is_header(line: &str) -> bool {
    const HEADERS: [&str; 12] = [
        "diff --git ",
        "index ",
        "--- ",
        "+++ ",
        "new file mode ",
        "deleted file mode ",
        "old mode ",
        "new mode ",
        "similarity index ",
        "rename from ",
        "rename to ",
        "Binary files ",
    ];
    line.is_empty() || HEADERS.iter().any(|header| line.starts_with(header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::line::print;

    fn change(kind: FileChangeKind, diff: &str) -> FileChange {
        FileChange { path: "src/a.rs".to_owned(), kind, moved_to: None, diff: diff.to_owned() }
    }

    fn shown(changes: &[FileChange], fold: usize) -> String {
        let style = Style { width: 40, ..Style::default() };
        let lines = lines(changes, fold, " (hint)", &style, |change| vec![title(change, &style)]);
        print(&lines, &style)
    }

    #[test]
    fn hunks_have_line_numbers_and_counts() {
        let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -9,3 +9,3 @@ fn x\n a\n--- b\n+++ c\n d\n@@ -40 +40,2 @@\n e\n+f\n\\ No newline at end of file\n";
        assert_eq!(
            shown(&[change(FileChangeKind::Update, diff)], 60),
            "src/a.rs  +2 -1\n   9   a\n  10 - -- b\n  10 + ++ c\n  11   d\n     …\n  40   e\n  41 + f\n"
        );
    }

    #[test]
    fn content_without_hunks_is_all_new_or_all_gone() {
        assert_eq!(
            shown(&[change(FileChangeKind::Add, "a\n\n@b\n")], 60),
            "src/a.rs  +3\n  1 + a\n  2 +\n  3 + @b\n"
        );
        assert_eq!(shown(&[change(FileChangeKind::Delete, "-a\n")], 60), "src/a.rs  -1\n  1 - -a\n");
    }

    #[test]
    fn a_hunk_that_says_not_where_has_no_numbers() {
        assert_eq!(
            shown(&[change(FileChangeKind::Update, "@@ fn x\n a\n-b\n+c")], 60),
            "src/a.rs  +1 -1\n    a\n  - b\n  + c\n"
        );
    }

    #[test]
    fn long_diffs_are_folded_and_every_file_is_named() {
        let long = "x\n".repeat(9);
        let text = shown(&[change(FileChangeKind::Add, &long), change(FileChangeKind::Add, "y")], 2);
        assert_eq!(
            text,
            "src/a.rs  +9\n  1 + x\n  2 + x\n  … 7 more lines (hint)\nsrc/a.rs  +1\n  … 1 more line (hint)\n"
        );
    }

    #[test]
    fn long_lines_go_on_under_themselves() {
        let wide = format!("@@ -1 +1 @@\n+{}", "漢".repeat(20));
        assert_eq!(
            shown(&[change(FileChangeKind::Update, &wide)], 60),
            format!("src/a.rs  +1\n  1 + {}\n      {}\n", "漢".repeat(17), "漢".repeat(3))
        );
    }

    #[test]
    fn a_turn_is_counted() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+c\n";
        assert_eq!(count(diff), Counts { files: 2, added: 2, removed: 1 });
    }
}
