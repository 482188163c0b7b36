//! The anchor's own task: takes the hub's messages and passes each to its process.
//!
//! It never waits for a single session or agent. It stops a process that takes no more messages. Separate
//! tasks send the anchor's own messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use longshore_model::anchor::{FromAnchor, Launch, Query, ToAnchor};
use longshore_model::id::{QueryId, SessionId};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::ending::{Cause, Ending};
use super::first_start::FirstStarts;
use super::job::{ProcessJob, Purpose, Ran};
use super::query::Queries;
use super::routes::{ProcessId, Route, RouteEnd, RouteMessage, Routes};
use super::{AnchorConfig, Deliver};
use crate::import::{AgentErrand, ReadRequest, Watcher};
use crate::leash::{self, LeashRecord};
use crate::spec::Agent;

/// How many questions may be open. The anchor refuses further questions.
const QUERIES: usize = 64;

/// How many questions may wait that come from the search for past conversations.
const ERRANDS: usize = 8;

/// How many of the anchor's own messages may wait for the hub, one per session or question. At the bound, the
/// anchor takes nothing more from the hub, because the hub does not read at all.
const REPLIES: usize = 1024;

pub(crate) struct Dispatch {
    config: Arc<AnchorConfig>,
    deliver: Deliver,
    routes: Arc<Routes>,
    first_starts: Arc<FirstStarts>,
    queries: Arc<Queries>,
    watcher: Arc<Watcher>,
    /// The questions of the readers to agents.
    errands: mpsc::Receiver<AgentErrand>,
    /// The tasks that look for records and read them. They end with this task.
    readers: JoinSet<()>,
    processes: u64,
    /// The processes that host many sessions, by agent.
    shared: HashMap<String, Route>,
    /// The tasks of agent processes. Each returns the sessions and questions that need another process.
    agents: JoinSet<Ran>,
    agent_of: HashMap<Id, ProcessId>,
    answers: JoinSet<()>,
    query_of: HashMap<Id, QueryId>,
    replies: JoinSet<Option<SessionId>>,
    /// The sessions to which a reply is on its way that no agent runs for them. One reply is enough.
    replied: HashSet<SessionId>,
}

impl Dispatch {
    pub(crate) fn new(config: AnchorConfig, deliver: Deliver) -> Self {
        let config = Arc::new(config);
        let (errand, errands) = mpsc::channel(ERRANDS);
        let watcher = Arc::new(Watcher::new(&config, errand, Arc::clone(&deliver)));
        let first_starts = Arc::<FirstStarts>::default();
        Self {
            queries: Arc::new(Queries::new(
                Arc::clone(&config),
                Arc::clone(&first_starts),
                Arc::clone(&watcher),
                Arc::clone(&deliver),
            )),
            first_starts,
            watcher,
            errands,
            readers: JoinSet::new(),
            config,
            deliver,
            routes: Arc::default(),
            processes: 0,
            shared: HashMap::new(),
            agents: JoinSet::new(),
            agent_of: HashMap::new(),
            answers: JoinSet::new(),
            query_of: HashMap::new(),
            replies: JoinSet::new(),
            replied: HashSet::new(),
        }
    }

    /// Runs until the anchor is shut down, or nobody can send to it any more.
    pub(crate) async fn run(
        mut self,
        mut from_hub: mpsc::Receiver<ToAnchor>,
        mut shutdown: oneshot::Receiver<()>,
    ) {
        let record = self.end_what_was_left().await;
        self.watcher.start(&mut self.readers);
        loop {
            tokio::select! {
                biased;
                _ = &mut shutdown => break,
                Some(ended) = self.agents.join_next_with_id() => match ended {
                    Ok((task, ran)) => {
                        let process = self.agent_of.remove(&task);
                        self.open_again(process, ran.left);
                        for (agent, question) in ran.unheard {
                            self.tell_shared(agent, None, question);
                        }
                    }
                    Err(error) => self.agent_task_failed(error.id()),
                },
                Some(ended) = self.answers.join_next_with_id() => match ended {
                    Ok((task, ())) => drop(self.query_of.remove(&task)),
                    Err(error) => self.query_task_failed(error.id()),
                },
                Some(ended) = self.replies.join_next() => {
                    if let Ok(Some(session)) = ended {
                        self.replied.remove(&session);
                    }
                }
                Some(errand) = self.errands.recv() => self.run_errand(errand),
                message = from_hub.recv(), if self.replies.len() < REPLIES => match message {
                    Some(message) => self.take(message),
                    None => break,
                },
            }
        }
        let mark = self.config.mark.clone();
        self.shut_down(from_hub).await;
        let ended = tokio::task::spawn_blocking(move || {
            leash::end_at_last(&mark);
            if let Some(record) = record {
                record.end();
            }
        });
        if let Err(error) = ended.await {
            tracing::error!(%error, "processes that agents left could not be ended");
        }
    }

    /// Ends the processes that an earlier, killed hub left. This happens before the anchor starts anything,
    /// because an agent that still runs keeps its conversations locked.
    async fn end_what_was_left(&self) -> Option<LeashRecord> {
        let folder = self.config.leashes.clone()?;
        tokio::task::spawn_blocking(move || LeashRecord::begin(&folder)).await.ok()
    }

    fn take(&mut self, message: ToAnchor) {
        match message {
            ToAnchor::Open(launch) => self.open(launch),
            ToAnchor::Tell { session, command } => self.pass(session, RouteMessage::Tell(session, command)),
            ToAnchor::Stop { session } => match self.routes.of(session) {
                Some(route) if route.root == Some(session) => route.stop(Cause::Asked),
                Some(_) | None => self.pass(session, RouteMessage::LetGo(session)),
            },
            ToAnchor::ReadPast { session, agent, native, after, told } => {
                self.watcher.read_on(&agent, native, ReadRequest { session, after, told });
            }
            ToAnchor::Ask { id, query } => self.ask(id, query),
        }
    }

    fn open(&mut self, mut launch: Launch) {
        let session = launch.session;
        self.config.equip(&mut launch);
        let Some(agent) = self.config.agent(&launch.agent).cloned() else {
            let reason = self.config.unknown_agent(&launch.agent);
            return self.gone(session, Ending::not_started(reason));
        };
        if agent.shared() {
            return self.open_in_shared(agent, launch);
        }
        // From now on, messages for the session go to the new process. It starts when the old process has
        // ended.
        self.processes += 1;
        let (route, end) = Route::new(ProcessId(self.processes), Some(session));
        let mut predecessor = self.routes.lead(session, route.clone());
        match &predecessor {
            Some(old) if old.root == Some(session) => old.stop(Cause::Asked),
            Some(host) => {
                if let Err(TrySendError::Full(_)) = host.messages.try_send(RouteMessage::LetGo(session)) {
                    host.stop(Cause::Overrun);
                }
                predecessor = None;
            }
            None => {}
        }
        self.spawn(agent, Purpose::Session(launch), route, end, predecessor);
    }

    /// Opens a session in the process that hosts all sessions of its agent. If the process already hosts the
    /// session, it handles that itself.
    fn open_in_shared(&mut self, agent: Agent, launch: Launch) {
        let session = launch.session;
        if !self.tell_shared(agent, Some(session), RouteMessage::Open(launch)) {
            let reason = "too many sessions are being opened; try again later".to_owned();
            self.gone(session, Ending::not_started(reason));
        }
    }

    /// Sends a message to the process that hosts all sessions of an agent, on behalf of a session or of
    /// nobody. Starts the process if there is none. Returns false if the process takes no more messages.
    fn tell_shared(&mut self, agent: Agent, session: Option<SessionId>, message: RouteMessage) -> bool {
        let lead = |route: &Route| session.map(|session| self.routes.lead(session, route.clone()));
        let mut message = message;
        if let Some(known) = self.shared.get(agent.name()) {
            match known.messages.try_send(message) {
                Ok(()) => {
                    lead(known);
                    return true;
                }
                Err(TrySendError::Full(_)) => return false,
                Err(TrySendError::Closed(unheard)) => message = unheard,
            }
        }
        self.processes += 1;
        let (route, end) = Route::new(ProcessId(self.processes), None);
        lead(&route);
        // The message enters the queue before the process runs, so the queue cannot be closed yet.
        let taken = route.messages.try_send(message).is_ok();
        self.shared.insert(agent.name().to_owned(), route.clone());
        self.spawn(agent, Purpose::Machine, route, end, None);
        taken
    }

    /// Opens the sessions again that came to a process which was about to end. Sessions that were stopped
    /// since then stay closed.
    fn open_again(&mut self, process: Option<ProcessId>, left: Vec<Launch>) {
        for launch in left {
            let waits = self.routes.of(launch.session).map(|route| route.process) == process;
            if waits {
                self.open(launch);
            }
        }
    }

    fn spawn(
        &mut self,
        agent: Agent,
        purpose: Purpose,
        route: Route,
        end: RouteEnd,
        predecessor: Option<Route>,
    ) {
        let process = route.process;
        let job = ProcessJob {
            config: Arc::clone(&self.config),
            agent,
            purpose,
            process,
            route,
            end,
            routes: Arc::clone(&self.routes),
            first_starts: Arc::clone(&self.first_starts),
            predecessor,
            deliver: Arc::clone(&self.deliver),
        };
        let task = self.agents.spawn(job.run());
        self.agent_of.insert(task.id(), process);
    }

    /// Passes a message to the process that hosts a session.
    fn pass(&mut self, session: SessionId, message: RouteMessage) {
        let Some(route) = self.routes.of(session) else { return self.gone(session, Ending::not_running()) };
        match route.messages.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => route.stop(Cause::Overrun),
            Err(TrySendError::Closed(_)) => {
                self.routes.release(session, route.process);
                self.gone(session, Ending::not_running());
            }
        }
    }

    fn ask(&mut self, id: QueryId, query: Query) {
        if self.answers.len() >= QUERIES {
            let answer = Err("the hub handles too many questions at once; ask again in a moment".to_owned());
            return self.reply(FromAnchor::Answer { id, answer }, None);
        }
        let queries = Arc::clone(&self.queries);
        let mut shared = None;
        if let Query::Agent(question) = &query
            && let Some(agent) = queries.shared_agent(question)
        {
            let (answer, answered) = oneshot::channel();
            let message = RouteMessage::Ask { id, query: question.clone(), answer };
            // If the process does not take the question, the question is dropped, and the asker learns of it.
            self.tell_shared(agent, None, message);
            shared = Some(answered);
        }
        let task = self.answers.spawn(async move { queries.answer(id, query, shared).await });
        self.query_of.insert(task.id(), id);
    }

    /// Asks the process that hosts all sessions of an agent. If there is no such process, the question is
    /// dropped.
    fn run_errand(&mut self, errand: AgentErrand) {
        let AgentErrand { agent, id, query, start, answer } = errand;
        let works = |route: &Route| self.routes.all().iter().any(|led| led.process == route.process);
        if agent.shared() && (start || self.shared.get(agent.name()).is_some_and(works)) {
            self.tell_shared(agent, None, RouteMessage::Ask { id, query, answer });
        }
    }

    fn gone(&mut self, session: SessionId, ending: Ending) {
        if self.replied.insert(session) {
            let Ending { sleep, reason } = ending;
            self.reply(FromAnchor::Gone { session, sleep, reason }, Some(session));
        }
    }

    fn reply(&mut self, message: FromAnchor, session: Option<SessionId>) {
        let delivery = (self.deliver)(message);
        self.replies.spawn(async move {
            delivery.await;
            session
        });
    }

    /// Handles a panic in the task of an agent. The process ended with the task, so the anchor tells its
    /// sessions.
    fn agent_task_failed(&mut self, task: Id) {
        let Some(process) = self.agent_of.remove(&task) else { return };
        tracing::error!(process = process.0, "the task of an agent failed");
        for session in self.routes.forget(process, &[]) {
            let mut ending = Ending::not_running();
            ending.reason =
                "the hub stopped the agent because of a fault in Longshore; please report it".to_owned();
            self.gone(session, ending);
        }
    }

    fn query_task_failed(&mut self, task: Id) {
        let Some(id) = self.query_of.remove(&task) else { return };
        let answer = Err("the question failed because of a fault in Longshore; please report it".to_owned());
        self.reply(FromAnchor::Answer { id, answer }, None);
    }

    /// Stops all agents, each with its grace, and kills the rest.
    async fn shut_down(mut self, mut from_hub: mpsc::Receiver<ToAnchor>) {
        let limits = &self.config.limits;
        let patience = limits.after_eof + limits.after_term * 2 + limits.after_exit * 2;
        let deadline = Instant::now() + patience;
        self.readers.abort_all();
        self.answers.abort_all();
        from_hub.close();
        while let Ok(message) = from_hub.try_recv() {
            match message {
                ToAnchor::Open(Launch { session, .. }) => {
                    self.gone(session, Ending::stopped_before_start(&Cause::Shutdown));
                }
                ToAnchor::Tell { .. } | ToAnchor::Stop { .. } => self.take(message),
                // The next hub requests it again.
                ToAnchor::ReadPast { .. } => {}
                ToAnchor::Ask { id, .. } => {
                    let answer = Err("Longshore is shutting down; ask again after its next start".to_owned());
                    self.reply(FromAnchor::Answer { id, answer }, None);
                }
            }
        }
        // A process for many sessions may host none now, and then it has no route.
        for route in self.routes.all().iter().chain(self.shared.values()) {
            route.stop(Cause::Shutdown);
        }
        let all_gone = async {
            while self.agents.join_next().await.is_some() {}
            while self.replies.join_next().await.is_some() {}
        };
        if timeout_at(deadline, all_gone).await.is_err() {
            tracing::warn!(
                left = self.agents.len(),
                "agents or the hub took too long; the remaining agents are killed"
            );
        }
        self.agents.shutdown().await;
        self.answers.shutdown().await;
    }
}
