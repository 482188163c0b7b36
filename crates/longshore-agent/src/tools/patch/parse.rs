//! The grammar of patches.

/// The changes of a patch, file by file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) files: Vec<FilePatch>,
}

/// The change of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FilePatch {
    Add { path: String, content: String },
    Delete { path: String },
    Update { path: String, moved_to: Option<String>, hunks: Vec<Hunk> },
}

/// A change at one place of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The hunk's first line in the patch, from 1.
    pub(super) at: usize,
    /// Lines of the file that come before the hunk.
    pub(super) anchors: Vec<String>,
    pub(super) lines: Vec<HunkLine>,
    /// Whether the hunk is at the end of the file.
    pub(super) at_end: bool,
}

/// A line of a hunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    Keep(String),
    Remove(String),
    Add(String),
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

impl Patch {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let all: Vec<&str> = text.lines().collect();
        // Models put patches into here-documents of a shell or into code blocks of Markdown.
        let first = all.iter().position(|line| line.trim() == BEGIN);
        let first = first.ok_or_else(|| format!("the patch must begin with the line `{BEGIN}`"))?;
        if let Some(line) = all.iter().take(first).find(|line| !is_wrapping(line)) {
            return Err(format!("the patch must begin with the line `{BEGIN}`, not with `{line}`"));
        }
        let last = all.iter().rposition(|line| line.trim() == END).filter(|last| *last > first);
        let last = last.ok_or_else(|| format!("the patch must end with the line `{END}`"))?;
        let mut lines = Lines { all: all.get(..last).unwrap_or_default(), next: first + 1 };
        let mut files = Vec::new();
        while let Some(line) = lines.take() {
            if line.trim().is_empty() {
                continue;
            }
            files.push(lines.file(line)?);
        }
        match files.is_empty() {
            true => Err("the patch changes no file".to_owned()),
            false => Ok(Self { files }),
        }
    }
}

fn is_wrapping(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.contains("<<") || line.starts_with("```")
}

struct Lines<'a> {
    all: &'a [&'a str],
    next: usize,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.all.get(self.next).copied()
    }

    fn take(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.next += 1;
        Some(line)
    }

    /// The change of the file that this line names.
    fn file(&mut self, line: &str) -> Result<FilePatch, String> {
        let head = line.trim();
        let path = |prefix: &str| head.strip_prefix(prefix).map(|path| path.trim().to_owned());
        if let Some(path) = path(ADD) {
            Ok(FilePatch::Add { path, content: self.added()? })
        } else if let Some(path) = path(DELETE) {
            Ok(FilePatch::Delete { path })
        } else if let Some(path) = path(UPDATE) {
            self.update(path)
        } else {
            Err(format!(
                "line {} of the patch must name a file (`{}`, `{}` or `{}`), not `{line}`",
                self.next,
                ADD.trim_end(),
                UPDATE.trim_end(),
                DELETE.trim_end()
            ))
        }
    }

    fn added(&mut self) -> Result<String, String> {
        let mut content = String::new();
        while let Some(line) = self.peek().filter(|line| !line.starts_with("*** ")) {
            self.next += 1;
            match line.strip_prefix('+') {
                Some(line) => {
                    content.push_str(line);
                    content.push('\n');
                }
                None if line.trim().is_empty() => {}
                None => {
                    return Err(format!(
                        "line {} of the patch is in a new file and must begin with `+`: `{line}`",
                        self.next
                    ));
                }
            }
        }
        Ok(content)
    }

    fn update(&mut self, path: String) -> Result<FilePatch, String> {
        let moved_to = self.peek().and_then(|line| line.trim().strip_prefix(MOVE));
        let moved_to = moved_to.map(|target| target.trim().to_owned());
        if moved_to.is_some() {
            self.next += 1;
        }
        let mut hunks = Vec::new();
        while let Some(line) = self.peek().filter(|line| !is_head(line)) {
            if line.trim().is_empty() && hunks.is_empty() {
                self.next += 1;
                continue;
            }
            hunks.push(self.hunk()?);
        }
        hunks.retain(|hunk: &Hunk| !hunk.lines.is_empty());
        if hunks.is_empty() && moved_to.is_none() {
            return Err(format!("the patch names {path} but changes nothing in it"));
        }
        Ok(FilePatch::Update { path, moved_to, hunks })
    }

    fn hunk(&mut self) -> Result<Hunk, String> {
        let mut hunk = Hunk { at: self.next + 1, ..Hunk::default() };
        while let Some(anchor) = self.peek().and_then(|line| line.strip_prefix("@@")) {
            self.next += 1;
            hunk.anchors.extend(anchor_of(anchor));
        }
        while let Some(line) = self.peek().filter(|line| !is_head(line) && !line.starts_with("@@")) {
            self.next += 1;
            if line.trim() == END_OF_FILE {
                hunk.at_end = true;
                break;
            }
            hunk.lines.push(match (line.chars().next(), line.get(1..)) {
                (Some(' '), Some(rest)) => HunkLine::Keep(rest.to_owned()),
                (Some('-'), Some(rest)) => HunkLine::Remove(rest.to_owned()),
                (Some('+'), Some(rest)) => HunkLine::Add(rest.to_owned()),
                // Models lose the blank before an empty line.
                (None, _) => HunkLine::Keep(String::new()),
                (Some(_), _) => {
                    return Err(format!(
                        "line {} of the patch must begin with a blank, `+`, `-` or `@@`: `{line}`",
                        self.next
                    ));
                }
            });
        }
        Ok(hunk)
    }
}

fn is_head(line: &str) -> bool {
    let line = line.trim_end();
    [ADD, DELETE, UPDATE].iter().any(|head| line.starts_with(head.trim_end()))
}

/// The text after `@@`, without the numbers of a unified diff.
fn anchor_of(text: &str) -> Option<String> {
    let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
    let named = match text.starts_with('-').then(|| text.split_once(" @@")).flatten() {
        Some((numbers, rest)) if numbers.chars().all(|c| c.is_ascii_digit() || "-+, ".contains(c)) => {
            rest.trim()
        }
        Some(_) | None => text,
    };
    (!named.trim().is_empty()).then(|| named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> Vec<FilePatch> {
        Patch::parse(&format!("*** Begin Patch\n{body}\n*** End Patch")).unwrap().files
    }

    #[test]
    fn every_part_of_the_grammar_is_read() {
        let files = parsed(
            "*** Add File: a.txt\n+one\n+\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: d.txt\n\
             @@ fn x\n@@  y\n stays\n-goes\n+comes\n\n*** End of File",
        );
        let text = |text: &str| text.to_owned();
        let hunk = Hunk {
            at: 8,
            anchors: vec![text("fn x"), text(" y")],
            lines: vec![
                HunkLine::Keep(text("stays")),
                HunkLine::Remove(text("goes")),
                HunkLine::Add(text("comes")),
                HunkLine::Keep(String::new()),
            ],
            at_end: true,
        };
        assert_eq!(
            files,
            [
                FilePatch::Add { path: text("a.txt"), content: text("one\n\n") },
                FilePatch::Delete { path: text("b.txt") },
                FilePatch::Update { path: text("c.txt"), moved_to: Some(text("d.txt")), hunks: vec![hunk] },
            ]
        );
    }

    #[test]
    fn the_first_hunk_needs_no_mark_and_numbers_are_no_anchors() {
        let body = "*** Update File: a\n-x\n+y\n@@ -1,2 +3,4 @@ fn z()\n-p\n@@ -9 +9 @@\n-q";
        let files = parsed(body);
        let [FilePatch::Update { hunks, .. }] = files.as_slice() else { panic!("{files:?}") };
        let anchors: Vec<_> = hunks.iter().map(|hunk| hunk.anchors.clone()).collect();
        assert_eq!(anchors, [vec![], vec!["fn z()".to_owned()], vec![]]);
    }

    #[test]
    fn wrappings_of_models_are_taken_off() {
        for (before, after) in
            [("```diff\n", "\n```"), ("apply_patch <<'EOF'\n", "\nEOF\n"), ("\n\n", "\n\n")]
        {
            let text = format!("{before}*** Begin Patch\n*** Delete File: a\n*** End Patch{after}");
            assert!(Patch::parse(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn faults_say_where_and_what() {
        for (text, fault) in [
            ("--- a\n+++ b\n", "must begin with the line `*** Begin Patch`"),
            ("*** Begin Patch\n*** Delete File: a\n", "must end with the line `*** End Patch`"),
            ("*** Begin Patch\n*** End Patch", "changes no file"),
            ("*** Begin Patch\nhello\n*** End Patch", "line 2 of the patch must name a file"),
            ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3 of the patch is in a new file"),
            ("*** Begin Patch\n*** Update File: a\n*x\n*** End Patch", "line 3 of the patch must begin with"),
            ("*** Begin Patch\n*** Update File: a\n*** End Patch", "changes nothing in it"),
        ] {
            let told = Patch::parse(text).unwrap_err();
            assert!(told.contains(fault), "{text:?}: {told}");
        }
    }
}
