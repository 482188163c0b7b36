//! Server-sent events out of bytes that come in any pieces.
//!
//! An event that lies whole in a piece is read where it lies; only what a piece cuts in two is copied. Comments, names
//! and ids are passed over: what these services say is in the data.

use super::failure::{Failure, FailureKind};

/// How long an event may be.
const LONGEST: usize = 32 << 20;

/// Cuts events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The beginning of an event that has not ended.
    rest: Vec<u8>,
    /// How much of it was searched for its end.
    searched: usize,
}

impl Events {
    /// More bytes. Gives the data of each event that ended.
    pub(super) fn feed(&mut self, bytes: &[u8], mut tell: impl FnMut(&[u8])) -> Result<(), Failure> {
        if self.rest.is_empty() {
            let taken = cut(bytes, 0, &mut tell);
            self.rest.extend_from_slice(bytes.get(taken..).unwrap_or_default());
        } else {
            self.rest.extend_from_slice(bytes);
            let taken = cut(&self.rest, self.searched, &mut tell);
            self.rest.drain(..taken);
        }
        // The end may lie on the edge: a line feed that was seen, and one that comes next.
        self.searched = self.rest.len().saturating_sub(3);
        if self.rest.len() > LONGEST {
            self.rest = Vec::new();
            return Err(Failure::new(FailureKind::Garbled, "the model's service sent an event without end"));
        }
        Ok(())
    }

    /// There are no more bytes: what is left is an event, if it has data.
    pub(super) fn end(&mut self, tell: impl FnMut(&[u8])) {
        let rest = std::mem::take(&mut self.rest);
        self.searched = 0;
        data_of(&rest, tell);
    }
}

/// Gives every whole event, and says how many bytes they took.
fn cut(bytes: &[u8], searched: usize, tell: &mut impl FnMut(&[u8])) -> usize {
    let (mut begin, mut from) = (0, searched);
    while let Some(found) = memchr::memchr(b'\n', bytes.get(from..).unwrap_or_default()) {
        let at = from + found;
        from = at + 1;
        // An empty line ends an event: a line feed right after this one, with or without a carriage return.
        let next = match bytes.get(at + 1..) {
            Some([b'\n', ..]) => at + 2,
            Some([b'\r', b'\n', ..]) => at + 3,
            Some(_) | None => continue,
        };
        data_of(bytes.get(begin..at).unwrap_or_default(), &mut *tell);
        (begin, from) = (next, next);
    }
    begin
}

/// The data of one event. Nearly always it is one line, which is given where it lies.
fn data_of(event: &[u8], mut tell: impl FnMut(&[u8])) {
    let mut first: Option<&[u8]> = None;
    let mut joined: Option<Vec<u8>> = None;
    let mut rest = event;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..end).unwrap_or_default();
        rest = rest.get(end + 1..).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(data) = line.strip_prefix(b"data:") else { continue };
        let data = data.strip_prefix(b" ").unwrap_or(data);
        match (first, &mut joined) {
            (None, _) => first = Some(data),
            (Some(first), None) => joined = Some([first, b"\n", data].concat()),
            (Some(_), Some(joined)) => {
                joined.push(b'\n');
                joined.extend_from_slice(data);
            }
        }
    }
    if let Some(data) = joined.as_deref().or(first).filter(|data| !data.is_empty()) {
        tell(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut events = Events::default();
        let mut all = Vec::new();
        let mut tell = |data: &[u8]| all.push(String::from_utf8_lossy(data).into_owned());
        for piece in pieces {
            events.feed(piece, &mut tell).unwrap();
        }
        events.end(&mut tell);
        all
    }

    #[test]
    fn events_are_the_same_however_the_bytes_arrive() {
        let bytes = b": hello\n\nevent: x\ndata: one\n\ndata:two\r\n\r\n: keep-alive\n\nid: 7\ndata: a\ndata: b\n\n\n\ndata: last";
        let expected = ["one", "two", "a\nb", "last"];
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
        let mut events = Events::default();
        let piece = vec![b'x'; 1 << 20];
        let failed = (0..40).find_map(|_| events.feed(&piece, |_| {}).err());
        assert_eq!(failed.unwrap().kind, FailureKind::Garbled);
    }
}
