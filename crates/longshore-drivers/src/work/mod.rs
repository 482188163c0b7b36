//! A workshop: does what drivers want done with files and commands, inside the work tree only.
//!
//! One per agent process. It is plugged into the loop that runs the driver: what the driver puts into
//! [`Output::works`](longshore_model::driver::Output) goes to [`Workshop::begin`], and what [`Workshop::next`] says goes
//! back to the driver as [`Input::WorkDone`](longshore_model::driver::Input). Dropped, it ends every command that it
//! runs, with all that the command started.
//!
//! Bounded: [`WORKS_LIMIT`] works at a time that take their time, and [`TERMINALS_LIMIT`] terminals; what is more is
//! refused at once. What is done or refused at once waits to be taken; [`Workshop::is_full`] says when no more lines of
//! the agent should be read before that. Of what a command prints the last [`OUTPUT_LIMIT`] bytes are kept at most; a
//! file that is read may be [`FILE_LIMIT`] long.

pub mod files;
pub mod terminals;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use longshore_model::id::SessionId;
use longshore_model::work::{Done, Job, Work, WorkFault, WorkId};
use tokio::task::JoinSet;

use self::terminals::{Command, Terminal};
use crate::leash::Mark;

/// How many works are done at a time: reading, writing, waiting for a command.
pub const WORKS_LIMIT: usize = 64;
/// How many terminals there may be.
pub const TERMINALS_LIMIT: usize = 32;
/// How long a file that is read may be, in bytes.
pub const FILE_LIMIT: u64 = 8 << 20;
/// How much of what a command prints is kept at most, in bytes.
pub const OUTPUT_LIMIT: usize = 1 << 20;

/// What the names of terminals begin with, before their number.
const PREFIX: &str = "term-";

/// What came of a work.
pub type Finished = (WorkId, Result<Done, WorkFault>);

/// Does what drivers want done.
#[derive(Debug)]
pub struct Workshop {
    /// To which all belong that it runs.
    mark: Mark,
    running: JoinSet<Finished>,
    /// What was refused, or done at once.
    ready: VecDeque<Finished>,
    /// By their name; each is of one session.
    terminals: HashMap<String, (SessionId, Arc<Terminal>)>,
    /// How many terminals there had been when the last turn of a session ended.
    ended: HashMap<SessionId, u64>,
    /// How many terminals there have been.
    opened: u64,
}

impl Workshop {
    /// A new one, in which nothing is done yet.
    pub fn new() -> Self {
        Self::under(Mark::of_this_process().under())
    }

    /// A new one, for an agent to which all belong that carry this mark.
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

    /// Begins a work. Must be called inside of a tokio runtime.
    pub fn begin(&mut self, work: Work) {
        let Work { id, session, root, job } = work;
        // An end is never refused.
        let takes_time =
            matches!(job, Job::Read { .. } | Job::Look { .. } | Job::Write { .. } | Job::Wait { .. });
        if takes_time && self.running.len() >= WORKS_LIMIT {
            let text = format!("{WORKS_LIMIT} requests of this agent already run; wait for one to end");
            self.ready.push_back((id, Err(WorkFault::Busy(text))));
            return;
        }
        let root = PathBuf::from(root);
        match job {
            Job::Read { path, line, limit } => {
                self.blocking(id, move || files::read(&root, &path, line, limit).map(Done::Read));
            }
            Job::Look { path } => {
                self.blocking(id, move || files::read(&root, &path, None, None).map(Done::Read));
            }
            Job::Write { path, content } => {
                self.blocking(id, move || files::write(&root, &path, &content).map(|()| Done::Written));
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
                    self.running.spawn(async move { (id, terminal.ended().await.map(Done::Ended)) });
                }
                Err(fault) => self.ready.push_back((id, Err(fault))),
            },
            Job::Kill { terminal } => {
                let done = self.terminal(session, &terminal).map(|terminal| terminal.kill());
                self.ready.push_back((id, done.map(|()| Done::Killed)));
            }
            Job::Release { terminal } => {
                let done = self.terminal(session, &terminal).map(|found| found.kill());
                if done.is_ok() {
                    self.terminals.remove(&terminal);
                }
                self.ready.push_back((id, done.map(|()| Done::Released)));
            }
        }
    }

    /// The next work that is done. Waits for ever when there is none. May be dropped and called again.
    pub async fn next(&mut self) -> Finished {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return ready;
            }
            match self.running.join_next().await {
                Some(Ok(finished)) => return finished,
                // Only a panic ends a work like this, and then nobody knows which one it was.
                Some(Err(error)) => tracing::error!(%error, "a work was lost"),
                None => std::future::pending::<()>().await,
            }
        }
    }

    /// Whether something is being done, or done and not taken yet.
    pub fn is_busy(&self) -> bool {
        !(self.running.is_empty() && self.ready.is_empty())
    }

    /// Whether so much is done and not taken that the agent should not be heard before it is.
    pub fn is_full(&self) -> bool {
        self.ready.len() >= WORKS_LIMIT
    }

    /// A turn of a session ends. One that was interrupted takes the commands with it that were run for it; the agent can
    /// still ask what they printed. Those that were there before go on.
    pub fn turn_ends(&mut self, session: SessionId, interrupted: bool) {
        let before = self.ended.insert(session, self.opened).unwrap_or_default();
        let of_turn = |name: &str| number_in(name).is_some_and(|number| number > before);
        for (name, (of, terminal)) in &self.terminals {
            if interrupted && *of == session && of_turn(name) {
                terminal.kill();
            }
        }
    }

    fn blocking(&mut self, id: WorkId, work: impl FnOnce() -> Result<Done, WorkFault> + Send + 'static) {
        self.running.spawn_blocking(move || (id, work()));
    }

    fn run(
        &mut self,
        session: SessionId,
        root: &std::path::Path,
        command: Command,
    ) -> Result<Done, WorkFault> {
        if self.terminals.len() >= TERMINALS_LIMIT {
            let text = format!("{TERMINALS_LIMIT} terminals are already open; release one");
            return Err(WorkFault::Busy(text));
        }
        let terminal = Terminal::open(root, command, self.mark.under())?;
        self.opened += 1;
        let name = format!("{PREFIX}{}", self.opened);
        self.terminals.insert(name.clone(), (session, Arc::new(terminal)));
        Ok(Done::Running { terminal: name })
    }

    fn terminal(&self, session: SessionId, name: &str) -> Result<Arc<Terminal>, WorkFault> {
        match self.terminals.get(name) {
            Some((of, terminal)) if *of == session => Ok(Arc::clone(terminal)),
            Some(_) | None => Err(WorkFault::NoTerminal(name.to_owned())),
        }
    }
}

impl Default for Workshop {
    fn default() -> Self {
        Self::new()
    }
}

fn number_in(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}
