//! How much memory a program of ours may take that listens to strangers. A server or a model can talk without end in ways that no
//! bound of ours counts; then this program ends, and says so, and the machine goes on.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What this process was allowed before, once it allows itself less.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Allows this process so many bytes of memory of its own, and no fewer to whom it starts on a leash.
pub fn allow(bytes: u64) {
    let before = getrlimit(Resource::Data);
    if before.current.is_some_and(|current| current <= bytes) {
        return;
    }
    match setrlimit(Resource::Data, Rlimit { current: Some(bytes), ..before }) {
        Ok(()) => drop(BEFORE.set(before)),
        Err(error) => tracing::warn!(%error, "this system sets no bound to the memory of a process"),
    }
}

/// What a process that is started here gets back.
pub(super) fn before() -> Option<Rlimit> {
    BEFORE.get().copied()
}
