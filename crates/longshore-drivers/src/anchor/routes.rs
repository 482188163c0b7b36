//! Which process hosts which session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::anchor::{AgentQuestion, Answer, Launch};
use longshore_model::command::AgentCommand;
use longshore_model::id::{QueryId, SessionId};
use tokio::sync::{mpsc, oneshot, watch};

use super::ending::Cause;

/// The number of a process within one anchor. Unlike a pid, it is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId(pub(crate) u64);

/// How many messages may wait for one process. The process's task handles them at once, even while the hub
/// has no room. So they pile up only if the agent takes no input, and then the anchor stops it.
pub(crate) const MESSAGES: usize = 64;

/// A message to a process.
#[derive(Debug)]
pub(crate) enum RouteMessage {
    /// Pass a command of a session to the agent.
    Tell(SessionId, AgentCommand),
    /// Stop hosting a session: a child, or one of many sessions.
    LetGo(SessionId),
    /// Host this session too.
    Open(Launch),
    /// Answer this question.
    Ask { id: QueryId, query: AgentQuestion, answer: oneshot::Sender<Result<Answer, String>> },
}

/// A way to a process.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) process: ProcessId,
    /// The session for which the process was started. Its other sessions are children of this one. None if
    /// the process hosts many sessions.
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

    /// Stops the process. The call never waits. The first cause counts.
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

/// The map of sessions to processes. It is locked for a read or a change, never across an await.
#[derive(Debug, Default)]
pub(crate) struct Routes(Mutex<HashMap<SessionId, Route>>);

impl Routes {
    fn map(&self) -> MutexGuard<'_, HashMap<SessionId, Route>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, session: SessionId) -> Option<Route> {
        self.map().get(&session).cloned()
    }

    /// Leads a session to a process, and returns the earlier route.
    pub(crate) fn lead(&self, session: SessionId, route: Route) -> Option<Route> {
        self.map().insert(session, route)
    }

    /// Leads a session to a process that mentions it, unless another process hosts it.
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

    /// Removes the route of a session, if it led to this process.
    pub(crate) fn release(&self, session: SessionId, process: ProcessId) {
        let mut map = self.map();
        if map.get(&session).is_some_and(|route| route.process == process) {
            map.remove(&session);
        }
    }

    /// Forgets a process, and returns the sessions that led to it. The sessions of `left` keep their routes,
    /// so that the anchor can see whether they are still wanted.
    pub(crate) fn forget(&self, process: ProcessId, left: &[Launch]) -> Vec<SessionId> {
        let waits = |session: &SessionId| left.iter().any(|launch| launch.session == *session);
        let led = |session: &SessionId, route: &mut Route| route.process == process && !waits(session);
        self.map().extract_if(led).map(|(session, _)| session).collect()
    }

    /// All current routes.
    pub(crate) fn all(&self) -> Vec<Route> {
        self.map().values().cloned().collect()
    }
}
