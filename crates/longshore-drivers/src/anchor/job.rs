//! From the wish for an agent to its process, and from the end of that to everybody who has to hear of it.

use std::path::PathBuf;
use std::sync::Arc;

use longshore_model::anchor::{FromAnchor, Launch, Query};
use longshore_model::id::QueryId;
use longshore_model::lifecycle::SleepCause;

use super::agent::{Agent, stopped};
use super::ending::Ending;
use super::routes::{Message, ProcessId, Route, RouteEnd, Routes};
use super::translator::Translator;
use super::{AnchorConfig, Deliver};
use crate::discover;
use crate::spec::{self, AgentSpec, Channel, Invocation};
use crate::transport::http::Http;
use crate::transport::leash::{self, Hold};
use crate::transport::{Spawn, Stdio};

/// What a process is started for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To host a session, and those that come of it.
    Session(Launch),
    /// To answer a question.
    Query(QueryId, Query),
    /// To host whatever comes by its route.
    Machine,
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

/// A process that was started.
pub(crate) struct Started {
    pub(crate) stdio: Stdio,
    pub(crate) hold: Hold,
    pub(crate) http: Option<Http>,
    pub(crate) translator: Translator,
}

/// How a job ended.
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    /// Sessions that were to be opened in a process that was about to end; they need another one.
    pub(crate) left: Vec<Launch>,
    /// Questions to one that was about to end because nobody needed it. They need another one too.
    pub(crate) unheard: Vec<(spec::Agent, Message)>,
}

impl Job {
    /// Runs the process to its end, and says so to every session that it hosted.
    pub(crate) async fn run(mut self) -> Ran {
        let started = self.start().await;
        let ran = started.is_ok();
        let (ending, mut gone) = match started {
            Ok(started) => {
                let mut agent = Agent::new(&self, started);
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
                Message::Open(launch) if ran => left.push(launch),
                Message::Open(launch) => gone.push((launch.session, ending.clone())),
                Message::LetGo(session) => left.retain(|launch| launch.session != session),
                Message::Ask { .. } if was_idle => unheard.push((spec::Agent::clone(&self.agent), message)),
                // Whoever asked may have given up.
                Message::Ask { answer, .. } => drop(answer.send(Err(ending.reason.clone()))),
                // Its session hears that the agent is gone.
                Message::Tell(..) => {}
            }
        }
        for (session, Ending { sleep, reason }) in gone {
            (self.deliver)(FromAnchor::Gone { session, sleep, reason }).await;
        }
        self.routes.forget(self.process, &left);
        Ran { ending, left, unheard }
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
        let Invocation { mut arguments, mut env } = self.agent.invocation(purpose);
        arguments.extend(settings.args);
        env.extend(settings.env);
        let limits = self.config.limits.clone();
        let http = match self.agent.channel() {
            Channel::Lines => None,
            Channel::Http(server) => {
                let password = password().map_err(Ending::not_started)?;
                env.insert(server.password.to_owned(), password.clone());
                Some(Http::new(server, &password, limits.clone()))
            }
        };
        let translator = Translator::new(&self.agent).map_err(Ending::not_started)?;
        let spawn = Spawn { program, arguments, env, cwd };
        // A slow disk, or a folder on a network, shall not keep the runtime waiting.
        let spawned = leash::held(move || Stdio::spawn(&spawn, limits)).await;
        let (stdio, hold) = spawned.map_err(|error| Ending::not_started(error.to_string()))?;
        let mut stdio = stdio.map_err(|error| Ending::not_started(error.to_string()))?;
        if http.is_some() {
            stdio.end_on_term();
        }
        Ok(Started { stdio, hold, http, translator })
    }
}

/// A password that nobody has used before.
fn password() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gave no random number: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Why an agent that was not found cannot be started, and what to do.
fn missing(agent: &dyn AgentSpec, remark: Option<String>) -> String {
    match remark {
        Some(remark) => format!("{} cannot be started: {remark}", agent.title()),
        None => format!("{} is not installed; install it with `{}`", agent.title(), agent.install()),
    }
}
