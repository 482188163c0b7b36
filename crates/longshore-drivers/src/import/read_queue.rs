//! The queue of records to read, in order, and the readers with their positions.

use std::collections::{HashMap, HashSet, VecDeque};

use longshore_model::anchor::ToldHere;
use longshore_model::id::SessionId;
use longshore_model::time::Timestamp;

use super::index::Key;
use super::{RecordLines, RecordReader};

/// How many readers are kept where they stand, for records that go on.
const WARM: usize = 16;

/// What is to be read, and by whom.
#[derive(Default)]
pub(super) struct ReadQueue {
    /// In the order in which it was asked for.
    order: VecDeque<Key>,
    wanted: HashMap<Key, ReadRequest>,
    reading: HashSet<Key>,
    warm: VecDeque<(Key, Bookmark)>,
}

/// What a session wants to know of a record.
#[derive(Clone)]
pub(crate) struct ReadRequest {
    pub(crate) session: SessionId,
    /// What comes after this place.
    pub(crate) after: u64,
    /// Without what was told here.
    pub(crate) told: Option<ToldHere>,
}

impl ReadRequest {
    /// Whether a session of ours wants it, whose next prompt may wait for it.
    pub(super) fn is_waited_for(&self) -> bool {
        self.told.is_some()
    }

    /// Until when our own agent had told.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.told.as_ref().map(|told| told.until)
    }
}

/// A reader where it stands.
pub(super) struct Bookmark {
    pub(super) lines: RecordLines,
    pub(super) reader: Box<dyn RecordReader>,
    pub(super) at: Timestamp,
    /// Whether our prompts were found in the record under their names.
    pub(super) names_prompts: bool,
}

impl ReadQueue {
    /// A session wants something read: what a prompt may wait for comes first.
    pub(super) fn want(&mut self, key: Key, wanted: ReadRequest) {
        let is_waited_for = wanted.is_waited_for();
        match self.wanted.insert(key.clone(), wanted) {
            None if is_waited_for => self.order.push_front(key),
            None => self.order.push_back(key),
            Some(_) => {}
        }
    }

    /// How many are read, or yet to be read.
    pub(super) fn count(&self) -> usize {
        self.wanted.keys().filter(|key| !self.reading.contains(key)).count() + self.reading.len()
    }

    /// Somebody has read it. The reader is kept where it stands, if there is one.
    pub(super) fn done(&mut self, key: Key, warm: Option<Bookmark>) {
        self.reading.remove(&key);
        if let Some(warm) = warm {
            self.keep(key, warm);
        }
    }

    /// What is to be read next: the first that nobody reads already.
    pub(super) fn next(&mut self) -> Option<(Key, ReadRequest)> {
        let place = self.order.iter().position(|key| !self.reading.contains(key))?;
        let key = self.order.remove(place)?;
        let wanted = self.wanted.remove(&key)?;
        self.reading.insert(key.clone());
        Some((key, wanted))
    }

    /// The reader that stands at that place.
    pub(super) fn take_warm(&mut self, key: &Key, after: u64) -> Option<Bookmark> {
        let place = self.warm.iter().position(|(of, _)| of == key)?;
        let (_, warm) = self.warm.remove(place)?;
        (warm.lines.place() == after).then_some(warm)
    }

    fn keep(&mut self, key: Key, warm: Bookmark) {
        if self.warm.len() >= WARM {
            self.warm.pop_front();
        }
        self.warm.push_back((key, warm));
    }
}
