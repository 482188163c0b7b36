//! Capabilities, which only root has. A command keeps the capabilities over files, because a tree may belong to another
//! user. It loses all others, because some lead past Landlock: one lets root read the environment of any process.

use std::io;

/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_FOWNER` and `CAP_FSETID`.
const KEPT: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 4;
/// The third version of the system call, which has 64 bits in two halves.
const VERSION: u32 = 0x2008_0522;
/// The highest possible number of a capability.
const MOST: i32 = 63;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Drops the capabilities for this thread and its children. Without new privileges, nothing gives them back.
#[allow(unsafe_code, reason = "no crate of ours makes this call")]
pub(super) fn drop_most() -> io::Result<()> {
    let mut header = Header { version: VERSION, pid: 0 };
    let mut halves = [Half::default(); 2];
    // SAFETY: both arguments have the layout that the call needs, and outlive the call.
    let known = unsafe { libc::syscall(libc::SYS_capget, &mut header, &mut halves) };
    if known != 0 {
        return Err(io::Error::last_os_error());
    }
    for number in (0..=MOST).filter(|number| *number >= 32 || KEPT & 1 << number == 0) {
        // SAFETY: the call takes numbers only. It fails for a process without the right, which has nothing to drop.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
    }
    let [low, _] = halves;
    let left = Half { effective: low.effective & KEPT, permitted: low.permitted & KEPT, inheritable: 0 };
    let halves = [left, Half::default()];
    // SAFETY: as for the first call.
    match unsafe { libc::syscall(libc::SYS_capset, &header, &halves) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
