//! The socket: JSON-RPC 2.0 over one WebSocket, for any number of sessions.
//!
//! - A client calls `subscribe {session, after}` and gets `event` notifications after that seq.
//! - `watch` brings `session` notifications: the rows of sessions as they change.
//! - Every other method is a call of [`super::calls`].
//!
//! One task serves one socket. A subscription is a cursor, so a client that does not read blocks only this
//! task. After [`READ_WITHIN`](crate::serve::READ_WITHIN) the hub cuts the client off; when the client comes
//! back, it continues after its last seq.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, SinkExt, StreamExt};
use longshore_model::id::SessionId;
use longshore_session::{Change, Frames, HubError};
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

use super::answers::Nothing;
use super::events::with_raw;
use super::params::SessionParams;
use super::rpc::{RpcRequest, notification};
use super::socket_methods::{self, SocketCall, SubscribeParams, Subscribed, Unsubscribed, Watching};
use crate::berth::Berth;
use crate::gate::Gate;
use crate::intake;
use crate::outgo::{OutgoAccount, OutgoShare, OutgoSubscription};
use crate::problem::Problem;

/// How many bytes the socket reads at once. Every poll clears that much memory first, and most messages of
/// clients are short.
const READ_BUFFER: usize = 8 << 10;
/// The most calls of one socket at a time. The hub refuses further calls as busy.
const CALLS: usize = 32;
/// The most sessions that one socket may follow. The hub refuses further subscriptions.
const SUBSCRIPTIONS: usize = 1_000;
/// How often the hub pings a quiet socket.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How often the hub checks whether a message makes progress.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long a client that is cut off may take to receive the reason.
const FAREWELL: Duration = Duration::from_secs(5);

/// The close code for a socket whose token was revoked or rotated.
const DISMISSED: u16 = 4401;
/// The close code for a client that takes too long over a message.
const TOO_SLOW: u16 = 1008;

/// The text before an event's own JSON in its notification. A brace follows the JSON.
const EVENT_BEGIN: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":";

/// `GET /api/v1/socket`.
pub(super) async fn upgrade(
    gate: Gate,
    berth: Option<Extension<Arc<Berth>>>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let limit = intake::limit_of(gate.caller());
    let socket = socket?.read_buffer_size(READ_BUFFER).max_message_size(limit).max_frame_size(limit);
    Ok(socket.on_upgrade(move |socket| async move {
        let berth = berth.map(|Extension(berth)| berth);
        if let Some(berth) = &berth {
            berth.frames.begin(&gate.app().intake, gate.caller().device());
        }
        let link = Link {
            outgo: gate.outgo(),
            gate: gate.seated(),
            berth,
            socket,
            calls: JoinSet::new(),
            following: FuturesUnordered::new(),
            stops: HashMap::new(),
            changes: None,
        };
        link.run().await;
    }))
}

/// Waits for the next frames of one session until it is cancelled.
type Following = BoxFuture<'static, Option<Followed>>;

/// The next frames of a session, or why there are none.
type Followed = (OutgoSubscription, oneshot::Receiver<()>, Result<(Frames, OutgoShare), HubError>);

/// The response to a call, with the room that it takes.
type CallReply = (Option<String>, Option<OutgoShare>);

struct Link {
    gate: Gate,
    outgo: OutgoAccount,
    /// The berth of the connection, which counts the unfinished messages of the client.
    berth: Option<Arc<Berth>>,
    socket: WebSocket,
    /// Each call is a task of its own: while the socket waits for its client, the calls do not wait.
    calls: JoinSet<CallReply>,
    following: FuturesUnordered<Following>,
    stops: HashMap<SessionId, oneshot::Sender<()>>,
    changes: Option<broadcast::Receiver<Change>>,
}

/// The client is gone or must leave.
struct Over;

impl Link {
    /// Runs until either side ends the connection. A client that must leave gets no further messages, even if
    /// calls are under way.
    async fn run(mut self) {
        let caller = self.gate.caller().clone();
        let dismissed = tokio::select! {
            biased;
            () = caller.dismissed() => true,
            () = self.serve() => false,
        };
        if dismissed {
            let farewell = self.close(DISMISSED, "the token is no longer valid");
            let _ = tokio::time::timeout(FAREWELL, farewell).await;
        }
    }

    async fn serve(&mut self) {
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
                Some(answered) = self.calls.join_next() => self.answered(answered).await,
                change = changed(&mut self.changes) => self.changed(change).await,
                _ = ping.tick() => self.ping().await,
                _ = look.tick() => match self.berth.as_ref().is_some_and(|berth| berth.frames.stall()) {
                    true => self.close(TOO_SLOW, "the message took too long to arrive").await,
                    false => Ok(()),
                },
            };
            if done.is_err() {
                return;
            }
        }
    }

    async fn received(&mut self, message: Message) -> Result<(), Over> {
        // Held until the response: the hub works on a message for longer than it reads it.
        let holding = self.berth.as_ref().and_then(|berth| berth.frames.message());
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(_) => return self.close(1003, "this socket accepts only text").await,
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Close(_) => {
                // The answer to a close frame is a close frame; it waits in the socket to be flushed.
                let _ = self.flush().await;
                return Err(Over);
            }
        };
        let request = match RpcRequest::read(&text) {
            Ok(request) => request,
            Err(answer) => return self.reply(Some(answer)).await,
        };
        match socket_methods::find(&request) {
            Ok(SocketCall::Subscribe(params)) => self.subscribe(&request, params).await,
            Ok(SocketCall::Unsubscribe(SessionParams { session })) => {
                let subscribed = self.stops.remove(&session).is_some();
                self.reply(request.result(&Unsubscribed { session, subscribed })).await
            }
            Ok(SocketCall::Watch(watching)) => {
                self.changes = watching.then(|| self.gate.changes());
                self.reply(request.result(&Watching { watching })).await
            }
            Ok(SocketCall::Ping) => self.reply(request.result(&Nothing {})).await,
            Ok(SocketCall::Table(call)) => match call.begin(self.gate.clone(), &request.input()) {
                Ok(_) if self.calls.len() >= CALLS => {
                    self.reply(request.problem(&Problem::too_many_requests())).await
                }
                Ok(work) => {
                    let (gate, account) = (self.gate.clone(), self.outgo.clone());
                    self.calls.spawn(async move {
                        let again = || call.begin(gate.clone(), &request.input());
                        let reply = match call.finish(work, again, &account).await {
                            Ok((answer, share)) => (request.answer(&answer), Some(share)),
                            Err(problem) => (request.problem(&problem), None),
                        };
                        drop(holding);
                        reply
                    });
                    Ok(())
                }
                Err(problem) => self.reply(request.problem(&problem)).await,
            },
            Err(problem) => self.reply(request.problem(&problem)).await,
        }
    }

    /// Follows a session after a seq. A new subscription of a session replaces the old one.
    async fn subscribe(&mut self, request: &RpcRequest, params: SubscribeParams) -> Result<(), Over> {
        let SubscribeParams { session, after, raw } = params;
        if self.stops.len() >= SUBSCRIPTIONS && !self.stops.contains_key(&session) {
            return self.reply(request.problem(&Problem::too_many_subscriptions(SUBSCRIPTIONS))).await;
        }
        match self.gate.subscribe(session, after, with_raw(raw)).await {
            Ok(subscription) => {
                self.reply(request.result(&Subscribed { session, after })).await?;
                let (stop, stopped) = oneshot::channel();
                self.stops.insert(session, stop);
                let subscription = OutgoSubscription::new(subscription, self.outgo.clone());
                self.following.push(next_of(subscription, stopped));
                Ok(())
            }
            Err(error) => self.reply(request.problem(&error.into())).await,
        }
    }

    /// Sends the response to a call. A call that panicked has none, and closes the connection.
    async fn answered(&mut self, answered: Result<CallReply, JoinError>) -> Result<(), Over> {
        let (answer, _share) = answered.map_err(|_| Over)?;
        self.reply(answer).await
    }

    async fn followed(&mut self, followed: Option<Followed>) -> Result<(), Over> {
        let Some((subscription, stopped, frames)) = followed else { return Ok(()) };
        match frames {
            Ok((frames, _share)) => {
                let raw = subscription.of().with_raw();
                for frame in frames.iter() {
                    let event = frame.line(raw);
                    self.feed([EVENT_BEGIN, &event, "}"].concat()).await?;
                }
                self.flush().await?;
                self.following.push(next_of(subscription, stopped));
                Ok(())
            }
            Err(error) => {
                let (session, after) = (subscription.of().session(), subscription.of().cursor());
                self.stops.remove(&session);
                let params = json!({ "session": session, "after": after, "problem": Problem::from(error) });
                self.send(notification("resume", &params)).await
            }
        }
    }

    async fn changed(&mut self, change: Result<Change, RecvError>) -> Result<(), Over> {
        match change {
            Ok(Change::Row(session)) => self.send(notification("session", &json!(*session))).await,
            Ok(Change::Erased(session)) => {
                self.send(notification("sessionDeleted", &json!({ "session": session }))).await
            }
            // Too many rows changed at once to send each change.
            Err(RecvError::Lagged(_)) => self.send(notification("relist", &json!({}))).await,
            Err(RecvError::Closed) => Err(Over),
        }
    }

    /// Sends a response, if the client wants one.
    async fn reply(&mut self, answer: Option<String>) -> Result<(), Over> {
        match answer {
            Some(answer) => self.send(answer).await,
            None => Ok(()),
        }
    }

    async fn send(&mut self, line: String) -> Result<(), Over> {
        self.feed(line).await?;
        self.flush().await
    }

    /// Queues a message. All that is queued is flushed at once, in one system call. Ends with an error if the client does
    /// not read; the connection itself detects that.
    async fn feed(&mut self, line: String) -> Result<(), Over> {
        self.socket.feed(Message::Text(line.into())).await.map_err(|_| Over)
    }

    async fn flush(&mut self) -> Result<(), Over> {
        self.socket.flush().await.map_err(|_| Over)
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Result<(), Over> {
        let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = self.socket.send(close).await;
        Err(Over)
    }

    async fn ping(&mut self) -> Result<(), Over> {
        self.socket.send(Message::Ping(Default::default())).await.map_err(|_| Over)
    }
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
