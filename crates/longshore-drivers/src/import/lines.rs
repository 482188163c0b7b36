//! A record as lines with their positions.
//!
//! The record of a fork begins in another file. The fork's own file contains only the lines after the fork,
//! and says how many bytes of the other file come before them. This module joins both into one record. A
//! position counts the bytes of both.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;

use longshore_model::event::{Raw, RawFault};

/// How many bytes are read at once.
const CHUNK: usize = 256 * 1024;
/// How many bytes a line may have.
const LONGEST: usize = 64 << 20;
/// How many bytes of a longer line are kept.
const KEPT: usize = 1 << 20;

/// A part of a record: a file, or its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPart {
    /// The file. None if it is missing, which leaves a gap.
    pub file: Option<PathBuf>,
    /// How many bytes of the file belong to the record. None for all.
    pub until: Option<u64>,
}

/// A whole line of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLine {
    /// The line, or the beginning of a line that is too long.
    pub text: Raw,
    /// What is wrong with the line.
    pub fault: Option<RawFault>,
}

/// Reads the whole lines of a record. A last line without its newline does not count yet.
#[derive(Debug)]
pub struct RecordLines {
    parts: std::vec::IntoIter<RecordPart>,
    open: Option<OpenPart>,
    /// The position at which the open part begins.
    begins: u64,
    /// How many bytes of the record were read, in whole lines.
    place: u64,
}

#[derive(Debug)]
struct OpenPart {
    file: BufReader<File>,
    until: Option<u64>,
    /// How many bytes of this part were read, in whole lines.
    place: u64,
    line: Vec<u8>,
}

impl RecordLines {
    /// A record that is one file.
    pub fn of_file(file: PathBuf) -> Self {
        Self::of(vec![RecordPart { file: Some(file), until: None }])
    }

    /// A record of several parts.
    pub fn of(parts: Vec<RecordPart>) -> Self {
        Self { parts: parts.into_iter(), open: None, begins: 0, place: 0 }
    }

    /// How many bytes of the record were read, in whole lines.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// The next whole line. None at the end; more lines may come later.
    #[allow(clippy::should_implement_trait, reason = "it can fail, and more lines may come after a `None`")]
    pub fn next(&mut self) -> io::Result<Option<RecordLine>> {
        loop {
            let Some(open) = &mut self.open else {
                match self.parts.next() {
                    Some(part) => self.begin(part)?,
                    None => return Ok(None),
                }
                continue;
            };
            let line = open.next()?;
            self.place = self.begins + open.place;
            match (line, open.until) {
                (Some(line), _) => return Ok(Some(line)),
                // The last part may grow. The other parts end here.
                (None, None) => return Ok(None),
                (None, Some(until)) => {
                    self.begins += until;
                    self.place = self.begins;
                    self.open = None;
                }
            }
        }
    }

    fn begin(&mut self, part: RecordPart) -> io::Result<()> {
        let RecordPart { file, until } = part;
        match (file, until) {
            (Some(file), until) => {
                let file = BufReader::with_capacity(CHUNK, File::open(file)?);
                self.open = Some(OpenPart { file, until, place: 0, line: Vec::new() });
            }
            (None, Some(until)) => {
                self.begins += until;
                self.place = self.begins;
            }
            (None, None) => {}
        }
        Ok(())
    }
}

impl OpenPart {
    fn next(&mut self) -> io::Result<Option<RecordLine>> {
        loop {
            let Some((length, fault)) = self.take_line()? else {
                // A line without its newline is read again when it is complete.
                self.file.seek(SeekFrom::Start(self.place))?;
                return Ok(None);
            };
            self.place += length;
            let bytes = self.line.trim_ascii();
            if bytes.is_empty() {
                continue;
            }
            let line = match std::str::from_utf8(bytes) {
                Ok(text) => RecordLine { text: text.into(), fault },
                Err(_) => {
                    let fault = Some(fault.unwrap_or(RawFault::InvalidUtf8));
                    RecordLine { text: String::from_utf8_lossy(bytes).into(), fault }
                }
            };
            if self.line.capacity() > CHUNK * 4 {
                self.line = Vec::new();
            }
            return Ok(Some(line));
        }
    }

    /// Takes a line with its newline into the buffer, and returns its length. None if the newline is missing.
    fn take_line(&mut self) -> io::Result<Option<(u64, Option<RawFault>)>> {
        self.line.clear();
        let left = self.until.map_or(u64::MAX, |until| until.saturating_sub(self.place));
        let mut length = 0_u64;
        let mut fault = None;
        loop {
            let bytes = self.file.fill_buf()?;
            let within = bytes.len().min(usize::try_from(left - length).unwrap_or(usize::MAX));
            let bytes = &bytes[..within];
            if bytes.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |end| end + 1);
            if fault.is_none() {
                self.line.extend_from_slice(&bytes[..taken]);
                if self.line.len() > LONGEST {
                    fault = Some(RawFault::Truncated);
                    self.line.truncate(KEPT);
                    self.line.shrink_to_fit();
                }
            }
            self.file.consume(taken);
            length += taken as u64;
            if end.is_some() {
                return Ok(Some((length, fault)));
            }
        }
    }
}
