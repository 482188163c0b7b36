//! The hub: all that a facade may do, and the little that an anchor needs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use longshore_log::{Compacted, Hit, Log, SessionFilter, SessionPage, Stats, WithRaw};
use longshore_model::anchor::{Answer, FromAnchor, Query, ToAnchor};
use longshore_model::capability::Mode;
use longshore_model::command::{Command, Refusal, Reply};
use longshore_model::event::{Author, Draft};
use longshore_model::frame::Frame;
use longshore_model::id::{Context, Ids, QueryId, Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::{ForkPoint, Opened};
use longshore_model::mcp::{self, McpServer};
use longshore_model::time::Timestamp;
use longshore_model::timeline::Timeline;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tracing::{info, warn};

use crate::actor::Actor;
use crate::anchor_queries::check_mode;
use crate::changes::Change;
use crate::counters::Counters;
use crate::error::HubError;
use crate::message::{FromAgent, FromClient};
use crate::registry::{Registry, SAID, SessionHandle, WISHES};
use crate::subscription::Subscription;
use crate::tail::Tail;

/// How many changes of session rows a listener may be behind before it is told to list anew.
const CHANGES: usize = 256;

/// The handle that facades hold. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    pub(crate) inner: Arc<HubInner>,
}

/// What is behind the handle.
pub(crate) struct HubInner {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) registry: Registry,
    pub(crate) counters: Counters,
    pub(crate) started: Timestamp,
    pub(crate) anchor: OnceLock<mpsc::Sender<ToAnchor>>,
    mcp_env: OnceLock<Vec<String>>,
    pub(crate) asked: Mutex<HashMap<QueryId, oneshot::Sender<Result<Answer, String>>>>,
    pub(crate) changes: broadcast::Sender<Change>,
    pub(crate) ids: Mutex<Ids>,
    pub(crate) importing: crate::import::Importing,
    pub(crate) delegations: crate::delegation::Delegations,
    pub(crate) timelines: crate::timeline_cache::TimelineCache,
    /// How long an agent may have nothing to do before its process is given back.
    pub(crate) idle: OnceLock<Duration>,
    /// Whether all is set right that a crash left open.
    pub(crate) recovered: watch::Sender<bool>,
}

/// What a new session shall be.
#[derive(Clone, Debug, Default)]
pub struct OpenRequest {
    /// Which agent.
    pub agent: String,
    /// The work tree: an absolute path on the agent's machine.
    pub cwd: String,
    /// The title; none takes it from the first prompt.
    pub title: Option<String>,
    /// The model; none leaves it to the agent.
    pub model: Option<String>,
    /// How hard it shall think, in the agent's words; none leaves it to the agent.
    pub effort: Option<String>,
    /// What it may do without asking; none takes the usual one of the agent's.
    pub mode: Option<Mode>,
    /// The servers of tools that the agent is given.
    pub mcp_servers: Vec<McpServer>,
}

impl Hub {
    /// A hub over a log. It runs no agents until an anchor is attached.
    pub fn new(log: Arc<dyn Log>) -> Self {
        let inner = HubInner {
            log,
            registry: Registry::default(),
            counters: Counters::default(),
            started: now(),
            anchor: OnceLock::new(),
            mcp_env: OnceLock::new(),
            asked: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES),
            ids: Mutex::new(Ids::seeded(random_seed())),
            importing: Default::default(),
            delegations: Default::default(),
            timelines: Default::default(),
            idle: OnceLock::new(),
            recovered: watch::Sender::new(true),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Has agents that had nothing to do for that long give their processes back. Said once; never unless it is said.
    pub fn rest_idle_after(&self, idle: Duration) {
        let _ = self.inner.idle.set(idle);
    }

    /// Says which variables sessions may give to servers of tools; none unless said. The first word counts.
    pub fn allow_variables(&self, names: Vec<String>) {
        let _ = self.inner.mcp_env.set(names);
    }

    /// Connects the anchor that runs the agents. There is one; a second is ignored.
    pub fn attach(&self, anchor: mpsc::Sender<ToAnchor>) {
        if self.inner.anchor.set(anchor).is_err() {
            warn!("an anchor is attached already");
        }
    }

    /// Waits until every session has taken down what it was told so far.
    pub async fn settle(&self) {
        for handle in self.inner.registry.all() {
            let (reach, reached) = oneshot::channel();
            if handle.agent.send(FromAgent::Mark(reach)).await.is_ok() {
                let _ = reached.await;
            }
        }
    }

    /// What the anchor says. Waits while the session has no room: that is what holds a flooding agent back.
    pub async fn deliver(&self, message: FromAnchor) {
        match message {
            FromAnchor::Said { session, drafts } => {
                self.agent_did(session, FromAgent::Said(drafts)).await;
            }
            FromAnchor::Gone { session, sleep, reason } => {
                self.orphan_children(session);
                self.agent_did(session, FromAgent::Gone { sleep, reason }).await;
            }
            FromAnchor::Delegate { session, call, wish } => self.delegate(session, call, wish),
            FromAnchor::FoundPast { found } => self.found_past(found).await,
            FromAnchor::ReadPast { session, after, since, drafts, until } => {
                self.agent_did(session, FromAgent::Past { after, since, drafts, until }).await;
            }
            FromAnchor::Answer { id, answer } => {
                if let Some(asked) = lock(&self.inner.asked).remove(&id) {
                    // Whoever asked may have stopped waiting.
                    drop(asked.send(answer));
                }
            }
        }
    }

    pub(crate) async fn agent_did(&self, session: SessionId, message: FromAgent) {
        let head = match self.inner.registry.find(session) {
            Some(handle) => handle.tail.head(),
            None => match self.inner.log.head(session).await {
                Ok(head) => head,
                Err(error) => return warn!(%session, %error, "cannot take down what the agent said"),
            },
        };
        let _ = self.wake(session, head).agent.send(message).await;
    }

    pub(crate) async fn ask(&self, query: Query) -> Result<Answer, HubError> {
        self.inner.ask(query).await
    }

    /// Opens a session and starts its agent.
    pub async fn open(&self, request: OpenRequest) -> Result<SessionInfo, HubError> {
        self.open_child(request, None).await
    }

    pub(crate) async fn open_child(
        &self,
        request: OpenRequest,
        parent: Option<SessionId>,
    ) -> Result<SessionInfo, HubError> {
        let OpenRequest { agent, cwd, title, model, effort, mode, mcp_servers } = request;
        if !cwd.starts_with('/') {
            return Err(HubError::Invalid(format!("`cwd` must be an absolute path, not `{cwd}`")));
        }
        let variables = self.inner.mcp_env.get().map(Vec::as_slice).unwrap_or_default();
        mcp::check(&mcp_servers)
            .and_then(|()| mcp::check_variables(&mcp_servers, variables))
            .map_err(|fault| HubError::Invalid(fault.to_string()))?;
        let known = self.installed(&agent).await?;
        self.check_cwd(&cwd).await?;
        let can = &known.capabilities;
        let beyond = [
            (model.is_some() && !can.models, "change its model"),
            (effort.is_some() && !can.effort, "be told how hard to think"),
        ];
        if let Some((_, what)) = beyond.into_iter().find(|(is_beyond, _)| *is_beyond) {
            return Err(Refusal::NotSupported { agent: known.name.to_string(), what }.into());
        }
        if let Some(effort) = &effort {
            self.check_effort(&known.name, model.as_deref(), effort).await?;
        }
        let mode = mode.unwrap_or_else(|| Mode::unless_named(&known.capabilities.modes));
        check_mode(&known, mode)?;
        let opened = Opened {
            agent: known.name,
            cwd,
            mode,
            model,
            effort,
            title,
            mcp_servers,
            capabilities: known.capabilities,
            parent,
            forked_from: None,
            from_file: false,
        };
        self.begin(opened, Vec::new()).await
    }

    pub(crate) async fn begin(&self, opened: Opened, copied: Vec<Draft>) -> Result<SessionInfo, HubError> {
        let session = SessionId::mint(&mut Context { now: now(), ids: &mut lock(&self.inner.ids) });
        let handle = self.wake(session, Seq::ZERO);
        let opened = Box::new(opened);
        self.request(&handle, |reply| FromClient::Open { opened, copied, reply }).await
    }

    /// A copy of a session that goes its own way from here.
    ///
    /// With `before`, the seq of something that a person said, it has all that came before that turn, and an agent that
    /// is told of it: no agent copies its own memory up to any place.
    pub async fn fork(&self, session: SessionId, before: Option<Seq>) -> Result<SessionInfo, HubError> {
        self.catch_up(session, &self.wake_existing(session).await?).await;
        let origin = self.session(session).await?;
        let (seq, native) = match before {
            Some(before) => (crate::fork::last_before(&*self.inner.log, session, before).await?, None),
            None if !origin.capabilities.fork => {
                return Err(HubError::CannotFork(
                    "this agent cannot copy a conversation; open a new session instead",
                ));
            }
            None if origin.turn.is_some() => {
                return Err(HubError::CannotFork("a turn is running; interrupt it, or wait for its end"));
            }
            None => match origin.native {
                Some(native) => (origin.head, Some(native)),
                None => {
                    return Err(HubError::CannotFork(
                        "the agent has no conversation yet; send a prompt first",
                    ));
                }
            },
        };
        let opened = Opened {
            agent: origin.provider,
            cwd: origin.cwd,
            mode: origin.mode,
            model: origin.model,
            effort: origin.effort,
            title: Some(format!("{} (fork)", origin.title)),
            mcp_servers: origin.mcp_servers,
            capabilities: origin.capabilities,
            parent: None,
            forked_from: Some(ForkPoint { session, seq, native }),
            from_file: false,
        };
        let memory = opened.capabilities.memory_in_log;
        let copied = crate::fork::copied(&*self.inner.log, session, seq, memory).await?;
        self.begin(opened, copied).await
    }

    /// A wish of a client.
    pub async fn command(&self, session: SessionId, command: Command, by: Author) -> Result<Reply, HubError> {
        let handle = self.wake_existing(session).await?;
        // Whatever has the agent go on here goes on after what was said elsewhere.
        if matches!(
            command,
            Command::Prompt(_) | Command::Revive { .. } | Command::Resume | Command::SendQueued { .. }
        ) {
            self.catch_up(session, &handle).await;
        }
        if let Command::SetEffort(effort) = &command {
            let info = self.session(session).await?;
            if info.capabilities.effort {
                self.check_effort(&info.provider, info.model.as_deref(), effort).await?;
            }
        }
        self.request(&handle, |reply| FromClient::Command { command, by, reply }).await
    }

    /// A session as it stands.
    pub async fn session(&self, session: SessionId) -> Result<SessionInfo, HubError> {
        if let Some(handle) = self.inner.registry.find(session) {
            return self.request(&handle, |reply| FromClient::Info { reply }).await;
        }
        let row = self.inner.log.session(session).await?.ok_or(HubError::UnknownSession)?;
        // In its row long texts that wait are cut.
        if row.queue.is_empty() && row.approvals.is_empty() && row.questions.is_empty() {
            return Ok(row);
        }
        let handle = self.wake(session, row.head);
        self.request(&handle, |reply| FromClient::Info { reply }).await
    }

    /// Sessions, newest first.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<SessionPage, HubError> {
        self.until_recovered().await;
        Ok(self.inner.log.sessions(filter).await?)
    }

    /// Some events of a session, oldest first.
    pub async fn events(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
        raw: WithRaw,
    ) -> Result<Vec<Frame>, HubError> {
        self.head(session).await?;
        Ok(self.inner.log.read(session, after, limit, raw).await?)
    }

    /// Everything after a seq, and then whatever comes.
    pub async fn subscribe(
        &self,
        session: SessionId,
        after: Seq,
        raw: WithRaw,
    ) -> Result<Subscription, HubError> {
        loop {
            let handle = self.wake_existing(session).await?;
            let head = handle.tail.head();
            if after > head {
                return Err(HubError::Ahead { after, head });
            }
            let tail = Arc::clone(&handle.tail);
            let subscription = Subscription::new(session, after, tail, Arc::clone(&self.inner.log), raw);
            // The session may have gone to rest just before it was followed; its tail would stay silent for ever.
            let found = self.inner.registry.find(session);
            if found.is_some_and(|found| Arc::ptr_eq(&found.tail, &handle.tail)) {
                return Ok(subscription);
            }
        }
    }

    /// The fold of a whole session.
    pub async fn timeline(&self, session: SessionId) -> Result<Arc<Timeline>, HubError> {
        let head = self.head(session).await?;
        self.inner.timelines.timeline(&*self.inner.log, session, head).await
    }

    /// Where a text occurs.
    pub async fn search(&self, query: String, limit: usize) -> Result<Vec<Hit>, HubError> {
        Ok(self.inner.log.search(query, limit).await?)
    }

    /// Every change of the list of sessions from now on. One that lags behind is told, and lists anew.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.inner.changes.subscribe()
    }

    /// Drops the deltas of items that have ended, of turns that ended before.
    pub async fn compact(&self, ended_before: Timestamp) -> Result<(), HubError> {
        let done = self.inner.log.compact(ended_before).await?;
        // Most of the time there is nothing to drop, and nothing to say.
        if done != Compacted::default() {
            info!(
                sessions = done.sessions,
                events = done.events,
                blocks = done.blocks,
                "the log was compacted"
            );
        }
        Ok(())
    }

    /// Forgets sessions in which nothing has happened since.
    pub async fn forget(&self, updated_before: Timestamp) -> Result<u64, HubError> {
        let forgotten = self.inner.log.forget(updated_before).await?;
        self.inner.timelines.clear();
        Ok(forgotten)
    }

    /// What the log holds.
    pub async fn stats(&self) -> Result<Stats, HubError> {
        Ok(self.inner.log.stats().await?)
    }

    /// What the hub has done since it started.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// How many sessions are awake in memory.
    pub fn awake_sessions(&self) -> usize {
        self.inner.registry.len()
    }

    async fn head(&self, session: SessionId) -> Result<Seq, HubError> {
        if let Some(handle) = self.inner.registry.find(session) {
            return Ok(handle.tail.head());
        }
        match self.inner.log.head(session).await? {
            Seq::ZERO => Err(HubError::UnknownSession),
            head => Ok(head),
        }
    }

    /// The way to a session that exists, waking it if need be.
    pub(crate) async fn wake_existing(&self, session: SessionId) -> Result<SessionHandle, HubError> {
        let head = self.head(session).await?;
        Ok(self.wake(session, head))
    }

    pub(crate) fn wake(&self, session: SessionId, head: Seq) -> SessionHandle {
        if let Some(handle) = self.inner.registry.find(session) {
            return handle;
        }
        let (clients, from_clients) = mpsc::channel(WISHES);
        let (agent, from_agent) = mpsc::channel(SAID);
        let tail = Arc::new(Tail::starting_at(head));
        let looked_at = watch::Sender::new(0);
        let fresh = SessionHandle { clients, agent, tail: Arc::clone(&tail), looked_at: looked_at.clone() };
        let (handle, is_fresh) = self.inner.registry.insert(session, fresh);
        if is_fresh {
            let actor = Actor::new(session, Arc::clone(&self.inner), tail, looked_at);
            tokio::spawn(actor.run(from_clients, from_agent));
        }
        handle
    }

    /// Asks an actor. A full queue is an answer too: busy.
    pub(crate) async fn request<T>(
        &self,
        handle: &SessionHandle,
        message: impl FnOnce(oneshot::Sender<Result<T, HubError>>) -> FromClient,
    ) -> Result<T, HubError> {
        let (reply, answer) = oneshot::channel();
        handle.clients.try_send(message(reply)).map_err(|_| HubError::Busy)?;
        answer.await.map_err(|_| HubError::Busy)?
    }
}

pub(crate) fn mismatch() -> HubError {
    HubError::Anchor("the machine of the agents gave a wrong answer; try again".to_owned())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one place of this crate that reads the clock.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A seed for ids. Should the system have no randomness to give, the clock must do.
pub(crate) fn random_seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| now().micros() as u64)
}
