//! Ends all processes that carry a mark.

use super::mark::Mark;

#[cfg(target_os = "linux")]
pub(super) use linux::{all_of, signal};
#[cfg(target_os = "linux")]
pub use linux::{end, end_at_last};

/// Ends all processes with a mark, wherever they are. Takes a few milliseconds, and at most three seconds.
#[cfg(not(target_os = "linux"))]
pub fn end(_: &Mark) {}

/// The same for the mark of everything that this process started.
#[cfg(not(target_os = "linux"))]
pub fn end_at_last(_: &Mark) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::time::{Duration, Instant};

    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, Signal};

    use super::Mark;
    use crate::leash::kin::{self, ProcessEntry, ProcessKey};
    use crate::leash::{memory, reaper};

    /// How long the search may take. It does not wait for a program that makes processes faster than they can
    /// be stopped.
    const WITHIN: Duration = Duration::from_secs(3);

    /// Ends all processes with a mark, wherever they are. Takes a few milliseconds, and at most three
    /// seconds.
    pub fn end(mark: &Mark) {
        end_known(mark, |all| memory::memory().known(mark, all));
    }

    /// The same for the outermost mark: it also ends processes that escaped so quickly that nobody knows
    /// their leash.
    pub fn end_at_last(mark: &Mark) {
        end_known(mark, |all| memory::memory().known_at_last(mark, all));
    }

    fn end_known(mark: &Mark, known: impl Fn(&[ProcessEntry]) -> HashSet<ProcessKey>) {
        all_of(|| {
            let all = kin::all();
            let own = i32::try_from(std::process::id()).unwrap_or_default();
            let known = known(&all);
            if reaper::adopts() {
                let below = kin::below([own], &all);
                let among: Vec<ProcessEntry> =
                    all.iter().filter(|seen| below.contains(&seen.who.pid)).copied().collect();
                return kin::of(mark, &known, &among, &all);
            }
            kin::of(mark, &known, &all, &all)
        });
    }

    /// Ends all found processes. It first stops them, and searches again until no running process is found,
    /// because a stopped process cannot start others.
    pub(in crate::leash) fn all_of(find: impl Fn() -> Vec<ProcessEntry>) {
        let until = Instant::now() + WITHIN;
        let mut stopped: HashSet<ProcessKey> = HashSet::new();
        loop {
            let running: Vec<ProcessKey> =
                find().iter().map(|seen| seen.who).filter(|who| !stopped.contains(who)).collect();
            if running.is_empty() {
                break;
            }
            if Instant::now() > until {
                tracing::warn!(count = running.len(), "processes are made faster than they can be ended");
                stopped.extend(running);
                break;
            }
            for who in running {
                signal(who, Signal::STOP);
                stopped.insert(who);
            }
        }
        for who in stopped {
            signal(who, Signal::KILL);
        }
    }

    /// Sends a signal to a process, and never to another process that has the same pid by now.
    pub(in crate::leash) fn signal(who: ProcessKey, signal: Signal) {
        let Some(pid) = Pid::from_raw(who.pid) else { return };
        let same = || kin::look(who.pid).is_some_and(|seen| seen.who == who);
        let sent = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) if same() => rustix::process::pidfd_send_signal(process, signal),
            Err(Errno::NOSYS | Errno::PERM | Errno::MFILE) if same() => {
                rustix::process::kill_process(pid, signal)
            }
            Ok(_) | Err(_) => return,
        };
        if let Err(error) = sent {
            tracing::debug!(pid = who.pid, %error, "a process took no signal");
        }
    }
}
