//! The terminal: what it can show, and printing to it with a live line at the bottom.

use std::io::{IsTerminal, Write};

use longshore_model::time::Timestamp;
use tokio::sync::mpsc;

use crate::render::{Show, Style};

/// The style that fits stdout.
pub(super) fn style(reasoning: Show) -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let plain = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let color = (is_terminal && !plain) || set("CLICOLOR_FORCE") || set("FORCE_COLOR");
    Style { color, width: width(), unicode: true, reasoning }
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let set = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    size.filter(|width| *width > 0).or_else(set).unwrap_or(80).clamp(20, 120)
}

/// Whether a person sits at both ends.
pub(super) fn is_interactive() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// Prints, and keeps one live line below what it prints.
pub(super) struct Screen {
    live: bool,
    drawn: bool,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { live: std::io::stdout().is_terminal(), drawn: false }
    }

    pub(super) fn print(&mut self, text: &str) -> std::io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.erase()?;
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    pub(super) fn draw(&mut self, line: Option<String>) -> std::io::Result<()> {
        let Some(line) = line.filter(|_| self.live) else { return self.erase() };
        let mut out = std::io::stdout().lock();
        write!(out, "\r\x1b[2K{line}")?;
        self.drawn = true;
        out.flush()
    }

    pub(super) fn erase(&mut self) -> std::io::Result<()> {
        if std::mem::take(&mut self.drawn) {
            let mut out = std::io::stdout().lock();
            write!(out, "\r\x1b[2K")?;
            out.flush()?;
        }
        Ok(())
    }
}

/// The lines that a person types. A thread of its own reads them, since reading cannot be taken back.
pub(super) fn typed_lines() -> mpsc::Receiver<String> {
    let (tx, rx) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if tx.blocking_send(line).is_err() {
                return;
            }
        }
    });
    rx
}

/// The one place of the command line that reads the clock.
#[allow(clippy::disallowed_methods)]
pub(super) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
