//! The live status line: a spinner, what runs, for how long. Drawn by the caller, erased before anything prints.

use longshore_model::time::Timestamp;

use super::clean::clean;
use super::human::elapsed;
use super::line::{InkLine, print};
use super::style::{Style, ink};

/// How long a frame of the spinner stands, in milliseconds.
pub const SPINNER_PACE: u64 = 80;

/// What goes on, most urgent last.
#[derive(Debug)]
pub(super) struct Doing {
    /// In a few words: `Thinking`, `Run cargo test`.
    pub(super) what: String,
    /// Since when.
    pub(super) since: Timestamp,
    /// Whatever is worth a glance: the last line of output.
    pub(super) aside: String,
    /// It is the reader's move, nothing turns.
    pub(super) waits: bool,
}

/// One line without a newline, one column short of the width so that no terminal wraps it.
pub(super) fn line(doing: &Doing, now: Timestamp, style: &Style) -> String {
    let signs = style.signs();
    let frame = (now.micros().max(0) as u64 / 1_000 / SPINNER_PACE) as usize % signs.spinner.len();
    let mut line = if doing.waits {
        InkLine::of(signs.waiting, ink::ASK)
    } else {
        InkLine::of(signs.spinner.get(frame).copied().unwrap_or_default(), ink::BUSY)
    };
    line.push(" ", ink::PLAIN);
    line.push(&clean(&doing.what), ink::PLAIN);
    let time = InkLine::of(&format!(" {} {}", signs.dot, elapsed(now.millis_since(doing.since))), ink::DIM);
    let room = style.columns() - 1;
    line = line.cut(room.saturating_sub(time.width()), signs.more);
    line.append(time);
    if !doing.aside.is_empty() {
        line.push(&format!(" {} {}", signs.dot, clean(&doing.aside)), ink::DIM);
    }
    let printed = print(&[line.cut(room, signs.more)], style);
    printed.trim_end_matches('\n').to_owned()
}
