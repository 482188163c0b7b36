//! Parses server-sent events from bytes in any pieces.
//!
//! A line ends with a line feed, a carriage return, or both. Data inside one piece is read in place; only data across
//! two pieces is copied. The parser skips comments and ids. Of the event names, only `error` matters: these services
//! have everything else in the data.

use super::failure::{Failure, FailureKind};

/// The maximal length of an event, in bytes.
pub(super) const LONGEST: usize = 32 << 20;

/// One server-sent event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SseMessage<'a> {
    /// Whether the event has the name `error`.
    pub(super) is_error: bool,
    pub(super) data: &'a [u8],
}

/// Splits bytes into events.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    /// The beginning of an unfinished line.
    rest: Vec<u8>,
    /// Whether the last line ended with a carriage return. Then a following line feed belongs to that line's end.
    after_return: bool,
    /// The data of an unfinished event.
    data: Vec<u8>,
    has_data: bool,
    is_error: bool,
}

/// The meaning of a line.
enum SseLine<'a> {
    Blank,
    Data(&'a [u8]),
    Name(&'a [u8]),
    Other,
}

impl SseDecoder {
    /// Takes more bytes, and emits each complete event.
    pub(super) fn feed(&mut self, bytes: &[u8], mut tell: impl FnMut(SseMessage<'_>)) -> Result<(), Failure> {
        let mut bytes = bytes;
        // The first data line of an event, as a slice of the input.
        let mut lying: Option<&[u8]> = None;
        loop {
            if self.after_return && !bytes.is_empty() {
                self.after_return = false;
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else { break };
            self.after_return = bytes.get(end) == Some(&b'\r');
            let line = bytes.get(..end).unwrap_or_default();
            bytes = bytes.get(end + 1..).unwrap_or_default();
            if self.rest.is_empty() {
                match read(line) {
                    SseLine::Data(data) if !self.has_data => {
                        self.has_data = true;
                        lying = Some(data);
                    }
                    read => self.take(read, &mut lying, &mut tell),
                }
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.take(read(&whole), &mut lying, &mut tell);
            }
        }
        self.rest.extend_from_slice(bytes);
        self.data.extend_from_slice(lying.unwrap_or_default());
        if self.rest.len() + self.data.len() > LONGEST {
            *self = Self::default();
            return Err(Failure::new(FailureKind::Garbled, "the model's service sent an event without end"));
        }
        Ok(())
    }

    /// The end of the stream: the rest is an event, if it has data.
    pub(super) fn end(&mut self, mut tell: impl FnMut(SseMessage<'_>)) {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.take(read(&rest), &mut None, &mut tell);
        }
        self.take(SseLine::Blank, &mut None, &mut tell);
    }

    fn take(&mut self, line: SseLine<'_>, lying: &mut Option<&[u8]>, tell: &mut impl FnMut(SseMessage<'_>)) {
        match line {
            SseLine::Blank => {
                let data = lying.take().unwrap_or(&self.data);
                if !data.is_empty() {
                    tell(SseMessage { is_error: self.is_error, data });
                }
                self.data.clear();
                (self.has_data, self.is_error) = (false, false);
            }
            SseLine::Data(data) => {
                self.data.extend_from_slice(lying.take().unwrap_or_default());
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(data);
            }
            SseLine::Name(name) => self.is_error = name == b"error",
            SseLine::Other => {}
        }
    }
}

fn read(line: &[u8]) -> SseLine<'_> {
    if line.is_empty() {
        return SseLine::Blank;
    }
    let value = |rest: &'static str| {
        let value = line.strip_prefix(rest.as_bytes())?;
        Some(value.strip_prefix(b" ").unwrap_or(value))
    };
    match (value("data:"), value("event:")) {
        (Some(data), _) => SseLine::Data(data),
        (None, Some(name)) => SseLine::Name(name),
        (None, None) => SseLine::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut events = SseDecoder::default();
        let mut all = Vec::new();
        let mut tell = |message: SseMessage<'_>| {
            let mark = if message.is_error { "!" } else { "" };
            all.push(format!("{mark}{}", String::from_utf8_lossy(message.data)));
        };
        for piece in pieces {
            events.feed(piece, &mut tell).unwrap();
        }
        events.end(&mut tell);
        all
    }

    #[test]
    fn events_are_the_same_however_the_bytes_arrive() {
        let bytes: &[u8] = b": hello\n\nevent: x\ndata: one\n\ndata:two\r\n\r\n: keep-alive\n\nid: 7\ndata: a\ndata: b\n\n\n\n\
            data: c\rdata: d\r\revent: error\rdata: e\r\n\rdata: last";
        let expected = ["one", "two", "a\nb", "c\nd", "!e", "last"];
        assert_eq!(read(&[bytes]), expected);
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(read(&[left, right]), expected, "cut at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), expected);
    }

    #[test]
    fn what_has_no_data_is_no_event() {
        assert!(read(&[b"event: ping\n\n: x\n\ndata:\n\n"]).is_empty());
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = SseDecoder::default();
        let piece = vec![b'x'; 1 << 20];
        let failed = (0..40).find_map(|_| events.feed(&piece, |_| {}).err());
        assert_eq!(failed.unwrap().kind, FailureKind::Garbled);
        let mut events = SseDecoder::default();
        let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
        let failed = (0..40).find_map(|_| events.feed(&line, |_| {}).err());
        assert_eq!(failed.unwrap().kind, FailureKind::Garbled, "lines without end are no better");
    }

    /// Events whose lines end in any of the three ways.
    fn any_stream() -> impl Strategy<Value = (Vec<u8>, Vec<String>)> {
        let end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
        let data = prop::collection::vec(("[a-z{}:é ]{1,8}", end.clone()), 1..4);
        let event = (data, any::<bool>(), end);
        prop::collection::vec(event, 0..6).prop_map(|events| {
            let (mut bytes, mut expected) = (Vec::new(), Vec::new());
            for (lines, is_error, end) in events {
                // A blank line after a lone carriage return must not look like the second half of that line end.
                let end = if end == "\n" { "\r\n" } else { end };
                let texts: Vec<&str> = lines.iter().map(|(text, _)| text.as_str()).collect();
                if is_error {
                    bytes.extend_from_slice(b"event: error\n");
                }
                for (text, end) in &lines {
                    bytes.extend_from_slice(format!("data: {text}{end}").as_bytes());
                }
                bytes.extend_from_slice(end.as_bytes());
                expected.push(format!("{}{}", if is_error { "!" } else { "" }, texts.join("\n")));
            }
            (bytes, expected)
        })
    }

    proptest! {
        #[test]
        fn any_line_ends_in_any_pieces_give_the_same_events(
            (bytes, expected) in any_stream(),
            sizes in prop::collection::vec(1..9_usize, 1..40),
        ) {
            let (mut pieces, mut rest) = (Vec::new(), bytes.as_slice());
            for size in sizes.into_iter().cycle().take(bytes.len()) {
                let (piece, after) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(read(&pieces), expected);
        }

        #[test]
        fn any_bytes_are_read_without_panic_and_the_same_in_pieces(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(read(&single), read(&[&bytes]));
        }
    }
}
