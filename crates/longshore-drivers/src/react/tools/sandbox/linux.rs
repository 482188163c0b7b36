//! The sandbox of Linux: Landlock for files, seccomp for the network.

use std::collections::BTreeMap;
use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::Sandbox;

/// Devices that programs write to without writing anything anywhere.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Locks the calling thread in, and all that it starts from then on.
pub(super) fn enter(sandbox: &Sandbox) -> io::Result<()> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(format!("the sandbox: {error}"));
    let writes = AccessFs::from_write(ABI::V3);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V1))
        .map_err(|error| failed(&error))?
        // What older kernels lack is left out, except where the filter below makes up for it.
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .map_err(|error| failed(&error))?;
    if !sandbox.network {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4)).map_err(|error| failed(&error))?;
    }
    let writable = sandbox.writable.iter().map(|folder| folder.as_os_str());
    let devices = DEVICES.iter().map(std::ffi::OsStr::new);
    let created = rules.create().map_err(|error| failed(&error))?;
    let created = created
        .add_rules(path_beneath_rules(writable.chain(devices), writes))
        .map_err(|error| failed(&error))?;
    let status = created.restrict_self().map_err(|error| failed(&error))?;
    let truncation = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi >= ABI::V3,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => false,
    };
    let calls = denied(sandbox.network, truncation).map_err(|error| failed(&error))?;
    if calls.is_empty() {
        return Ok(());
    }
    let filter = filter(calls).map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&filter).map_err(|error| failed(&error))
}

/// System calls, and when they are meant: always when there are no rules.
type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// What Landlock does not cover: sockets that are no local ones, and on older kernels `truncate`.
fn denied(network: bool, truncation_is_covered: bool) -> Result<Calls, seccompiler::BackendError> {
    let mut calls = Calls::new();
    if !network {
        let local = u64::from(libc::AF_UNIX.unsigned_abs());
        let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, local)?;
        calls.insert(libc::SYS_socket, vec![SeccompRule::new(vec![other])?]);
        // It opens sockets without calling `socket`.
        calls.insert(libc::SYS_io_uring_setup, Vec::new());
    }
    if !truncation_is_covered {
        calls.insert(libc::SYS_truncate, Vec::new());
    }
    Ok(calls)
}

fn filter(calls: Calls) -> Result<BpfProgram, seccompiler::BackendError> {
    let denied = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    SeccompFilter::new(calls, SeccompAction::Allow, denied, std::env::consts::ARCH.try_into()?)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::super::available;
    use super::*;

    /// A kernel that has none answers as this filter does.
    #[test]
    fn a_kernel_without_landlock_is_noticed() {
        let told = std::thread::spawn(|| {
            let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
            let calls = Calls::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
            let arch = std::env::consts::ARCH.try_into().unwrap();
            let filter = SeccompFilter::new(calls, SeccompAction::Allow, missing, arch).unwrap();
            seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
            available()
        });
        let fault = told.join().unwrap().unwrap_err();
        assert!(fault.starts_with("the sandbox: "), "{fault}");
    }
}
