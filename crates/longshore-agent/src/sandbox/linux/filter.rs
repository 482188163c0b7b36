//! The seccomp filter, for operations that Landlock does not cover: sockets, `truncate` on older kernels, and, for
//! commands that only read, every change of a file's attributes.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::super::{Reach, Sandbox};

/// System calls with the rules that deny them. A call without rules is always denied.
type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that change a file's mode, owner, times or attributes.
const ATTRIBUTES: [i64; 14] = [
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // `setxattrat` and `removexattrat`, since Linux 6.13.
    463,
    466,
];
/// The older forms of these calls, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD_ATTRIBUTES: [i64; 6] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_ATTRIBUTES: [i64; 0] = [];

/// The version of Landlock that covers `truncate`.
const COVERS_TRUNCATION: i64 = 3;

pub(super) fn of(sandbox: &Sandbox, landlock: i64) -> io::Result<BpfProgram> {
    compiled(sandbox, landlock).map_err(|error| io::Error::other(format!("the sandbox: {error}")))
}

fn compiled(sandbox: &Sandbox, landlock: i64) -> Result<BpfProgram, seccompiler::BackendError> {
    // A command in the sandbox never needs to mount anything. The entry is also here because a filter cannot be empty.
    let mut calls = SyscallRules::from([(libc::SYS_mount, Vec::new())]);
    if !sandbox.network {
        let local = u64::from(libc::AF_UNIX.unsigned_abs());
        let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, local)?;
        calls.insert(libc::SYS_socket, vec![SeccompRule::new(vec![other])?]);
        // `io_uring` opens sockets without a call of `socket`.
        calls.insert(libc::SYS_io_uring_setup, Vec::new());
    }
    if landlock < COVERS_TRUNCATION {
        calls.insert(libc::SYS_truncate, Vec::new());
    }
    if let Reach::Only { .. } = sandbox.reach {
        calls.insert(libc::SYS_socket, Vec::new());
        calls.extend(ATTRIBUTES.into_iter().chain(OLD_ATTRIBUTES).map(|call| (call, Vec::new())));
    }
    let denied = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    SeccompFilter::new(calls, SeccompAction::Allow, denied, std::env::consts::ARCH.try_into()?)?.try_into()
}

#[cfg(test)]
pub(super) fn pretend_that_landlock_is_missing() {
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let calls = SyscallRules::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, missing, arch).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}
