//! The life of an agent: from the request for it to its process, and from the end of the process to the
//! messages about that end.

use std::path::PathBuf;
use std::sync::Arc;

use longshore_model::anchor::{AgentQuestion, FromAnchor, Launch};
use longshore_model::id::QueryId;
use longshore_model::lifecycle::SleepCause;

use super::agent::{AgentTask, stopped};
use super::ending::Ending;
use super::files::ScratchFolder;
use super::first_start::{FirstStart, FirstStarts};
use super::process::AgentProcess;
use super::recorder::Recorder;
use super::routes::{ProcessId, Route, RouteEnd, RouteMessage, Routes};
use super::translator::Translator;
use super::{AnchorConfig, Deliver};
use crate::discover;
use crate::leash::Mark;
use crate::react::settings::AGENTS_VARIABLE;
use crate::spec::{self, AgentSpec, Channel, Invocation};
use crate::transport::http::Http;
use crate::transport::socket::Socket;
use crate::transport::spawn::Tie;
use crate::transport::{Spawn, Stdio};
use rustix::process::Signal;

/// What a process is started for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To host a session and its children.
    Session(Launch),
    /// To answer a question.
    Query(QueryId, AgentQuestion),
    /// To host every session that comes through its route.
    Machine,
}

/// All that is needed to run an agent process.
pub(crate) struct ProcessJob {
    pub(crate) config: Arc<AnchorConfig>,
    pub(crate) agent: spec::Agent,
    pub(crate) purpose: Purpose,
    pub(crate) process: ProcessId,
    pub(crate) route: Route,
    pub(crate) end: RouteEnd,
    pub(crate) routes: Arc<Routes>,
    pub(crate) first_starts: Arc<FirstStarts>,
    /// The previous process of the same session. It must end first.
    pub(crate) predecessor: Option<Route>,
    pub(crate) deliver: Deliver,
}

/// A process that was started.
pub(crate) struct Started {
    pub(crate) process: AgentProcess,
    /// The mark of all processes that this process starts, and that are started for it.
    pub(crate) mark: Mark,
    pub(crate) first_start: Arc<FirstStart>,
    pub(crate) http: Option<Http>,
    pub(crate) socket: Option<Socket>,
    pub(crate) recorder: Recorder,
    pub(crate) translator: Translator,
}

/// How a job ended.
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    /// Sessions that were to be opened in this process when it was about to end. They need another process.
    pub(crate) left: Vec<Launch>,
    /// Questions that came when this process was about to end because nobody needed it. They need another
    /// process too.
    pub(crate) unheard: Vec<(spec::Agent, RouteMessage)>,
}

impl ProcessJob {
    /// Runs the process to its end, and reports the end to every session that it hosted.
    pub(crate) async fn run(mut self) -> Ran {
        let started = self.start().await;
        let ran = started.is_ok();
        let (ending, mut gone) = match started {
            Ok(started) => {
                let mut agent = AgentTask::new(&self, started);
                agent.begin(self.purpose);
                let ended = agent.live(&mut self.end).await;
                agent.outbox.deliver_all().await;
                agent.endings(ended)
            }
            Err(ending) => {
                let root = self.route.root.map(|root| (root, ending.clone()));
                (ending, root.into_iter().collect())
            }
        };
        tracing::debug!(process = self.process.0, agent = self.agent.name(), reason = %ending.reason, "agent gone");
        self.end.messages.close();
        let (mut left, mut unheard) = (Vec::new(), Vec::new());
        let was_idle = ran && ending.sleep.cause == SleepCause::Stopped;
        while let Ok(message) = self.end.messages.try_recv() {
            match message {
                RouteMessage::Open(launch) if ran => left.push(launch),
                RouteMessage::Open(launch) => gone.push((launch.session, ending.clone())),
                RouteMessage::LetGo(session) => left.retain(|launch| launch.session != session),
                RouteMessage::Ask { .. } if was_idle => {
                    unheard.push((spec::Agent::clone(&self.agent), message))
                }
                // The asker may have given up.
                RouteMessage::Ask { answer, .. } => drop(answer.send(Err(ending.reason.clone()))),
                // The session learns from `Gone` that the agent has ended.
                RouteMessage::Tell(..) => {}
            }
        }
        for (session, Ending { sleep, reason }) in gone {
            (self.deliver)(FromAnchor::Gone { session, sleep, reason }).await;
        }
        self.routes.forget(self.process, &left);
        Ran { ending, left, unheard }
    }

    /// The other agents of this machine that are installed.
    async fn neighbours(&self) -> Vec<String> {
        let mut names = Vec::new();
        for agent in self.config.agents.iter().filter(|agent| agent.name() != self.agent.name()) {
            let settings = self.config.settings_of(agent);
            if discover::find(agent, &settings, &self.config.surroundings).await.path.is_some() {
                names.push(agent.name().to_owned());
            }
        }
        names
    }

    async fn start(&mut self) -> Result<Started, Ending> {
        if let Some(predecessor) = self.predecessor.take() {
            tokio::select! {
                () = predecessor.messages.closed() => {}
                cause = stopped(&mut self.end.stop) => return Err(Ending::stopped_before_start(&cause)),
            }
        }
        let settings = self.config.settings_of(&self.agent);
        let found = discover::find(&self.agent, &settings, &self.config.surroundings).await;
        let program = found.path.ok_or_else(|| Ending::not_started(missing(&*self.agent, found.remark)))?;
        let home = || self.config.surroundings.home().filter(|home| home.is_dir());
        let (purpose, cwd) = match &self.purpose {
            Purpose::Session(launch) => (spec::Purpose::Session(launch), Some(PathBuf::from(&launch.cwd))),
            Purpose::Query(_, query) => (spec::Purpose::Query(query), home()),
            Purpose::Machine => (spec::Purpose::Machine, home()),
        };
        let Invocation { mut arguments, mut env, files } = self.agent.invocation(purpose);
        let files_at = arguments.len();
        if self.agent.delegates() {
            env.insert(AGENTS_VARIABLE.to_owned(), self.neighbours().await.join(","));
        }
        let channel = self.agent.channel(&settings);
        arguments.extend(settings.args);
        env.extend(settings.env);
        let limits = self.config.limits.clone();
        let (mut http, mut socket) = (None, None);
        match channel {
            Channel::Lines | Channel::Turns => {}
            Channel::Http(server) => {
                let password = password().map_err(Ending::not_started)?;
                env.insert(server.password.to_owned(), password.clone());
                http = Some(Http::new(server, &password, limits.clone()));
            }
            Channel::Socket(call_back) => {
                if let Some(session) = self.route.root {
                    let reception = &self.config.reception;
                    let address = reception.address(session);
                    let address = address.ok_or_else(|| Ending::not_started(NO_ADDRESS.to_owned()))?;
                    let token = password().map_err(Ending::not_started)?;
                    arguments.extend([call_back.address.to_owned(), address]);
                    env.insert(call_back.token.to_owned(), token.clone());
                    socket = Some(Socket::new(call_back, reception, session, token, limits.clone()));
                }
            }
        }
        let translator = Translator::new(&self.agent).map_err(Ending::not_started)?;
        let around = self.config.surroundings.clone();
        let spawn = Spawn { program, arguments, around, env, cwd };
        let tape = self.config.tape.clone();
        let first_start = self.first_starts.of(&*self.agent);
        let mut tie = Tie::under(&self.config.mark);
        let mark = tie.mark.clone();
        let (process, recorder) = if matches!(channel, Channel::Turns) {
            let process = AgentProcess::for_turns(spawn, mark.clone(), limits, Arc::clone(&first_start));
            (process, Recorder::new(tape, None, false))
        } else {
            let first = tokio::select! {
                // If the agent need not wait, it starts even after a stop: it must get the messages that came
                // before the stop.
                biased;
                first = first_start.enter() => first,
                cause = stopped(&mut self.end.stop) => return Err(Ending::stopped_before_start(&cause)),
            };
            if http.is_some() {
                // A server has no input that ends with the hub. While it starts, it may ignore weaker
                // signals.
                tie.left_alone = Signal::KILL;
            }
            // A blocking thread, because a slow disk or a network folder must not hold up the runtime.
            let spawned = tokio::task::spawn_blocking(move || {
                let mut spawn = spawn;
                let (folder, found) = ScratchFolder::of_secrets(&files)?;
                spawn.arguments.splice(files_at..files_at, found);
                let stdio = Stdio::spawn_on(&tie, &spawn, limits).map_err(|error| error.to_string())?;
                Ok((stdio, folder, spawn))
            });
            let spawned = spawned.await.unwrap_or_else(|error| Err(error.to_string()));
            let (mut stdio, folder, started) = spawned.map_err(Ending::not_started)?;
            if http.is_some() {
                stdio.end_on(Signal::TERM);
            }
            let recorder = Recorder::new(tape, Some(stdio.pid()), http.is_some());
            recorder.spawned(&started);
            (AgentProcess::for_life(stdio, first, folder), recorder)
        };
        recorder.begins(self.agent.name(), translator.seed());
        Ok(Started { process, mark, first_start, http, socket, recorder, translator })
    }
}

/// Why the anchor cannot start a program that calls back.
const NO_ADDRESS: &str = "it must call the hub back, but the hub has no address for it; \
                          remove `transport = \"socket\"` from its settings";

/// A new random password.
fn password() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Why an agent that was not found cannot be started, and what a person can do.
fn missing(agent: &dyn AgentSpec, remark: Option<String>) -> String {
    match remark {
        Some(remark) => format!("cannot start {}: {remark}", agent.title()),
        None => format!("{} is not set up on this machine: {}", agent.title(), agent.install()),
    }
}
