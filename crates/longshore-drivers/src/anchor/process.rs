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

/// What can happen to it.
pub(crate) enum ProcessEvent {
    /// It spoke; see [`AgentProcess::line`].
    Spoke,
    /// The process does not read its input.
    Stuck,
    /// The process closed one of its pipes but continues.
    HungUp,
    /// The process of a turn ended, or did not start for this reason; there may be last lines. The driver
    /// continues if [`AgentProcess::is_over`] was called.
    TurnEnded(Result<ChildExit, String>),
    /// The process ended for good. There may be last lines.
    Ended(ChildExit),
}

pub(crate) struct AgentProcess {
    stdio: Option<Stdio>,
    /// That it is the first of its agent.
    first: Option<First>,
    /// The files that it was given.
    files: Option<ScratchFolder>,
    /// How each turn gets one; none when there is one for all of the driver's life.
    turns: Option<Turns>,
    /// It is being stopped, and there will be no other.
    stopping: bool,
}

struct Turns {
    /// What every process of the agent has in common.
    spawn: Spawn,
    /// To which all belong that the agent ever started.
    mark: Mark,
    limits: Limits,
    first_start: Arc<FirstStart>,
    starting: Option<Starting>,
}

struct Starting {
    spawned: JoinHandle<Result<Spawned, String>>,
    input: String,
    /// It is to be stopped as soon as it runs.
    halted: bool,
}

/// The process of a turn, its files, and that it is the first of its agent.
type Spawned = (Stdio, Option<ScratchFolder>, Option<First>);

impl AgentProcess {
    /// One that runs already.
    pub(crate) fn for_life(stdio: Stdio, first: Option<First>, files: Option<ScratchFolder>) -> Self {
        Self { stdio: Some(stdio), first, files, turns: None, stopping: false }
    }

    /// One for each turn; none yet.
    pub(crate) fn for_turns(spawn: Spawn, mark: Mark, limits: Limits, first_start: Arc<FirstStart>) -> Self {
        let turns = Some(Turns { spawn, mark, limits, first_start, starting: None });
        Self { stdio: None, first: None, files: None, turns, stopping: false }
    }

    /// Starts the process of a turn. One that still runs is killed: its driver is done with it.
    pub(crate) fn run(&mut self, run: Run) {
        let Some(turns) = self.turns.as_mut().filter(|_| !self.stopping) else { return };
        let (mut spawn, limits) = (turns.spawn.clone(), turns.limits.clone());
        let Run { arguments, env, files, input } = run;
        spawn.env.extend(env);
        let first_start = Arc::clone(&turns.first_start);
        // What is started to stay goes on between turns.
        let tie = Tie { leaves: true, ..Tie::under(&turns.mark) };
        let spawned = tokio::spawn(async move {
            let first = first_start.enter().await;
            // A slow disk, or a folder on a network, shall not keep the runtime waiting.
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

    /// Ends it at once and for good, and all that it started.
    pub(crate) fn kill(&mut self) {
        self.stop();
        if let Some(stdio) = &mut self.stdio {
            stdio.kill();
        }
    }

    /// Begins to stop it for good.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.halt();
    }

    /// All lines of the process of a turn were taken.
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

    /// Waits for what happens next. May be dropped and called again.
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
                ChildEvent::Spoke => ProcessEvent::Spoke,
                ChildEvent::Stuck => ProcessEvent::Stuck,
                // It ends by itself when the turn does, and closes its pipes as it does so.
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
        // What was left between turns goes with the session.
        if let Some(turns) = &self.turns {
            leash::end(&turns.mark);
        }
    }
}
