//! A memory limit for a program of Longshore that reads from strangers. A server or a model can send without
//! end in ways that no bound in the code counts. Then this program ends with an error, and the machine is
//! safe.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit of this process before [`allow`] changed it.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Limits the memory of this process. The processes that it starts on a leash are not limited.
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

/// The limit that a process on a leash gets back.
pub(super) fn before() -> Option<Rlimit> {
    BEFORE.get().copied()
}
