//! Cuts bytes into lines, with a bound for a line that does not end.

use longshore_model::event::{Raw, RawFault};

/// How many bytes are read at once: as many as a pipe of Linux holds. Fewer if the longest line is shorter.
const CHUNK: usize = 64 * 1024;

/// A buffer that grew beyond this for one long line is freed after that line.
const IDLE_CAPACITY: usize = 1024 * 1024;

/// A line as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireLine {
    /// A whole line of text.
    Whole(Raw),
    /// A line that cannot be read.
    Garbled {
        /// The readable part of the line.
        text: Raw,
        /// Why the line cannot be read.
        fault: RawFault,
    },
}

/// Cuts a stream of bytes into lines.
///
/// It never holds more than `longest` bytes and one chunk. Of a longer line, it keeps the first `kept` bytes.
/// It counts the rest and skips it. It also skips lines of white space.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to here, there is no line feed after `start`.
    searched: usize,
    /// How many bytes of the current line were dropped. The beginning of that line is in the buffer.
    skipped: u64,
    longest: usize,
    kept: usize,
    chunk: usize,
}

impl Lines {
    /// Cuts lines of up to `longest` bytes. Of a longer line, it keeps the first `kept` bytes.
    pub fn new(longest: usize, kept: usize) -> Self {
        let (kept, chunk) = (kept.min(longest), CHUNK.min(longest));
        Self { buffer: Vec::new(), start: 0, searched: 0, skipped: 0, longest, kept, chunk }
    }

    /// The buffer for the next bytes, with room for a chunk at its end. Append only.
    ///
    /// The room lasts for one read. [`Lines::next`] must have returned `None` before.
    pub fn room(&mut self) -> &mut Vec<u8> {
        let length = self.buffer.len();
        if self.buffer.capacity() - length < self.chunk {
            let doubled = (length * 2).min(self.longest.saturating_add(self.chunk)).max(length + self.chunk);
            self.buffer.reserve_exact(doubled - length);
        }
        &mut self.buffer
    }

    /// How many bytes the buffer holds.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole line.
    #[allow(clippy::should_implement_trait, reason = "more lines come after a `None`")]
    pub fn next(&mut self) -> Option<WireLine> {
        while let Some(found) = memchr::memchr(b'\n', self.buffer.get(self.searched..).unwrap_or_default()) {
            let end = self.searched + found;
            let begin = std::mem::replace(&mut self.start, end + 1);
            self.searched = end + 1;
            if let Some(line) = self.take(begin, end) {
                return Some(line);
            }
        }
        self.make_room();
        None
    }

    /// The last line without a line feed, once the stream has ended.
    pub fn rest(&mut self) -> Option<WireLine> {
        let (begin, end) = (self.start, self.buffer.len());
        let line = self.take(begin, end);
        self.buffer = Vec::new();
        (self.start, self.searched) = (0, 0);
        line
    }

    fn take(&mut self, begin: usize, end: usize) -> Option<WireLine> {
        let skipped = std::mem::take(&mut self.skipped);
        let bytes = self.buffer.get(begin..end)?;
        if skipped > 0 || bytes.len() > self.longest {
            let kept = bytes.get(..self.kept.min(bytes.len()))?;
            let skipped = skipped + (bytes.len() - kept.len()) as u64;
            tracing::warn!(skipped, kept = kept.len(), "an agent's line is too long and was cut");
            return Some(WireLine::Garbled {
                text: lossy_beginning(kept).into(),
                fault: RawFault::Truncated,
            });
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if text.trim_ascii().is_empty() => None,
            Ok(text) => Some(WireLine::Whole(text.into())),
            Err(_) => {
                let text = String::from_utf8_lossy(bytes).into();
                Some(WireLine::Garbled { text, fault: RawFault::InvalidUtf8 })
            }
        }
    }

    /// Moves the unfinished line to the front, and cuts it if it is already too long.
    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.skipped > 0 || self.buffer.len() > self.longest {
            self.skipped += self.buffer.len().saturating_sub(self.kept) as u64;
            self.buffer.truncate(self.kept);
        }
        self.searched = self.buffer.len();
        if self.buffer.capacity() > IDLE_CAPACITY && self.buffer.len() <= CHUNK {
            self.buffer.shrink_to(CHUNK);
        }
    }
}

/// The text of bytes that may end within a character. Such a last character is left out.
fn lossy_beginning(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Err(fault) if fault.error_len().is_none() => {
            String::from_utf8_lossy(bytes.get(..fault.valid_up_to()).unwrap_or_default()).into_owned()
        }
        Ok(_) | Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(longest: usize, kept: usize, chunks: &[&[u8]]) -> Vec<WireLine> {
        let mut lines = Lines::new(longest, kept);
        let mut all = Vec::new();
        for chunk in chunks {
            lines.room().extend_from_slice(chunk);
            all.extend(std::iter::from_fn(|| lines.next()));
            assert!(lines.held() <= longest);
        }
        all.extend(lines.rest());
        all
    }

    fn whole(text: &str) -> WireLine {
        WireLine::Whole(text.into())
    }

    fn truncated(text: &str) -> WireLine {
        WireLine::Garbled { text: text.into(), fault: RawFault::Truncated }
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_arrive() {
        let bytes = b"one\n\n \r\ntwo\r\nthr\xc3\xa9e\nlast";
        let expected = [whole("one"), whole("two\r"), whole("thrée"), whole("last")];
        assert_eq!(cut(100, 100, &[bytes]), expected);
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(cut(100, 100, &[left, right]), expected, "cut at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(cut(100, 100, &single), expected);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_longest_and_no_longer() {
        assert_eq!(cut(4, 2, &[b"abcd\nabcde\nx\n"]), [whole("abcd"), truncated("ab"), whole("x")]);
        assert_eq!(cut(4, 2, &[b"abcde", b"fgh", b"ij\nx"]), [truncated("ab"), whole("x")]);
        assert_eq!(cut(4, 2, &[b"abcde", b"f"]), [truncated("ab")]);
    }

    #[test]
    fn a_character_that_the_cut_goes_through_is_left_out() {
        assert_eq!(cut(4, 2, &["aébcd\n".as_bytes()]), [truncated("a")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_as_far_as_they_are() {
        let line = WireLine::Garbled { text: "a\u{fffd}b".into(), fault: RawFault::InvalidUtf8 };
        assert_eq!(cut(100, 100, &[b"a\xffb\nc\n"]), [line, whole("c")]);
    }

    #[test]
    fn a_buffer_that_grew_for_one_line_is_given_back() {
        let mut lines = Lines::new(8 * IDLE_CAPACITY, 10);
        lines.room().extend(std::iter::repeat_n(b'x', 4 * IDLE_CAPACITY));
        assert_eq!(lines.next(), None);
        lines.room().push(b'\n');
        assert!(lines.next().is_some());
        assert_eq!(lines.next(), None);
        assert!(lines.buffer.capacity() <= IDLE_CAPACITY);
    }
}
