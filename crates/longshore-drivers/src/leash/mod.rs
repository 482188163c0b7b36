//! The leash: no process that Longshore starts outlives the hub, its agent, or its agent's session.
//!
//! | process | ends by |
//! |---|---|
//! | the program itself | a signal to its process group (`Group`); the system ends it with the thread that holds it (`hold`) |
//! | its descendants in its group | the same signal |
//! | descendants that left the group (`setsid`) | the [`Mark`] that all inherit in their environment, and their parents (`kin`) |
//! | descendants that also changed their environment | orphans become children of the hub (`reaper`), and a process that was seen once is remembered (`memory`) |
//! | processes that a killed hub left | a shell that waits for that (`warden`), and the next start, which looks for the recorded mark ([`LeashRecord`]) |
//!
//! Everything except the group and the thread needs Linux; other systems have process groups only.

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

/// A thread that holds a process. The system ends the process together with the thread that started it.
/// Threads of the runtime come and go; this thread lives until it is dropped.
#[derive(Debug)]
pub struct Holder {
    _dropped: mpsc::Sender<()>,
    /// Held until the process is known as the leader of its group.
    #[cfg(target_os = "linux")]
    start: Option<memory::ProgramStart>,
}

impl Holder {
    /// Notes that the process is known, so that it does not count as a stray any more.
    fn started(&mut self) {
        #[cfg(target_os = "linux")]
        drop(self.start.take());
    }
}

/// Starts a process from a new thread. The thread lives as long as the returned holder.
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
            // Nothing is ever sent. The call fails when the holder is dropped.
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

/// Puts a program on the leash. The program carries the mark and accepts every signal. It gets this signal
/// from the system when its starting thread ends. If the system cannot do that, an agent ends with its input,
/// as most agents do.
#[allow(unsafe_code, reason = "there is no other way to do something between fork and exec")]
pub fn put_on(command: &mut Command, mark: &Mark, left_alone: Signal) {
    #[cfg(target_os = "linux")]
    reaper::begin();
    command.env(mark::VARIABLE, mark.as_str());
    let memory = allowance::before();
    // SAFETY: the closure makes system calls that take no memory and no lock.
    unsafe {
        command.pre_exec(move || {
            // A background process of a script ignores these two signals, and so would all of its
            // descendants.
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
