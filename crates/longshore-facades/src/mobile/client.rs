//! What a connection shares with its calls: the gate, the sessions that the app knows, and how much was sent of each.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::timeline::{Content, Timeline};
use longshore_session::{SessionFilter, WithRaw};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::dialect::{MissedEvents, ROWS, ShownAgents, history, open_permissions};
use super::door::MobileDoor;
use super::wire::ServerFrame;
use crate::gate::{Gate, GateError};
use crate::kernel::link::FOLLOWED;
use crate::kernel::{Step, Steps};
use crate::outgo::OutgoAccount;

/// How many sessions the app gets when it connects: those that changed last.
const LISTED: usize = 50;
/// The most requests of one connection at a time, besides one for the history of each session.
const REQUESTS: usize = 32;
/// How many timelines a connection reads at a time.
const READERS: usize = 4;
/// How many events are read at once.
const PAGE: usize = 512;

pub(super) struct MobileClient {
    pub(super) gate: Gate,
    /// Whether the device was paired just now.
    is_new: bool,
    shown: Mutex<ShownAgents>,
    /// The sessions that are followed, or are about to be.
    begun: Mutex<HashSet<SessionId>>,
    /// Until where the history of each went, with what waited then.
    told: Mutex<HashMap<SessionId, Seq>>,
    /// How much was sent of each.
    sent: Mutex<HashMap<SessionId, Seq>>,
    heard_at: Mutex<Instant>,
    /// Whether the app takes news: it knows the list.
    open: AtomicBool,
    slots: Arc<Semaphore>,
    readers: Semaphore,
    outgo: OutgoAccount,
}

/// Where a connection begins to follow a session.
#[derive(Clone, Copy, Debug)]
pub(super) enum Beginning {
    /// Where the device's last connection ended; the history is what was before.
    History,
    /// At its beginning: it is new.
    New,
    /// Now: the app did not ask for its history.
    Now,
    /// Behind this event.
    After(Seq),
}

impl MobileClient {
    pub(super) fn new(gate: Gate, is_new: bool) -> Self {
        Self {
            outgo: gate.outgo(),
            gate,
            is_new,
            shown: Mutex::default(),
            begun: Mutex::default(),
            told: Mutex::default(),
            sent: Mutex::default(),
            heard_at: Mutex::new(Instant::now()),
            open: AtomicBool::new(false),
            slots: Arc::new(Semaphore::new(REQUESTS)),
            readers: Semaphore::new(READERS),
        }
    }

    pub(super) fn door(&self) -> &MobileDoor {
        &self.gate.app().mobile
    }

    /// The text of a message, sent now.
    pub(super) fn text(&self, frame: &ServerFrame) -> String {
        frame.to_text(self.gate.app().hub.now())
    }

    /// Sends a message that may be large, when there is room for it.
    pub(super) async fn send_held(&self, frame: &ServerFrame) -> Step {
        let text = self.text(frame);
        let share = self.outgo.room(text.len()).await;
        Step::SendHeld(text, share)
    }

    pub(super) fn shown(&self) -> MutexGuard<'_, ShownAgents> {
        held(&self.shown)
    }

    /// A place for a request, if there is one.
    pub(super) fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    pub(super) fn is_heard(&self) {
        *held(&self.heard_at) = Instant::now();
    }

    pub(super) fn heard_at(&self) -> Instant {
        *held(&self.heard_at)
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    /// Whether this is the first that wants to follow the session.
    pub(super) fn begins(&self, session: SessionId) -> bool {
        let mut begun = held(&self.begun);
        begun.len() < FOLLOWED && begun.insert(session)
    }

    /// Until where the app only missed what happened: its history said what waited then.
    pub(super) fn told_until(&self, session: SessionId) -> Seq {
        held(&self.told).remove(&session).unwrap_or_default()
    }

    pub(super) fn ends(&self, session: SessionId) {
        held(&self.begun).remove(&session);
    }

    pub(super) fn is_sent(&self, session: SessionId, seq: Seq) {
        held(&self.sent).insert(session, seq);
    }

    pub(super) fn has_received(&self, session: SessionId, seq: Seq) {
        if let Some(device) = self.gate.caller().device() {
            self.door().has_received(device, session, seq);
        }
    }

    /// Tells the app that it is in, and which sessions there are.
    pub(super) async fn connect(
        self: Arc<Self>,
        device_id: String,
        server_signature: Option<String>,
    ) -> Steps {
        let rows = self.rows().await.unwrap_or_default();
        for row in &rows {
            self.shown().take(row);
        }
        let connected = ServerFrame::Connected { device_id, agents: self.shown().all(), server_signature };
        let mut steps = Steps::default();
        steps.push(self.send_held(&connected).await);
        // What changed before the app could be told.
        steps.call(self.list_again());
        steps
    }

    /// Compares the list with what the app knows.
    pub(super) async fn list_again(self: Arc<Self>) -> Steps {
        self.open.store(true, Ordering::SeqCst);
        let rows = self.rows().await.unwrap_or_default();
        rows.iter().flat_map(|row| self.take_row(row)).collect()
    }

    async fn rows(&self) -> Result<Vec<SessionInfo>, GateError> {
        let filter = SessionFilter { archived: Some(false), limit: LISTED, ..SessionFilter::default() };
        Ok(self.gate.sessions(filter).await?.sessions)
    }

    /// Takes the row of a session. One that the app did not know is followed at once.
    pub(super) fn take_row(self: &Arc<Self>, info: &SessionInfo) -> Vec<Step> {
        let frame = self.shown().take(info);
        let session = info.session_id;
        let mut steps: Vec<Step> = frame.iter().map(|frame| Step::Send(self.text(frame))).collect();
        match frame {
            Some(ServerFrame::AgentCreated { .. }) if self.begins(session) => {
                let attach = Arc::clone(self).attach(session, Beginning::New);
                steps.push(Step::Call(Some(session), attach.boxed()));
            }
            Some(ServerFrame::AgentDestroyed { .. }) => {
                self.ends(session);
                steps.push(Step::Unfollow(session, Box::new(|_| Steps::default())));
            }
            _ => {}
        }
        steps
    }

    /// Follows the sessions of which the app did not ask for the history.
    pub(super) fn follow_the_rest(self: &Arc<Self>) -> Steps {
        let sessions: Vec<SessionId> = self.shown().sessions().collect();
        let rest = sessions.into_iter().filter(|session| self.begins(*session));
        rest.map(|session| {
            Step::Call(Some(session), Arc::clone(self).attach(session, Beginning::Now).boxed())
        })
        .collect()
    }

    /// Begins to follow a session.
    pub(super) async fn attach(self: Arc<Self>, session: SessionId, beginning: Beginning) -> Steps {
        let mut steps = Steps::default();
        if let Err(error) = self.try_attach(session, beginning, &mut steps).await {
            self.ends(session);
            steps.send(self.text(&ServerFrame::error(error)));
        }
        steps
    }

    async fn try_attach(
        &self,
        session: SessionId,
        beginning: Beginning,
        steps: &mut Steps,
    ) -> Result<(), GateError> {
        let _turn = self.readers.acquire().await;
        if let Beginning::Now = beginning {
            steps.push(Step::Attach(Box::new(self.gate.attach(session).await?)));
            return Ok(());
        }
        let end = |timeline: &Timeline| self.end_of(session, beginning, timeline);
        let (timeline, attached) = self.gate.attach_earlier(session, end).await?;
        if let Beginning::History = beginning {
            let end = attached.subscription.cursor();
            let missed = self.missed(session, end, timeline.head).await?;
            let begun = timeline.begun_by(end);
            let info = &attached.info;
            held(&self.told).insert(session, timeline.head);
            steps.push(self.send_held(&self.history(info, &begun, &missed, &timeline)).await);
            // A bubble that is being streamed begins with what there is of it.
            let fresh = end == timeline.head && self.received(session).is_none();
            let growing = begun.items.iter().filter(|item| {
                fresh && item.ended_at.is_none() && matches!(item.content, Content::Message { .. })
            });
            for item in growing.filter(|item| !item.text.is_empty()) {
                let (agent_id, text) = (session.to_string(), item.text.clone());
                steps.send(self.text(&ServerFrame::StreamChunk { agent_id, text }));
            }
        }
        steps.push(Step::Attach(Box::new(attached)));
        Ok(())
    }

    /// The history up to what was sent, for an app that asks once more.
    pub(super) async fn history_again(&self, session: SessionId) -> Steps {
        let _turn = self.readers.acquire().await;
        let mut steps = Steps::default();
        let found = async {
            let timeline = self.gate.timeline(session).await?;
            let info = self.gate.session(session).await?;
            let end = held(&self.sent).get(&session).copied().unwrap_or(timeline.head).min(timeline.head);
            let missed = self.missed(session, end, timeline.head).await?;
            Ok::<_, GateError>(self.history(&info, &timeline.begun_by(end), &missed, &timeline))
        };
        let frame = found.await.unwrap_or_else(ServerFrame::error);
        steps.push(self.send_held(&frame).await);
        steps
    }

    fn history(
        &self,
        info: &SessionInfo,
        begun: &Timeline,
        missed: &MissedEvents,
        now: &Timeline,
    ) -> ServerFrame {
        ServerFrame::AgentHistory {
            agent_id: info.session_id.to_string(),
            messages: history(info, begun, missed),
            pending_permissions: open_permissions(now, &info.provider),
        }
    }

    fn received(&self, session: SessionId) -> Option<Seq> {
        self.door().received(self.gate.caller().device()?, session)
    }

    /// Where the history of a session ends, and what comes as live messages begins.
    fn end_of(&self, session: SessionId, beginning: Beginning, timeline: &Timeline) -> Seq {
        let before = |seq: Seq| Seq(seq.0.saturating_sub(1));
        let oldest = timeline.items.len().checked_sub(ROWS).map_or(Seq::ZERO, |at| timeline.items[at].seq);
        let end = match beginning {
            Beginning::New => Seq::ZERO,
            Beginning::Now => timeline.head,
            Beginning::After(seq) => seq,
            Beginning::History => match self.received(session) {
                Some(seq) => seq,
                None if self.is_new => timeline.head,
                // It was here before the hub started, and has what there was then.
                None => {
                    let since = self.door().since;
                    let mut later = timeline.items.iter().filter(|item| {
                        item.started_at >= since || item.ended_at.is_some_and(|ended| ended >= since)
                    });
                    later.next().map_or(timeline.head, |item| before(item.seq))
                }
            },
        };
        end.max(before(oldest))
    }

    /// What happened after the end of a history.
    async fn missed(&self, session: SessionId, end: Seq, head: Seq) -> Result<MissedEvents, GateError> {
        let (mut missed, mut after) = (MissedEvents::default(), end);
        while after < head {
            let frames = self.gate.events(session, after, PAGE, WithRaw::No).await?;
            let Some(last) = frames.last() else { break };
            after = last.seq();
            let events = frames.iter().take_while(|frame| frame.seq() <= head);
            events.filter_map(|frame| frame.event().ok()).for_each(|event| missed.take(event));
        }
        Ok(missed)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
