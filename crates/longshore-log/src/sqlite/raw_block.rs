//! Blocks of raw frames. Neighbouring frames compress well together, and a frame that became several events
//! is stored once.
//!
//! A block before compression: a count, that many entries of (seq relative to the first, length), then the
//! frames; all numbers are u32, little-endian. The length [`SAME`] stands for the previous frame.

use longshore_model::event::Raw;
use longshore_model::id::Seq;

/// The size at which a block takes no more frames; a single frame may be larger.
pub(super) const BLOCK_BYTES: usize = 256 * 1024;

const SAME: u32 = u32::MAX;
const ENTRY: usize = 8;

/// Compressed frames of neighbouring events.
#[derive(Debug, PartialEq)]
pub(super) struct RawBlock {
    pub(super) first: Seq,
    pub(super) last: Seq,
    /// The size before compression.
    pub(super) size: usize,
    pub(super) bytes: Vec<u8>,
}

/// Packs frames, in the order of their seq, into as few blocks as [`BLOCK_BYTES`] allows.
pub(super) fn pack<'a>(frames: impl IntoIterator<Item = (Seq, &'a Raw)>) -> Vec<RawBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<Packing<'a>> = None;
    for (seq, raw) in frames {
        if open.as_ref().is_some_and(|open| open.frames.len() >= BLOCK_BYTES && !open.repeats(raw)) {
            blocks.extend(open.take().map(Packing::close));
        }
        match &mut open {
            Some(open) => open.add(seq, raw),
            None => open = Some(Packing::begin(seq, raw)),
        }
    }
    blocks.extend(open.map(Packing::close));
    blocks
}

struct Packing<'a> {
    first: Seq,
    last: Seq,
    entries: Vec<u8>,
    frames: Vec<u8>,
    before: &'a Raw,
}

impl<'a> Packing<'a> {
    fn begin(seq: Seq, raw: &'a Raw) -> Self {
        let mut packing =
            Self { first: seq, last: seq, entries: Vec::new(), frames: Vec::new(), before: raw };
        packing.entry(seq, raw.len() as u32);
        packing.frames.extend_from_slice(raw.as_bytes());
        packing
    }

    fn add(&mut self, seq: Seq, raw: &'a Raw) {
        if self.repeats(raw) {
            self.entry(seq, SAME);
        } else {
            self.entry(seq, raw.len() as u32);
            self.frames.extend_from_slice(raw.as_bytes());
        }
        self.before = raw;
        self.last = seq;
    }

    fn repeats(&self, raw: &Raw) -> bool {
        std::sync::Arc::ptr_eq(raw, self.before) || raw == self.before
    }

    fn entry(&mut self, seq: Seq, length: u32) {
        let offset = (seq.0 - self.first.0) as u32;
        self.entries.extend_from_slice(&offset.to_le_bytes());
        self.entries.extend_from_slice(&length.to_le_bytes());
    }

    fn close(self) -> RawBlock {
        let count = (self.entries.len() / ENTRY) as u32;
        let mut plain = Vec::with_capacity(4 + self.entries.len() + self.frames.len());
        plain.extend_from_slice(&count.to_le_bytes());
        plain.extend_from_slice(&self.entries);
        plain.extend_from_slice(&self.frames);
        let bytes = lz4_flex::block::compress(&plain);
        RawBlock { first: self.first, last: self.last, size: plain.len(), bytes }
    }
}

/// Unpacks a block. The error says what is wrong with a bad block.
pub(super) fn unpack(first: Seq, size: usize, bytes: &[u8]) -> Result<Vec<(Seq, Raw)>, String> {
    // LZ4 data never grows more than 255-fold when unpacked. A damaged size must not make us allocate all
    // memory.
    if size > bytes.len().saturating_mul(256) {
        return Err(format!("a block of raw frames claims {size} bytes"));
    }
    let plain = lz4_flex::block::decompress(bytes, size).map_err(|error| error.to_string())?;
    read(first, &plain).ok_or_else(|| "a block of raw frames has a bad index".to_owned())
}

fn read(first: Seq, plain: &[u8]) -> Option<Vec<(Seq, Raw)>> {
    let (count, rest) = plain.split_first_chunk::<4>()?;
    let count = u32::from_le_bytes(*count) as usize;
    let (entries, mut frames) = rest.split_at_checked(count.checked_mul(ENTRY)?)?;
    let mut read: Vec<(Seq, Raw)> = Vec::with_capacity(count);
    for entry in entries.chunks_exact(ENTRY) {
        let (offset, length) = entry.split_first_chunk::<4>()?;
        let seq = Seq(first.0 + u64::from(u32::from_le_bytes(*offset)));
        let length = u32::from_le_bytes(*length.first_chunk::<4>()?);
        let raw = if length == SAME {
            read.last()?.1.clone()
        } else {
            let (frame, others) = frames.split_at_checked(length as usize)?;
            frames = others;
            Raw::from(std::str::from_utf8(frame).ok()?)
        };
        read.push((seq, raw));
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(blocks: &[RawBlock]) -> Vec<(Seq, Raw)> {
        blocks.iter().flat_map(|block| unpack(block.first, block.size, &block.bytes).unwrap()).collect()
    }

    #[test]
    fn what_is_packed_is_read_back() {
        let raws: Vec<(Seq, Raw)> = [(3, "{\"a\":1}"), (4, "{\"a\":1}"), (7, ""), (8, "é"), (9, "{\"a\":1}")]
            .map(|(seq, raw)| (Seq(seq), Raw::from(raw)))
            .into();
        let blocks = pack(raws.iter().map(|(seq, raw)| (*seq, raw)));
        assert_eq!((blocks.len(), blocks[0].first, blocks[0].last), (1, Seq(3), Seq(9)));
        assert_eq!(unpacked(&blocks), raws);
        assert_eq!(pack([]), []);
    }

    #[test]
    fn a_repeated_frame_is_kept_once_and_a_large_one_closes_its_block() {
        let large = Raw::from("x".repeat(BLOCK_BYTES));
        let small = Raw::from("y");
        let blocks = pack((1..=100).map(|seq| (Seq(seq), if seq <= 99 { &large } else { &small })));
        assert_eq!(
            blocks.iter().map(|block| block.size).collect::<Vec<_>>(),
            [4 + 99 * ENTRY + BLOCK_BYTES, 4 + ENTRY + 1]
        );
        assert_eq!(unpacked(&blocks).len(), 100);
    }

    #[test]
    fn a_damaged_block_is_an_error_and_no_panic() {
        let raws: Vec<Raw> = (0..50).map(|n| Raw::from(format!("{{\"n\":{n}}}"))).collect();
        let block = pack(raws.iter().enumerate().map(|(n, raw)| (Seq(n as u64), raw))).remove(0);
        let honest = unpack(block.first, block.size, &block.bytes).unwrap();
        for at in 0..block.bytes.len() {
            let mut bytes = block.bytes.clone();
            bytes[at] ^= 0x55;
            let _ = unpack(block.first, block.size, &bytes); // may still read, must not panic
            assert!(unpack(block.first, block.size, &block.bytes[..at]).is_err(), "cut at {at}");
        }
        assert!(unpack(block.first, usize::MAX, &block.bytes).is_err());
        assert_eq!(honest.len(), 50);
    }
}
