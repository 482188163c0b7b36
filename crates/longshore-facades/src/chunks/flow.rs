//! A text that clients only append to, made of items that may grow, end and be corrected.

use std::collections::BTreeMap;

use longshore_model::id::Seq;
use longshore_model::timeline::{Item, ItemChange};

/// How many items of a turn the flow remembers. An agent rarely speaks of an older one again.
const REMEMBERED: usize = 256;
/// How many bytes of the sent text tell whether the final text goes on from there.
const TAIL: usize = 64;
const GAP: &str = "\n\n";

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// The item that was said last; none for a sentence of our own.
    last: Option<Seq>,
    has_text: bool,
    sent: BTreeMap<Seq, SentText>,
}

/// What was sent of the text of one item.
#[derive(Debug, Default)]
struct SentText {
    bytes: usize,
    tail: String,
}

impl Flow {
    /// A sentence of our own, as a paragraph.
    pub(super) fn say(&mut self, sentence: &str) -> String {
        self.last = None;
        self.paragraph(sentence)
    }

    /// What an item adds to the text; none if nothing.
    pub(super) fn follow(&mut self, change: &ItemChange<'_>) -> Option<String> {
        match change.grew {
            Some(grew) => Some(self.add(change.item, grew)),
            None if change.settled() => self.settle(change.item),
            None => None,
        }
    }

    fn add(&mut self, item: &Item, piece: &str) -> String {
        let sent = self.sent.entry(item.seq).or_default();
        sent.bytes += piece.len();
        sent.tail.push_str(piece);
        let mut excess = sent.tail.len().saturating_sub(TAIL);
        while !sent.tail.is_char_boundary(excess) {
            excess += 1;
        }
        sent.tail.drain(..excess);
        if self.sent.len() > REMEMBERED {
            self.sent.pop_first();
        }
        match self.last.replace(item.seq) == Some(item.seq) {
            true => piece.to_owned(),
            false => self.paragraph(piece),
        }
    }

    /// The final text of an item: the rest of it, or the whole if it is another one than was sent.
    fn settle(&mut self, item: &Item) -> Option<String> {
        let text = item.text.as_str();
        let (rest, goes_on) = match self.sent.get(&item.seq) {
            None => (text, true),
            Some(sent) => match text.get(..sent.bytes).filter(|begun| begun.ends_with(&sent.tail)) {
                Some(begun) => (&text[begun.len()..], true),
                // It ends earlier: what was sent cannot be taken back.
                None if sent.tail.trim_end().ends_with(last_of(text)) => ("", true),
                None => (text, false),
            },
        };
        if !goes_on {
            self.sent.remove(&item.seq);
            self.last = None;
        }
        (!rest.is_empty()).then(|| self.add(item, rest))
    }

    fn paragraph(&mut self, text: &str) -> String {
        let gap = if self.has_text { GAP } else { "" };
        self.has_text = true;
        [gap, text].concat()
    }
}

/// The end of a text, for comparing.
fn last_of(text: &str) -> &str {
    let text = text.trim_end();
    let mut start = text.len().saturating_sub(TAIL / 2);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
