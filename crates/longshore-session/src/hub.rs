//! The hub: everything that a facade may do, and the few things that an anchor needs.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use longshore_log::{
    Catalog, CompactionReport, Hit, Journal, Keyring, SessionFilter, SessionPage, Stats, Stores, WithRaw,
};
use longshore_model::anchor::{AnchorQuery, Answer, FromAnchor, ToAnchor};
use longshore_model::command::{Command, Refusal, Reply};
use longshore_model::event::Author;
use longshore_model::frame::Frame;
use longshore_model::id::{Ids, QueryId, Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::{ForkPoint, Opened};
use longshore_model::time::Timestamp;
use longshore_model::timeline::Timeline;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tracing::{info, warn};

use crate::actor::Actor;
use crate::changes::Change;
use crate::counters::Counters;
use crate::error::HubError;
use crate::message::{FromAgent, FromClient};
use crate::opening::check_names;
use crate::registry::{BATCHES, MESSAGES, Registry, SessionHandle};
use crate::subscription::Subscription;
use crate::tail::Tail;

/// The number of changes of session rows that a listener may lag behind. Then the listener must list the
/// sessions again.
const CHANGES: usize = 256;

/// Work for somebody else's task.
type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The handle that facades hold. It is cheap to clone.
#[derive(Clone)]
pub struct Hub {
    pub(crate) inner: Arc<HubInner>,
}

/// The shared state of all handles.
pub(crate) struct HubInner {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) keyring: Arc<dyn Keyring>,
    pub(crate) registry: Registry,
    pub(crate) counters: Counters,
    pub(crate) started: Timestamp,
    pub(crate) anchor: OnceLock<mpsc::Sender<ToAnchor>>,
    pub(crate) mcp_env: OnceLock<Vec<String>>,
    pub(crate) asked: Mutex<HashMap<QueryId, oneshot::Sender<Result<Answer, String>>>>,
    pub(crate) changes: broadcast::Sender<Change>,
    pub(crate) ids: Mutex<Ids>,
    pub(crate) importing: crate::import::Imports,
    pub(crate) delegations: crate::delegation::Delegations,
    pub(crate) timelines: crate::timeline_cache::TimelineCache,
    /// How long an agent may be idle before the hub stops its process.
    pub(crate) idle: OnceLock<Duration>,
    /// Whether recovery after a crash is complete.
    pub(crate) recovered: watch::Sender<bool>,
}

impl Hub {
    /// A hub over its stores. It runs no agents until an anchor is attached.
    pub fn new(stores: impl Into<Stores>) -> Self {
        let Stores { journal, catalog, keyring } = stores.into();
        let inner = HubInner {
            journal,
            catalog,
            keyring,
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

    /// Stops the processes of agents that were idle for that long. Only the first call counts. Without a
    /// call, the hub never stops an idle process.
    pub fn rest_idle_after(&self, idle: Duration) {
        let _ = self.inner.idle.set(idle);
    }

    /// Sets the environment variables that sessions may give to MCP servers. Only the first call counts.
    /// Without a call, sessions may give none.
    pub fn allow_variables(&self, names: Vec<String>) {
        let _ = self.inner.mcp_env.set(names);
    }

    /// Attaches the anchor that runs the agents. A hub has one anchor; it ignores a second one.
    pub fn attach(&self, anchor: mpsc::Sender<ToAnchor>) {
        if self.inner.anchor.set(anchor).is_err() {
            warn!("an anchor is attached already");
        }
    }

    /// Waits until every session has recorded what it received so far.
    pub async fn settle(&self) {
        for handle in self.inner.registry.all() {
            let (reach, reached) = oneshot::channel();
            if handle.agent.send(FromAgent::Mark(reach)).await.is_ok() {
                let _ = reached.await;
            }
        }
    }

    /// Delivers a message of the anchor. Waits while the session's queue is full; this wait slows down an
    /// agent that floods the hub.
    pub async fn deliver(&self, message: FromAnchor) {
        match message {
            FromAnchor::Said { session, drafts } => {
                self.agent_did(session, FromAgent::Said(drafts)).await;
            }
            FromAnchor::Gone { session, sleep, reason } => {
                self.orphan_children(session);
                self.agent_did(session, FromAgent::Gone { sleep, reason }).await;
            }
            FromAnchor::Delegate { session, call, request } => self.delegate(session, call, request),
            FromAnchor::FoundPast { found } => self.found_past(found).await,
            FromAnchor::ReadPast { session, after, since, drafts, until } => {
                self.agent_did(session, FromAgent::Past { after, since, drafts, until }).await;
            }
            FromAnchor::Answer { id, answer } => {
                if let Some(asked) = lock(&self.inner.asked).remove(&id) {
                    // The caller may have stopped waiting.
                    drop(asked.send(answer));
                }
            }
        }
    }

    /// What an anchor calls with each of its messages. The future resolves as [`Hub::deliver`] returns.
    pub fn mailbox(&self) -> impl Fn(FromAnchor) -> BoxFuture + Send + Sync + use<> {
        let hub = self.clone();
        move |message| {
            let hub = hub.clone();
            Box::pin(async move { hub.deliver(message).await })
        }
    }

    pub(crate) async fn agent_did(&self, session: SessionId, message: FromAgent) {
        let head = match self.inner.registry.find(session) {
            Some(handle) => handle.tail.head(),
            None => match self.inner.journal.head(session).await {
                Ok(head) => head.seq,
                Err(error) => return warn!(%session, %error, "cannot take down what the agent said"),
            },
        };
        let _ = self.wake(session, head).agent.send(message).await;
    }

    pub(crate) async fn ask<Q: AnchorQuery>(&self, query: Q) -> Result<Q::Answer, HubError> {
        self.inner.ask(query).await
    }

    /// Copies a session. The copy continues on its own.
    ///
    /// With `before`, the seq of a prompt, the copy has only what came before the turn of that prompt. The
    /// hub tells its agent what the copy has, because no agent can copy its own memory up to a point.
    pub async fn fork(&self, session: SessionId, before: Option<Seq>) -> Result<SessionInfo, HubError> {
        self.catch_up(session, &self.wake_existing(session).await?).await;
        let origin = self.session(session).await?;
        let (seq, native) = match before {
            Some(before) => (crate::fork::last_before(&*self.inner.journal, session, before).await?, None),
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
        let copied = crate::fork::copied(&*self.inner.journal, session, seq, memory).await?;
        self.begin(None, opened, copied).await
    }

    /// Gives a client's command to a session. Returns an error if the session refuses.
    pub async fn command(&self, session: SessionId, command: Command, by: Author) -> Result<Reply, HubError> {
        check_names(&command)?;
        let handle = self.wake_existing(session).await?;
        // A command that lets the agent continue here waits for the turns that the agent's own terminal
        // added.
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
        let ask = command.ask();
        match self.request(&handle, |reply| FromClient::Command { command, by, reply }).await {
            Err(HubError::Refused(unknown @ (Refusal::UnknownApproval | Refusal::UnknownQuestion))) => {
                let ended = self.end_of(session, ask).await?;
                Err(ended.unwrap_or(unknown).into())
            }
            done => done,
        }
    }

    /// The row of a session.
    pub async fn session(&self, session: SessionId) -> Result<SessionInfo, HubError> {
        if let Some(handle) = self.inner.registry.find(session) {
            return self.request(&handle, |reply| FromClient::Info { reply }).await;
        }
        let row = self.inner.catalog.session(session).await?.ok_or(HubError::UnknownSession)?;
        // The row may contain shortened texts of what waits.
        if row.queue.is_empty() && row.approvals.is_empty() && row.questions.is_empty() {
            return Ok(row);
        }
        let handle = self.wake(session, row.head);
        self.request(&handle, |reply| FromClient::Info { reply }).await
    }

    /// A page of sessions, newest first.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<SessionPage, HubError> {
        self.until_recovered().await;
        Ok(self.inner.catalog.sessions(filter).await?)
    }

    /// A page of a session's events, oldest first.
    pub async fn events(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
        raw: WithRaw,
    ) -> Result<Vec<Frame>, HubError> {
        let head = self.head(session).await?;
        if after > head {
            return Err(HubError::Ahead { after, head });
        }
        Ok(self.inner.journal.read(session, after, limit, raw).await?)
    }

    /// Everything after a seq, and then every new event.
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
            let subscription = Subscription::new(session, after, tail, Arc::clone(&self.inner.journal), raw);
            // The session may have been unloaded just before the subscription; then the subscription's
            // channel would stay silent for ever.
            let found = self.inner.registry.find(session);
            if found.is_some_and(|found| Arc::ptr_eq(&found.tail, &handle.tail)) {
                return Ok(subscription);
            }
        }
    }

    /// The timeline of a whole session.
    pub async fn timeline(&self, session: SessionId) -> Result<Arc<Timeline>, HubError> {
        let head = self.head(session).await?;
        self.inner.timelines.timeline(&*self.inner.journal, session, head).await
    }

    /// Searches all sessions for a text.
    pub async fn search(&self, query: String, limit: usize) -> Result<Vec<Hit>, HubError> {
        Ok(self.inner.catalog.search(query, limit).await?)
    }

    /// Every change of the list of sessions from now on. A receiver that lags behind learns so, and must list
    /// the sessions again.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.inner.changes.subscribe()
    }

    /// Drops deltas of finished items, in turns that ended before that time.
    pub async fn compact(&self, ended_before: Timestamp) -> Result<(), HubError> {
        let done = self.inner.journal.compact(ended_before).await?;
        // Most of the time there is nothing to drop and nothing to log.
        if done != CompactionReport::default() {
            info!(
                sessions = done.sessions,
                events = done.events,
                blocks = done.blocks,
                "the log was compacted"
            );
        }
        Ok(())
    }

    /// Forgets sessions in which nothing has happened since that time.
    pub async fn forget(&self, updated_before: Timestamp) -> Result<u64, HubError> {
        let forgotten = self.inner.journal.forget(updated_before).await?;
        self.inner.timelines.clear();
        Ok(forgotten)
    }

    /// The size of the log.
    pub async fn stats(&self) -> Result<Stats, HubError> {
        Ok(self.inner.catalog.stats().await?)
    }

    /// What the hub has done since it started.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// The number of sessions in memory.
    pub fn awake_sessions(&self) -> usize {
        self.inner.registry.len()
    }

    async fn head(&self, session: SessionId) -> Result<Seq, HubError> {
        if let Some(handle) = self.inner.registry.find(session) {
            return Ok(handle.tail.head());
        }
        match self.inner.journal.head(session).await?.seq {
            Seq::ZERO => Err(HubError::UnknownSession),
            head => Ok(head),
        }
    }

    /// The handle of an existing session; wakes the session if necessary.
    pub(crate) async fn wake_existing(&self, session: SessionId) -> Result<SessionHandle, HubError> {
        let head = self.head(session).await?;
        Ok(self.wake(session, head))
    }

    pub(crate) fn wake(&self, session: SessionId, head: Seq) -> SessionHandle {
        if let Some(handle) = self.inner.registry.find(session) {
            return handle;
        }
        let (clients, from_clients) = mpsc::channel(MESSAGES);
        let (agent, from_agent) = mpsc::channel(BATCHES);
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

    /// Sends a request to an actor. If the actor's queue is full, the answer is "busy".
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the current time. Nothing else in this crate reads the clock.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A seed for ids. If the system has no randomness, the clock serves.
pub(crate) fn random_seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| now().micros() as u64)
}
