//! The style: the terminal's abilities, the colours, the signs.

use anstyle::{AnsiColor, Color};

/// How a piece of text is inked.
pub(super) type Ink = anstyle::Style;

/// What the terminal can show and what the reader wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether SGR sequences may be printed.
    pub color: bool,
    /// The columns of the terminal; `usize::MAX` never wraps.
    pub width: usize,
    /// Whether our own signs may go beyond ASCII. What agents say is never touched by this.
    pub unicode: bool,
    /// How much of the agent's thinking is shown.
    pub reasoning: Show,
}

/// How much of something is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// Nothing.
    Hidden,
    /// One line.
    #[default]
    Folded,
    /// All of it.
    Full,
}

impl Default for Style {
    fn default() -> Self {
        Self { color: false, width: 80, unicode: true, reasoning: Show::Folded }
    }
}

impl Style {
    /// The columns there are to fill; a terminal that claims fewer than 20 wraps by itself.
    pub(super) fn columns(&self) -> usize {
        self.width.max(20)
    }

    /// The signs that this terminal can show.
    pub(super) fn signs(&self) -> &'static Signs {
        if self.unicode { &UNICODE } else { &ASCII }
    }
}

/// Every sign we print that is not text.
pub(super) struct Signs {
    pub(super) card: &'static str,
    pub(super) again: &'static str,
    pub(super) done: &'static str,
    pub(super) failed: &'static str,
    pub(super) declined: &'static str,
    pub(super) stopped: &'static str,
    pub(super) pending: &'static str,
    pub(super) current: &'static str,
    pub(super) asleep: &'static str,
    pub(super) waiting: &'static str,
    pub(super) bullet: &'static str,
    pub(super) gutter: &'static str,
    pub(super) label: &'static str,
    pub(super) quote: &'static str,
    pub(super) rule: &'static str,
    pub(super) cross: &'static str,
    pub(super) more: &'static str,
    pub(super) dot: &'static str,
    pub(super) arrow: &'static str,
    pub(super) open: &'static str,
    pub(super) side: &'static str,
    pub(super) close: &'static str,
    pub(super) checked: &'static str,
    pub(super) unchecked: &'static str,
    pub(super) spinner: &'static [&'static str],
}

static UNICODE: Signs = Signs {
    card: "●",
    again: "↳",
    done: "✓",
    failed: "✗",
    declined: "⊘",
    stopped: "■",
    pending: "○",
    current: "▸",
    asleep: "☾",
    waiting: "?",
    bullet: "•",
    gutter: "│",
    label: "┌",
    quote: "▎",
    rule: "─",
    cross: "┼",
    more: "…",
    dot: "·",
    arrow: "→",
    open: "╭─",
    side: "│",
    close: "╰─",
    checked: "☑",
    unchecked: "☐",
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

static ASCII: Signs = Signs {
    card: "*",
    again: "\\",
    done: "v",
    failed: "x",
    declined: "-",
    stopped: "#",
    pending: ".",
    current: ">",
    asleep: "z",
    waiting: "?",
    bullet: "-",
    gutter: "|",
    label: "|",
    quote: ">",
    rule: "-",
    cross: "+",
    more: "...",
    dot: "-",
    arrow: "->",
    open: "+-",
    side: "|",
    close: "+-",
    checked: "[x]",
    unchecked: "[ ]",
    spinner: &["|", "/", "-", "\\"],
};

const fn colored(color: AnsiColor) -> Ink {
    Ink::new().fg_color(Some(Color::Ansi(color)))
}

/// The palette: the sixteen colours of the reader's own theme, so that it fits light and dark.
pub(super) mod ink {
    use super::{AnsiColor, Ink, colored};

    pub(in crate::render) const PLAIN: Ink = Ink::new();
    pub(in crate::render) const BOLD: Ink = Ink::new().bold();
    pub(in crate::render) const DIM: Ink = Ink::new().dimmed();
    pub(in crate::render) const TITLE: Ink = Ink::new().bold().underline();
    pub(in crate::render) const CODE: Ink = colored(AnsiColor::Cyan);
    pub(in crate::render) const LINK: Ink = colored(AnsiColor::Blue).underline();
    pub(in crate::render) const GOOD: Ink = colored(AnsiColor::Green);
    pub(in crate::render) const BAD: Ink = colored(AnsiColor::Red);
    pub(in crate::render) const WARN: Ink = colored(AnsiColor::Yellow);
    pub(in crate::render) const HINT: Ink = colored(AnsiColor::Yellow).dimmed();
    pub(in crate::render) const ASK: Ink = colored(AnsiColor::Yellow).bold();
    pub(in crate::render) const BUSY: Ink = colored(AnsiColor::Blue);
    pub(in crate::render) const PERSON: Ink = colored(AnsiColor::Magenta).bold();
    pub(in crate::render) const HUNK: Ink = colored(AnsiColor::Cyan).dimmed();
}
