//! The end of an agent's stderr, without colours.

use super::lines::{Lines, WireLine};

/// How many bytes of a line of stderr are traced.
const LONGEST_TRACED: usize = 8 * 1024;

/// Keeps the last bytes, and traces every line.
#[derive(Debug)]
pub struct Stderr {
    tail: Vec<u8>,
    cut: bool,
    limit: usize,
    lines: Lines,
}

impl Stderr {
    /// Keeps this many bytes.
    pub fn new(limit: usize) -> Self {
        Self { tail: Vec::new(), cut: false, limit, lines: Lines::new(LONGEST_TRACED, LONGEST_TRACED) }
    }

    /// Takes output of the agent.
    pub fn push(&mut self, bytes: &[u8], pid: i32) {
        self.tail.extend_from_slice(bytes);
        // The buffer is cut at twice the limit, so that the bytes are not moved at every read.
        if self.tail.len() > 2 * self.limit {
            self.cut_to_limit();
        }
        self.lines.room().extend_from_slice(bytes);
        while let Some(line) = self.lines.next() {
            let (WireLine::Whole(text) | WireLine::Garbled { text, .. }) = line;
            tracing::debug!(pid, line = plain(&text), "agent stderr");
        }
    }

    /// The last lines, as people can read them.
    pub fn text(&mut self) -> String {
        self.cut_to_limit();
        let from = match (self.cut, memchr::memchr(b'\n', &self.tail)) {
            (true, Some(end)) => end + 1,
            (true, None) | (false, _) => 0,
        };
        plain(&String::from_utf8_lossy(self.tail.get(from..).unwrap_or_default())).trim_end().to_owned()
    }

    fn cut_to_limit(&mut self) {
        let surplus = self.tail.len().saturating_sub(self.limit);
        self.cut |= surplus > 0;
        self.tail.drain(..surplus);
    }
}

/// The text without terminal escapes and other control characters.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            match chars.next() {
                // A control sequence: parameters up to a final byte.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // An operating system command: up to a bell, or to an escape and a backslash.
                Some(']') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            }
        } else if !c.is_control() || c == '\n' || c == '\t' {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go_and_text_stays() {
        assert_eq!(plain("\u{1b}[31mERROR\u{1b}[0m \u{1b}]0;title\u{7}bad\r\n\tthing"), "ERROR bad\n\tthing");
        assert_eq!(plain("\u{1b}]8;;http://x\u{1b}\\link\u{1b}[2"), "link");
    }

    #[test]
    fn the_tail_begins_with_a_whole_line() {
        let mut stderr = Stderr::new(16);
        stderr.push(b"short\n", 1);
        assert_eq!(stderr.text(), "short");
        for n in 0..100 {
            stderr.push(format!("line {n}\n").as_bytes(), 1);
            assert!(stderr.tail.len() <= 32);
        }
        assert_eq!(stderr.text(), "line 99");
    }
}
