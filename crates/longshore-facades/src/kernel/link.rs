//! One WebSocket of a client, whatever protocol it speaks.
//!
//! One task serves one socket. A subscription is a cursor, so a client that does not read blocks only this task. After
//! [`READ_WITHIN`](crate::serve::READ_WITHIN) the hub cuts the client off; when the client comes back, it continues where
//! it was. What takes time is a call in a task of its own. Calls of one session are done in the order in which they came.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, SinkExt, StreamExt};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_session::{Change, Frames, HubError, Subscription};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

use super::attach::Attached;
use super::diary::Incident;
use crate::berth::Berth;
use crate::gate::Gate;
use crate::intake;
use crate::outgo::{OutgoAccount, OutgoShare, OutgoSubscription};
use crate::problem::Problem;

/// How many bytes the socket reads at once. Every poll clears that much memory first, and most messages of
/// clients are short.
const READ_BUFFER: usize = 8 << 10;
/// The most calls of one socket at a time. A protocol refuses further calls.
const CALLS: usize = 32;
/// The most sessions that one socket may follow. A protocol refuses further ones.
pub(crate) const FOLLOWED: usize = 1_000;
/// How many frames a protocol translates before the link sends what comes of them.
const FEW: usize = 16;
/// How often the hub pings a quiet socket.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How often the hub checks whether a message makes progress.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long a client that is cut off may take to receive the reason.
const FAREWELL: Duration = Duration::from_secs(5);
/// The close code for a client that takes too long over a message.
const TOO_SLOW: u16 = 1008;

/// A client protocol on one connection.
pub(crate) trait Protocol: Send + 'static {
    /// How the hub closes the connection of a client that must leave: its token was revoked or rotated.
    const DISMISSED: (u16, &'static str);

    /// The client sent a message.
    fn received(&mut self, message: ClientMessage<'_>, link: &LinkState, steps: &mut Steps);

    /// The client attached to a session, for [`Step::Attach`].
    fn attached(&mut self, _attached: &mut Attached, _steps: &mut Steps) {}

    /// The client got everything up to a [`Step::Ping`] with these bytes.
    fn pong(&mut self, _bytes: &[u8]) {}

    /// A followed session has new frames.
    fn frames(&mut self, subscription: &Subscription, frames: &[Frame], steps: &mut Steps);

    /// A followed session cannot be followed further.
    fn lost(&mut self, session: SessionId, after: Seq, error: HubError, steps: &mut Steps);

    /// The list of sessions changed, for [`Step::Watch`].
    fn row(&mut self, _change: RowChange, _steps: &mut Steps) {}
}

/// A message of a client.
pub(crate) enum ClientMessage<'a> {
    Text(&'a str),
    Binary(&'a Bytes),
}

/// A change of the list of sessions.
pub(crate) enum RowChange {
    /// A session is new, or its row has changed.
    Row(Arc<SessionInfo>),
    /// A session was deleted for good.
    Erased(SessionId),
    /// Too many rows changed at once to name each.
    Lagged,
}

/// What a connection does next.
pub(crate) enum Step {
    /// Send a text.
    Send(String),
    /// Send a text for which there was room, and give the room back afterwards.
    SendHeld(String, OutgoShare),
    /// Send a ping. The pong says that the client got everything before it, whatever protocol it speaks.
    Ping(Vec<u8>),
    /// Do a call, and then what comes of it. Calls with the same session wait for each other.
    Call(Option<SessionId>, Work),
    /// Attach to a session. A new subscription of a session replaces the old one.
    Attach(Box<Attached>),
    /// Follow a session, without its history.
    Follow(Box<Subscription>),
    /// Follow a session no longer, and then do what comes of it. It is known then whether the connection followed it.
    Unfollow(SessionId, Box<dyn FnOnce(bool) -> Steps + Send>),
    /// Whether to follow the list of sessions.
    Watch(bool),
    /// Close the connection.
    Close(u16, &'static str),
}

/// A call under way.
pub(crate) type Work = BoxFuture<'static, Steps>;

/// What a connection does next, in this order.
#[derive(Default)]
pub(crate) struct Steps(VecDeque<Step>);

impl Steps {
    pub(crate) fn push(&mut self, step: Step) {
        self.0.push_back(step);
    }

    pub(crate) fn send(&mut self, text: impl Into<String>) {
        self.push(Step::Send(text.into()));
    }

    /// Does these afterwards.
    pub(crate) fn extend(&mut self, more: Steps) {
        self.0.extend(more.0);
    }

    /// Sends a response, if the client wants one.
    pub(crate) fn reply(&mut self, text: Option<String>) {
        self.0.extend(text.map(Step::Send));
    }

    /// A call that waits for no other.
    pub(crate) fn call(&mut self, work: impl Future<Output = Steps> + Send + 'static) {
        self.push(Step::Call(None, work.boxed()));
    }

    /// A call that is done after earlier ones of the same session.
    pub(crate) fn call_in_order(
        &mut self,
        session: SessionId,
        work: impl Future<Output = Steps> + Send + 'static,
    ) {
        self.push(Step::Call(Some(session), work.boxed()));
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

/// What a protocol may know of its connection.
#[derive(Default)]
pub(crate) struct LinkState {
    /// The followed sessions, and how to stop following them.
    stops: HashMap<SessionId, oneshot::Sender<()>>,
    /// How many calls run or wait.
    calls: usize,
}

impl LinkState {
    /// Whether so many calls are under way that there is no room for another.
    pub(crate) fn is_busy(&self) -> bool {
        self.calls >= CALLS
    }

    /// Whether so many calls are under way, for protocols whose clients send more at once.
    pub(crate) fn is_full(&self, most: usize) -> bool {
        self.calls >= most
    }

    /// Whether the connection follows this session.
    pub(crate) fn follows(&self, session: SessionId) -> bool {
        self.stops.contains_key(&session)
    }

    /// Whether the connection may follow this session.
    pub(crate) fn may_follow(&self, session: SessionId) -> bool {
        self.stops.len() < FOLLOWED || self.follows(session)
    }
}

/// Upgrades a request to a socket that speaks this protocol.
pub(crate) fn upgrade<P: Protocol>(
    gate: Gate,
    berth: Option<Extension<Arc<Berth>>>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    protocol: impl FnOnce(Gate) -> (P, Steps) + Send + 'static,
) -> Result<Response, Problem> {
    let limit = intake::limit_of(gate.caller());
    let socket = socket?.read_buffer_size(READ_BUFFER).max_message_size(limit).max_frame_size(limit);
    Ok(socket.on_upgrade(move |socket| serve(socket, gate, berth.map(|Extension(berth)| berth), protocol)))
}

/// Serves an open socket. A protocol whose callers say who they are in their first message calls this afterwards.
pub(crate) async fn serve<P: Protocol>(
    socket: WebSocket,
    gate: Gate,
    berth: Option<Arc<Berth>>,
    protocol: impl FnOnce(Gate) -> (P, Steps),
) {
    if let Some(berth) = &berth {
        berth.frames.begin(&gate.app().intake, gate.caller().device());
    }
    let gate = gate.seated();
    let (protocol, first) = protocol(gate.clone());
    let link = Link {
        outgo: gate.outgo(),
        gate,
        berth,
        socket,
        protocol,
        state: LinkState::default(),
        calls: JoinSet::new(),
        lanes: HashMap::new(),
        following: FuturesUnordered::new(),
        changes: None,
    };
    let (app, now) = (link.gate.app().clone(), link.gate.now());
    app.diary.count(Incident::Connected, "", now);
    link.run(first).await;
    app.diary.count(Incident::Disconnected, "", app.hub.now());
}

/// Waits for the next frames of one session until it is cancelled.
type Following = BoxFuture<'static, Option<Followed>>;

/// The next frames of a session, or why there are none.
type Followed = (OutgoSubscription, oneshot::Receiver<()>, Result<(Frames, OutgoShare), HubError>);

struct Link<P> {
    gate: Gate,
    outgo: OutgoAccount,
    /// The berth of the connection, which counts the unfinished messages of the client.
    berth: Option<Arc<Berth>>,
    socket: WebSocket,
    protocol: P,
    state: LinkState,
    /// Each call is a task of its own: while the socket waits for its client, the calls do not wait.
    calls: JoinSet<(Option<SessionId>, Steps)>,
    /// The calls that wait for an earlier one of the same session.
    lanes: HashMap<SessionId, VecDeque<Work>>,
    following: FuturesUnordered<Following>,
    changes: Option<broadcast::Receiver<Change>>,
}

/// The client is gone or must leave.
struct Over;

impl<P: Protocol> Link<P> {
    /// Runs until either side ends the connection. A client that must leave gets no further messages, even if
    /// calls are under way.
    async fn run(mut self, first: Steps) {
        let caller = self.gate.caller().clone();
        let dismissed = tokio::select! {
            biased;
            () = caller.dismissed() => true,
            () = self.serve(first) => false,
        };
        if dismissed {
            let (code, reason) = P::DISMISSED;
            let _ = tokio::time::timeout(FAREWELL, self.close(code, reason)).await;
        }
    }

    async fn serve(&mut self, mut first: Steps) {
        if self.take(&mut first).await.is_err() {
            return;
        }
        let mut ping = tokio::time::interval(PING_EVERY);
        ping.reset();
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            let done = tokio::select! {
                message = self.socket.recv() => match message {
                    Some(Ok(message)) => self.received(message).await,
                    Some(Err(_)) | None => Err(Over),
                },
                Some(followed) = self.following.next(), if !self.following.is_empty() => self.followed(followed).await,
                Some(done) = self.calls.join_next() => self.called(done).await,
                change = changed(&mut self.changes) => self.changed(change).await,
                _ = ping.tick() => self.feed(Message::Ping(Bytes::new())).await,
                _ = look.tick() => match self.berth.as_ref().is_some_and(|berth| berth.frames.stall()) {
                    true => self.close(TOO_SLOW, "the message took too long to arrive").await,
                    false => Ok(()),
                },
            };
            if done.is_err() || self.socket.flush().await.is_err() {
                return;
            }
        }
    }

    async fn received(&mut self, message: Message) -> Result<(), Over> {
        // Held until the response: the hub works on a message for longer than it reads it.
        let holding = self.berth.as_ref().and_then(|berth| berth.frames.message());
        let mut steps = Steps::default();
        match &message {
            Message::Text(text) => {
                self.protocol.received(ClientMessage::Text(text), &self.state, &mut steps);
            }
            Message::Binary(bytes) => {
                self.protocol.received(ClientMessage::Binary(bytes), &self.state, &mut steps);
            }
            Message::Pong(bytes) => {
                self.protocol.pong(bytes);
                return Ok(());
            }
            Message::Ping(_) => return Ok(()),
            Message::Close(_) => {
                // The answer to a close frame is a close frame; it waits in the socket to be flushed.
                let _ = self.socket.flush().await;
                return Err(Over);
            }
        }
        drop(message);
        if let Some(holding) = holding {
            let holding = Arc::new(holding);
            for step in &mut steps.0 {
                if let Step::Call(_, work) = step {
                    let (holding, inner) = (Arc::clone(&holding), std::mem::replace(work, idle()));
                    *work = async move {
                        let steps = inner.await;
                        drop(holding);
                        steps
                    }
                    .boxed();
                }
            }
        }
        self.take(&mut steps).await
    }

    /// Does these steps. What they send is flushed afterwards, in one system call.
    async fn take(&mut self, steps: &mut Steps) -> Result<(), Over> {
        let steps = &mut steps.0;
        while let Some(step) = steps.pop_front() {
            match step {
                Step::Send(text) => self.feed(Message::Text(Utf8Bytes::from(text))).await?,
                Step::SendHeld(text, share) => {
                    self.feed(Message::Text(Utf8Bytes::from(text))).await?;
                    self.socket.flush().await.map_err(|_| Over)?;
                    drop(share);
                }
                Step::Ping(bytes) => self.feed(Message::Ping(Bytes::from(bytes))).await?,
                Step::Call(lane, work) => self.begin(lane, work),
                Step::Attach(mut attached) => {
                    let mut more = Steps::default();
                    self.protocol.attached(&mut attached, &mut more);
                    self.follow(attached.subscription);
                    more.0.into_iter().rev().for_each(|step| steps.push_front(step));
                }
                Step::Follow(subscription) => self.follow(*subscription),
                Step::Unfollow(session, then) => {
                    let followed = self.state.stops.remove(&session).is_some();
                    then(followed).0.into_iter().rev().for_each(|step| steps.push_front(step));
                }
                Step::Watch(watch) => self.changes = watch.then(|| self.gate.changes()),
                Step::Close(code, reason) => return self.close(code, reason).await,
            }
        }
        Ok(())
    }

    fn begin(&mut self, lane: Option<SessionId>, work: Work) {
        self.state.calls += 1;
        match lane.and_then(|session| self.lanes.get_mut(&session)) {
            Some(waiting) => waiting.push_back(work),
            None => {
                lane.map(|session| self.lanes.insert(session, VecDeque::new()));
                self.spawn(lane, work);
            }
        }
    }

    fn spawn(&mut self, lane: Option<SessionId>, work: Work) {
        self.calls.spawn(async move { (lane, work.await) });
    }

    /// Does what comes of a call. A call that panicked has no response, and closes the connection.
    async fn called(&mut self, done: Result<(Option<SessionId>, Steps), JoinError>) -> Result<(), Over> {
        let (lane, mut steps) = done.map_err(|_| Over)?;
        self.state.calls -= 1;
        let taken = self.take(&mut steps).await;
        if let Some(session) = lane {
            match self.lanes.get_mut(&session).and_then(VecDeque::pop_front) {
                Some(next) => self.spawn(lane, next),
                None => drop(self.lanes.remove(&session)),
            }
        }
        taken
    }

    fn follow(&mut self, subscription: Subscription) {
        let (stop, stopped) = oneshot::channel();
        self.state.stops.insert(subscription.session(), stop);
        self.following.push(next_of(OutgoSubscription::new(subscription, self.outgo.clone()), stopped));
    }

    async fn followed(&mut self, followed: Option<Followed>) -> Result<(), Over> {
        let Some((subscription, stopped, frames)) = followed else { return Ok(()) };
        let mut steps = Steps::default();
        match frames {
            Ok((frames, share)) => {
                // Few at once: what was just made is still in the processor's cache when it is sent.
                for few in frames.chunks(FEW) {
                    self.protocol.frames(subscription.of(), few, &mut steps);
                    self.take(&mut steps).await?;
                }
                self.socket.flush().await.map_err(|_| Over)?;
                drop(share);
                self.following.push(next_of(subscription, stopped));
                Ok(())
            }
            Err(error) => {
                let (session, after) = (subscription.of().session(), subscription.of().cursor());
                self.state.stops.remove(&session);
                self.protocol.lost(session, after, error, &mut steps);
                self.take(&mut steps).await
            }
        }
    }

    async fn changed(&mut self, change: Result<Change, RecvError>) -> Result<(), Over> {
        let change = match change {
            Ok(Change::Row(row)) => RowChange::Row(row),
            Ok(Change::Erased(session)) => RowChange::Erased(session),
            Err(RecvError::Lagged(_)) => RowChange::Lagged,
            Err(RecvError::Closed) => return Err(Over),
        };
        let mut steps = Steps::default();
        self.protocol.row(change, &mut steps);
        self.take(&mut steps).await
    }

    /// Queues a message. Ends with an error if the client does not read; the connection itself detects that.
    async fn feed(&mut self, message: Message) -> Result<(), Over> {
        self.socket.feed(message).await.map_err(|_| Over)
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Result<(), Over> {
        let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = self.socket.send(close).await;
        Err(Over)
    }
}

fn idle() -> Work {
    std::future::ready(Steps::default()).boxed()
}

fn next_of(mut subscription: OutgoSubscription, mut stopped: oneshot::Receiver<()>) -> Following {
    async move {
        let frames = tokio::select! {
            biased;
            _ = &mut stopped => return None,
            frames = subscription.next() => frames,
        };
        Some((subscription, stopped, frames))
    }
    .boxed()
}

async fn changed(changes: &mut Option<broadcast::Receiver<Change>>) -> Result<Change, RecvError> {
    match changes {
        Some(changes) => changes.recv().await,
        None => std::future::pending().await,
    }
}
