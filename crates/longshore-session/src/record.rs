//! Recording: the actor writes the result of a step into the journal before it tells anybody. The journal's
//! answer decides what the actor does next.
//!
//! | the journal says | the actor |
//! |---|---|
//! | it wrote the events | tells everybody, and carries out the effects |
//! | nobody knows | appends the same again until it knows, and reads the session if another hub came after; the agent waits |
//! | another hub was first | rebuilds the session and handles the agent's words once more; the agent continues |
//! | anything else: no room, damage | stops the agent, because its words would be lost |

use std::sync::Arc;
use std::time::Duration;

use longshore_log::{Batch, LogError, Mark, WithRaw};
use longshore_model::anchor::ToAnchor;
use longshore_model::event::{Event, Growth, Raw};
use longshore_model::frame::Frame;
use longshore_model::id::{Ids, Seq};
use longshore_model::info::Activity;
use longshore_model::session::{Input, Outcome, Session};
use tokio::time::Instant;
use tracing::{error, warn};
use uuid::Uuid;

use crate::actor::{Actor, AgentHere, CORRECT_AFTER, PendingReplies};
use crate::changes::Change;
use crate::error::HubError;
use crate::hub::{HubInner, lock};

/// How many events the actor reads at once when it rebuilds a session from the log.
const FOLD_PAGE: usize = 4_096;
/// How long the journal may leave it open whether it wrote a batch. The agent waits meanwhile.
const KNOWN_WITHIN: Duration = Duration::from_secs(30);
/// The shortest and the longest wait before the actor appends the batch again.
const AGAIN_AFTER: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

impl Actor {
    /// Commits the result of a step, and then tells everybody.
    pub(crate) async fn record(&mut self, mut out: Outcome, pending: PendingReplies) {
        // A client whose command met an outdated session gets the error once the agent's words are safe.
        let mut fenced: Option<Arc<LogError>> = None;
        // In each round another hub has recorded something, so every hub makes progress.
        loop {
            let Outcome { events, effects } = std::mem::take(&mut out);
            match self.commit(events).await {
                Ok(()) => {
                    self.unrecorded_words.clear();
                    for reply in pending {
                        reply(fenced.as_ref().map_or_else(|| Ok(self.session.as_ref()), Err));
                    }
                    for effect in effects {
                        self.carry_out(effect).await;
                    }
                    return;
                }
                Err(error @ LogError::Fenced { .. }) => {
                    warn!(session = %self.id, "another hub continued the session; it is folded anew");
                    fenced = Some(Arc::new(error));
                }
                Err(error) => return self.stop_unrecorded(error, pending).await,
            }
            if let Err(error) = self.fold_anew(&mut out).await {
                let error = LogError::other("reading what another hub recorded", error);
                return self.stop_unrecorded(error, pending).await;
            }
        }
    }

    /// Rebuilds the machine from the log, and lets it handle once more what the agent said.
    async fn fold_anew(&mut self, out: &mut Outcome) -> Result<(), HubError> {
        self.session = None;
        let session = self.rebuild().await?;
        let words = std::mem::take(&mut self.unrecorded_words);
        // The agent's own report says that the agent is gone, so the log needs no correction.
        match words.iter().any(|word| matches!(word, Input::Gone { .. })) {
            true => self.session = Some(session),
            false => self.set_right(session, out),
        }
        for word in &words {
            let _ = self.handle(word.clone(), out);
        }
        self.unrecorded_words = words;
        Ok(())
    }

    async fn commit(&mut self, events: Vec<(Event, Option<Raw>)>) -> Result<(), LogError> {
        let Some(session) = self.session.as_ref().filter(|_| !events.is_empty()) else { return Ok(()) };
        let only_deltas = events.iter().all(|(event, _)| event.body.growth() == Growth::Delta);
        let info = (!only_deltas).then(|| Arc::new(session.row()));
        let frames = events
            .into_iter()
            .map(|(event, raw)| Frame::encode(event, raw))
            .collect::<Result<Arc<[Frame]>, _>>()
            .map_err(|error| LogError::Other { doing: "encoding an event", source: error.into() })?;
        let batch = Batch { session: self.id, frames: Arc::clone(&frames), info: info.clone() };
        self.mark = self.hub.append_known(batch, self.mark, nonce(&mut self.ids)).await?;
        self.hub.counters.recorded(frames.len());
        self.tail.push(frames);
        self.unrecorded = false;
        self.correct_after = CORRECT_AFTER.0;
        if let Some(info) = info {
            let waits = info.activity == Activity::Waiting;
            if info.parent.is_some() && waits != self.waits {
                self.waits = waits;
                self.hub.child_waits(&info);
            }
            self.hub.announce(Change::Row(info));
        }
        Ok(())
    }

    /// The log did not take what happened. To continue would lose more, so the actor stops the agent and
    /// discards the machine. The actor rebuilds the session from the log when somebody next reads it, or after a while.
    async fn stop_unrecorded(&mut self, error: LogError, pending: PendingReplies) {
        error!(session = %self.id, %error, "cannot record; the agent is stopped");
        let error = Arc::new(error);
        for reply in pending {
            reply(Err(&error));
        }
        self.session = None;
        self.unrecorded = true;
        self.unrecorded_words.clear();
        if self.agent == AgentHere::Yes {
            self.agent = AgentHere::Silenced;
            self.hub.to_anchor(ToAnchor::Stop { session: self.id }).await;
        }
    }

    /// Rebuilds the machine from the log, and reads where the log ends.
    pub(crate) async fn rebuild(&mut self) -> Result<Session, HubError> {
        let head = self.hub.journal.head(self.id).await?;
        let mut session: Option<Session> = None;
        let mut cursor = Seq::ZERO;
        while cursor < head.seq {
            let page = self.hub.journal.read(self.id, cursor, FOLD_PAGE, WithRaw::No).await?;
            let Some(last) = page.last() else { break };
            cursor = last.seq();
            // Later events come from another hub. This hub finds them when it appends.
            for frame in page.iter().take_while(|frame| frame.seq() <= head.seq) {
                let event =
                    frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
                match &mut session {
                    Some(session) => session.apply(event),
                    None => session = Session::fold([&**event]),
                }
            }
        }
        self.mark = head.mark;
        self.tail.reread_to(head.seq);
        session.ok_or(HubError::UnknownSession)
    }
}

impl HubInner {
    /// Appends a batch for a caller that is not an actor.
    pub(crate) async fn append(&self, batch: Batch, after: Mark) -> Result<Mark, LogError> {
        let nonce = nonce(&mut lock(&self.ids));
        self.append_known(batch, after, nonce).await
    }

    /// Appends a batch. As long as nobody knows whether the journal wrote the batch, this appends the same
    /// batch again; the journal never writes it twice.
    ///
    /// Perhaps the journal wrote the batch, and another hub continued the session before this hub knew. Then
    /// this returns `after`, so the next append is fenced and the actor rebuilds the session.
    async fn append_known(&self, batch: Batch, after: Mark, nonce: Uuid) -> Result<Mark, LogError> {
        let begun = Instant::now();
        let (first, longest) = AGAIN_AFTER;
        let mut pause = first;
        loop {
            match self.journal.append(batch.clone(), after, nonce).await {
                Err(error @ LogError::Unknown { .. }) => {
                    if begun.elapsed() >= KNOWN_WITHIN {
                        return Err(error);
                    }
                    warn!(session = %batch.session, %error, "appending once more");
                }
                Err(error @ LogError::Fenced { .. }) if pause > first => match self.holds(&batch).await {
                    Ok(true) => return Ok(after),
                    Ok(false) => return Err(error),
                    Err(unread) if begun.elapsed() >= KNOWN_WITHIN => return Err(unread),
                    Err(unread) => {
                        warn!(session = %batch.session, error = %unread, "looking for it once more")
                    }
                },
                known => return known,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// Whether the journal has these events. No other hub writes the same events at the same moment.
    async fn holds(&self, batch: &Batch) -> Result<bool, LogError> {
        let Some(first) = batch.frames.first() else { return Ok(true) };
        let (mut after, mut frames) = (Seq(first.seq().0.saturating_sub(1)), &*batch.frames);
        while !frames.is_empty() {
            let page = self.journal.read(batch.session, after, frames.len(), WithRaw::No).await?;
            let same = page.iter().zip(frames).all(|(held, ours)| held.json() == ours.json());
            if page.is_empty() || !same {
                return Ok(false);
            }
            (after, frames) = (page.last().map_or(after, Frame::seq), &frames[page.len()..]);
        }
        Ok(true)
    }
}

fn nonce(ids: &mut Ids) -> Uuid {
    ids.next(crate::hub::now())
}
