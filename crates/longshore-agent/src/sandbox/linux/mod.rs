//! The sandbox of Linux: Landlock for files, seccomp for system calls, a separate view of the file system,
//! and no capabilities beyond files.
//!
//! Everything is prepared before the fork. Between fork and exec there are only system calls that need no
//! memory and no lock.

mod capabilities;
mod filter;
mod rules;
mod view;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use seccompiler::BpfProgram;

use self::view::View;
use super::Sandbox;

/// The prepared restrictions for one process.
#[derive(Debug)]
pub(super) struct Lock {
    view: Option<View>,
    rules: OwnedFd,
    filter: BpfProgram,
}

impl Lock {
    pub(super) fn new(sandbox: &Sandbox, cwd: &Path) -> io::Result<Self> {
        let view = view::is_possible().then(|| View::new(sandbox, cwd)).transpose()?.flatten();
        Self::with(sandbox, view)
    }

    fn with(sandbox: &Sandbox, view: Option<View>) -> io::Result<Self> {
        let (rules, abi) = rules::of(sandbox)?;
        Ok(Self { view, rules, filter: filter::of(sandbox, abi)? })
    }

    /// Restricts the calling thread, and all processes that it starts later.
    #[allow(unsafe_code, reason = "the system call has no other way in")]
    pub(super) fn enter(&mut self) -> io::Result<()> {
        if let Some(view) = &mut self.view {
            view.enter()?;
        }
        capabilities::drop_most()?;
        // SAFETY: the calls take numbers only. The file descriptor belongs to this lock and is open.
        let locked = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0) == 0
        };
        if !locked {
            return Err(io::Error::last_os_error());
        }
        seccompiler::apply_filter(&self.filter).map_err(|_| io::Error::last_os_error())
    }
}

/// Whether this system allows the view, which makes folders inside a writable folder read-only.
pub(super) fn keeps() -> bool {
    view::is_possible()
}

/// Tries the sandbox on a thread, which then ends. The view is not part of this test.
pub(super) fn try_it(sandbox: &Sandbox) -> io::Result<()> {
    let tried = std::thread::scope(|scope| {
        scope.spawn(|| Lock::with(sandbox, None).and_then(|mut lock| lock.enter())).join()
    });
    tried.unwrap_or_else(|_| Err(io::Error::other("the thread of the sandbox panicked")))
}

#[cfg(test)]
mod tests {
    use super::super::available;

    /// The filter makes the kernel answer as if it had no Landlock.
    #[test]
    fn a_kernel_without_landlock_is_noticed() {
        let told = std::thread::spawn(|| {
            super::filter::pretend_that_landlock_is_missing();
            available()
        });
        let fault = told.join().unwrap().unwrap_err();
        assert!(fault.starts_with("the sandbox: "), "{fault}");
    }
}
