//! The process of a driver: one for its whole life, or one per turn.

use std::sync::Arc;

use longshore_model::driver::Run;
use rustix::process::Signal;
use tokio::task::JoinHandle;

use super::files::ScratchFolder;
use super::first_start::{First, FirstStart};
use crate::leash::{self, Mark};
use crate::transport::spawn::Tie;
use crate::transport::{ChildEvent, ChildExit, Limits, Spawn, Stdio, WireLine};

/// What can happen to the process.
pub(crate) enum ProcessEvent {
    /// The process wrote something; see [`AgentProcess::line`].
    Readable,
    /// There is room for input again.
    Room,
    /// The process does not read its input.
    Stuck,
    /// The process closed one of its pipes but continues.
    HungUp,
    /// The process of a turn ended, or did not start for this reason. There may be last lines. The driver
    /// continues after a call of [`AgentProcess::is_over`].
    TurnEnded(Result<ChildExit, String>),
    /// The process ended for good. There may be last lines.
    Ended(ChildExit),
}

pub(crate) struct AgentProcess {
    stdio: Option<Stdio>,
    /// Held if this is the first process of its agent.
    first: Option<First>,
    /// The files that the process was given.
    files: Option<ScratchFolder>,
    /// How each turn gets its process. None if one process serves the driver for its whole life.
    turns: Option<Turns>,
    /// The anchor is stopping the process, and starts no other.
    stopping: bool,
}

struct Turns {
    /// What all processes of the agent have in common.
    spawn: Spawn,
    /// The mark of all processes that the agent ever started.
    mark: Mark,
    limits: Limits,
    first_start: Arc<FirstStart>,
    starting: Option<Starting>,
}

struct Starting {
    spawned: JoinHandle<Result<Spawned, String>>,
    input: String,
    /// The process must stop as soon as it runs.
    halted: bool,
}

/// The process of a turn, its files, and whether it is the first process of its agent.
type Spawned = (Stdio, Option<ScratchFolder>, Option<First>);

impl AgentProcess {
    /// A process that already runs.
    pub(crate) fn for_life(stdio: Stdio, first: Option<First>, files: Option<ScratchFolder>) -> Self {
        Self { stdio: Some(stdio), first, files, turns: None, stopping: false }
    }

    /// One process for each turn. None runs yet.
    pub(crate) fn for_turns(spawn: Spawn, mark: Mark, limits: Limits, first_start: Arc<FirstStart>) -> Self {
        let turns = Some(Turns { spawn, mark, limits, first_start, starting: None });
        Self { stdio: None, first: None, files: None, turns, stopping: false }
    }

    /// Starts the process of a turn. If an earlier process still runs, it is killed, because its driver needs
    /// it no more.
    pub(crate) fn run(&mut self, run: Run) {
        let Some(turns) = self.turns.as_mut().filter(|_| !self.stopping) else { return };
        let (mut spawn, limits) = (turns.spawn.clone(), turns.limits.clone());
        let Run { arguments, env, files, input } = run;
        spawn.env.extend(env);
        let first_start = Arc::clone(&turns.first_start);
        // A process that the agent started to stay continues between turns.
        let tie = Tie { leaves: true, ..Tie::under(&turns.mark) };
        let spawned = tokio::spawn(async move {
            let first = first_start.enter().await;
            // A blocking thread, because a slow disk or a network folder must not hold up the runtime.
            let spawned = tokio::task::spawn_blocking(move || {
                let (folder, found) = ScratchFolder::of(&files)?;
                spawn.arguments.extend(found.into_iter().chain(arguments));
                let stdio = Stdio::spawn_on(&tie, &spawn, limits).map_err(|error| error.to_string())?;
                Ok((stdio, folder, first))
            });
            spawned.await.unwrap_or_else(|error| Err(error.to_string()))
        });
        turns.starting = Some(Starting { spawned, input, halted: false });
        self.is_over();
    }

    /// Stops the process of a turn.
    pub(crate) fn halt(&mut self) {
        if let Some(starting) = self.turns.as_mut().and_then(|turns| turns.starting.as_mut()) {
            starting.halted = true;
        }
        if let Some(stdio) = &mut self.stdio {
            stdio.stop();
        }
    }

    /// Ends the process and all that it started, at once and for good.
    pub(crate) fn kill(&mut self) {
        self.stop();
        if let Some(stdio) = &mut self.stdio {
            stdio.kill();
        }
    }

    /// Begins to stop the process for good.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.halt();
    }

    /// The anchor has taken all lines of a turn's process.
    pub(crate) fn is_over(&mut self) {
        (self.stdio, self.first, self.files) = (None, None, None);
    }

    pub(crate) fn tell(&mut self, lines: impl IntoIterator<Item = String>) {
        if let Some(stdio) = &mut self.stdio {
            stdio.tell(lines);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.stdio.as_ref().is_some_and(Stdio::is_full)
    }

    pub(crate) fn line(&mut self) -> Option<WireLine> {
        self.stdio.as_mut()?.line()
    }

    /// Waits for the next event of the process. The future may be dropped, and the function called again.
    pub(crate) async fn next(&mut self, read: bool) -> ProcessEvent {
        if let Some(turns) = &mut self.turns
            && let Some(starting) = &mut turns.starting
        {
            let spawned = (&mut starting.spawned).await;
            let (input, halted) = (std::mem::take(&mut starting.input), starting.halted);
            turns.starting = None;
            match spawned.unwrap_or_else(|error| Err(error.to_string())) {
                Ok((mut stdio, files, first)) => {
                    stdio.end_on(Signal::INT);
                    stdio.tell_all(&input);
                    if halted || self.stopping {
                        stdio.stop();
                    }
                    (self.stdio, self.first, self.files) = (Some(stdio), first, files);
                }
                Err(reason) => return ProcessEvent::TurnEnded(Err(reason)),
            }
        }
        let Some(stdio) = &mut self.stdio else {
            return match self.stopping {
                true => ProcessEvent::Ended(ChildExit::default()),
                false => std::future::pending().await,
            };
        };
        loop {
            return match stdio.next(read).await {
                ChildEvent::Readable => ProcessEvent::Readable,
                ChildEvent::Room => ProcessEvent::Room,
                ChildEvent::Stuck => ProcessEvent::Stuck,
                // The process of a turn ends by itself after the turn, and closes its pipes as it ends.
                ChildEvent::HungUp if self.turns.is_some() => {
                    stdio.expect_end();
                    continue;
                }
                ChildEvent::HungUp => ProcessEvent::HungUp,
                ChildEvent::Ended(ended) if self.turns.is_some() && !self.stopping => {
                    ProcessEvent::TurnEnded(Ok(ended))
                }
                ChildEvent::Ended(ended) => ProcessEvent::Ended(ended),
            };
        }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // Processes that stayed between turns end with the session.
        if let Some(turns) = &self.turns {
            leash::end(&turns.mark);
        }
    }
}
