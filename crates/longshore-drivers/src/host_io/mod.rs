//! Carries out requests of drivers for files and commands, inside the work tree only.
//!
//! There is one [`HostIo`] per agent process, in the loop that runs the driver. A request in
//! [`Output::works`](longshore_model::driver::Output) goes to [`HostIo::begin`]. A result of [`HostIo::next`]
//! goes back to the driver as [`Input::WorkDone`](longshore_model::driver::Input). Dropping the [`HostIo`]
//! ends all of its commands, with everything that they started.
//!
//! Bounds: [`WORKS_LIMIT`] long requests at a time, and [`TERMINALS_LIMIT`] terminals. Further requests are
//! refused at once. Finished and refused requests wait to be taken. While [`HostIo::is_full`], the loop
//! should read no more lines of the agent. The last [`OUTPUT_LIMIT`] bytes of a command's output are kept. A
//! file may have [`FILE_LIMIT`] bytes.

pub mod files;
pub(crate) mod of_clients;
pub mod terminals;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use longshore_model::host_io::{HostFault, HostReply, HostRequest, HostRequestId, Job};
use longshore_model::id::SessionId;
use tokio::task::JoinSet;

use self::terminals::{Command, Terminal};
use crate::leash::Mark;

/// How many long requests may run at a time: reading, writing, waiting for a command.
pub const WORKS_LIMIT: usize = 64;
/// How many terminals there may be.
pub const TERMINALS_LIMIT: usize = 32;
/// How many bytes a file may have.
pub const FILE_LIMIT: u64 = 8 << 20;
/// How many bytes of a command's output are kept.
pub const OUTPUT_LIMIT: usize = 1 << 20;

/// How the name of a terminal begins, before its number.
const PREFIX: &str = "term-";

/// The id of a request, and its result.
pub type HostResponse = (HostRequestId, Result<HostReply, HostFault>);

/// Carries out requests of drivers.
#[derive(Debug)]
pub struct HostIo {
    /// The mark of all commands.
    mark: Mark,
    running: JoinSet<HostResponse>,
    /// The results of requests that were refused, or done at once.
    ready: VecDeque<HostResponse>,
    /// The terminals by name, each with its session.
    terminals: HashMap<String, (SessionId, Arc<Terminal>)>,
    /// How many terminals had been opened when the last turn of a session ended.
    ended: HashMap<SessionId, u64>,
    /// How many terminals have been opened.
    opened: u64,
}

impl HostIo {
    /// A new one, without requests.
    pub fn new() -> Self {
        Self::under(Mark::of_this_process().under())
    }

    /// A new one for an agent. Its commands carry this mark.
    pub(crate) fn under(mark: Mark) -> Self {
        Self {
            mark,
            running: JoinSet::new(),
            ready: VecDeque::new(),
            terminals: HashMap::new(),
            ended: HashMap::new(),
            opened: 0,
        }
    }

    /// Begins a request. Must be called within a tokio runtime.
    pub fn begin(&mut self, work: HostRequest) {
        let HostRequest { id, session, root, job } = work;
        // A request to end a command is never refused.
        let takes_time =
            matches!(job, Job::Read { .. } | Job::Look { .. } | Job::Write { .. } | Job::Wait { .. });
        if takes_time && self.running.len() >= WORKS_LIMIT {
            let text = format!("{WORKS_LIMIT} requests of this agent already run; wait for one to end");
            self.ready.push_back((id, Err(HostFault::Busy(text))));
            return;
        }
        let root = PathBuf::from(root);
        match job {
            Job::Read { path, line, limit } => {
                self.blocking(id, move || files::read(&root, &path, line, limit).map(HostReply::Read));
            }
            Job::Look { path } => {
                self.blocking(id, move || files::read(&root, &path, None, None).map(HostReply::Read));
            }
            Job::Write { path, content } => {
                self.blocking(id, move || files::write(&root, &path, &content).map(|()| HostReply::Written));
            }
            Job::Run { command, arguments, env, cwd, keep } => {
                let command = Command { line: command, arguments, env, cwd, keep };
                let done = self.run(session, &root, command);
                self.ready.push_back((id, done));
            }
            Job::Output { terminal } => {
                let done = self.terminal(session, &terminal).map(|terminal| terminal.output());
                self.ready.push_back((id, done));
            }
            Job::Wait { terminal } => match self.terminal(session, &terminal) {
                Ok(terminal) => {
                    self.running.spawn(async move { (id, terminal.ended().await.map(HostReply::Ended)) });
                }
                Err(fault) => self.ready.push_back((id, Err(fault))),
            },
            Job::Kill { terminal } => {
                let done = self.terminal(session, &terminal).map(|terminal| terminal.kill());
                self.ready.push_back((id, done.map(|()| HostReply::Killed)));
            }
            Job::Release { terminal } => {
                let done = self.terminal(session, &terminal).map(|found| found.kill());
                if done.is_ok() {
                    self.terminals.remove(&terminal);
                }
                self.ready.push_back((id, done.map(|()| HostReply::Released)));
            }
        }
    }

    /// The next result. Waits for ever if there is none. The future may be dropped, and the function called
    /// again.
    pub async fn next(&mut self) -> HostResponse {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return ready;
            }
            match self.running.join_next().await {
                Some(Ok(finished)) => return finished,
                // Only a panic ends a request like this. Its id is then unknown.
                Some(Err(error)) => tracing::error!(%error, "a work was lost"),
                None => std::future::pending::<()>().await,
            }
        }
    }

    /// Whether a request runs, or a result waits to be taken.
    pub fn is_busy(&self) -> bool {
        !(self.running.is_empty() && self.ready.is_empty())
    }

    /// Whether so many finished requests wait that the loop should read no more of the agent.
    pub fn is_full(&self) -> bool {
        self.ready.len() >= WORKS_LIMIT
    }

    /// Notes the end of a turn. If it was interrupted, its commands end; the agent can still read their
    /// output. Commands from before the turn continue.
    pub fn turn_ends(&mut self, session: SessionId, interrupted: bool) {
        let before = self.ended.insert(session, self.opened).unwrap_or_default();
        let of_turn = |name: &str| number_in(name).is_some_and(|number| number > before);
        for (name, (of, terminal)) in &self.terminals {
            if interrupted && *of == session && of_turn(name) {
                terminal.kill();
            }
        }
    }

    fn blocking(
        &mut self,
        id: HostRequestId,
        work: impl FnOnce() -> Result<HostReply, HostFault> + Send + 'static,
    ) {
        self.running.spawn_blocking(move || (id, work()));
    }

    fn run(
        &mut self,
        session: SessionId,
        root: &std::path::Path,
        command: Command,
    ) -> Result<HostReply, HostFault> {
        if self.terminals.len() >= TERMINALS_LIMIT {
            let text = format!("{TERMINALS_LIMIT} terminals are already open; release one");
            return Err(HostFault::Busy(text));
        }
        let terminal = Terminal::open(root, command, self.mark.under())?;
        self.opened += 1;
        let name = format!("{PREFIX}{}", self.opened);
        self.terminals.insert(name.clone(), (session, Arc::new(terminal)));
        Ok(HostReply::Running { terminal: name })
    }

    fn terminal(&self, session: SessionId, name: &str) -> Result<Arc<Terminal>, HostFault> {
        match self.terminals.get(name) {
            Some((of, terminal)) if *of == session => Ok(Arc::clone(terminal)),
            Some(_) | None => Err(HostFault::NoTerminal(name.to_owned())),
        }
    }
}

impl Default for HostIo {
    fn default() -> Self {
        Self::new()
    }
}

fn number_in(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}
