//! The leash: an agent does not outlive the hub, nor a tool its agent, also when it is killed and can say goodbye to nobody.

use std::io;
use std::sync::mpsc;

use tokio::process::Command;

use super::spawn::{Spawn, SpawnError, Spawned};

/// A thread that holds the leash of one process. The system ends the process with the thread that started it, and
/// threads of the runtime come and go; this one is there until the leash is dropped.
#[derive(Debug)]
pub(super) struct Leash {
    _dropped: mpsc::Sender<()>,
}

/// Starts a process on a leash.
pub(super) fn start(spawn: &Spawn) -> Result<(Spawned, Leash), SpawnError> {
    let runtime = tokio::runtime::Handle::current();
    let (dropped, held) = mpsc::channel();
    let (started, starting) = mpsc::sync_channel(1);
    let theirs = spawn.clone();
    let holder = std::thread::Builder::new().name("leash".to_owned());
    let thread = holder.spawn(move || {
        let _in_runtime = runtime.enter();
        if started.send(theirs.start()).is_ok() {
            // Nothing is ever sent: it fails when the leash is dropped.
            let _ = held.recv();
        }
    });
    thread.map_err(|error| spawn.explain(error))?;
    let spawned = starting.recv().map_err(|error| spawn.explain(io::Error::other(error)))?;
    Ok((spawned?, Leash { _dropped: dropped }))
}

/// Has the system end the process when the thread that starts it is gone, and lets it hear every signal. Where the system
/// cannot do the former, an agent ends when its input does, as most do.
#[allow(unsafe_code, reason = "there is no other way to do something between fork and exec")]
pub(crate) fn put_on(command: &mut Command) {
    // SAFETY: it makes system calls that take no memory and no lock.
    unsafe {
        command.pre_exec(|| {
            // What a script starts in the background ignores these two, and so would all that it starts.
            for signal in [libc::SIGINT, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            #[cfg(target_os = "linux")]
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
            Ok(())
        });
    }
}
