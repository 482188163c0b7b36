//! The socket: JSON-RPC 2.0 over one WebSocket, for any number of sessions.
//!
//! - A client calls `subscribe {session, after}` and gets `event` notifications from there on.
//! - `watch` brings `session` notifications: the rows of sessions as they change.
//! - Every other method is a call of [`super::call`].
//!
//! One task serves one socket. Subscriptions are cursors, so a client that does not read makes this task wait and
//! nobody else; after [`READ_WITHIN`](crate::serve::READ_WITHIN) it is cut off, and resumes from its seq when it
//! comes back.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, SinkExt, StreamExt};
use longshore_model::id::{Seq, SessionId};
use longshore_session::{Change, Frames, HubError, Subscription};
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;

use super::events::json_of;
use super::rpc::{Request, notification};
use super::socket_calls::{Call, dispatch};
use crate::gate::Gate;
use crate::problem::Problem;

/// How large a frame of a client may be.
const FRAME_LIMIT: usize = 32 << 20;
/// How much is read of a client at once. Every look whether a client spoke clears that much memory first, and most
/// of what clients say is short.
const READ_BUFFER: usize = 8 << 10;
/// How many calls of one socket may be under way; more are refused as busy.
const CALLS: usize = 32;
/// How many sessions one socket may follow; further subscriptions are refused.
const SUBSCRIPTIONS: usize = 1_000;
/// How often a quiet socket is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(20);

/// The code with which a socket ends whose token was revoked or rotated.
const DISMISSED: u16 = 4401;

/// What stands before an event's own JSON in its notification; a brace stands after it.
const EVENT_BEGIN: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":";

/// `GET /api/v1/socket`.
pub(super) async fn upgrade(
    gate: Gate,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let socket =
        socket?.read_buffer_size(READ_BUFFER).max_message_size(FRAME_LIMIT).max_frame_size(FRAME_LIMIT);
    Ok(socket.on_upgrade(move |socket| async move {
        let link = Link {
            gate: gate.seated(),
            socket,
            calls: FuturesUnordered::new(),
            following: FuturesUnordered::new(),
            stops: HashMap::new(),
            changes: None,
        };
        link.run().await;
    }))
}

/// Waits for the next frames of one session, and can be told to stop.
type Following = BoxFuture<'static, Option<(Subscription, oneshot::Receiver<()>, Result<Frames, HubError>)>>;

struct Link {
    gate: Gate,
    socket: WebSocket,
    calls: FuturesUnordered<BoxFuture<'static, Option<String>>>,
    following: FuturesUnordered<Following>,
    stops: HashMap<SessionId, oneshot::Sender<()>>,
    changes: Option<broadcast::Receiver<Change>>,
}

/// The client is gone or has to go.
struct Over;

impl Link {
    async fn run(mut self) {
        let mut ping = tokio::time::interval(PING_EVERY);
        ping.reset();
        let caller = self.gate.caller().clone();
        let mut dismissed = std::pin::pin!(caller.dismissed());
        loop {
            let done = tokio::select! {
                () = &mut dismissed => self.close(DISMISSED, "the token is no longer valid").await,
                message = self.socket.recv() => match message {
                    Some(Ok(message)) => self.received(message).await,
                    Some(Err(_)) | None => Err(Over),
                },
                Some(followed) = self.following.next(), if !self.following.is_empty() => self.followed(followed).await,
                Some(answer) = self.calls.next(), if !self.calls.is_empty() => self.reply(answer).await,
                change = changed(&mut self.changes) => self.changed(change).await,
                _ = ping.tick() => self.write(vec![Message::Ping(Default::default())]).await,
            };
            if done.is_err() {
                return;
            }
        }
    }

    async fn received(&mut self, message: Message) -> Result<(), Over> {
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(_) => return self.close(1003, "this socket speaks text").await,
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Close(_) => {
                // The answer to a farewell is a farewell; it waits in the socket to be flushed.
                let _ = self.write(Vec::new()).await;
                return Err(Over);
            }
        };
        let request = match Request::read(&text) {
            Ok(request) => request,
            Err(answer) => return self.reply(Some(answer)).await,
        };
        match dispatch(&request, &self.gate) {
            Call::Subscribe { session, after, raw } => self.subscribe(&request, session, after, raw).await,
            Call::Unsubscribe { session } => {
                let was = self.stops.remove(&session).is_some();
                self.reply(request.result(&json!({ "session": session, "subscribed": was }))).await
            }
            Call::Watch { on } => {
                self.changes = on.then(|| self.gate.changes());
                self.reply(request.result(&json!({ "watching": on }))).await
            }
            Call::Ask(_) if self.calls.len() >= CALLS => {
                self.reply(request.problem(&Problem::too_many_requests())).await
            }
            Call::Ask(answer) => {
                self.calls.push(answer.map(move |answer| request.answer(answer)).boxed());
                Ok(())
            }
            Call::Bad(problem) => self.reply(request.problem(&problem)).await,
        }
    }

    /// Follows a session from a cursor. Following it anew replaces the old cursor.
    async fn subscribe(
        &mut self,
        request: &Request,
        session: SessionId,
        after: Seq,
        raw: bool,
    ) -> Result<(), Over> {
        if self.stops.len() >= SUBSCRIPTIONS && !self.stops.contains_key(&session) {
            return self.reply(request.problem(&Problem::too_many_subscriptions(SUBSCRIPTIONS))).await;
        }
        match self.gate.subscribe(session, after, super::call::with_raw(raw)).await {
            Ok(subscription) => {
                self.reply(request.result(&json!({ "session": session, "after": after }))).await?;
                let (stop, stopped) = oneshot::channel();
                self.stops.insert(session, stop);
                self.following.push(next_of(subscription, stopped));
                Ok(())
            }
            Err(error) => self.reply(request.problem(&error.into())).await,
        }
    }

    async fn followed(
        &mut self,
        followed: Option<(Subscription, oneshot::Receiver<()>, Result<Frames, HubError>)>,
    ) -> Result<(), Over> {
        let Some((subscription, stopped, frames)) = followed else { return Ok(()) };
        match frames {
            Ok(frames) => {
                let raw = subscription.with_raw();
                let lines = frames.iter().map(|frame| {
                    let event = json_of(frame, raw);
                    [EVENT_BEGIN, &event, "}"].concat()
                });
                self.send(lines.collect()).await?;
                self.following.push(next_of(subscription, stopped));
                Ok(())
            }
            Err(error) => {
                let (session, after) = (subscription.session(), subscription.cursor());
                self.stops.remove(&session);
                let params = json!({ "session": session, "after": after, "problem": Problem::from(error) });
                self.send(vec![notification("resume", &params)]).await
            }
        }
    }

    async fn changed(&mut self, change: Result<Change, RecvError>) -> Result<(), Over> {
        match change {
            Ok(Change::Row(session)) => self.send(vec![notification("session", &json!(*session))]).await,
            Ok(Change::Erased(session)) => {
                self.send(vec![notification("sessionDeleted", &json!({ "session": session }))]).await
            }
            // Too many changed at once to tell one by one.
            Err(RecvError::Lagged(_)) => self.send(vec![notification("relist", &json!({}))]).await,
            Err(RecvError::Closed) => Err(Over),
        }
    }

    /// Sends an answer, where one is wanted.
    async fn reply(&mut self, answer: Option<String>) -> Result<(), Over> {
        match answer {
            Some(answer) => self.send(vec![answer]).await,
            None => Ok(()),
        }
    }

    async fn send(&mut self, lines: Vec<String>) -> Result<(), Over> {
        self.write(lines.into_iter().map(|line| Message::Text(line.into())).collect()).await
    }

    /// Feeds all, then flushes once: one system call for a whole batch. Ends with an error when the client does not
    /// read: the connection itself sees to that.
    async fn write(&mut self, messages: Vec<Message>) -> Result<(), Over> {
        for message in messages {
            self.socket.feed(message).await.map_err(|_| Over)?;
        }
        self.socket.flush().await.map_err(|_| Over)
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Result<(), Over> {
        let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = self.write(vec![close]).await;
        Err(Over)
    }
}

fn next_of(mut subscription: Subscription, mut stopped: oneshot::Receiver<()>) -> Following {
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
