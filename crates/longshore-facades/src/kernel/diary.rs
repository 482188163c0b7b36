//! What happened at the doors of the hub since its start: counts, and the newest entries. It is for people who look for a
//! fault; nothing depends on it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use longshore_model::time::Timestamp;

/// The newest remarkable things.
const INCIDENTS: usize = 50;
/// The newest deeds of people who look after the hub.
const DEEDS: usize = 500;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Incident {
    Connected,
    Disconnected,
    /// A device wanted more than it may.
    Denied,
    /// A client did something too often.
    Limited,
}

impl Incident {
    pub(crate) const ALL: [Incident; 4] =
        [Incident::Connected, Incident::Disconnected, Incident::Denied, Incident::Limited];

    /// Whether it is worth a line of its own.
    fn is_remarkable(self) -> bool {
        match self {
            Incident::Connected | Incident::Disconnected => false,
            Incident::Denied | Incident::Limited => true,
        }
    }
}

/// An entry.
#[derive(Clone, Debug)]
pub(crate) struct DiaryEntry<T> {
    pub(crate) at: Timestamp,
    pub(crate) what: T,
}

/// What happened since the start.
#[derive(Debug)]
pub(crate) struct Diary {
    pub(crate) started: Timestamp,
    counts: [AtomicU64; Incident::ALL.len()],
    incidents: Mutex<VecDeque<DiaryEntry<(Incident, String)>>>,
    deeds: Mutex<VecDeque<DiaryEntry<String>>>,
}

impl Diary {
    pub(crate) fn new(started: Timestamp) -> Self {
        Self { started, counts: Default::default(), incidents: Mutex::default(), deeds: Mutex::default() }
    }

    /// Counts something, and keeps it if it is remarkable.
    pub(crate) fn count(&self, incident: Incident, detail: impl Into<String>, at: Timestamp) {
        self.counts[incident as usize].fetch_add(1, Ordering::Relaxed);
        if incident.is_remarkable() {
            put(&self.incidents, INCIDENTS, DiaryEntry { at, what: (incident, detail.into()) });
        }
    }

    /// Notes what somebody did.
    pub(crate) fn note(&self, deed: impl Into<String>, at: Timestamp) {
        put(&self.deeds, DEEDS, DiaryEntry { at, what: deed.into() });
    }

    pub(crate) fn counted(&self, incident: Incident) -> u64 {
        self.counts[incident as usize].load(Ordering::Relaxed)
    }

    /// The newest remarkable things, the oldest first.
    pub(crate) fn incidents(&self) -> Vec<DiaryEntry<(Incident, String)>> {
        newest(&self.incidents, INCIDENTS)
    }

    /// The newest deeds, the oldest first.
    pub(crate) fn deeds(&self, most: usize) -> Vec<DiaryEntry<String>> {
        newest(&self.deeds, most)
    }
}

fn put<T>(list: &Mutex<VecDeque<DiaryEntry<T>>>, most: usize, entry: DiaryEntry<T>) {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(entry);
}

fn newest<T: Clone>(list: &Mutex<VecDeque<DiaryEntry<T>>>, most: usize) -> Vec<DiaryEntry<T>> {
    let list = list.lock().unwrap_or_else(PoisonError::into_inner);
    list.iter().skip(list.len().saturating_sub(most)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay_and_all_are_counted() {
        let diary = Diary::new(Timestamp::from_micros(1));
        for at in 0..600 {
            let now = Timestamp::from_micros(at);
            diary.note(at.to_string(), now);
            diary.count(Incident::Connected, "", now);
            diary.count(Incident::Denied, at.to_string(), now);
        }
        let deeds: Vec<String> = diary.deeds(2).into_iter().map(|deed| deed.what).collect();
        assert_eq!(deeds, ["598", "599"]);
        assert_eq!((diary.deeds(9_999).len(), diary.incidents().len()), (DEEDS, INCIDENTS));
        assert_eq!((diary.counted(Incident::Connected), diary.counted(Incident::Limited)), (600, 0));
        assert!(diary.incidents().iter().all(|entry| entry.what.0 == Incident::Denied));
    }
}
