//! The newest lines of the hub's own log, for a person who looks for a fault from elsewhere.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The most bytes of all lines.
const BYTES: usize = 256 << 10;
/// The most bytes of a line.
const LINE_BYTES: usize = 4 << 10;

/// The newest lines of the log of this process. Writing to it never fails and never waits for a reader.
#[derive(Debug, Default)]
pub struct LogTail {
    lines: Mutex<TailLines>,
}

#[derive(Debug, Default)]
struct TailLines {
    whole: VecDeque<String>,
    bytes: usize,
    /// The line that is being written.
    open: Vec<u8>,
}

impl LogTail {
    /// The one of this process: a process has one log.
    pub fn of_this_process() -> &'static Self {
        static TAIL: OnceLock<LogTail> = OnceLock::new();
        TAIL.get_or_init(Self::default)
    }

    /// The lines, the oldest first.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines().whole {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn lines(&self) -> MutexGuard<'_, TailLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TailLines {
    fn end(&mut self) {
        let line = plain(&String::from_utf8_lossy(&std::mem::take(&mut self.open)));
        self.bytes += line.len();
        self.whole.push_back(line);
        while self.bytes > BYTES {
            self.bytes -= self.whole.pop_front().map_or(self.bytes, |line| line.len());
        }
    }
}

impl io::Write for &LogTail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = self.lines();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let words = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = LINE_BYTES.saturating_sub(lines.open.len());
            lines.open.extend_from_slice(&words[..words.len().min(room)]);
            if words.len() < piece.len() {
                lines.end();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The line without the colours of a terminal.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| letter.is_ascii_alphabetic()).map_or(part.len(), |end| end + 1);
        plain.push_str(&part[end..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_newest_lines_stay_without_their_colours() {
        let tail = LogTail::default();
        write!(&tail, "\u{1b}[32m INFO\u{1b}[0m the hub").unwrap();
        assert_eq!(tail.text(), "", "the line is not whole");
        writeln!(&tail, " is up\nand").unwrap();
        assert_eq!(tail.text(), " INFO the hub is up\nand\n");
        writeln!(&tail, "{}", "x".repeat(LINE_BYTES * 2)).unwrap();
        assert!(tail.text().ends_with(&format!("\n{}\n", "x".repeat(LINE_BYTES))), "a line has its bound");
        for at in 0..10_000 {
            writeln!(&tail, "{at} {}", "y".repeat(100)).unwrap();
        }
        let text = tail.text();
        assert!(text.len() < BYTES + BYTES / 50 && !text.contains("INFO") && text.contains("\n9999 "));
    }
}
