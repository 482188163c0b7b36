//! The actor: one task per session. It always works in this order: machine, log, subscribers, effects.

use std::sync::Arc;
use std::time::Duration;

use longshore_log::{LogError, Mark};
use longshore_model::anchor::ToAnchor;
use longshore_model::command::{Command, Reply};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, Ids, Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::{Opened, Sleep, SleepCause};
use longshore_model::session::{Input, Outcome, Session};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::warn;

use crate::changes::Change;
use crate::children::Children;
use crate::error::HubError;
use crate::hub::HubInner;
use crate::message::{FromAgent, FromClient};
use crate::tail::Tail;

/// The most messages of one step. Their events share one commit.
const AT_ONCE: usize = 64;
/// How long a session without agent, subscriber and work stays in memory.
const LINGER: Duration = Duration::from_secs(300);
/// The same for a session whose conversation continues elsewhere, and for a closed session.
const LINGER_BRIEFLY: Duration = Duration::from_secs(1);
/// The shortest and the longest wait before the actor corrects a session again that the log did not take.
pub(crate) const CORRECT_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The reason for stopping an agent whose words the log did not take.
pub(crate) const UNRECORDED: &str = "the log could not be written, so the agent was stopped";

/// Replies that wait until the events behind them are durable.
pub(crate) type PendingReplies = Vec<PendingReply>;
pub(crate) type PendingReply = Box<dyn FnOnce(Result<Option<&Session>, &Arc<LogError>>) + Send>;

pub(crate) struct Actor {
    pub(crate) id: SessionId,
    pub(crate) hub: Arc<HubInner>,
    pub(crate) tail: Arc<Tail>,
    looked_at: watch::Sender<u64>,
    pub(crate) ids: Ids,
    /// The machine. If there is none, the actor rebuilds it from the log.
    pub(crate) session: Option<Session>,
    /// Whether the actor started an agent that has not ended yet. The log may say otherwise if a crash
    /// interrupted the hub that wrote it.
    pub(crate) agent: AgentHere,
    /// Where the session ends in the journal.
    pub(crate) mark: Mark,
    /// What the agent said and the journal has not recorded yet. If another hub was first, the rebuilt
    /// machine handles it once more.
    pub(crate) unrecorded_words: Vec<Input>,
    /// Whether the log refused something, and the session has not been corrected since.
    pub(crate) unrecorded: bool,
    /// How long the actor waits before it corrects such a session.
    pub(crate) correct_after: Duration,
    children: Children,
    /// Whether the parent session knows that this session waits.
    pub(crate) waits: bool,
}

/// The state of a session after a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionFate {
    Here,
    Erased,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentHere {
    No,
    Yes,
    /// The actor told the agent to stop, because its words could not be recorded. The actor ignores what the
    /// agent still says.
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
            mark: Mark::default(),
            unrecorded_words: Vec::new(),
            unrecorded: false,
            correct_after: CORRECT_AFTER.0,
            children: Children::default(),
            waits: false,
        }
    }

    pub(crate) async fn run(
        mut self,
        mut clients: mpsc::Receiver<FromClient>,
        mut agent: mpsc::Receiver<FromAgent>,
    ) {
        let (mut asked, mut said) = (Vec::with_capacity(AT_ONCE), Vec::with_capacity(AT_ONCE));
        loop {
            tokio::select! {
                biased;
                _ = clients.recv_many(&mut asked, AT_ONCE) => {}
                _ = agent.recv_many(&mut said, AT_ONCE) => {}
                () = tokio::time::sleep(self.correct_after), if self.is_uncorrected() => {
                    // People wait for a turn that is over, and perhaps nobody asks.
                    self.correct_after = (self.correct_after * 2).min(CORRECT_AFTER.1);
                    asked.push(FromClient::Wake);
                }
                () = tokio::time::sleep(self.linger()), if !self.is_uncorrected() => {
                    // The registry holds the sender, and so does this actor. Any other holder is a client
                    // that is about to send.
                    let quiet = || clients.is_empty() && agent.is_empty() && Arc::strong_count(&self.tail) == 2;
                    if self.agent == AgentHere::No && self.hub.registry.remove_if(self.id, quiet) {
                        return;
                    }
                    if self.may_rest() {
                        said.push(FromAgent::Idle);
                    }
                }
            }
            if asked.is_empty() && clients.is_closed() {
                return;
            }
            // The other queue gets a turn, too, so that neither queue can block the other.
            take_waiting(&mut clients, &mut asked);
            take_waiting(&mut agent, &mut said);
            if self.step(asked.drain(..), said.drain(..)).await == SessionFate::Erased {
                return;
            }
        }
    }

    /// Whether the log refused something, and the session was not rebuilt since.
    fn is_uncorrected(&self) -> bool {
        self.unrecorded && self.session.is_none()
    }

    /// How long a session without work stays in memory. Imported conversations come by the thousand, so they
    /// leave early.
    fn linger(&self) -> Duration {
        match &self.session {
            Some(session) if session.is_elsewhere() || session.is_closed() => LINGER_BRIEFLY,
            Some(_) if self.may_rest() => self.hub.idle().unwrap_or(LINGER),
            Some(_) | None => LINGER,
        }
    }

    /// Whether the hub may stop the agent's process.
    fn may_rest(&self) -> bool {
        let idle = self.session.as_ref().is_some_and(Session::is_idle);
        idle && self.agent == AgentHere::Yes && self.hub.idle().is_some()
    }

    /// Takes a batch of messages through the machine, commits the resulting events, and only then tells
    /// anyone.
    async fn step(
        &mut self,
        asked: impl Iterator<Item = FromClient>,
        said: impl Iterator<Item = FromAgent>,
    ) -> SessionFate {
        let mut out = Outcome::default();
        let mut pending: PendingReplies = Vec::new();
        let mut erase = None;
        for message in asked {
            match message {
                // Requests after the erasure find no session.
                FromClient::Erase { reply } => erase = erase.or(Some(reply)),
                _ if erase.is_some() => {}
                message => self.on_client(message, &mut out, &mut pending).await,
            }
        }
        for message in said {
            self.on_agent(message, &mut out, &mut pending).await;
        }
        self.record(out, pending).await;
        match erase {
            Some(reply) => self.erase(reply).await,
            None => SessionFate::Here,
        }
    }

    /// Deletes the session from the log. The actor does this itself, because then nobody else writes to the
    /// session.
    async fn erase(&mut self, reply: oneshot::Sender<Result<(), HubError>>) -> SessionFate {
        if self.agent == AgentHere::Yes {
            self.agent = AgentHere::Silenced;
            self.hub.to_anchor(ToAnchor::Stop { session: self.id }).await;
        }
        let erased = self.hub.journal.erase(self.id).await;
        let after = if erased.is_ok() { SessionFate::Erased } else { SessionFate::Here };
        if after == SessionFate::Erased {
            self.hub.registry.remove(self.id);
            self.tail.erase();
            self.hub.timelines.remove(self.id);
            self.hub.announce(Change::Erased(self.id));
        }
        drop(reply.send(erased.map(drop).map_err(HubError::from)));
        after
    }

    async fn on_client(&mut self, message: FromClient, out: &mut Outcome, pending: &mut PendingReplies) {
        match message {
            // The same request came twice at once, and the other one was first.
            FromClient::Open { reply, .. } if self.session.is_some() => pending.push(info_to(reply)),
            FromClient::Open { opened, copied, reply } => {
                let mut cx = Context { now: crate::hub::now(), ids: &mut self.ids };
                let mut session = Session::open(self.id, *opened, &mut cx, out);
                for (at, draft) in copied {
                    let mut then = Context { now: at, ids: &mut *cx.ids };
                    session.take_over(draft, &mut then, out);
                }
                // The agent starts right away, because a person who opens a session is about to write a
                // prompt.
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
            FromClient::Reread => {
                if let Ok(head) = self.hub.journal.head(self.id).await {
                    self.tail.reread_to(head.seq);
                }
                // The journal fences the events of this step, and the actor then folds the session anew.
                if out.events.is_empty() {
                    self.session = None;
                }
            }
            // The actor erases the session after everything else.
            FromClient::Erase { .. } => {}
            FromClient::Wake => {
                if let Err(error) = self.awaken(out).await {
                    warn!(session = %self.id, %error, "cannot rebuild the session");
                }
            }
            FromClient::Info { reply } => match self.look(out).await {
                // To read a session needs no room on the disk. If the log cannot take the correction, the
                // client sees the session as the log has it.
                Ok(as_recorded) => pending.push(Box::new(move |done| {
                    let info = done.ok().flatten().map_or(as_recorded, Session::info);
                    drop(reply.send(Ok(info)));
                })),
                Err(error) => drop(reply.send(Err(error))),
            },
            FromClient::RecordPlace { reply } => match self.awaken(out).await {
                Ok(()) => pending.push(Box::new(move |done| {
                    respond(reply, done.map(|session| session.and_then(Session::record_place)));
                })),
                Err(error) => drop(reply.send(Err(error))),
            },
            FromClient::KeyedPrompt { name, reply } => match self.awaken(out).await {
                Ok(()) => pending.push(Box::new(move |done| {
                    respond(
                        reply,
                        done.map(|session| session.and_then(|session| session.keyed_prompt(&name))),
                    );
                })),
                Err(error) => drop(reply.send(Err(error))),
            },
            FromClient::Command { command, by, reply } => {
                if let Err(error) = self.awaken(out).await {
                    drop(reply.send(Err(error)));
                    return;
                }
                match self.handle(Input::Command { command, by }, out) {
                    Ok(made) => pending.push(Box::new(move |done| respond(reply, done.map(|_| made)))),
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
                // The next reader corrects the session.
                return;
            }
        }
        if matches!(message, FromAgent::Said(_)) {
            self.agent = AgentHere::Yes;
        }
        if self.session.is_none() {
            // A child session begins when its parent's agent first speaks for it.
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
                        self.hear(input, out);
                    }
                }
            }
            FromAgent::Gone { sleep, reason } => {
                self.agent = AgentHere::No;
                self.hear(Input::Gone { sleep, reason }, out);
            }
            FromAgent::Git(state) => {
                self.hear(Input::Git(state), out);
            }
            FromAgent::Idle => {
                let _ = self.handle(Input::Idle, out);
            }
            FromAgent::ChildWaits { child, waiting, at } => {
                if let Some(input) = self.children.note(child, waiting, at) {
                    self.hear(input, out);
                }
            }
            FromAgent::Past { after, since, drafts, until } => {
                let _ = self.handle(Input::Past { after, since, drafts, until }, out);
                self.ask_for_what_is_left_out(until).await;
                // If the old agent has to end first, reading continues when it is gone.
                if !self.session.as_ref().is_some_and(Session::is_ending) {
                    let looked_at = self.looked_at.clone();
                    // A record that was not taken in is read again from the same place.
                    pending.push(Box::new(move |done| {
                        if done.is_ok() {
                            looked_at.send_if_modified(|place| {
                                std::mem::replace(place, until.max(*place)) < until
                            });
                        }
                    }));
                }
            }
            FromAgent::Mark(_) => {}
        }
    }

    /// Handles an input from the agent's side, and keeps it until it is recorded. If another hub continues the session
    /// first, the actor handles the input again.
    fn hear(&mut self, input: Input, out: &mut Outcome) {
        self.unrecorded_words.push(input.clone());
        let _ = self.handle(input, out);
    }

    /// The anchor may have read the agent's record from another position than this session has; then the
    /// session refused the turns. This asks the anchor for them again.
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

    /// Rebuilds the machine from the log, if necessary. If the log speaks of an agent that does not run here,
    /// the agent ended with an earlier hub. The session learns so before anything else.
    async fn awaken(&mut self, out: &mut Outcome) -> Result<(), HubError> {
        if self.session.is_none() {
            let session = self.rebuild().await?;
            self.set_right(session, out);
        }
        Ok(())
    }

    /// Does the same, and returns the session as the log has it.
    async fn look(&mut self, out: &mut Outcome) -> Result<SessionInfo, HubError> {
        if let Some(session) = &self.session {
            return Ok(session.info());
        }
        let session = self.rebuild().await?;
        let as_recorded = session.info();
        self.set_right(session, out);
        Ok(as_recorded)
    }

    pub(crate) fn set_right(&mut self, session: Session, out: &mut Outcome) {
        let left = session.left_open();
        let left_waiting = session.is_waiting();
        self.session = Some(session);
        match (self.agent, left) {
            // The log's refusal is to blame, not a restart.
            (AgentHere::No, Some(Input::Gone { .. })) if self.unrecorded => {
                let sleep = Sleep { cause: SleepCause::LogFailed, ..Sleep::default() };
                let _ = self.handle(Input::Gone { sleep, reason: UNRECORDED.to_owned() }, out);
            }
            (AgentHere::No, Some(left)) => {
                let _ = self.handle(left, out);
            }
            // The actor has told the agent to stop, and the agent has not ended yet. Until it ends, it takes
            // no commands.
            (AgentHere::Silenced, _) => {
                let _ = self.handle(Input::Silenced { reason: UNRECORDED.to_owned() }, out);
            }
            (AgentHere::No, None) if left_waiting => {
                let _ = self.handle(revive(), out);
            }
            (AgentHere::No | AgentHere::Yes, _) => {}
        }
    }

    pub(crate) fn handle(&mut self, input: Input, out: &mut Outcome) -> Result<Reply, HubError> {
        let session = self.session.as_mut().ok_or(HubError::UnknownSession)?;
        let mut cx = Context { now: crate::hub::now(), ids: &mut self.ids };
        Ok(session.handle(input, &mut cx, out)?)
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
        Ok(Some(session)) => respond(reply, Ok(session.info())),
        Err(error) => respond(reply, Err(error)),
    })
}

fn respond<T>(reply: oneshot::Sender<Result<T, HubError>>, done: Result<T, &Arc<LogError>>) {
    // It is fine if the client no longer waits for its answer.
    drop(reply.send(done.map_err(|error| HubError::Log(Arc::clone(error)))));
}
