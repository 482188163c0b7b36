//! What the hub has done since it started, for `/metrics`.

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

    /// Conversations that were held elsewhere and are listed here since.
    pub fn past(&self) -> u64 {
        self.past.load(Ordering::Relaxed)
    }

    /// Events recorded.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Commits that they took.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}
