//! What the hub itself says: to the anchor, to who watches the list, and to the session that another one works for.

use std::sync::Arc;
use std::time::Duration;

use longshore_model::anchor::{Answer, Query, ToAnchor};
use longshore_model::id::{Context, QueryId, SessionId};
use longshore_model::info::{Activity, SessionInfo};
use longshore_model::lifecycle::{Sleep, SleepCause};
use tokio::sync::oneshot;

use crate::changes::Change;
use crate::error::HubError;
use crate::hub::{Hub, HubInner, lock, now};
use crate::message::FromAgent;

/// How long an anchor may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

impl HubInner {
    pub(crate) fn idle(&self) -> Option<Duration> {
        self.idle.get().copied()
    }

    /// Tells the session that this one works for whether it waits for a person.
    pub(crate) fn child_waits(self: &Arc<Self>, info: &SessionInfo) {
        if let Some(handle) = info.parent.and_then(|parent| self.registry.find(parent)) {
            let (child, at) = (info.session_id, info.head);
            let waiting = info.activity == Activity::Waiting;
            // On a task of its own: a child that waited for its parent could keep its own agent from being heard.
            tokio::spawn(
                async move { handle.agent.send(FromAgent::ChildWaits { child, waiting, at }).await },
            );
        }
    }

    pub(crate) fn told(&self, change: Change) {
        // Nobody listening is no fault.
        let _ = self.changes.send(change);
    }

    /// Tells the anchor. Without one, whoever waits for the agent hears that it is gone.
    pub(crate) async fn to_anchor(self: &Arc<Self>, message: ToAnchor) {
        let failed = match self.anchor.get() {
            Some(anchor) => anchor.send(message).await.err().map(|unsent| unsent.0),
            None => Some(message),
        };
        if let Some(ToAnchor::Open(launch)) = failed {
            let hub = Hub { inner: Arc::clone(self) };
            let sleep = Sleep { cause: SleepCause::FailedToStart, ..Sleep::default() };
            let reason = HubError::NoAnchor.to_string();
            // On a task of its own: the session that asked must be free to hear the answer.
            tokio::spawn(async move {
                hub.agent_did(launch.session, FromAgent::Gone { sleep, reason }).await;
            });
        }
    }

    pub(crate) async fn ask(self: &Arc<Self>, query: Query) -> Result<Answer, HubError> {
        let anchor = self.anchor.get().ok_or(HubError::NoAnchor)?;
        let id = QueryId::mint(&mut Context { now: now(), ids: &mut lock(&self.ids) });
        let (tell, told) = oneshot::channel();
        {
            let mut asked = lock(&self.asked);
            // Whoever went away without waiting leaves nothing behind.
            asked.retain(|_, tell| !tell.is_closed());
            asked.insert(id, tell);
        }
        let answered = async {
            anchor.send(ToAnchor::Ask { id, query }).await.map_err(|_| HubError::NoAnchor)?;
            let told = tokio::time::timeout(ANSWER_WITHIN, told).await;
            told.map_err(|_| {
                HubError::Anchor("the machine of the agents did not answer in time; try again".to_owned())
            })?
            .map_err(|_| HubError::NoAnchor)?
            .map_err(HubError::Anchor)
        };
        let answer = answered.await;
        lock(&self.asked).remove(&id);
        answer
    }

    /// Asks where the work tree stands, and tells the session when the answer comes.
    pub(crate) fn look_at_git(self: &Arc<Self>, session: SessionId, cwd: String) {
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            if let Ok(Answer::Git { git: Some(state) }) = inner.ask(Query::Git { cwd }).await
                && let Some(handle) = inner.registry.find(session)
            {
                let _ = handle.agent.send(FromAgent::Git(state)).await;
            }
        });
    }
}
