//! Code blocks: a gutter that separates code from prose, and colours if the code is a diff.

use super::clean::untab;
use super::line::InkLine;
use super::style::{Ink, Style, ink};
use super::wrap::{behind, chop};

/// What stands above a code block: its language.
pub(super) fn label(language: &str, style: &Style) -> Option<InkLine> {
    let sign = style.signs().label;
    (!language.is_empty()).then(|| InkLine::of(&format!("  {sign} {language}"), ink::DIM))
}

/// One line of code, or several when it is longer than the terminal is wide.
pub(super) fn lines(code: &str, language: &str, width: usize, style: &Style) -> Vec<InkLine> {
    let gutter = InkLine::of(&format!("  {} ", style.signs().gutter), ink::DIM);
    let inked = InkLine::of(&untab(code, 4), ink_of(code, language));
    behind(chop(&inked, width.saturating_sub(gutter.width())), &gutter, &gutter)
}

fn ink_of(code: &str, language: &str) -> Ink {
    if !matches!(language, "diff" | "patch") {
        return ink::PLAIN;
    }
    match code.chars().next() {
        Some('+') => ink::GOOD,
        Some('-') => ink::BAD,
        Some('@') => ink::HUNK,
        _ => ink::PLAIN,
    }
}
