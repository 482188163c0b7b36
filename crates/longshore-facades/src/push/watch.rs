//! Watches sessions, and decides which changes are worth a push.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use longshore_model::event::Body;
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::{Activity, SessionInfo};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use longshore_session::{Change, HubError, SessionFilter, WithRaw};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tracing::warn;
use uuid::Uuid;

use super::Push;
use super::message::PushMessage;

/// How many minutes an agent may be silent in a turn before the hub sends a push.
pub(crate) const STALLED_MIN: u64 = 10;
/// How often the hub looks for silent agents.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How many events back the hub looks for the end of a turn and its result.
const LAST_EVENTS: u64 = 300;
/// How many rows the hub reads when too many changed to be reported one by one.
const ROWS: usize = 200;

/// What is known of the sessions that changed since the start.
pub(super) struct Watch {
    push: Arc<Push>,
    since: Timestamp,
    seen: HashMap<SessionId, Seen>,
}

struct Seen {
    head: Seq,
    asks: HashSet<Uuid>,
    /// The running turn, and whether the hub has reported its silence.
    turn: Option<(TurnId, bool)>,
    /// When something last happened, as far as the hub knows.
    changed: Timestamp,
    waiting: bool,
}

impl Watch {
    pub(super) fn new(push: Arc<Push>) -> Self {
        let since = push.hub.now();
        Self { push, since, seen: HashMap::new() }
    }

    pub(super) async fn run(mut self, mut changes: broadcast::Receiver<Change>) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.reset();
        loop {
            let done = tokio::select! {
                change = changes.recv() => match change {
                    Ok(Change::Row(info)) => self.changed(&info).await,
                    Ok(Change::Erased(session)) => {
                        self.seen.remove(&session);
                        Ok(())
                    }
                    Err(RecvError::Lagged(_)) => self.list_anew().await,
                    Err(RecvError::Closed) => return,
                },
                _ = look.tick() => self.look_for_stalled(self.push.hub.now()).await,
            };
            if let Err(error) = done {
                warn!(%error, "cannot tell whether a push is due");
            }
        }
    }

    async fn list_anew(&mut self) -> Result<(), HubError> {
        let filter = SessionFilter { limit: ROWS, ..SessionFilter::default() };
        for info in self.push.hub.sessions(filter).await?.sessions {
            self.changed(&info).await?;
        }
        Ok(())
    }

    async fn changed(&mut self, info: &SessionInfo) -> Result<(), HubError> {
        // What is read from an agent's own records happened elsewhere.
        if info.imported.is_some() {
            return Ok(());
        }
        let before = self.seen.remove(&info.session_id);
        let known = before.as_ref().map(|seen| &seen.asks);
        let is_new = |ask: &Uuid, at: Timestamp| match known {
            Some(asks) => !asks.contains(ask),
            None => at >= self.since,
        };
        let mut due = Vec::new();
        for open in info.approvals.iter().filter(|open| is_new(&open.request.approval.0, open.requested_at)) {
            due.push(PushMessage::approval(info, open));
        }
        for open in info.questions.iter().filter(|open| is_new(&open.request.question.0, open.asked_at)) {
            due.push(PushMessage::question(info, open));
        }
        if let Some(before) = before.as_ref().filter(|seen| info.turn.is_none() && info.head > seen.head) {
            // Work that was delegated is told by who delegated it, and nothing is told when nobody listens.
            if info.parent.is_none() && !self.push.hub.pushes().await?.is_empty() {
                due.extend(self.ended(info, before.head).await?);
            }
        }
        let told = |turn: TurnId| {
            before.as_ref().and_then(|seen| seen.turn).is_some_and(|(of, told)| of == turn && told)
        };
        let seen = Seen {
            head: info.head,
            asks: info
                .approvals
                .iter()
                .map(|open| open.request.approval.0)
                .chain(info.questions.iter().map(|open| open.request.question.0))
                .collect(),
            turn: info.turn.map(|turn| (turn, told(turn))),
            changed: info.updated_at,
            waiting: info.activity == Activity::Waiting,
        };
        if info.activity != Activity::Closed {
            self.seen.insert(info.session_id, seen);
        }
        for message in due {
            self.push.tell(&message).await?;
        }
        Ok(())
    }

    /// The end of the last turn, if it came after the last known event, and its result.
    async fn ended(&self, info: &SessionInfo, seen: Seq) -> Result<Option<PushMessage>, HubError> {
        let after = Seq(info.head.0.saturating_sub(LAST_EVENTS));
        let frames = self.push.hub.events(info.session_id, after, LAST_EVENTS as usize, WithRaw::No).await?;
        let (mut end, mut result) = (None, None);
        for frame in &frames {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            if let Body::MessageDone { .. } = &event.body {
                result = event.text.clone().or(result);
            } else if let Body::TurnFinished(finished) = &event.body {
                let result = result.take();
                end = (event.seq > seen).then(|| (finished.clone(), result));
            }
        }
        Ok(end.and_then(|(end, result)| match end.outcome {
            TurnOutcome::Completed => Some(PushMessage::finished(info, result.as_deref())),
            TurnOutcome::Failed => {
                Some(PushMessage::failed(info, end.error.as_ref().map(|error| error.message.as_str())))
            }
            // Whoever stopped it knows.
            TurnOutcome::Interrupted => None,
        }))
    }

    async fn look_for_stalled(&mut self, now: Timestamp) -> Result<(), HubError> {
        let is_quiet = |since: Timestamp| now.millis_since(since) >= STALLED_MIN * 60_000;
        let quiet: Vec<SessionId> = self
            .seen
            .iter()
            .filter(|(_, seen)| seen.turn.is_some_and(|(_, told)| !told) && !seen.waiting)
            .filter(|(_, seen)| is_quiet(seen.changed))
            .map(|(session, _)| *session)
            .collect();
        for session in quiet {
            // Rows do not change with every word; the session itself knows better.
            let info = self.push.hub.session(session).await?;
            let Some(seen) = self.seen.get_mut(&session) else { continue };
            seen.changed = info.updated_at;
            let stalled = info.activity == Activity::Working && is_quiet(info.updated_at);
            if let Some((_, told)) =
                seen.turn.as_mut().filter(|(turn, _)| stalled && info.turn == Some(*turn))
            {
                *told = true;
                self.push.tell(&PushMessage::stalled(&info, STALLED_MIN)).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use longshore_log::MemoryLog;
    use longshore_model::anchor::{Answer, FromAnchor, Machine, ToAnchor};
    use longshore_model::capability::{AgentInfo, Capabilities};
    use longshore_model::command::{Command, Prompt};
    use longshore_model::device::{PushKeys, PushSubscription, StoredPush};
    use longshore_model::event::Draft;
    use longshore_model::lifecycle::Ready;
    use longshore_session::{Hub, OpenRequest};
    use tokio::sync::mpsc;

    use super::super::message::PushKind;
    use super::super::{Outlet, Post, Vapid};
    use super::*;
    use crate::auth::{Keys, Owner, Token};

    /// A session in the middle of a turn.
    async fn working(hub: &Hub) -> SessionInfo {
        let (anchor, mut asked) = mpsc::channel(16);
        hub.attach(anchor);
        let answers = hub.clone();
        tokio::spawn(async move {
            while let Some(message) = asked.recv().await {
                let ToAnchor::Ask { id, .. } = message else { continue };
                let agent = AgentInfo {
                    name: "codex".into(),
                    title: "Codex".to_owned(),
                    path: Some("/bin/codex".to_owned()),
                    version: None,
                    install: String::new(),
                    login: None,
                    logged_in: None,
                    resume: None,
                    remark: None,
                    verified: None,
                    capabilities: Capabilities::default(),
                    models: Vec::new(),
                };
                let answer = Ok(Answer::Agents(Machine { name: "here".to_owned(), agents: vec![agent] }));
                answers.deliver(FromAnchor::Answer { id, answer }).await;
            }
        });
        let request =
            OpenRequest { agent: "codex".to_owned(), cwd: "/w".to_owned(), ..OpenRequest::default() };
        let session = hub.open(request).await.unwrap().session_id;
        let ready = Ready { native: Some("n".to_owned()), version: None, model: None, transcript: None };
        let drafts = vec![Draft::new(Body::SessionReady(ready))];
        hub.deliver(FromAnchor::Said { session, drafts }).await;
        let prompt = Command::Prompt(Prompt { text: "go".to_owned(), ..Prompt::default() });
        hub.command(session, prompt, "owner".to_owned()).await.unwrap();
        hub.session(session).await.unwrap()
    }

    #[tokio::test]
    async fn an_agent_that_says_nothing_for_long_is_told_of_once() {
        let hub = Hub::new(Arc::new(MemoryLog::default()));
        let owner = Owner { token: Token::new("t"), keep: None };
        let keys = Keys::load(hub.clone(), owner).await.unwrap();
        let (queue, mut due) = mpsc::channel(8);
        let push = Arc::new(Push {
            hub: hub.clone(),
            keys,
            presence: Arc::default(),
            vapid: Vapid::fleeting("mailto:owner@example.com").unwrap(),
            outlet: Outlet::Loopback,
            post: Post::new(Outlet::Loopback).unwrap(),
            queue,
            tasks: OnceLock::new(),
            forgotten: Default::default(),
            writing: Default::default(),
        });
        let keys = PushKeys { p256dh: String::new(), auth: String::new() };
        let subscription = PushSubscription { endpoint: "http://127.0.0.1/".to_owned(), keys };
        hub.put_push(StoredPush { device: None, subscription }).await.unwrap();
        let info = working(&hub).await;
        let mut watch = Watch::new(push);
        watch.changed(&info).await.unwrap();
        let later = |minutes: i64| hub.now().plus_millis(minutes * 60_000);
        watch.look_for_stalled(later(9)).await.unwrap();
        assert!(due.try_recv().is_err(), "it may think for a while");
        for _ in 0..2 {
            watch.look_for_stalled(later(11)).await.unwrap();
        }
        let (_, message) = due.try_recv().unwrap();
        assert_eq!(
            (message.kind, message.body.as_str()),
            (PushKind::Stalled, "has said nothing for 10 minutes")
        );
        assert!(due.try_recv().is_err(), "once is enough");
    }
}
