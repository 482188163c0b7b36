//! Who is to be woken when: looks on as sessions change, and says what is worth a push.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use longshore_model::event::Body;
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::{Activity, SessionInfo};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use longshore_session::{HubError, SessionFilter, WithRaw};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tracing::warn;
use uuid::Uuid;

use super::Push;
use super::words::Words;

/// How long an agent may say nothing in the middle of a turn before that is worth a word.
pub(crate) const STALLED_MIN: u64 = 10;
/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How far back the end of a turn and its result are looked for.
const LAST_EVENTS: u64 = 300;
/// How many rows are looked at when too many changed to be told one by one.
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
    /// The turn that runs, and whether it was said that nothing comes of it.
    turn: Option<(TurnId, bool)>,
    /// When something last happened, as far as is known.
    changed: Timestamp,
    waiting: bool,
}

impl Watch {
    pub(super) fn new(push: Arc<Push>) -> Self {
        let since = push.hub.now();
        Self { push, since, seen: HashMap::new() }
    }

    pub(super) async fn run(mut self, mut changes: broadcast::Receiver<Arc<SessionInfo>>) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.reset();
        loop {
            let done = tokio::select! {
                change = changes.recv() => match change {
                    Ok(info) => self.changed(&info).await,
                    Err(RecvError::Lagged(_)) => self.list_anew().await,
                    Err(RecvError::Closed) => return,
                },
                _ = look.tick() => self.look_for_stalled().await,
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
            due.push(Words::approval(info, open));
        }
        for open in info.questions.iter().filter(|open| is_new(&open.request.question.0, open.asked_at)) {
            due.push(Words::question(info, open));
        }
        if let Some(before) = before.as_ref().filter(|seen| info.turn.is_none() && info.head > seen.head) {
            // Work that was delegated is told by who delegated it.
            if info.parent.is_none() {
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
        for words in due {
            self.push.tell(&words).await?;
        }
        Ok(())
    }

    /// The end of the last turn, when it came after what was seen, and its result.
    async fn ended(&self, info: &SessionInfo, seen: Seq) -> Result<Option<Words>, HubError> {
        let after = Seq(seen.0.max(info.head.0.saturating_sub(LAST_EVENTS)));
        let frames = self.push.hub.events(info.session_id, after, LAST_EVENTS as usize, WithRaw::No).await?;
        let (mut end, mut result) = (None, None);
        for frame in &frames {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            if let Body::MessageDone { .. } = &event.body {
                result = event.text.clone().or(result);
            } else if let Body::TurnFinished(finished) = &event.body {
                end = Some((finished.clone(), result.take()));
            }
        }
        Ok(end.and_then(|(end, result)| match end.outcome {
            TurnOutcome::Completed => Some(Words::finished(info, result.as_deref())),
            TurnOutcome::Failed => {
                Some(Words::failed(info, end.error.as_ref().map(|error| error.message.as_str())))
            }
            // Whoever stopped it knows.
            TurnOutcome::Interrupted => None,
        }))
    }

    async fn look_for_stalled(&mut self) -> Result<(), HubError> {
        let now = self.push.hub.now();
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
                self.push.tell(&Words::stalled(&info, STALLED_MIN)).await?;
            }
        }
        Ok(())
    }
}
