//! One task per session: machine, then log, then subscribers, then effects. In that order, always.

use std::sync::Arc;
use std::time::Duration;

use longshore_log::{Batch, LogError, WithRaw};
use longshore_model::anchor::ToAnchor;
use longshore_model::command::{Command, Reply};
use longshore_model::event::{Body, Draft, Event, Growth, Raw};
use longshore_model::frame::Frame;
use longshore_model::id::{Context, Ids, Seq, SessionId};
use longshore_model::info::{Activity, SessionInfo};
use longshore_model::lifecycle::{Opened, Sleep, SleepCause};
use longshore_model::session::{Input, Outcome, Session};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, warn};

use crate::changes::Change;
use crate::children::Children;
use crate::error::HubError;
use crate::hub::HubInner;
use crate::message::{FromAgent, FromClient};
use crate::tail::Tail;

/// How many messages are taken at once: their events share one commit.
const AT_ONCE: usize = 64;
/// How long a session stays in memory with no agent, no listener and nothing to do.
const LINGER: Duration = Duration::from_secs(300);
/// The same for one that is held elsewhere, or is over.
const LINGER_BRIEFLY: Duration = Duration::from_secs(1);
/// How many events are read at once when a session is rebuilt from its log.
const FOLD_PAGE: usize = 4_096;

/// Why an agent was stopped whose words the log did not take.
const UNRECORDED: &str = "the log could not be written, so the agent was stopped";

/// Replies that wait until what they speak of is durable.
type PendingReplies = Vec<PendingReply>;
type PendingReply = Box<dyn FnOnce(Result<Option<&Session>, &Arc<LogError>>) + Send>;

pub(crate) struct Actor {
    pub(crate) id: SessionId,
    pub(crate) hub: Arc<HubInner>,
    tail: Arc<Tail>,
    looked_at: watch::Sender<u64>,
    ids: Ids,
    /// Rebuilt from the log when it is not there.
    pub(crate) session: Option<Session>,
    /// Whether an agent was started here and has not been reported gone. The log may say otherwise: it was written
    /// before a crash.
    pub(crate) agent: AgentHere,
    /// The log did not take something, and the session has not been set right since.
    unrecorded: bool,
    children: Children,
    /// Whether the session that this one works for was told that it waits.
    waits: bool,
}

/// Where a session stands after a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Here,
    Erased,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentHere {
    No,
    Yes,
    /// Told to stop because its words could not be recorded; what it still says is not taken down.
    Silenced,
}

impl Actor {
    pub(crate) fn new(
        id: SessionId,
        hub: Arc<HubInner>,
        tail: Arc<Tail>,
        looked_at: watch::Sender<u64>,
    ) -> Self {
        let ids = Ids::seeded(crate::hub::random_seed());
        Self {
            id,
            hub,
            tail,
            looked_at,
            ids,
            session: None,
            agent: AgentHere::No,
            unrecorded: false,
            children: Children::default(),
            waits: false,
        }
    }

    pub(crate) async fn run(
        mut self,
        mut clients: mpsc::Receiver<FromClient>,
        mut agent: mpsc::Receiver<FromAgent>,
    ) {
        let (mut wishes, mut said) = (Vec::with_capacity(AT_ONCE), Vec::with_capacity(AT_ONCE));
        loop {
            tokio::select! {
                biased;
                _ = clients.recv_many(&mut wishes, AT_ONCE) => {}
                _ = agent.recv_many(&mut said, AT_ONCE) => {}
                () = tokio::time::sleep(self.linger()) => {
                    // The registry holds the tail, and so do we; anyone else is a client that reaches for it.
                    let quiet = || clients.is_empty() && agent.is_empty() && Arc::strong_count(&self.tail) == 2;
                    if self.agent == AgentHere::No && self.hub.registry.remove_if(self.id, quiet) {
                        return;
                    }
                    if self.may_rest() {
                        said.push(FromAgent::Idle);
                    }
                }
            }
            if wishes.is_empty() && clients.is_closed() {
                return;
            }
            // Whoever did not wake us has a turn all the same, so that neither side can keep the other waiting.
            take_waiting(&mut clients, &mut wishes);
            take_waiting(&mut agent, &mut said);
            if self.step(wishes.drain(..), said.drain(..)).await == After::Erased {
                return;
            }
        }
    }

    /// How long to stay awake with nothing to do. Past conversations come by the thousand, so they do not stay.
    fn linger(&self) -> Duration {
        match &self.session {
            Some(session) if session.is_elsewhere() || session.is_closed() => LINGER_BRIEFLY,
            Some(_) if self.may_rest() => self.hub.idle().unwrap_or(LINGER),
            Some(_) | None => LINGER,
        }
    }

    /// Whether the agent's process could be given back.
    fn may_rest(&self) -> bool {
        let idle = self.session.as_ref().is_some_and(Session::is_idle);
        idle && self.agent == AgentHere::Yes && self.hub.idle().is_some()
    }

    /// Takes a handful of messages through the machine, commits what they came to, and only then tells anyone.
    async fn step(
        &mut self,
        wishes: impl Iterator<Item = FromClient>,
        said: impl Iterator<Item = FromAgent>,
    ) -> After {
        let mut out = Outcome::default();
        let mut pending: PendingReplies = Vec::new();
        let mut erase = None;
        for wish in wishes {
            match wish {
                // Whoever wished something after that finds nobody.
                FromClient::Erase { reply } => erase = erase.or(Some(reply)),
                _ if erase.is_some() => {}
                wish => self.on_client(wish, &mut out, &mut pending).await,
            }
        }
        for message in said {
            self.on_agent(message, &mut out, &mut pending).await;
        }
        let Outcome { events, effects } = out;
        if let Err(error) = self.commit(events).await {
            error!(session = %self.id, %error, "cannot record; the agent is stopped");
            let error = Arc::new(error);
            for reply in pending {
                reply(Err(&error));
            }
            self.stop_unrecorded().await;
        } else {
            for reply in pending {
                reply(Ok(self.session.as_ref()));
            }
            for effect in effects {
                self.carry_out(effect).await;
            }
        }
        match erase {
            Some(reply) => self.erase(reply).await,
            None => After::Here,
        }
    }

    /// The log is emptied here, where nothing else is written for this session meanwhile.
    async fn erase(&mut self, reply: oneshot::Sender<Result<(), HubError>>) -> After {
        if self.agent == AgentHere::Yes {
            self.agent = AgentHere::Silenced;
            self.hub.to_anchor(ToAnchor::Stop { session: self.id }).await;
        }
        let erased = self.hub.log.erase(self.id).await;
        let after = if erased.is_ok() { After::Erased } else { After::Here };
        if after == After::Erased {
            self.hub.registry.remove(self.id);
            self.tail.erase();
            self.hub.timelines.remove(self.id);
            self.hub.told(Change::Erased(self.id));
        }
        drop(reply.send(erased.map(drop).map_err(HubError::from)));
        after
    }

    async fn on_client(&mut self, message: FromClient, out: &mut Outcome, pending: &mut PendingReplies) {
        match message {
            FromClient::Open { opened, copied, reply } => {
                let mut cx = Context { now: crate::hub::now(), ids: &mut self.ids };
                let mut session = Session::open(self.id, *opened, &mut cx, out);
                for draft in copied {
                    session.take_over(draft, &mut cx, out);
                }
                // Open with the agent under way: whoever opens a session is about to speak.
                let _ = session.handle(revive(), &mut cx, out);
                self.session = Some(session);
                pending.push(info_to(reply));
            }
            FromClient::OpenPast { opened, native, at, reply } => {
                if self.session.is_none() && self.tail.head() == Seq::ZERO {
                    let mut cx = Context { now: at, ids: &mut self.ids };
                    self.session = Some(Session::open_past(self.id, *opened, native, &mut cx, out));
                }
                match self.awaken(out).await {
                    Ok(()) => pending.push(info_to(reply)),
                    Err(error) => drop(reply.send(Err(error))),
                }
            }
            FromClient::Reread => self.session = None,
            // Done when everything else is.
            FromClient::Erase { .. } => {}
            FromClient::Wake => {
                if let Err(error) = self.awaken(out).await {
                    warn!(session = %self.id, %error, "cannot rebuild the session");
                }
            }
            FromClient::Info { reply } => match self.look(out).await {
                // Looking needs no room on the disk: what cannot be set right is shown as the log has it.
                Ok(as_recorded) => pending.push(Box::new(move |done| {
                    let info = done.ok().flatten().map_or(as_recorded, Session::info);
                    drop(reply.send(Ok(info)));
                })),
                Err(error) => drop(reply.send(Err(error))),
            },
            FromClient::RecordPlace { reply } => match self.awaken(out).await {
                Ok(()) => pending.push(Box::new(move |done| {
                    answer(reply, done.map(|session| session.and_then(Session::record_place)));
                })),
                Err(error) => drop(reply.send(Err(error))),
            },
            FromClient::Command { command, by, reply } => {
                if let Err(error) = self.awaken(out).await {
                    drop(reply.send(Err(error)));
                    return;
                }
                match self.handle(Input::Command { command, by }, out) {
                    Ok(made) => pending.push(Box::new(move |done| answer(reply, done.map(|_| made)))),
                    Err(error) => drop(reply.send(Err(error))),
                }
            }
        }
    }

    async fn on_agent(&mut self, message: FromAgent, out: &mut Outcome, pending: &mut PendingReplies) {
        if let FromAgent::Mark(reached) = message {
            pending.push(Box::new(move |_| {
                let _ = reached.send(());
            }));
            return;
        }
        if self.agent == AgentHere::Silenced {
            if !matches!(message, FromAgent::Gone { .. }) {
                return;
            }
            self.agent = AgentHere::No;
            if self.session.is_none() {
                // Set right when it is next looked at.
                return;
            }
        }
        if matches!(message, FromAgent::Said(_)) {
            self.agent = AgentHere::Yes;
        }
        if self.session.is_none() {
            // A child session comes to life with its parent's agent speaking for it.
            if let FromAgent::Said(drafts) = &message
                && self.tail.head() == Seq::ZERO
                && let Some(opened) = drafts.iter().find_map(opened_by)
            {
                let mut cx = Context { now: crate::hub::now(), ids: &mut self.ids };
                self.session = Some(Session::open(self.id, opened, &mut cx, out));
            }
            if let Err(error) = self.awaken(out).await {
                warn!(session = %self.id, %error, "an agent speaks for a session that is not there");
                return;
            }
        }
        match message {
            FromAgent::Said(drafts) => {
                out.events.reserve(drafts.len());
                for draft in drafts.into_iter().filter(|draft| opened_by(draft).is_none()) {
                    let known = self.children.begun(&draft);
                    for input in [Input::Said(draft)].into_iter().chain(known) {
                        let _ = self.handle(input, out);
                    }
                }
            }
            FromAgent::Gone { sleep, reason } => {
                self.agent = AgentHere::No;
                let _ = self.handle(Input::Gone { sleep, reason }, out);
            }
            FromAgent::Git(state) => {
                let _ = self.handle(Input::Git(state), out);
            }
            FromAgent::Idle => {
                let _ = self.handle(Input::Idle, out);
            }
            FromAgent::ChildWaits { child, waiting, at } => {
                if let Some(input) = self.children.told(child, waiting, at) {
                    let _ = self.handle(input, out);
                }
            }
            FromAgent::Past { after, since, drafts, until } => {
                let _ = self.handle(Input::Past { after, since, drafts, until }, out);
                self.ask_for_what_is_left_out(until).await;
                // An agent that has to end first is read on for when it is gone.
                if !self.session.as_ref().is_some_and(Session::is_ending) {
                    let looked_at = self.looked_at.clone();
                    pending.push(Box::new(move |_| {
                        looked_at
                            .send_if_modified(|place| std::mem::replace(place, until.max(*place)) < until);
                    }));
                }
            }
            FromAgent::Mark(_) => {}
        }
    }

    /// What was read may have been read from another place than where this session stands, and was then not taken in.
    async fn ask_for_what_is_left_out(&self, until: u64) {
        let Some(session) = &self.session else { return };
        if let (Some(after), Some(native)) = (session.imported(), session.native())
            && after < until
        {
            let (agent, native) = (Arc::clone(session.agent()), native.clone());
            let read = ToAnchor::ReadPast { session: self.id, agent, native, after, told: None };
            self.hub.to_anchor(read).await;
        }
    }

    /// The machine, rebuilt from the log if need be. If the log speaks of an agent that is not here, that agent went
    /// down with an earlier hub, and the session is told so before anything else.
    async fn awaken(&mut self, out: &mut Outcome) -> Result<(), HubError> {
        if self.session.is_none() {
            let session = self.rebuild().await?;
            self.set_right(session, out);
        }
        Ok(())
    }

    /// The same, and the session as its log has it.
    async fn look(&mut self, out: &mut Outcome) -> Result<SessionInfo, HubError> {
        if let Some(session) = &self.session {
            return Ok(session.info());
        }
        let session = self.rebuild().await?;
        let as_recorded = session.info();
        self.set_right(session, out);
        Ok(as_recorded)
    }

    fn set_right(&mut self, session: Session, out: &mut Outcome) {
        let left = session.left_open();
        let left_waiting = session.is_waiting();
        self.session = Some(session);
        match (self.agent, left) {
            // What the log did not take is to blame, and no restart.
            (AgentHere::No, Some(Input::Gone { .. })) if self.unrecorded => {
                let sleep = Sleep { cause: SleepCause::LogFailed, ..Sleep::default() };
                let _ = self.handle(Input::Gone { sleep, reason: UNRECORDED.to_owned() }, out);
            }
            (AgentHere::No, Some(left)) => {
                let _ = self.handle(left, out);
            }
            // It has been told to stop, and its end is yet to come: until then nothing can be told it.
            (AgentHere::Silenced, _) => {
                let _ = self.handle(Input::Silenced { reason: UNRECORDED.to_owned() }, out);
            }
            (AgentHere::No, None) if left_waiting => {
                let _ = self.handle(revive(), out);
            }
            (AgentHere::No | AgentHere::Yes, _) => {}
        }
    }

    async fn rebuild(&self) -> Result<Session, HubError> {
        let mut session: Option<Session> = None;
        let mut cursor = Seq::ZERO;
        loop {
            let page = self.hub.log.read(self.id, cursor, FOLD_PAGE, WithRaw::No).await?;
            let Some(last) = page.last() else { break };
            cursor = last.seq();
            for frame in &page {
                let event =
                    frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
                match &mut session {
                    Some(session) => session.apply(event),
                    None => session = Session::fold([&**event]),
                }
            }
        }
        session.ok_or(HubError::UnknownSession)
    }

    fn handle(&mut self, input: Input, out: &mut Outcome) -> Result<Reply, HubError> {
        let session = self.session.as_mut().ok_or(HubError::UnknownSession)?;
        let mut cx = Context { now: crate::hub::now(), ids: &mut self.ids };
        Ok(session.handle(input, &mut cx, out)?)
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
        self.hub.log.append(batch).await?;
        self.hub.counters.recorded(frames.len());
        self.tail.push(frames);
        self.unrecorded = false;
        if let Some(info) = info {
            let waits = info.activity == Activity::Waiting;
            if info.parent.is_some() && waits != self.waits {
                self.waits = waits;
                self.hub.child_waits(&info);
            }
            self.hub.told(Change::Row(info));
        }
        Ok(())
    }

    /// The log did not take what happened. Going on unrecorded would lose it, so the agent is stopped, and what the
    /// machine believes is thrown away: the log decides where the session stands when it is next looked at.
    async fn stop_unrecorded(&mut self) {
        self.session = None;
        self.unrecorded = true;
        if self.agent == AgentHere::Yes {
            self.agent = AgentHere::Silenced;
            self.hub.to_anchor(ToAnchor::Stop { session: self.id }).await;
        }
    }
}

fn take_waiting<T>(queue: &mut mpsc::Receiver<T>, into: &mut Vec<T>) {
    while into.len() < AT_ONCE
        && let Ok(message) = queue.try_recv()
    {
        into.push(message);
    }
}

fn revive() -> Input {
    Input::Command { command: Command::Revive { from_log: false }, by: "hub".to_owned() }
}

fn opened_by(draft: &Draft) -> Option<Opened> {
    match &draft.body {
        Body::SessionOpened(opened) => Some(Opened::clone(opened)),
        _ => None,
    }
}

fn info_to(reply: oneshot::Sender<Result<SessionInfo, HubError>>) -> PendingReply {
    Box::new(move |done| match done {
        Ok(None) => drop(reply.send(Err(HubError::UnknownSession))),
        Ok(Some(session)) => answer(reply, Ok(session.info())),
        Err(error) => answer(reply, Err(error)),
    })
}

fn answer<T>(reply: oneshot::Sender<Result<T, HubError>>, done: Result<T, &Arc<LogError>>) {
    // A client that no longer waits for its answer is no fault.
    drop(reply.send(done.map_err(|error| HubError::Log(Arc::clone(error)))));
}
