//! A child process that leads its own process group, and the end of both.
//!
//! The group's number is the leader's pid. Until the leader is reaped, the kernel gives that number to no
//! other process. A zombie is not reaped yet. So this module signals the group only before it reaps the
//! leader: it observes the leader's exit without reaping (`WNOWAIT`), kills the whole group, and then reaps
//! the leader. No signal can hit an unrelated process.
//!
//! A process that left the group is found by its mark. It may continue when the leader ended by itself, as a
//! server does that was started to stay. [`Group::end`] ends it too, and so does dropping a group whose
//! leader runs.

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::process::Child;
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};

use super::mark::Mark;
use super::{Holder, sweep};

/// The leader and its group. If it is dropped before the leader is reaped, it kills them all.
#[derive(Debug)]
pub struct Group {
    child: Child,
    pid: Pid,
    /// Says that a child of this process ended, or several did.
    ended: SignalStream,
    reaped: bool,
    /// The programs that were still in the group when the leader ended.
    left: Vec<String>,
    mark: Mark,
    /// Dropped last, because the system ends the leader with it.
    _holder: Holder,
}

impl Group {
    /// Takes over a child that was spawned with `process_group(0)` and put on the leash with this mark, and
    /// the thread that holds the child.
    pub fn new(child: Child, mark: Mark, mut holder: Holder) -> io::Result<Self> {
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("the process ended before it began"))?;
        #[cfg(target_os = "linux")]
        super::memory::begins(&mark, pid.as_raw_nonzero().get());
        holder.started();
        Ok(Self {
            child,
            pid,
            ended: signal(SignalKind::child())?,
            reaped: false,
            left: Vec::new(),
            mark,
            _holder: holder,
        })
    }

    /// The pid of the leader.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Sends a signal to all processes of the group.
    pub fn signal(&self, signal: Signal) {
        if self.reaped {
            return;
        }
        if let Err(error) = rustix::process::kill_process_group(self.pid, signal) {
            // The group is empty, or macOS reports this for a zombie.
            tracing::debug!(pid = self.pid(), %error, "a process group took no signal");
        }
    }

    /// Waits until the leader has ended, kills the rest of the group, and reaps the leader. The future may be
    /// dropped, and the function called again.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        while !self.has_ended()? {
            if self.ended.recv().await.is_none() {
                return Err(io::Error::other("the runtime no longer tells of ended processes"));
            }
        }
        self.left = members(self.pid());
        self.signal(Signal::KILL);
        self.reaped = true;
        self.child.try_wait()?.ok_or_else(|| io::Error::other("the process ended and did not"))
    }

    /// The programs that were still in the group when the leader ended. They ended with it.
    pub fn left_behind(&self) -> &[String] {
        &self.left
    }

    /// Ends the leader, if it still runs, and all processes that it ever started. Blocks for a few
    /// milliseconds.
    pub fn end(&self) {
        self.signal(Signal::KILL);
        sweep::end(&self.mark);
    }

    /// A function that ends all processes that the leader ever started, for a blocking thread.
    pub fn sweeper(&self) -> impl FnOnce() + Send + 'static {
        let mark = self.mark.clone();
        move || sweep::end(&mark)
    }

    fn has_ended(&self) -> io::Result<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(rustix::process::waitid(WaitId::Pid(self.pid), look)?.is_some())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The child is dropped after this, and tokio reaps it later.
        if !self.reaped {
            self.end();
        }
        #[cfg(target_os = "linux")]
        super::memory::ends(&self.mark);
    }
}

/// How many fields of `/proc/PID/stat` are between the group and the exit code, and the exit code after a
/// hangup.
const HUNG_UP: (usize, &str) = (46, "1");

/// The names of the programs in a group, without the leader's. Only Linux has this information.
fn members(group: i32) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let name = |folder: std::path::PathBuf| {
        let pid: i32 = folder.file_name()?.to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let (state, of) = (fields.next()?, fields.nth(1)?);
        // A terminal that closes with its leader ends the rest of its group with a hangup, before this look.
        // These zombies count.
        let runs = state != "Z" || fields.nth(HUNG_UP.0) == Some(HUNG_UP.1);
        (pid != group && of.parse() == Ok(group) && runs).then(|| name.to_owned())
    };
    processes.filter_map(|process| name(process.path())).collect()
}
