//! Counts since the start of the hub, for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that only grow.
#[derive(Debug, Default)]
pub struct Counters {
    events: AtomicU64,
    commits: AtomicU64,
    past: AtomicU64,
}

impl Counters {
    pub(crate) fn recorded(&self, events: usize) {
        self.events.fetch_add(events as u64, Ordering::Relaxed);
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn took_in_past(&self) {
        self.past.fetch_add(1, Ordering::Relaxed);
    }

    /// Conversations from elsewhere that the hub has listed.
    pub fn past(&self) -> u64 {
        self.past.load(Ordering::Relaxed)
    }

    /// Recorded events.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Commits of these events.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}
