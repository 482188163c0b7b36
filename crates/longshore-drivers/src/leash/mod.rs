//! The leash: nothing that we start outlives us, nor the agent that it was started for, nor the session of that.
//!
//! | who would stay | what ends it |
//! |---|---|
//! | the program itself | its process group is signalled (`Group`); the system ends it with the thread that holds it (`hold`) |
//! | what it started, in its group | the group |
//! | what left the group (`setsid`) | the [`Mark`] that all of them inherit in their environment, and whose child each is (`kin`) |
//! | what also changed its environment | orphans become our children (`reaper`), and who was seen once is remembered (`memory`) |
//! | what a hub left that was killed | a shell waits for that (`warden`); and the mark of that hub is written down, and looked for at the next start ([`LeashRecord`]) |
//!
//! All of it but the group and the thread is Linux's; elsewhere there are process groups only.

mod allowance;
mod group;
#[cfg(target_os = "linux")]
mod kin;
mod mark;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod reaper;
mod record;
mod sweep;
#[cfg(target_os = "linux")]
mod warden;

use std::io;
use std::sync::mpsc;

use rustix::process::Signal;
use tokio::process::Command;

pub use allowance::allow;
pub use group::Group;
pub use mark::Mark;
pub(crate) use mark::VARIABLE;
pub use record::LeashRecord;
pub use sweep::{end, end_at_last};

/// A thread that holds a process. The system ends the process with the thread that started it, and threads of the
/// runtime come and go; this one is there until it is dropped.
#[derive(Debug)]
pub struct Holder {
    _dropped: mpsc::Sender<()>,
    /// Until the process is known as the leader of its group.
    #[cfg(target_os = "linux")]
    start: Option<memory::ProgramStart>,
}

impl Holder {
    /// The process is known: nobody takes it for a stranger any more.
    fn started(&mut self) {
        #[cfg(target_os = "linux")]
        drop(self.start.take());
    }
}

/// Starts something from a thread of its own, which is there for as long as its holder is.
pub fn hold<T: Send + 'static>(
    start: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<(T, Holder)> {
    #[cfg(target_os = "linux")]
    let program_start = memory::ProgramStart::begin();
    let runtime = tokio::runtime::Handle::current();
    let (dropped, held) = mpsc::channel();
    let (started, starting) = mpsc::sync_channel(1);
    let holder = std::thread::Builder::new().name("leash".to_owned());
    holder.spawn(move || {
        let _in_runtime = runtime.enter();
        let result = start();
        let has_started = result.is_ok();
        if started.send(result).is_ok() && has_started {
            // Nothing is ever sent: it fails when the holder is dropped.
            let _ = held.recv();
        }
    })?;
    let started = starting.recv().map_err(io::Error::other)?;
    let holder = Holder {
        _dropped: dropped,
        #[cfg(target_os = "linux")]
        start: Some(program_start),
    };
    Ok((started?, holder))
}

/// Puts a program on the leash: it carries the mark, it hears every signal, and the system sends it this one when the thread
/// that starts it is gone. Where the system cannot do the last, an agent ends when its input does, as most do.
#[allow(unsafe_code, reason = "there is no other way to do something between fork and exec")]
pub fn put_on(command: &mut Command, mark: &Mark, left_alone: Signal) {
    #[cfg(target_os = "linux")]
    reaper::begin();
    command.env(mark::VARIABLE, mark.as_str());
    let memory = allowance::before();
    // SAFETY: it makes system calls that take no memory and no lock.
    unsafe {
        command.pre_exec(move || {
            // What a script starts in the background ignores these two, and so would all that it starts.
            for signal in [libc::SIGINT, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            if let Some(memory) = memory {
                rustix::process::setrlimit(rustix::process::Resource::Data, memory)?;
            }
            #[cfg(target_os = "linux")]
            rustix::process::set_parent_process_death_signal(Some(left_alone))?;
            #[cfg(not(target_os = "linux"))]
            let _ = left_alone;
            Ok(())
        });
    }
}
