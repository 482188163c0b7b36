//! One agent process: its driver, its pipes, and the sessions that it hosts, in one task.
//!
//! The task waits for six things at once: to be stopped, for room at the hub, for messages of sessions, for its
//! driver's deadline, for the agent to speak, and for the agent to take what it is told. Backpressure is this:
//! while anything waits for room at the hub, the agent's output is not read. All else goes on. So an interrupt
//! reaches an agent whose session is full: it goes through the driver, which has handled every line that was read,
//! and is written. Nothing is reordered, because what the driver says to it lines up behind what waits, and what
//! the agent says to it lies in the pipe behind what it said before.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use longshore_model::anchor::{FromAnchor, Launch, Query};
use longshore_model::driver::{Input, Output};
use longshore_model::event::{Body, Draft, Raw, RawFault};
use longshore_model::id::{QueryId, SessionId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::ending::{Cause, Ending};
use super::outbox::Outbox;
use super::routes::{Message, ProcessId, Route, RouteEnd, Routes};
use super::translator::Translator;
use super::{AnchorConfig, Deliver};
use crate::spec::{self, AgentSpec, Invocation};
use crate::transport::{Ended, Happened, Line, Spawn, Stdio};
use crate::{clock, discover};

/// How many messages and ticks are handled while the hub has no room. Each adds a few drafts to what waits.
const HEARD_WHILE_WAITING: usize = 256;

/// A driver whose deadline has passed for good shall not keep a core busy.
const BETWEEN_TICKS: Duration = Duration::from_millis(10);

/// What a process is started for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To host a session, and those that come of it.
    Session(Launch),
    /// To answer a question.
    Query(QueryId, Query),
}

/// All that is needed to run an agent process.
pub(crate) struct Job {
    pub(crate) config: Arc<AnchorConfig>,
    pub(crate) agent: spec::Agent,
    pub(crate) purpose: Purpose,
    pub(crate) process: ProcessId,
    pub(crate) route: Route,
    pub(crate) end: RouteEnd,
    pub(crate) routes: Arc<Routes>,
    /// A process for the same session, which has to be gone before.
    pub(crate) predecessor: Option<Route>,
    pub(crate) deliver: Deliver,
}

impl Job {
    /// Runs the process to its end, and says so to every session that it hosted.
    pub(crate) async fn run(mut self) -> Ending {
        let root = self.route.root;
        let (ending, hosted) = match self.start().await {
            Ok((stdio, translator)) => {
                let mut agent = Agent {
                    title: self.agent.title().to_owned(),
                    root,
                    hosted: root.into_iter().collect(),
                    began: root.is_none(),
                    outbox: Outbox::new(Arc::clone(&self.deliver)),
                    out: Output::default(),
                    cause: None,
                    heard: 0,
                    ticked: Instant::now(),
                    route: self.route.clone(),
                    routes: Arc::clone(&self.routes),
                    stdio,
                    translator,
                };
                agent.begin(self.purpose);
                let ended = agent.live(&mut self.end).await;
                agent.outbox.deliver_all().await;
                (Ending::of(&agent.title, ended, agent.cause, agent.began), agent.hosted)
            }
            Err(ending) => (ending, root.into_iter().collect()),
        };
        tracing::debug!(process = self.process.0, agent = self.agent.name(), reason = %ending.reason, "agent gone");
        for session in hosted {
            let (sleep, reason) = (ending.sleep.clone(), ending.reason.clone());
            (self.deliver)(FromAnchor::Gone { session, sleep, reason }).await;
        }
        self.routes.forget(self.process);
        ending
    }

    async fn start(&mut self) -> Result<(Stdio, Translator), Ending> {
        if let Some(predecessor) = self.predecessor.take() {
            tokio::select! {
                () = predecessor.messages.closed() => {}
                cause = stopped(&mut self.end.stop) => return Err(Ending::stopped_before_start(&cause)),
            }
        }
        let settings = self.config.settings_of(&self.agent);
        let found = discover::find(&self.agent, &settings, &self.config.surroundings).await;
        let program = found.path.ok_or_else(|| Ending::not_started(missing(&*self.agent, found.remark)))?;
        let (purpose, cwd) = match &self.purpose {
            Purpose::Session(launch) => (spec::Purpose::Session(launch), Some(PathBuf::from(&launch.cwd))),
            Purpose::Query(_, query) => {
                let home = self.config.surroundings.home().filter(|home| home.is_dir());
                (spec::Purpose::Query(query), home)
            }
        };
        let Invocation { mut arguments, mut env } = self.agent.invocation(purpose);
        arguments.extend(settings.args);
        env.extend(settings.env);
        let translator = Translator::new(&self.agent).map_err(Ending::not_started)?;
        let spawn = Spawn { program, arguments, env, cwd };
        let limits = self.config.limits.clone();
        // A slow disk, or a folder on a network, shall not keep the runtime waiting.
        let spawned = tokio::task::spawn_blocking(move || Stdio::spawn(&spawn, limits)).await;
        let stdio = spawned.map_err(|error| Ending::not_started(error.to_string()))?;
        Ok((stdio.map_err(|error| Ending::not_started(error.to_string()))?, translator))
    }
}

/// Why an agent that was not found cannot be started, and what to do.
fn missing(agent: &dyn AgentSpec, remark: Option<String>) -> String {
    match remark {
        Some(remark) => format!("{} cannot be started: {remark}", agent.title()),
        None => format!("{} is not installed; install it with `{}`", agent.title(), agent.install()),
    }
}

struct Agent {
    title: String,
    /// The session that it was started for.
    root: Option<SessionId>,
    /// That one, and those that came of it.
    hosted: Vec<SessionId>,
    /// Whether the agent ever listened.
    began: bool,
    stdio: Stdio,
    translator: Translator,
    outbox: Outbox,
    out: Output,
    /// Why it is being stopped.
    cause: Option<Cause>,
    /// How many messages and ticks were handled since there last was room at the hub.
    heard: usize,
    ticked: Instant,
    route: Route,
    routes: Arc<Routes>,
}

impl Agent {
    fn begin(&mut self, purpose: Purpose) {
        let input = match purpose {
            Purpose::Session(launch) => Input::Open(launch),
            Purpose::Query(id, query) => Input::Ask { id, query },
        };
        self.translate(input);
    }

    /// Until the process is gone and all that it said is in the outbox.
    async fn live(&mut self, end: &mut RouteEnd) -> Ended {
        loop {
            if self.outbox.is_empty() {
                self.heard = 0;
            }
            let reads = self.outbox.is_empty() && !self.stdio.is_full();
            let hears = self.cause.is_none() && !self.stdio.is_full() && self.heard < HEARD_WHILE_WAITING;
            let tick = if hears { self.next_tick() } else { None };
            tokio::select! {
                biased;
                cause = stopped(&mut end.stop), if self.cause.is_none() => {
                    // What was told before the stop is told to the agent before its end.
                    while let Ok(message) = end.messages.try_recv() {
                        self.hear(message);
                    }
                    self.stop(cause);
                }
                () = self.outbox.deliver_next(), if !self.outbox.is_empty() => {}
                Some(message) = end.messages.recv(), if hears => self.hear(message),
                () = sleep_until(tick.unwrap_or_else(Instant::now)), if tick.is_some() => {
                    self.ticked = Instant::now();
                    self.heard += 1;
                    self.translate(Input::Tick);
                }
                happened = self.stdio.next(reads) => {
                    self.take_lines();
                    match happened {
                        Happened::Spoke => {}
                        Happened::Stuck => self.stop(Cause::Stuck),
                        Happened::HungUp => self.stop(Cause::HungUp),
                        Happened::Ended(ended) => return ended,
                    }
                }
            }
        }
    }

    fn hear(&mut self, message: Message) {
        self.heard += 1;
        match message {
            Message::Tell(session, command) => self.translate(Input::Tell { session, command }),
            Message::LetGo(session) => {
                self.hosted.retain(|hosted| *hosted != session);
                self.routes.release(session, self.route.process);
                let Ending { sleep, reason } = Ending::let_go();
                self.outbox.send(FromAnchor::Gone { session, sleep, reason });
            }
        }
    }

    fn take_lines(&mut self) {
        while let Some(line) = self.stdio.line() {
            let (text, fault) = match line {
                Line::Whole(text) => (text, None),
                Line::Garbled { text, fault } => (text, Some(fault)),
            };
            let input = match fault {
                None => Input::Line(Raw::clone(&text)),
                Some(fault) => Input::Garbled { text: Raw::clone(&text), fault },
            };
            if self.translator.works() {
                self.translate(input);
            }
            if !self.translator.works() {
                self.keep(text, fault);
            }
        }
    }

    /// Calls the driver and does what it wants done.
    fn translate(&mut self, input: Input) {
        let result = self.translator.handle(input, &mut self.out);
        let Output { mut said, mut lines, answers, finished } = std::mem::take(&mut self.out);
        for (session, draft) in said.drain(..) {
            self.host(session);
            self.began |= Some(session) == self.root && listens(&draft.body);
            self.outbox.say(session, draft);
        }
        for (id, answer) in answers {
            self.outbox.send(FromAnchor::Answer { id, answer });
        }
        self.stdio.tell(lines.drain(..));
        // Given back, so that their room is used again for the next line.
        (self.out.said, self.out.lines) = (said, lines);
        if let Some(reason) = finished {
            self.stop(Cause::Finished(reason));
        }
        if let Err(words) = result {
            tracing::error!(agent = self.title, words, "a driver panicked");
            self.stop(Cause::Panicked(words));
        }
    }

    /// A line that nobody translates any more is kept as it came.
    fn keep(&mut self, text: Raw, fault: Option<RawFault>) {
        if let Some(root) = self.root {
            let body = Body::Raw { kind: "untranslated".to_owned(), fault };
            self.outbox.say(root, Draft::new(body).raw(text));
        }
    }

    /// A session that the driver speaks of for the first time is hosted here from now on. Before the hub hears of
    /// it, so that it can answer. One that was opened in a process of its own since is left there.
    fn host(&mut self, session: SessionId) {
        if !self.hosted.contains(&session) && self.routes.adopt(session, &self.route) {
            self.hosted.push(session);
        }
    }

    /// Begins to stop the process; the first cause is the one that counts.
    fn stop(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
        self.stdio.stop();
    }

    fn next_tick(&self) -> Option<Instant> {
        let deadline = Instant::now() + clock::until(self.translator.deadline()?);
        Some(deadline.max(self.ticked + BETWEEN_TICKS))
    }
}

/// Whether this says that the agent listens.
fn listens(body: &Body) -> bool {
    matches!(body, Body::SessionReady(_) | Body::SessionRevived { .. })
}

/// Resolves when the process is to be stopped.
async fn stopped(stop: &mut watch::Receiver<Option<Cause>>) -> Cause {
    let cause = stop.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
    // Nobody can stop it any more: whoever could is gone.
    cause.unwrap_or(Cause::Shutdown)
}
