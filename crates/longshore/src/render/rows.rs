//! Single rows that the program says itself.

use super::clean::clean;
use super::lifecycle;
use super::line::{Line, print};
use super::style::{Ink, Style, ink};

/// A remark of ours, in whole lines.
pub fn remark(text: &str, style: &Style) -> String {
    print(&lifecycle::remark(text, style), style)
}

/// A row that asks for no attention, without its newline and no wider than the terminal.
pub fn dimmed(text: &str, style: &Style) -> String {
    row(text, ink::DIM, style)
}

/// The same for what a person is wanted for.
pub fn wanted(text: &str, style: &Style) -> String {
    row(text, ink::ASK, style)
}

fn row(text: &str, ink: Ink, style: &Style) -> String {
    let line = Line::of(clean(text).trim_end(), ink).cut(style.columns() - 1, style.signs().more);
    print(&[line], style).trim_end_matches('\n').to_owned()
}
