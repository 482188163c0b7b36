//! Messages to a program that may not have arrived.
//!
//! A message that was written to a connection may be lost when the connection breaks. So each message is kept
//! until its arrival is known, and sent again on the next connection. A program may get a message twice.
//! Programs recognise a repeated prompt by its id.

use std::collections::VecDeque;

use tokio::time::Instant;

/// Messages in order, and since when there are too many of them.
#[derive(Debug)]
pub(super) struct Unacked {
    messages: VecDeque<(u64, String)>,
    /// How many messages were written to the present connection.
    written: usize,
    /// The number of the last message.
    last: u64,
    bytes: usize,
    limit: usize,
    /// Since when the queue has been full and nothing has arrived.
    full_since: Option<Instant>,
}

impl Unacked {
    /// Full when `limit` bytes are kept. The message that fills it may exceed the limit.
    pub(super) fn new(limit: usize) -> Self {
        Self { messages: VecDeque::new(), written: 0, last: 0, bytes: 0, limit, full_since: None }
    }

    /// Adds lines without their line feeds, as one message.
    pub(super) fn push(&mut self, lines: impl IntoIterator<Item = String>) {
        let mut text = String::new();
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
        if !text.is_empty() {
            self.last += 1;
            self.bytes += text.len();
            self.messages.push_back((self.last, text));
            self.measure();
        }
    }

    /// The next message for the present connection.
    pub(super) fn next(&mut self) -> Option<(u64, String)> {
        let next = self.messages.get(self.written).cloned()?;
        self.written += 1;
        Some(next)
    }

    /// Whether everything is written to the present connection.
    pub(super) fn all_written(&self) -> bool {
        self.written == self.messages.len()
    }

    /// Starts again for a new connection, to which nothing is written yet.
    pub(super) fn begin_again(&mut self) {
        self.written = 0;
    }

    /// Notes that all messages up to this number have arrived.
    pub(super) fn arrived(&mut self, number: u64) {
        while let Some((kept, text)) = self.messages.front() {
            if *kept > number {
                break;
            }
            self.bytes -= text.len();
            self.messages.pop_front();
            self.written = self.written.saturating_sub(1);
            // A message has arrived, so the time until the program counts as stuck starts again.
            self.full_since = None;
        }
        self.measure();
    }

    pub(super) fn full_since(&self) -> Option<Instant> {
        self.full_since
    }

    fn measure(&mut self) {
        if self.bytes >= self.limit {
            self.full_since.get_or_insert_with(Instant::now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_has_not_arrived_is_told_again_on_the_next_line() {
        let mut told = Unacked::new(1000);
        told.push(lines(&["a", "b"]));
        told.push(lines(&[]));
        told.push(lines(&["c"]));
        assert_eq!(told.next(), Some((1, "a\nb\n".to_owned())));
        told.arrived(1);
        assert_eq!(told.next(), Some((2, "c\n".to_owned())));
        assert!(told.all_written() && told.next().is_none());
        told.begin_again();
        told.push(lines(&["d"]));
        assert_eq!(told.next(), Some((2, "c\n".to_owned())));
        assert_eq!(told.next(), Some((3, "d\n".to_owned())));
        told.arrived(3);
        told.begin_again();
        assert_eq!((told.next(), told.bytes), (None, 0));
    }

    #[test]
    fn it_is_full_until_something_arrives() {
        let mut told = Unacked::new(6);
        told.push(lines(&["1234"]));
        assert!(told.full_since().is_none());
        told.push(lines(&["5678"]));
        assert!(told.next().is_some() && told.full_since().is_some(), "written is not arrived");
        told.arrived(1);
        assert!(told.full_since().is_none());
    }
}
