//! How much of a tool's output is kept: nearly everything for the log, beginning and end for the model.

use std::collections::VecDeque;

use longshore_drivers::transport::stderr::plain;

/// How many bytes of a result the model gets.
pub(super) const MODEL_LIMIT: usize = 16 * 1024;
/// How many bytes of a result the log keeps. The deltas had the rest.
pub(super) const WHOLE_LIMIT: usize = 4 * 1024 * 1024;

/// The text without escape sequences for terminals. Of a text that is too long, this keeps the first and the last
/// lines; a line between them says how much is missing.
pub(super) fn for_model(text: &str) -> String {
    told(&plain(text), Gap::default(), "", MODEL_LIMIT)
}

/// The size of the missing part of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Gap {
    bytes: usize,
    lines: usize,
}

impl Gap {
    fn add(&mut self, text: &str) {
        self.bytes += text.len();
        self.lines += text.matches('\n').count();
    }

    fn join(&mut self, other: Gap) {
        self.bytes += other.bytes;
        self.lines += other.lines;
    }

    fn words(self) -> String {
        format!("{} bytes ({} lines)", self.bytes, self.lines)
    }
}

/// The beginning and the end of a text, in at most `limit` bytes. A gap that is already there grows by the part that is
/// cut now, so the text has one gap with the true size.
fn told(before: &str, gap: Gap, after: &str, limit: usize) -> String {
    let (seam, text) = (before.len(), format!("{before}{after}"));
    let is_whole = gap == Gap::default();
    if text.len() <= limit {
        return if is_whole { text } else { joined(before, gap, after) };
    }
    let head = floor(&text, limit / 2);
    let tail = ceil(&text, text.len() - limit / 2);
    // The cut lies between lines, unless a line is very long.
    let head = match text[..head].rfind('\n') {
        Some(end) if end >= head / 2 => end + 1,
        Some(_) | None => head,
    };
    let tail = match text[tail..].find('\n') {
        Some(end) if end < limit / 4 => tail + end + 1,
        Some(_) | None => tail,
    };
    let (head, tail) = if is_whole { (head, tail) } else { (head.min(seam), tail.max(seam)) };
    let mut missing = gap;
    missing.add(&text[head..tail]);
    joined(&text[..head], missing, &text[tail..])
}

/// The last boundary between characters that is not after `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first boundary between characters that is not before `at`.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

fn joined(head: &str, gap: Gap, tail: &str) -> String {
    let feed = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{feed}[... {} left out ...]\n{tail}", gap.words())
}

/// Decodes the output of a command. It joins characters that a read has cut in two.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    cut: Vec<u8>,
}

impl Decoder {
    /// The text of these bytes, which follow the bytes of the previous call.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> String {
        self.cut.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.cut);
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => return text.to_owned(),
            // The rest of the last character has not arrived yet.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => {
                let cut = bytes.utf8_chunks().last().map_or(0, |last| incomplete(last.invalid()));
                bytes.len() - cut
            }
        };
        let (text, cut) = bytes.split_at(whole);
        self.cut = cut.to_vec();
        String::from_utf8_lossy(text).into_owned()
    }

    /// The text of the remaining bytes at the end of the output.
    pub(super) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.cut)).into_owned()
    }
}

/// How many of these bytes could be the beginning of a character.
fn incomplete(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        Ok(_) | Err(_) => 0,
    }
}

/// The output of a command. Beyond the limit, only its beginning and its end are kept.
#[derive(Debug)]
pub(super) struct BoundedOutput {
    head: String,
    gap: Gap,
    tail: VecDeque<String>,
    tail_bytes: usize,
    limit: usize,
}

impl BoundedOutput {
    /// An empty output that keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { head: String::new(), gap: Gap::default(), tail: VecDeque::new(), tail_bytes: 0, limit }
    }

    pub(super) fn push(&mut self, text: &str) {
        let room = (self.limit / 2).saturating_sub(self.head.len());
        let is_head = self.tail.is_empty() && self.gap == Gap::default();
        let room = if is_head { floor(text, room) } else { 0 };
        let (head, rest) = text.split_at(room);
        self.head.push_str(head);
        if rest.is_empty() {
            return;
        }
        self.tail_bytes += rest.len();
        self.tail.push_back(rest.to_owned());
        while self.tail_bytes > self.limit / 2 {
            let Some(mut first) = self.tail.pop_front() else { break };
            let surplus = ceil(&first, self.tail_bytes - self.limit / 2);
            self.gap.add(&first[..surplus]);
            self.tail_bytes -= surplus;
            if surplus < first.len() {
                first.drain(..surplus);
                self.tail.push_front(first);
            }
        }
    }

    /// Appends another output. If that output has a gap, the text before it joins the gap, so there is still one gap.
    pub(super) fn append(&mut self, next: &BoundedOutput) {
        self.push(&next.head);
        if next.gap != Gap::default() {
            self.tail.drain(..).for_each(|text| self.gap.add(&text));
            self.tail_bytes = 0;
            self.gap.join(next.gap);
        }
        next.tail.iter().for_each(|text| self.push(text));
    }

    /// Adds a remark of the agent, on its own line.
    pub(super) fn remark(&mut self, line: &str) {
        let last = self.tail.back().unwrap_or(&self.head);
        if !last.is_empty() && !last.ends_with('\n') {
            self.push("\n");
        }
        self.push(line);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    /// The whole output, or its beginning and its end.
    pub(super) fn text(&self) -> String {
        told(&self.head, self.gap, &self.end(), usize::MAX)
    }

    /// The output for the model, which gets less of it, with the size of the missing part. Text that is already gone
    /// counts with all bytes that the command printed.
    pub(super) fn for_model(&self) -> String {
        let end = self.end();
        match self.gap == Gap::default() {
            true => for_model(&format!("{}{end}", self.head)),
            false => told(&plain(&self.head), self.gap, &plain(&end), MODEL_LIMIT),
        }
    }

    fn end(&self) -> String {
        self.tail.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_first_and_last_lines() {
        let text: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let told = for_model(&text);
        assert!(told.len() < MODEL_LIMIT + 100, "{}", told.len());
        assert!(told.starts_with("line 0\nline 1\n") && told.ends_with("line 9999\n"));
        let middle = told.lines().find(|line| line.starts_with("[...")).unwrap();
        let kept = told.lines().count() - 1;
        assert!(middle.contains(&format!("({} lines) left out", 10_000 - kept)), "{middle}");
        assert_eq!(for_model("short"), "short");
    }

    #[test]
    fn one_endless_line_is_cut_between_characters() {
        let told = told(&"é".repeat(1000), Gap::default(), "", 101);
        assert!(told.starts_with('é') && told.ends_with('é') && told.contains("left out"), "{told}");
    }

    #[test]
    fn characters_cut_in_two_come_out_whole() {
        let text = "a€b😀c";
        for size in 1..8 {
            let mut decoder = Decoder::default();
            let mut said: String = text.as_bytes().chunks(size).map(|bytes| decoder.decode(bytes)).collect();
            said.push_str(&decoder.finish());
            assert_eq!(said, text, "by {size}");
        }
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"\xffx\xe2\x82"), "\u{fffd}x");
        assert_eq!(decoder.decode(b"\xac!"), "€!");
        assert_eq!(decoder.decode(b"\xe2"), "");
        assert_eq!(decoder.finish(), "\u{fffd}");
    }

    #[test]
    fn what_is_collected_is_bounded() {
        let mut collected = BoundedOutput::new(20);
        for number in 0..100 {
            collected.push(&format!("{number:02}\n"));
        }
        assert_eq!(
            collected.text(),
            "00\n01\n02\n0\n[... 280 bytes (93 lines) left out ...]\n\n97\n98\n99\n"
        );
        let mut all = BoundedOutput::new(20);
        all.push("0123456789abcdefghij");
        assert_eq!(all.text(), "0123456789abcdefghij");
    }

    /// The kept part of a text, and the missing bytes and lines that it names.
    fn missing(told: &str) -> (String, usize, usize) {
        let (head, rest) = told.split_once("[... ").unwrap();
        let (words, tail) = rest.split_once(" left out ...]\n").unwrap();
        let (bytes, lines) = words.split_once(" bytes (").unwrap();
        let lines = lines.strip_suffix(" lines)").unwrap();
        (format!("{head}{tail}"), bytes.parse().unwrap(), lines.parse().unwrap())
    }

    #[test]
    fn what_is_cut_twice_says_how_much_of_the_whole_is_missing() {
        let line = "0123456789abcde\n";
        let (mut printed, count) = (BoundedOutput::new(WHOLE_LIMIT), 1_000_000);
        (0..count).for_each(|_| printed.push(line));
        for told in [printed.text(), printed.for_model()] {
            let (kept, bytes, lines) = missing(&told);
            assert_eq!(kept.len() + bytes, count * line.len());
            assert_eq!(kept.lines().count() + lines, count);
        }
        let mut coloured = BoundedOutput::new(20);
        (0..100).for_each(|_| coloured.push("\u{1b}[1mx\u{1b}[0m\n"));
        assert!(coloured.for_model().ends_with("(98 lines) left out ...]\nx\n"), "{}", coloured.for_model());
    }

    #[test]
    fn what_follows_with_a_gap_leaves_one_gap() {
        let mut printed = BoundedOutput::new(4_000);
        for _ in 0..2 {
            let mut unread = BoundedOutput::new(1_000);
            (0..1_000).for_each(|number| unread.push(&format!("{number:03}\n")));
            printed.append(&unread);
        }
        printed.remark("[over]");
        let (kept, bytes, lines) = missing(&printed.text());
        assert!(kept.starts_with("000\n") && kept.ends_with("999\n[over]"), "{kept}");
        assert_eq!(kept.len() + bytes, 8_000 + "[over]".len());
        assert_eq!(kept.lines().count() + lines, 2_001);
    }
}
