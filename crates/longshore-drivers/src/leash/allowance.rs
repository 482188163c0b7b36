//! A memory limit for a program of ours that reads from strangers. A server or a model can send without end
//! in ways that no bound of ours counts; then this program ends with an error, and the machine is safe.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What this process was allowed before, once it allows itself less.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Allows this process this much memory of its own. The processes that it starts on a leash are not limited.
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
