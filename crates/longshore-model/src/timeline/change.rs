//! What one event changed on the timeline. Facades translate changes: begin an item, append to it, settle it.

use super::{Content, Item, Timeline};
use crate::event::Event;
use crate::id::Seq;

/// The change of one item by one event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemChange<'a> {
    /// The item as it is now.
    pub item: &'a Item,
    /// Whether the event began the item.
    pub began: bool,
    /// The text that the event appended, if the item only grew.
    pub grew: Option<&'a str>,
}

impl ItemChange<'_> {
    /// Whether the item has its final content: it ended, or somebody answered it. An item may get its final content
    /// more than once; the newest is right.
    pub fn settled(&self) -> bool {
        self.grew.is_none() && self.item.ended_at.is_some()
    }
}

/// The item that an event touched.
pub(super) struct Touched {
    pub(super) at: usize,
    /// Whether the item only grew.
    pub(super) grew: bool,
}

impl Touched {
    pub(super) fn at(at: usize) -> Self {
        Self { at, grew: false }
    }
}

impl Timeline {
    /// The change that an event made. `before` is how many items there were.
    pub(super) fn change<'a>(&'a self, event: &'a Event, before: usize, touched: &Touched) -> ItemChange<'a> {
        ItemChange {
            item: &self.items[touched.at],
            began: touched.at >= before,
            grew: touched.grew.then(|| event.text()),
        }
    }

    /// The items that are not settled, and the last `newest` of the others: enough to fold what comes next, unless an
    /// agent speaks once more of something that ended long ago. That begins anew.
    pub fn window(&self, newest: usize) -> Self {
        // The changes of a turn have no end of their own.
        let settled = |item: &Item| item.ended_at.is_some() || item.content == Content::TurnDiff;
        let mut skipped = self.items.iter().filter(|item| settled(item)).count().saturating_sub(newest);
        let keep = |item: &Item| {
            let keep = skipped == 0 || !settled(item);
            skipped -= usize::from(!keep);
            keep
        };
        self.kept(&self.items.iter().map(keep).collect::<Vec<bool>>())
    }

    /// The items that had begun at this seq. What follows can be folded again from there: an item that ended since then
    /// ends once more.
    #[must_use]
    pub fn begun_by(&self, seq: Seq) -> Self {
        let begun: Vec<bool> = self.items.iter().map(|item| item.seq <= seq).collect();
        Self { head: self.head.min(seq), ..self.kept(&begun) }
    }

    fn kept(&self, kept: &[bool]) -> Self {
        let mut place = 0;
        let places: Vec<usize> = kept
            .iter()
            .map(|kept| {
                place += usize::from(*kept);
                place
            })
            .collect();
        let index = self.index.iter().filter(|(_, at)| kept[**at]).map(|(key, at)| (*key, places[*at] - 1));
        let items = self.items.iter().zip(kept).filter(|(_, kept)| **kept).map(|(item, _)| item.clone());
        Self { head: self.head, items: items.collect(), index: index.collect() }
    }
}
