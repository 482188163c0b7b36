//! Single lines of the program itself.

use super::clean::clean;
use super::lifecycle;
use super::line::{InkLine, print};
use super::style::{Ink, Style, ink};
use super::wrap::width_of;

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

/// Words of the program itself in lines that fit, broken between words, the lower ones under what stands behind a label. A link,
/// and what stands in backticks, is left to the terminal where it is too long: who copies it wants it in one piece.
pub fn fitted(text: &str, width: usize) -> String {
    text.split('\n').map(|line| fitted_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn fitted_line(line: &str, width: usize) -> String {
    if width_of(line) <= width {
        return line.to_owned();
    }
    let pairs = line.matches('`').count().is_multiple_of(2);
    let mut in_code = false;
    let mut words = line.split(|c| {
        in_code ^= c == '`' && pairs;
        c == ' ' && !in_code
    });
    let hang = " ".repeat(label(line, width));
    let mut rows = Vec::new();
    let mut row = words.next().unwrap_or_default().to_owned();
    for word in words {
        let fits = |before: &str| width_of(before) + width_of(word) <= width;
        // What fits in no row stays where it is.
        if row.trim().is_empty() || word.is_empty() || fits(&format!("{row} ")) || !fits(&hang) {
            row = format!("{row} {word}");
        } else {
            rows.push(std::mem::replace(&mut row, format!("{hang}{word}")).trim_end().to_owned());
        }
    }
    rows.push(row);
    rows.join("\n")
}

/// Where the text behind a label such as `note  ` begins; without one, where the line does.
fn label(line: &str, width: usize) -> usize {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let behind = text.find("  ").map(|at| text.len() - text[at..].trim_start().len());
    let column = behind.map(|at| width_of(&line[..indent + at]));
    column.filter(|column| *column <= width / 3).unwrap_or(indent)
}

fn row(text: &str, ink: Ink, style: &Style) -> String {
    let line = InkLine::of(clean(text).trim_end(), ink).cut(style.columns() - 1, style.signs().more);
    print(&[line], style).trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_says_breaks_between_words_and_never_in_a_command_or_a_link() {
        let fits = |text: &str, expected: &str| assert_eq!(fitted(text, 40), expected);
        fits("short", "short");
        fits(
            "note  no phone reaches this address, so start the hub otherwise",
            "note  no phone reaches this address, so\n      start the hub otherwise",
        );
        fits(
            "/steer TEXT  say it into the turn that is running",
            "/steer TEXT  say it into the turn that\n             is running",
        );
        fits(
            "go on with `longshore prompt 00c0ffee \"...\"` now",
            "go on with\n`longshore prompt 00c0ffee \"...\"` now",
        );
        let link = "http://127.0.0.1:8790/pair?enter#0123456789abcdef";
        fits(&format!("  open it   {link}   (once)"), &format!("  open it   {link}\n            (once)"));
        fits(
            "Delete c0ffee (Fix the tests) and all of it? [y/N] ",
            "Delete c0ffee (Fix the tests) and all of\nit? [y/N] ",
        );
        fits(
            "an odd ` sign does not keep the rest of a line whole",
            "an odd ` sign does not keep the rest of\na line whole",
        );
    }
}
