//! The terminal: its abilities, and printing with a live line at the bottom.

use std::io::{IsTerminal, Write};

use longshore_model::time::Timestamp;
use tokio::sync::mpsc;

use super::line::InputLine;
use super::responder::Typed;
use crate::demo::Cast;
use crate::render::{Show, Style, fitted, wanted};

/// The style that fits stdout.
pub(super) fn style(reasoning: Show) -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let plain = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let color = (is_terminal && !plain) || set("CLICOLOR_FORCE") || set("FORCE_COLOR");
    Style { color, width: width(), unicode: true, reasoning }
}

fn width() -> usize {
    width_of(std::io::stdout())
}

fn width_of(terminal: impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col));
    let set = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    size.filter(|width| *width > 0).or_else(set).unwrap_or(80).clamp(20, 120)
}

/// Whether a person sits at both ends.
pub(super) fn is_interactive() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// Prints to stdout. Unlike `print!` it does not panic when nobody reads any more: that is an error like any other,
/// which [`super::exit::report`] knows to be none.
pub(super) fn put(text: impl std::fmt::Display) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "{}", Plain(text))?;
    out.flush()
}

/// Text without what a terminal obeys, but for the colours and the way to the beginning of a line that are ours. The rest is
/// written as JSON writes it. What is not ours is cleaned before: this is for what somebody forgot.
pub(super) struct Plain<T>(pub(super) T);

impl<T: std::fmt::Display> std::fmt::Display for Plain<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        struct Escaping<'a, 'b>(&'a mut std::fmt::Formatter<'b>);
        impl std::fmt::Write for Escaping<'_, '_> {
            fn write_str(&mut self, mut text: &str) -> std::fmt::Result {
                while let Some(at) = text.find(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
                    let (plain, rest) = text.split_at(at);
                    self.0.write_str(plain)?;
                    let ours = ours(rest);
                    let control = rest.chars().next().unwrap_or_default();
                    if ours > 0 {
                        self.0.write_str(&rest[..ours])?;
                    } else {
                        write!(self.0, "\\u{:04x}", u32::from(control))?;
                    }
                    text = &rest[ours.max(control.len_utf8())..];
                }
                self.0.write_str(text)
            }
        }
        std::fmt::Write::write_fmt(&mut Escaping(f), format_args!("{}", self.0))
    }
}

/// How long the control sequence is that this begins with, when it is one of ours: an end of a line, a line that is taken
/// back, a colour.
fn ours(text: &str) -> usize {
    if let Some(fixed) = ["\r\n", "\r\x1b[2K", "\x1b[2K"].iter().find(|fixed| text.starts_with(**fixed)) {
        return fixed.len();
    }
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let figures = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').len();
    if rest[figures..].starts_with('m') { "\x1b[".len() + figures + 1 } else { 0 }
}

/// The same, with the end of a line.
pub(super) fn put_line(text: impl std::fmt::Display) -> std::io::Result<()> {
    put(format_args!("{text}\n"))
}

/// Says something to whoever reads stdout: in lines that fit, where that is a person.
pub(super) fn say(text: impl std::fmt::Display) -> std::io::Result<()> {
    put_line(for_stdout(&text.to_string()))
}

/// The lines in which something is said there.
pub(super) fn for_stdout(text: &str) -> String {
    if std::io::stdout().is_terminal() { fitted(text, width()) } else { text.to_owned() }
}

/// The same at stderr, where nobody may listen.
pub(super) fn note(text: impl std::fmt::Display) {
    ask_for(format_args!("{text}\n"));
}

/// The same without the end of a line: the answer is typed there.
pub(super) fn ask_for(text: impl std::fmt::Display) {
    let (mut err, text) = (std::io::stderr(), text.to_string());
    let text = if err.is_terminal() { fitted(&text, width_of(&err)) } else { text };
    let _ = write!(err, "{}", Plain(text)).and_then(|()| err.flush());
}

/// Where what is shown goes: to stdout, into a recording, or both.
#[derive(Default)]
pub(super) struct Outlet {
    pub(super) silent: bool,
    pub(super) cast: Option<Cast>,
}

impl Outlet {
    fn put(&mut self, text: &str) -> std::io::Result<()> {
        self.record(text)?;
        if self.silent { Ok(()) } else { put(text) }
    }

    fn record(&mut self, text: &str) -> std::io::Result<()> {
        self.cast.as_mut().map_or(Ok(()), |cast| cast.show(text))
    }
}

/// Prints, and keeps one line at the bottom: what goes on, or what is being asked.
pub(super) struct Screen {
    /// What it can show.
    pub(super) style: Style,
    outlet: Outlet,
    /// Whether lines can be taken back.
    live: bool,
    drawn: bool,
    asking: Option<String>,
    /// Where a person types, when that is a line of its own.
    line: Option<InputLine>,
}

impl Screen {
    /// What stdout shows.
    pub(super) fn new() -> Self {
        Self::showing(style(Show::Folded), std::io::stdout().is_terminal(), Outlet::default())
    }

    pub(super) fn showing(style: Style, live: bool, outlet: Outlet) -> Self {
        Self { style, outlet, live, drawn: false, asking: None, line: None }
    }

    pub(super) fn print(&mut self, text: &str) -> std::io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(line) = &mut self.line {
            return line.print(text);
        }
        self.erase()?;
        self.outlet.put(text)?;
        self.ask_again()
    }

    /// With a line at its bottom in which a person types.
    pub(super) fn above(self, line: InputLine) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Whether a person types in a line of its own.
    pub(super) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    /// Whether a turn runs.
    pub(super) fn busy(&self, busy: bool) {
        if let Some(line) = &self.line {
            line.busy(busy);
        }
    }

    /// What can be completed behind a slash.
    pub(super) fn commands(&self, commands: Vec<String>) {
        if let Some(line) = &self.line {
            line.commands(commands);
        }
    }

    /// The width of the terminal, if that is another one by now.
    pub(super) fn resized(&mut self) -> Option<usize> {
        // A recording has the width that it began with.
        let is_terminal = std::io::stdout().is_terminal() && self.outlet.cast.is_none();
        let width = Some(width()).filter(|width| is_terminal && *width != self.style.width)?;
        self.style.width = width;
        Some(width)
    }

    /// Asks for a line. The words stay at the bottom until it is typed or no longer wanted.
    pub(super) fn ask(&mut self, words: String, secret: bool) -> std::io::Result<()> {
        if let Some(line) = &mut self.line {
            line.asking(true, secret);
            let over = wanted(&words, &self.style);
            self.asking = Some(words);
            return line.over(over);
        }
        self.erase()?;
        self.asking = Some(words);
        self.ask_again()
    }

    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// A line was typed, so that the cursor stands on a new one: the terminal has shown what was typed.
    pub(super) fn typed(&mut self, line: &str) -> std::io::Result<()> {
        self.asking = None;
        if let Some(line) = &self.line {
            line.asking(false, false);
            return Ok(());
        }
        self.drawn = false;
        self.outlet.record(&format!("{line}\n"))
    }

    /// A line was said that nobody typed.
    pub(super) fn answered(&mut self, line: &str) -> std::io::Result<()> {
        let asked = self.asking.take().filter(|_| !self.live).unwrap_or_default();
        self.drawn = false;
        self.outlet.put(&format!("{asked}{line}\n"))
    }

    /// What was asked is settled.
    pub(super) fn settled(&mut self) -> std::io::Result<()> {
        self.asking = None;
        if let Some(line) = &self.line {
            line.asking(false, false);
        }
        self.erase()
    }

    fn ask_again(&mut self) -> std::io::Result<()> {
        if let Some(words) = self.asking.as_ref().filter(|_| self.live) {
            self.outlet.put(words)?;
            self.drawn = true;
        }
        Ok(())
    }

    pub(super) fn draw(&mut self, line: Option<String>) -> std::io::Result<()> {
        if let Some(below) = &mut self.line {
            let asked = self.asking.as_ref().map(|words| wanted(words, &self.style));
            return below.over(asked.or(line).unwrap_or_default());
        }
        if self.asking.is_some() {
            return Ok(());
        }
        let Some(line) = line.filter(|_| self.live) else { return self.erase() };
        self.drawn = true;
        self.outlet.put(&format!("\r\x1b[2K{line}"))
    }

    pub(super) fn erase(&mut self) -> std::io::Result<()> {
        match std::mem::take(&mut self.drawn) {
            true => self.outlet.put("\r\x1b[2K"),
            false => Ok(()),
        }
    }
}

/// The lines that a person types. A thread of its own reads them, since reading cannot be taken back.
pub(super) fn typed_lines() -> mpsc::Receiver<Typed> {
    let (tx, rx) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if tx.blocking_send(Typed::Line(line)).is_err() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_forgot_to_clean_is_obeyed_by_no_terminal() {
        let hostile = "mm\x1b]0;EVIL\x07\x1b[2J\u{9b}2J\r\x08";
        let shown = Plain(format_args!("model {hostile}\n")).to_string();
        assert_eq!(shown, "model mm\\u001b]0;EVIL\\u0007\\u001b[2J\\u009b2J\\u000d\\u0008\n");
        let ours = "\r\x1b[2K\x1b[1;35m>\x1b[0m a\tb\r\n";
        assert_eq!(Plain(ours).to_string(), ours);
    }
}
