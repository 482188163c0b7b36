//! Adopts orphans, so that the hub can find them, and reaps them when they end.

use std::sync::OnceLock;

use rustix::process::{Pid, WaitOptions};

use super::{kin, memory};

/// Whether orphans become children of this process.
static ADOPTS: OnceLock<bool> = OnceLock::new();

/// Whether everything that this process ever started is among its descendants.
pub(super) fn adopts() -> bool {
    ADOPTS.get().copied().unwrap_or(false)
}

/// Begins to adopt orphans, and to watch them.
pub(super) fn begin() {
    ADOPTS.get_or_init(|| {
        let adopts = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        if let Err(error) = &adopts {
            tracing::warn!(%error, "this system gives us no orphans; what leaves its group is found by its mark only");
        }
        let watcher = std::thread::Builder::new().name("leash-watch".to_owned());
        if let Err(error) = watcher.spawn(watch) {
            tracing::warn!(%error, "nobody watches what agents start; what leaves its group is found by its mark only");
        }
        adopts.is_ok()
    });
}

fn watch() {
    loop {
        look_around();
        memory::wait();
    }
}

fn look_around() {
    let all = kin::all();
    let ended = memory::memory().look_around(&all);
    for who in ended {
        if let Some(pid) = Pid::from_raw(who.pid) {
            // Another waiter may have reaped it first.
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}
