//! Which process hosts which session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::anchor::{AgentQuestion, Answer, Launch};
use longshore_model::command::AgentCommand;
use longshore_model::id::{QueryId, SessionId};
use tokio::sync::{mpsc, oneshot, watch};

use super::ending::Cause;

/// The name of a process among those of one anchor. Never used twice, unlike a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId(pub(crate) u64);

/// How many messages may wait for one process. They are handled at once, even while the process may not speak;
/// they pile up only when the agent takes nothing in, and then it is stopped.
pub(crate) const MESSAGES: usize = 64;

/// What a process is told.
#[derive(Debug)]
pub(crate) enum RouteMessage {
    /// Tell the agent something on behalf of a session.
    Tell(SessionId, AgentCommand),
    /// A session is not to be spoken of any more: a child, or one of many.
    LetGo(SessionId),
    /// Host this session too.
    Open(Launch),
    /// Answer this.
    Ask { id: QueryId, query: AgentQuestion, answer: oneshot::Sender<Result<Answer, String>> },
}

/// A way to a process.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) process: ProcessId,
    /// The session that it was started for; the others are its children. None when it hosts many.
    pub(crate) root: Option<SessionId>,
    pub(crate) messages: mpsc::Sender<RouteMessage>,
    stop: Arc<watch::Sender<Option<Cause>>>,
}

/// The process's end of a [`Route`].
#[derive(Debug)]
pub(crate) struct RouteEnd {
    pub(crate) messages: mpsc::Receiver<RouteMessage>,
    pub(crate) stop: watch::Receiver<Option<Cause>>,
}

impl Route {
    pub(crate) fn new(process: ProcessId, root: Option<SessionId>) -> (Self, RouteEnd) {
        let (messages, received) = mpsc::channel(MESSAGES);
        let (stop, stopped) = watch::channel(None);
        let route = Self { process, root, messages, stop: Arc::new(stop) };
        (route, RouteEnd { messages: received, stop: stopped })
    }

    /// Stops the process. Never waits; the first cause is the one that counts.
    pub(crate) fn stop(&self, cause: Cause) {
        self.stop.send_if_modified(|slot| {
            let first = slot.is_none();
            if first {
                *slot = Some(cause);
            }
            first
        });
    }
}

/// The map. Locked for a look or a change, never across an await.
#[derive(Debug, Default)]
pub(crate) struct Routes(Mutex<HashMap<SessionId, Route>>);

impl Routes {
    fn map(&self) -> MutexGuard<'_, HashMap<SessionId, Route>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, session: SessionId) -> Option<Route> {
        self.map().get(&session).cloned()
    }

    /// Leads a session to a process; returns where it led before.
    pub(crate) fn lead(&self, session: SessionId, route: Route) -> Option<Route> {
        self.map().insert(session, route)
    }

    /// Leads a session to a process that speaks of it, unless another one hosts it.
    pub(crate) fn adopt(&self, session: SessionId, route: &Route) -> bool {
        let mut map = self.map();
        let hosted_elsewhere = map
            .get(&session)
            .is_some_and(|other| other.process != route.process && !other.messages.is_closed());
        if !hosted_elsewhere {
            map.insert(session, route.clone());
        }
        !hosted_elsewhere
    }

    /// Leads a session nowhere, if it led to this process.
    pub(crate) fn release(&self, session: SessionId, process: ProcessId) {
        let mut map = self.map();
        if map.get(&session).is_some_and(|route| route.process == process) {
            map.remove(&session);
        }
    }

    /// Forgets a process; returns the sessions that led to it. Those of `left` go on leading there, so that it is
    /// known whether they are still wanted.
    pub(crate) fn forget(&self, process: ProcessId, left: &[Launch]) -> Vec<SessionId> {
        let waits = |session: &SessionId| left.iter().any(|launch| launch.session == *session);
        let led = |session: &SessionId, route: &mut Route| route.process == process && !waits(session);
        self.map().extract_if(led).map(|(session, _)| session).collect()
    }

    /// All that is known now.
    pub(crate) fn all(&self) -> Vec<Route> {
        self.map().values().cloned().collect()
    }
}
