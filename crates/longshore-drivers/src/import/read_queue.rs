//! The queue of records to read, in order, and the readers with their positions.

use std::collections::{HashMap, HashSet, VecDeque};

use longshore_model::anchor::ToldHere;
use longshore_model::id::SessionId;
use longshore_model::time::Timestamp;

use super::index::Key;
use super::{RecordLines, RecordReader};

/// How many readers are kept at their positions, for records that may grow.
const WARM: usize = 16;

/// The records to read, and the sessions that request them.
#[derive(Default)]
pub(super) struct ReadQueue {
    /// In the order of the requests.
    order: VecDeque<Key>,
    wanted: HashMap<Key, ReadRequest>,
    reading: HashSet<Key>,
    warm: VecDeque<(Key, Bookmark)>,
}

/// A session's request to read a record.
#[derive(Clone)]
pub(crate) struct ReadRequest {
    pub(crate) session: SessionId,
    /// Read only what follows this place.
    pub(crate) after: u64,
    /// Leave out what our own driver reported.
    pub(crate) told: Option<ToldHere>,
}

impl ReadRequest {
    /// Whether a session of the hub requests it. Its next prompt may be waiting for the result.
    pub(super) fn is_waited_for(&self) -> bool {
        self.told.is_some()
    }

    /// The time until which our own agent reported.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.told.as_ref().map(|told| told.until)
    }
}

/// A reader at its position.
pub(super) struct Bookmark {
    pub(super) lines: RecordLines,
    pub(super) reader: Box<dyn RecordReader>,
    pub(super) at: Timestamp,
    /// Whether the record contains prompts of ours under our ids.
    pub(super) names_prompts: bool,
}

impl ReadQueue {
    /// Adds a session's request. A request that a prompt may wait for goes to the front.
    pub(super) fn want(&mut self, key: Key, wanted: ReadRequest) {
        let is_waited_for = wanted.is_waited_for();
        match self.wanted.insert(key.clone(), wanted) {
            None if is_waited_for => self.order.push_front(key),
            None => self.order.push_back(key),
            Some(_) => {}
        }
    }

    /// How many records are being read, or waiting.
    pub(super) fn count(&self) -> usize {
        self.wanted.keys().filter(|key| !self.reading.contains(key)).count() + self.reading.len()
    }

    /// Ends the reading of a record. If the reader is given, it is kept at its position.
    pub(super) fn done(&mut self, key: Key, warm: Option<Bookmark>) {
        self.reading.remove(&key);
        if let Some(warm) = warm {
            self.keep(key, warm);
        }
    }

    /// The next record to read. Records that are already being read are left out.
    pub(super) fn next(&mut self) -> Option<(Key, ReadRequest)> {
        let place = self.order.iter().position(|key| !self.reading.contains(key))?;
        let key = self.order.remove(place)?;
        let wanted = self.wanted.remove(&key)?;
        self.reading.insert(key.clone());
        Some((key, wanted))
    }

    /// Takes the reader that is at this place.
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
