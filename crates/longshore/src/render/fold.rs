//! Folds a person's long text: its beginning, its end, and how much is left out.

use super::human::{count, plural};

/// How many lines are shown whole.
const LINES: usize = 40;
/// And how many bytes.
const BYTES: usize = 6 << 10;
/// How many lines of a longer one stand at its beginning, and at its end.
const SHOWN: (usize, usize) = (16, 6);
/// And how many bytes.
const SHOWN_BYTES: (usize, usize) = (2 << 10, 1 << 10);
/// How much of a text stands in a sentence.
const BRIEF: usize = 120;

/// A text as it is shown.
pub(super) struct FoldedText<'a> {
    /// All of it, or how it begins.
    pub(super) first: &'a str,
    /// What was left out, in words, and how it ends.
    pub(super) rest: Option<(String, &'a str)>,
}

/// Folds a text that would fill the screen several times over.
pub(super) fn folded(text: &str) -> FoldedText<'_> {
    if text.len() <= BYTES && text.lines().count() <= LINES {
        return FoldedText { first: text, rest: None };
    }
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let first = ends.get(SHOWN.0 - 1).copied().unwrap_or(text.len()).min(SHOWN_BYTES.0);
    let last = ends.len().checked_sub(SHOWN.1).and_then(|at| ends.get(at)).map_or(0, |at| at + 1);
    let last = last.max(text.len().saturating_sub(SHOWN_BYTES.1));
    let first = (0..=first).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let last = (last..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    if last <= first {
        return FoldedText { first: text, rest: None };
    }
    let hidden = &text[first..last];
    let lines = hidden.matches('\n').count();
    let left_out = match lines {
        0 | 1 => format!("{} characters", count(hidden.chars().count() as u64)),
        lines => format!("{} ({} characters)", plural(lines, "line"), count(hidden.chars().count() as u64)),
    };
    FoldedText { first: &text[..first], rest: Some((left_out, &text[last..])) }
}

/// The first line of a text, for a sentence.
pub(super) fn brief(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut brief: String = line.chars().take(BRIEF).collect();
    if brief.len() < text.trim().len() {
        brief.push('…');
    }
    brief
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_shows_how_it_begins_and_ends_and_what_is_left_out() {
        assert!(folded("short\ntext").rest.is_none());
        let lines: String = (1..=1000).map(|number| format!("line {number}\n")).collect();
        let FoldedText { first, rest } = folded(&lines);
        let (left_out, last) = rest.unwrap();
        assert!(first.starts_with("line 1\n") && first.lines().count() == SHOWN.0, "{first}");
        assert!(last.ends_with("line 1000\n") && last.lines().count() <= SHOWN.1, "{last}");
        assert!(left_out.contains("lines ("), "{left_out}");
        let solid = "x日本".repeat(200_000);
        let FoldedText { first, rest } = folded(&solid);
        let (left_out, last) = rest.unwrap();
        assert!(first.len() <= SHOWN_BYTES.0 && last.len() <= SHOWN_BYTES.1 + 3);
        assert!(left_out.contains("characters"), "{left_out}");
    }

    #[test]
    fn a_sentence_takes_one_line() {
        assert_eq!(brief("one\ntwo"), "one…");
        assert_eq!(brief(" one "), "one");
        assert_eq!(brief(&"x".repeat(1000)).chars().count(), BRIEF + 1);
    }
}
