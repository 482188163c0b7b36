//! The Landlock rules: where a command may write, and for commands that only read also what they may read and
//! run.

use std::io;
use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};

use super::super::{Reach, Sandbox};

/// Devices that store nothing of the data that programs write to them.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// The rules, and the version of Landlock of this kernel.
pub(super) fn of(sandbox: &Sandbox) -> io::Result<(OwnedFd, i64)> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(format!("the sandbox: {error}"));
    let writes = AccessFs::from_write(ABI::V3);
    let looks = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut handled: BitFlags<AccessFs> = AccessFs::from_write(ABI::V1);
    if let Reach::Only { .. } = sandbox.reach {
        handled |= looks | AccessFs::Execute;
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)
        .map_err(|error| failed(&error))?
        // Older kernels lack some of these rights. The rules leave missing rights out; the filter covers some of them.
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .map_err(|error| failed(&error))?;
    if !sandbox.network {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4)).map_err(|error| failed(&error))?;
    }
    let mut created = rules.create().map_err(|error| failed(&error))?;
    // Landlock refuses a rule with a right that the ruleset does not handle.
    let open = match sandbox.reach {
        Reach::All => writes,
        Reach::Only { .. } => writes | looks,
    };
    let devices = DEVICES.iter().map(std::path::Path::new);
    let writable = sandbox.writable.iter().map(std::path::PathBuf::as_path);
    created = created
        .add_rules(path_beneath_rules(writable.chain(devices), open))
        .map_err(|error| failed(&error))?;
    if let Reach::Only { read, run } = &sandbox.reach {
        created = created
            .add_rules(path_beneath_rules(read, looks))
            .and_then(|created| created.add_rules(path_beneath_rules(run, looks | AccessFs::Execute)))
            .map_err(|error| failed(&error))?;
    }
    let rules: Option<OwnedFd> = created.into();
    Ok((rules.ok_or_else(|| failed(&"the kernel has no Landlock"))?, version()))
}

#[allow(unsafe_code, reason = "the crate does not tell it before the lock is closed")]
fn version() -> i64 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag, the call takes no memory and returns a number.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION) }
}
