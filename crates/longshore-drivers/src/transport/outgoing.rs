//! Lines that wait to be written to a child.

use tokio::time::Instant;

/// A buffer that grew for one long message is reduced to this after it.
const IDLE_CAPACITY: usize = 64 * 1024;

/// Bytes in order, and since when there are too many of them.
#[derive(Debug)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// How many of the bytes are already written.
    written: usize,
    limit: usize,
    /// Since when the buffer has been full and the child has taken nothing.
    full_since: Option<Instant>,
}

impl Outgoing {
    /// Full when `limit` bytes wait. The message that fills it may exceed the limit.
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), written: 0, limit, full_since: None }
    }

    pub(crate) fn push_line(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
        self.push("\n");
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.measure();
    }

    pub(crate) fn waiting(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    pub(crate) fn full_since(&self) -> Option<Instant> {
        self.full_since
    }

    /// Notes how many bytes were written.
    pub(crate) fn took(&mut self, count: usize) {
        self.written += count;
        if self.is_empty() {
            self.clear();
        } else if self.written > self.bytes.len() / 2 {
            // On average, each byte is moved once. Written bytes never take more memory than waiting bytes.
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        // The child took some bytes, so the time until it counts as stuck starts again.
        self.full_since = None;
        self.measure();
    }

    /// Drops all bytes, because the child will take none of them.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(IDLE_CAPACITY);
        self.written = 0;
        self.full_since = None;
    }

    fn measure(&mut self) {
        if self.waiting().len() >= self.limit {
            self.full_since.get_or_insert_with(Instant::now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_does_not_pile_up() {
        let mut outgoing = Outgoing::new(1000);
        for _ in 0..10_000 {
            outgoing.push_line("123456789");
            assert!(outgoing.waiting().starts_with(b"123456789\n"));
            outgoing.took(10);
            outgoing.push_line("123456789");
            outgoing.push_line("123456789");
            outgoing.took(20);
        }
        assert!(outgoing.is_empty());
        outgoing.push_line("rest");
        for _ in 0..10_000 {
            outgoing.push_line("word");
            outgoing.took(5);
            assert!(outgoing.bytes.len() <= 20);
        }
        assert_eq!(outgoing.waiting(), b"word\n");
    }

    #[test]
    fn it_is_full_from_the_limit_on_until_something_is_taken() {
        let mut outgoing = Outgoing::new(10);
        outgoing.push_line("1234");
        assert!(outgoing.full_since().is_none());
        outgoing.push_line("56789");
        assert!(outgoing.full_since().is_some());
        outgoing.took(2);
        assert!(outgoing.full_since().is_none());
    }
}
