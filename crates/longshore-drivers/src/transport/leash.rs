//! The leash: an agent does not outlive the hub, also when the hub is killed and can say goodbye to nobody.

use tokio::process::Command;

/// Has the system end the process when the thread that starts it is gone. Threads of the runtime are there as long as
/// the hub is. Where the system cannot do that, an agent ends when its input does, as most do.
pub(super) fn put_on(command: &mut Command) {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code, reason = "there is no other way to do something between fork and exec")]
    // SAFETY: it makes one system call, which takes no memory and no lock.
    unsafe {
        command.pre_exec(|| {
            use rustix::process::{Signal, set_parent_process_death_signal};
            Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}
