//! The transports: a child process with lines over its pipes, a child process that is also an HTTP server,
//! and a child process whose program calls back.
//!
//! All events of the child come from one method, [`Stdio::next`]. Its future may be dropped at any await
//! without loss. So one task can wait for the child and for everything else, and can write while it does not
//! read.
//!
//! Bounds: see [`Limits`]. With `read: false`, the transport reads nothing more. The pipe fills, and the
//! agent waits.

pub mod http;
mod lines;
mod outgoing;
pub mod socket;
pub mod spawn;
pub mod stderr;

use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

pub use lines::{Lines, WireLine};
pub use spawn::{Spawn, SpawnError};

use crate::leash::{Group, Mark};
use outgoing::Outgoing;
use spawn::Tie;
use stderr::Stderr;

/// How many bytes are read after the end of a process. This is more than a pipe holds, so that all output of
/// the process is read. It is bounded, because further output comes from a process that inherited the pipe.
const LAST_WORDS: usize = 2 * 1024 * 1024;

/// The bounds of a child's input and output, and its deadlines.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest line, in bytes.
    pub line: usize,
    /// How many bytes are kept of a longer line.
    pub kept: usize,
    /// How many bytes may wait to be written before the task reads nothing more from agent or session. One
    /// message may exceed the bound.
    pub outgoing: usize,
    /// How many bytes are kept of stderr.
    pub stderr: usize,
    /// How long an agent with a full `outgoing` may read nothing before it counts as stuck.
    pub stuck: Duration,
    /// How long the agent may continue after the end of its input, before it gets a SIGTERM.
    pub after_eof: Duration,
    /// How long the agent may continue after the SIGTERM, before it gets a SIGKILL.
    pub after_term: Duration,
    /// How long an agent may take to end an interrupted turn, before its process is ended.
    pub interrupt: Duration,
    /// The same if the process also works for other sessions, which would end with it.
    pub interrupt_shared: Duration,
    /// How long a pipe may stay open after the end of the process, because a process outside the group holds
    /// it.
    pub after_exit: Duration,
    /// How long a server may take until it names its address.
    pub start: Duration,
    /// How long a server may take for a response, except for requests of work.
    pub answer: Duration,
    /// How long a stream of events may be silent. Servers send heartbeats.
    pub silence: Duration,
    /// How long a program that calls back may take to connect, at first and after a broken connection.
    pub attach: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 64 * 1024 * 1024,
            kept: 64 * 1024,
            outgoing: 8 * 1024 * 1024,
            stderr: 64 * 1024,
            stuck: Duration::from_secs(30),
            after_eof: Duration::from_secs(3),
            after_term: Duration::from_secs(2),
            interrupt: Duration::from_secs(10),
            interrupt_shared: Duration::from_secs(60),
            after_exit: Duration::from_millis(500),
            start: Duration::from_secs(60),
            answer: Duration::from_secs(60),
            silence: Duration::from_secs(40),
            attach: Duration::from_secs(30),
        }
    }
}

/// What can happen to a child.
#[derive(Debug)]
pub enum ChildEvent {
    /// The child wrote something; see [`Stdio::line`].
    Readable,
    /// There was no room for further input, and the agent has read enough.
    Room,
    /// The agent does not read its input. Reported once.
    Stuck,
    /// The agent closed one of its pipes but continues. Reported once per pipe.
    HungUp,
    /// The agent and its group have ended. There may be last lines.
    Ended(ChildExit),
}

/// How a child ended.
#[derive(Clone, Debug, Default)]
pub struct ChildExit {
    /// The exit status.
    pub status: Option<ExitStatus>,
    /// The last signal of the hub, beyond the normal way to stop the agent.
    pub signalled: Option<Signal>,
    /// The last lines of stderr, without colours.
    pub stderr: String,
}

/// A child process and its pipes.
#[derive(Debug)]
pub struct Stdio {
    limits: Limits,
    group: Group,
    /// Whether processes that left the group continue when the child ends by itself.
    leaves: bool,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr_pipe: Option<ChildStderr>,
    stderr_chunk: Vec<u8>,
    stderr: Stderr,
    lines: Lines,
    outgoing: Outgoing,
    /// Whether `Stuck` was reported.
    stuck: bool,
    /// Set while the child is being stopped: when the next, harsher step is due.
    stopping: Option<Instant>,
    /// The signal that stops a child which ignores the end of its input.
    ends_on: Option<Signal>,
    /// The input ends when everything is written.
    told_all: bool,
    signalled: Option<Signal>,
    exit: Option<Exit>,
}

/// The process has ended. Its pipes may contain last output.
#[derive(Debug)]
struct Exit {
    status: Option<ExitStatus>,
    /// The task that ends the processes which left the group.
    sweep: Option<JoinHandle<()>>,
    read: usize,
    /// Until when the pipes may stay open.
    until: Option<Instant>,
}

impl Stdio {
    /// Starts a child. All processes that it starts end with it.
    pub fn spawn(spawn: &Spawn, limits: Limits) -> Result<Self, SpawnError> {
        Self::spawn_on(&Tie::under(Mark::of_this_process()), spawn, limits)
    }

    /// Starts a child on this leash.
    pub(crate) fn spawn_on(tie: &Tie, spawn: &Spawn, limits: Limits) -> Result<Self, SpawnError> {
        let spawned = spawn.start(tie)?;
        tracing::debug!(pid = spawned.group.pid(), program = %spawn.program.display(), "agent process started");
        Ok(Self {
            group: spawned.group,
            leaves: tie.leaves,
            stdin: Some(spawned.stdin),
            stdout: Some(spawned.stdout),
            stderr_pipe: Some(spawned.stderr),
            stderr_chunk: Vec::with_capacity(4 * 1024),
            stderr: Stderr::new(limits.stderr),
            lines: Lines::new(limits.line, limits.kept),
            outgoing: Outgoing::new(limits.outgoing),
            stuck: false,
            stopping: None,
            ends_on: None,
            told_all: false,
            signalled: None,
            exit: None,
            limits,
        })
    }

    /// The process id of the child.
    pub fn pid(&self) -> i32 {
        self.group.pid()
    }

    /// Queues lines, each without its line feed. [`Stdio::next`] writes them, all at once. After the agent
    /// has closed its input, or while it is being stopped, nothing more is written.
    pub fn tell(&mut self, lines: impl IntoIterator<Item = String>) {
        if self.stdin.is_none() || self.stopping.is_some() {
            return;
        }
        for line in lines {
            self.outgoing.push_line(&line);
        }
    }

    /// Whether more bytes wait to be written than allowed.
    pub fn is_full(&self) -> bool {
        self.outgoing.full_since().is_some() && self.stopping.is_none()
    }

    /// The next line of the child.
    pub fn line(&mut self) -> Option<WireLine> {
        let ended = self.stdout.is_none();
        self.lines.next().or_else(|| if ended { self.lines.rest() } else { None })
    }

    /// Writes the whole input and then closes it.
    pub fn tell_all(&mut self, text: &str) {
        self.outgoing.push(text);
        self.told_all = true;
        self.close_input_when_written();
    }

    /// Sets the signal that stops the agent, because the agent ignores the end of its input.
    pub fn end_on(&mut self, signal: Signal) {
        self.ends_on = Some(signal);
    }

    /// Begins to stop the child. First its input ends once everything is written, or the child gets the
    /// signal of [`Stdio::end_on`]. Then it gets a SIGTERM, then a SIGKILL. All processes that it started end
    /// with it.
    pub fn stop(&mut self) {
        self.leaves = false;
        match self.ends_on {
            Some(_) if self.signalled.is_none() => self.stopping = Some(Instant::now()),
            Some(_) => {}
            None => self.expect_end(),
        }
    }

    /// Ends the child and all processes that it started, at once.
    pub fn kill(&mut self) {
        self.leaves = false;
        self.signalled = Some(Signal::KILL);
        self.stopping = Some(Instant::now());
    }

    /// Expects the agent to end by itself. If it does not, it is stopped.
    pub fn expect_end(&mut self) {
        if self.stopping.is_none() {
            self.stopping = Some(Instant::now() + self.limits.after_eof);
            self.close_input_when_written();
        }
    }

    /// Waits for the next event, and writes meanwhile. Reads the agent's output only if `read` is set.
    ///
    /// The future may be dropped, and the function called again. The caller must take all lines of one
    /// [`ChildEvent::Readable`] before the next call.
    pub async fn next(&mut self, read: bool) -> ChildEvent {
        loop {
            if self.exit.is_some() {
                return self.hear_last_words(read).await;
            }
            let full_since = self.outgoing.full_since().filter(|_| !self.stuck);
            let stuck_at = full_since.map(|since| since + self.limits.stuck);
            tokio::select! {
                taken = write(&mut self.stdin, &self.outgoing), if !self.outgoing.is_empty() => {
                    if let Some(hung_up) = self.wrote(taken) {
                        return hung_up;
                    }
                    // The caller decided what to read and to hear while there was no room.
                    if full_since.is_some() && self.outgoing.full_since().is_none() {
                        return ChildEvent::Room;
                    }
                }
                got = read_stdout(&mut self.stdout, &mut self.lines), if read && self.stdout.is_some() => {
                    return self.heard(got);
                }
                got = read_stderr(&mut self.stderr_pipe, &mut self.stderr_chunk), if self.stderr_pipe.is_some() => {
                    self.heard_stderr(got);
                }
                status = self.group.ended() => {
                    self.stdin = None;
                    self.outgoing.clear();
                    let sweep = (!self.leaves).then(|| tokio::task::spawn_blocking(self.group.sweeper()));
                    self.exit = Some(Exit { status: status.ok(), sweep, read: 0, until: None });
                }
                () = at(stuck_at) => {
                    self.stuck = true;
                    return ChildEvent::Stuck;
                }
                () = at(self.stopping) => self.stop_harder(),
            }
        }
    }

    /// Reads the last output of a process that has ended. Its pipes end with it, unless a process that left
    /// the group holds them open.
    async fn hear_last_words(&mut self, read: bool) -> ChildEvent {
        if let Some(exit) = &mut self.exit
            && let Some(sweep) = &mut exit.sweep
        {
            if let Err(error) = sweep.await {
                tracing::error!(%error, "processes that an agent left could not be ended");
            }
            exit.sweep = None;
        }
        let deadline = Instant::now() + self.limits.after_exit;
        loop {
            let Some(exit) = self.exit.as_mut() else { return ChildEvent::HungUp };
            let over = exit.read > LAST_WORDS || (self.stdout.is_none() && self.stderr_pipe.is_none());
            if over {
                break;
            }
            // The time starts only when the output may be read. While the session has no room, the output
            // waits in the pipe.
            let until = read.then(|| *exit.until.get_or_insert(deadline));
            tokio::select! {
                biased;
                got = read_stdout(&mut self.stdout, &mut self.lines), if read && self.stdout.is_some() => {
                    exit.read += *got.as_ref().unwrap_or(&0);
                    self.heard(got);
                    if self.stdout.is_some() {
                        return ChildEvent::Readable;
                    }
                }
                got = read_stderr(&mut self.stderr_pipe, &mut self.stderr_chunk), if self.stderr_pipe.is_some() => {
                    exit.read += *got.as_ref().unwrap_or(&0);
                    self.heard_stderr(got);
                }
                () = at(until) => break,
            }
        }
        self.stdout = None;
        self.stderr_pipe = None;
        let status = self.exit.as_ref().and_then(|exit| exit.status);
        let signalled = self.signalled.filter(|signal| self.ends_on != Some(*signal));
        ChildEvent::Ended(ChildExit { status, signalled, stderr: self.stderr.text() })
    }

    /// Notes that the agent took some bytes, or closed its input.
    fn wrote(&mut self, taken: std::io::Result<usize>) -> Option<ChildEvent> {
        match taken {
            Ok(count) if count > 0 => {
                self.outgoing.took(count);
                if self.stopping.is_some() || self.told_all {
                    self.close_input_when_written();
                }
                None
            }
            Ok(_) | Err(_) => {
                self.stdin = None;
                self.outgoing.clear();
                self.stopping.is_none().then_some(ChildEvent::HungUp)
            }
        }
    }

    fn heard(&mut self, got: std::io::Result<usize>) -> ChildEvent {
        match got {
            Ok(count) if count > 0 => ChildEvent::Readable,
            Ok(_) | Err(_) => {
                self.stdout = None;
                ChildEvent::HungUp
            }
        }
    }

    fn heard_stderr(&mut self, got: std::io::Result<usize>) {
        match got {
            Ok(count) if count > 0 => {
                self.stderr.push(&self.stderr_chunk, self.group.pid());
                self.stderr_chunk.clear();
            }
            Ok(_) | Err(_) => self.stderr_pipe = None,
        }
    }

    fn close_input_when_written(&mut self) {
        if self.outgoing.is_empty() {
            self.stdin = None;
        }
    }

    fn stop_harder(&mut self) {
        self.stdin = None;
        self.outgoing.clear();
        let signal = match self.signalled {
            None => self.ends_on.unwrap_or(Signal::TERM),
            Some(Signal::TERM | Signal::KILL) => Signal::KILL,
            Some(_) => Signal::TERM,
        };
        let patience = match signal {
            Signal::TERM | Signal::KILL => self.limits.after_term,
            // Another signal, such as SIGINT, gives as much time as the end of the input.
            _ => self.limits.after_eof,
        };
        tracing::debug!(pid = self.group.pid(), ?signal, "agent process did not end in time");
        self.group.signal(signal);
        self.signalled = Some(signal);
        self.stopping = Some(Instant::now() + patience);
    }
}

async fn write(stdin: &mut Option<ChildStdin>, outgoing: &Outgoing) -> std::io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(outgoing.waiting()).await,
        None => std::future::pending().await,
    }
}

async fn read_stdout(stdout: &mut Option<ChildStdout>, lines: &mut Lines) -> std::io::Result<usize> {
    match stdout {
        Some(stdout) => stdout.read_buf(lines.room()).await,
        None => std::future::pending().await,
    }
}

async fn read_stderr(stderr: &mut Option<ChildStderr>, chunk: &mut Vec<u8>) -> std::io::Result<usize> {
    match stderr {
        Some(stderr) => stderr.read_buf(chunk).await,
        None => std::future::pending().await,
    }
}

/// Resolves at this time. Never resolves without one.
pub(crate) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
