//! Edits that an agent reports only as old and new text. Together with the file they give the real change,
//! with its lines and line numbers.

use std::borrow::Cow;

use longshore_model::item::{FileChange, FileChangeKind};

use crate::kit::diff::{change, change_of, somewhere};

/// How long reading a file may take. After that, the change is shown as the agent reported it.
pub(crate) const READ_WITHIN_MS: i64 = 5_000;

/// A replacement of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) old: String,
    pub(crate) new: String,
    /// Whether to replace every occurrence, not only one.
    pub(crate) all: bool,
}

/// The change that an agent wants to make to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileEdit {
    /// Replace the whole content.
    Write(String),
    /// Replace parts of the content, one after the other.
    Replace(Vec<Replacement>),
}

/// What the driver knows about a file before the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before<'a> {
    /// The content.
    Text(&'a str),
    /// The file does not exist.
    Missing,
    /// The file could not be read. `there` says whether the file probably exists.
    Unread { there: bool },
}

impl FileEdit {
    /// The change in the form in which a person should see it before the agent makes it.
    pub(crate) fn change(&self, path: &str, cwd: &str, before: Before<'_>) -> FileChange {
        match (self, before) {
            (FileEdit::Write(content), Before::Text(text)) => change(path, cwd, Some(text), content),
            (FileEdit::Write(content), Before::Missing | Before::Unread { there: false }) => {
                change(path, cwd, None, content)
            }
            (FileEdit::Write(content), Before::Unread { there: true }) => {
                change_of(path, cwd, FileChangeKind::Update, &somewhere("", content))
            }
            (FileEdit::Replace(replacements), before) => {
                let after = match before {
                    Before::Text(text) => carried_out(replacements, text).map(|after| (text, after)),
                    Before::Missing | Before::Unread { .. } => None,
                };
                match (after, replacements.as_slice()) {
                    (Some((text, after)), _) => change(path, cwd, Some(text), &after),
                    // A replacement of nothing in a missing file creates the file.
                    (None, [only]) if only.old.is_empty() && before == Before::Missing => {
                        change(path, cwd, None, &only.new)
                    }
                    (None, all) => {
                        let hunks: String = all.iter().map(|one| somewhere(&one.old, &one.new)).collect();
                        change_of(path, cwd, FileChangeKind::Update, &hunks)
                    }
                }
            }
        }
    }
}

/// The text after the replacements. None if a replacement does not fit, or fits in several places.
pub(crate) fn carried_out(replacements: &[Replacement], text: &str) -> Option<String> {
    let exact = all_in(replacements, text.to_owned());
    // Agents read other line ends as if they were usual line ends, and keep the other line ends when they
    // write.
    exact.or_else(|| {
        let plain = text.contains("\r\n").then(|| text.replace("\r\n", "\n"))?;
        all_in(replacements, plain).map(|after| after.replace('\n', "\r\n"))
    })
}

fn all_in(replacements: &[Replacement], text: String) -> Option<String> {
    replacements.iter().try_fold(text, |text, one| {
        if one.old.is_empty() {
            return text.is_empty().then(|| one.new.clone());
        }
        match text.matches(one.old.as_str()).take(2).count() {
            1 => Some(text.replacen(one.old.as_str(), &one.new, 1)),
            2 if one.all => Some(text.replace(one.old.as_str(), &one.new)),
            _ => None,
        }
    })
}

/// The file's whole text before and after one replacement. `text` is the text before the replacement.
pub(crate) fn whole_of<'a>(old: &str, new: &str, all: bool, text: &'a str) -> Option<(Cow<'a, str>, String)> {
    let one = Replacement { old: old.to_owned(), new: new.to_owned(), all };
    carried_out(std::slice::from_ref(&one), text).map(|after| (Cow::Borrowed(text), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(pairs: &[(&str, &str, bool)]) -> FileEdit {
        let one = |(old, new, all): &(&str, &str, bool)| Replacement {
            old: (*old).to_owned(),
            new: (*new).to_owned(),
            all: *all,
        };
        FileEdit::Replace(pairs.iter().map(one).collect())
    }

    fn diff(edit: &FileEdit, before: Before<'_>) -> String {
        edit.change("/w/a.txt", "/w", before).diff
    }

    #[test]
    fn words_that_are_replaced_are_lines_of_the_file() {
        let text = "one\ntwo words\nthree\n";
        let edit = replace(&[("words", "birds", false)]);
        let expected = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two words\n+two birds\n three\n";
        assert_eq!(diff(&edit, Before::Text(text)), expected);
        let several = replace(&[("one", "1", false), ("three", "3", false), ("1", "first", false)]);
        let made = diff(&several, Before::Text(text));
        assert!(made.contains("+first\n") && made.contains("+3\n"), "{made}");
        let all = replace(&[("o", "0", true)]);
        assert!(diff(&all, Before::Text(text)).contains("+tw0 w0rds\n"));
    }

    #[test]
    fn what_does_not_fit_or_fits_twice_is_shown_without_a_number() {
        let twice = replace(&[("a", "b", false)]);
        let expected = "--- a/a.txt\n+++ b/a.txt\n@@ where in the file is not known\n-a\n+b\n";
        let unread =
            [Before::Unread { there: true }, Before::Missing, Before::Text("a a\n"), Before::Text("c\n")];
        for before in unread {
            assert_eq!(diff(&twice, before), expected, "{before:?}");
        }
    }

    #[test]
    fn a_file_that_is_written_is_new_or_replaced_by_what_it_holds() {
        let edit = FileEdit::Write("b\n".to_owned());
        assert_eq!(diff(&edit, Before::Missing), "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+b\n");
        assert_eq!(diff(&edit, Before::Text("a\n")), "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n");
        let made = edit.change("/w/a.txt", "/w", Before::Unread { there: true });
        assert_eq!(made.kind, FileChangeKind::Update);
        assert!(made.diff.contains("@@ where"), "{}", made.diff);
        let empty = replace(&[("", "b\n", false)]);
        assert_eq!(empty.change("/w/a.txt", "/w", Before::Missing).kind, FileChangeKind::Add);
        assert_eq!(empty.change("/w/a.txt", "/w", Before::Text("")).kind, FileChangeKind::Update);
    }

    #[test]
    fn lines_that_end_otherwise_are_found_all_the_same() {
        let edit = replace(&[("a\nb", "a\nc", false)]);
        let made = diff(&edit, Before::Text("a\r\nb\r\n"));
        assert!(made.contains("-b\r\n+c\r\n"), "{made:?}");
    }
}
