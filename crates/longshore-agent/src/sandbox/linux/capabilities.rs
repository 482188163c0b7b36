//! Capabilities, which only root has. A command keeps those over files, because a tree may belong to another
//! user. It loses all others, because some lead past Landlock: one lets root read the environment of any
//! process.

use std::io;

/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_FOWNER` and `CAP_FSETID`.
const KEPT: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 4;
/// The third version of the call, with 64 bits in two halves.
const VERSION: u32 = 0x2008_0522;
/// How many there could be.
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

/// Drops them for this thread and all that it starts. Without new privileges nothing gives them back.
#[allow(unsafe_code, reason = "no crate of ours makes this call")]
pub(super) fn drop_most() -> io::Result<()> {
    let mut header = Header { version: VERSION, pid: 0 };
    let mut halves = [Half::default(); 2];
    // SAFETY: both have the layout that the call wants, and outlive it.
    let known = unsafe { libc::syscall(libc::SYS_capget, &mut header, &mut halves) };
    if known != 0 {
        return Err(io::Error::last_os_error());
    }
    for number in (0..=MOST).filter(|number| *number >= 32 || KEPT & 1 << number == 0) {
        // SAFETY: it takes numbers only. It fails for whoever may not, and has nothing to drop either.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
    }
    let [low, _] = halves;
    let left = Half { effective: low.effective & KEPT, permitted: low.permitted & KEPT, inheritable: 0 };
    let halves = [left, Half::default()];
    // SAFETY: as above.
    match unsafe { libc::syscall(libc::SYS_capset, &header, &halves) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
