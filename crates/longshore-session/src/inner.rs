//! Messages of the hub itself: to the anchor, to listeners of the list, and to parents of sessions.

use std::sync::Arc;
use std::time::Duration;

use longshore_model::anchor::{AnchorQuery, GitQuery, ToAnchor};
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

    /// Tells the parent of this session whether the session waits for a person.
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

    /// Tells who watches the list.
    pub(crate) fn announce(&self, change: Change) {
        // Nobody listening is no fault.
        let _ = self.changes.send(change);
    }

    /// Sends a message to the anchor. If there is no anchor, the session learns that its agent is gone.
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

    /// Asks the anchor something that concerns no session.
    pub(crate) async fn ask<Q: AnchorQuery>(self: &Arc<Self>, query: Q) -> Result<Q::Answer, HubError> {
        self.ask_within(ANSWER_WITHIN, query).await
    }

    pub(crate) async fn ask_within<Q: AnchorQuery>(
        self: &Arc<Self>,
        patience: Duration,
        query: Q,
    ) -> Result<Q::Answer, HubError> {
        let query = query.into();
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
            let told = tokio::time::timeout(patience, told).await;
            told.map_err(|_| {
                HubError::Anchor("the machine of the agents did not answer in time; try again".to_owned())
            })?
            .map_err(|_| HubError::NoAnchor)?
            .map_err(HubError::Anchor)
        };
        let answer = answered.await;
        lock(&self.asked).remove(&id);
        Q::answer(answer?).ok_or_else(|| {
            HubError::Anchor("the machine of the agents gave a wrong answer; try again".to_owned())
        })
    }

    /// Asks for the git state of the work tree, and gives the answer to the session.
    pub(crate) fn look_at_git(self: &Arc<Self>, session: SessionId, cwd: String) {
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            if let Ok(Some(state)) = inner.ask(GitQuery { cwd }).await
                && let Some(handle) = inner.registry.find(session)
            {
                let _ = handle.agent.send(FromAgent::Git(state)).await;
            }
        });
    }
}
