//! `/ws/cli/{session}`: the route for programs of agents that call back, such as a Claude Code with `--sdk-url`.
//!
//! The route only passes messages on, unchanged, between the program and the holder of its process. [`Callbacks`] knows
//! that holder; the hub's program composes the two. No agent is known here.
//!
//! | caller | gets |
//! |---|---|
//! | a caller without a token, or with an unknown token | 401, no upgrade |
//! | the program, with the token of its process | its connection, which replaces an earlier one |
//! | a caller with the token of the owner, a device or another program, for a session that does not exist | close code 4004 |
//! | the same, for a session whose agent does not call back | close code 4005 |
//! | the same, for a session whose agent does | 401, no upgrade: only the program's own token opens it |
//!
//! After each message to the program, the hub sends a ping with the number of the message. Frames arrive in order, so the
//! pong shows that the message has arrived, which a successful write does not.
//!
//! Bounds: a program's messages have a longest length, which its connection states. [`HELD`] bytes and one message wait
//! here before the hub reads no more. A caller without a connection may send messages of at most 1 KiB. A program whose
//! pings stay unanswered must connect again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use longshore_model::callback::{FromProgram, ToProgram};
use longshore_model::id::SessionId;
use longshore_session::HubError;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite;
use tracing::{debug, warn};

use crate::auth;
use crate::berth::{Berth, Party};
use crate::problem::Problem;
use crate::router::App;

/// Close code: no session has this id.
pub const NO_SUCH_SESSION: u16 = 4004;
/// Close code: the session's agent does not call back.
pub const ANOTHER_KIND: u16 = 4005;
/// Close code: another connection has replaced this one, or the process is gone.
const REPLACED: u16 = 1000;

/// The most bytes from a program that may wait for the anchor.
pub const HELD: usize = 8 << 20;
/// How much to read from a program at once.
const READ_BUFFER: usize = 16 << 10;
/// How often to ask a silent program whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How long a program may take to end a connection that the hub has closed.
const FAREWELL: Duration = Duration::from_secs(5);
/// The most bytes that it may send meanwhile; the hub ignores them.
const FAREWELL_BYTES: usize = 1 << 10;

/// The holder of the processes of programs that call back.
pub trait Callbacks: Send + Sync {
    /// Whether the programs of this agent call back.
    fn expects(&self, agent: &str) -> bool;

    /// Whether some program has this token.
    fn knows(&self, token: &str) -> bool;

    /// The connection to the process of this session, if this is the token of that process.
    fn answer(&self, session: SessionId, token: &str) -> Option<ProgramLine>;
}

/// A connection to the holder of a program's process.
#[derive(Debug)]
pub struct ProgramLine {
    /// Messages from the program.
    pub said: mpsc::Sender<FromProgram>,
    /// Messages to the program. The channel ends when another connection replaces this one, or when the
    /// process is gone.
    pub told: mpsc::Receiver<ToProgram>,
    /// The number of the last message that has arrived.
    pub arrived: watch::Sender<u64>,
    /// The longest message of the program.
    pub longest: usize,
}

/// No program calls back.
pub(crate) struct Nobody;

impl Callbacks for Nobody {
    fn expects(&self, _: &str) -> bool {
        false
    }

    fn knows(&self, _: &str) -> bool {
        false
    }

    fn answer(&self, _: SessionId, _: &str) -> Option<ProgramLine> {
        None
    }
}

/// `GET /ws/cli/{session}`.
pub(crate) async fn upgrade(
    State(app): State<App>,
    Path(session): Path<String>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let callbacks = Arc::clone(&app.callbacks);
    let berth = request.extensions().get::<Arc<Berth>>().cloned();
    let token = auth::written(&request).ok_or_else(Problem::no_token)?;
    let from = auth::address(&request);
    if !callbacks.knows(token.reveal()) {
        let caller = app.admit(&token, from)?;
        berth.iter().for_each(|berth| berth.belongs_to(caller.party()));
    }
    let socket = socket?.read_buffer_size(READ_BUFFER);
    let Ok(session) = session.parse::<SessionId>() else { return Ok(refuse(socket, NO_SUCH_SESSION)) };
    if let Some(line) = callbacks.answer(session, token.reveal()) {
        debug!(%session, "a program calls back");
        berth.inspect(|berth| berth.belongs_to(Party::Program));
        // The line feed that ends the longest line.
        let longest = line.longest.saturating_add(1);
        let socket = socket.max_message_size(longest).max_frame_size(longest);
        return Ok(socket.on_upgrade(|socket| serve(socket, line)));
    }
    match app.hub.session(session).await {
        Err(HubError::UnknownSession) => Ok(refuse(socket, NO_SUCH_SESSION)),
        Err(error) => Err(error.into()),
        Ok(info) if callbacks.expects(&info.provider) => Err(app.wrong_token(from)),
        Ok(_) => Ok(refuse(socket, ANOTHER_KIND)),
    }
}

/// Opens the connection only to close it with a code, because programs look for the reason there.
fn refuse(socket: WebSocketUpgrade, code: u16) -> Response {
    let reason = match code {
        NO_SUCH_SESSION => "no such session",
        _ => "the agent of this session does not call back",
    };
    let socket = socket.max_message_size(FAREWELL_BYTES).max_frame_size(FAREWELL_BYTES);
    socket.on_upgrade(move |mut socket| async move {
        if socket.send(close(code, reason)).await.is_ok() {
            // Until the other side has read it.
            let _ = timeout(FAREWELL, async { while let Some(Ok(_)) = socket.recv().await {} }).await;
        }
    })
}

fn close(code: u16, reason: &str) -> Message {
    Message::Close(Some(CloseFrame { code, reason: reason.into() }))
}

/// Serves a connection until either side ends it, and passes on everything that came before.
async fn serve(socket: WebSocket, line: ProgramLine) {
    let (sink, stream) = socket.split();
    let ProgramLine { said, told, arrived, .. } = line;
    let mut hearing = Hearing { stream, said, arrived, held: VecDeque::new(), bytes: 0 };
    tokio::select! {
        () = hearing.hear() => {}
        () = tell(sink, told) => {
            // What is on its way is still heard.
            let _ = timeout(FAREWELL, hearing.hear()).await;
        }
    }
    hearing.pass_on().await;
}

/// Sends the program its messages, and ends the connection after the last one.
async fn tell(mut sink: SplitSink<WebSocket, Message>, mut told: mpsc::Receiver<ToProgram>) {
    let mut ping = tokio::time::interval(PING_EVERY);
    ping.reset();
    loop {
        let (messages, last) = tokio::select! {
            told = told.recv() => match told {
                Some(ToProgram::Lines { number, text }) => {
                    let ping = Message::Ping(number.to_be_bytes().to_vec().into());
                    (vec![Message::Text(text.into()), ping], false)
                }
                Some(ToProgram::Close { code, reason }) => (vec![close(code, &reason)], true),
                None => (vec![close(REPLACED, "another connection has replaced this one")], true),
            },
            _ = ping.tick() => (vec![Message::Ping(Default::default())], false),
        };
        for message in messages {
            if sink.feed(message).await.is_err() {
                return;
            }
        }
        if sink.flush().await.is_err() || last {
            return;
        }
    }
}

/// The messages of the program, on their way.
struct Hearing {
    stream: SplitStream<WebSocket>,
    said: mpsc::Sender<FromProgram>,
    arrived: watch::Sender<u64>,
    held: VecDeque<FromProgram>,
    bytes: usize,
}

impl Hearing {
    /// Reads until the program ends the connection, or nobody takes its messages. It may be dropped and
    /// called again.
    async fn hear(&mut self) {
        loop {
            let message = tokio::select! {
                biased;
                permit = self.said.reserve(), if !self.held.is_empty() => {
                    let Ok(permit) = permit else { return self.held.clear() };
                    if let Some(message) = self.held.pop_front() {
                        self.bytes -= length(&message);
                        permit.send(message);
                    }
                    continue;
                }
                () = self.said.closed(), if self.held.is_empty() => return,
                message = self.stream.next(), if self.bytes < HELD => message,
            };
            match message {
                Some(Ok(message)) => self.take(message),
                Some(Err(error)) => return self.broke(error),
                None => return,
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Text(text) => self.hold(FromProgram::Lines { text: text.as_str().to_owned() }),
            // Programs send text; one that wraps it otherwise is understood all the same.
            Message::Binary(bytes) => {
                self.hold(FromProgram::Lines { text: String::from_utf8_lossy(&bytes).into_owned() });
            }
            Message::Pong(payload) => {
                if let Ok(number) = <[u8; 8]>::try_from(payload.as_ref()) {
                    let number = u64::from_be_bytes(number);
                    self.arrived.send_if_modified(|last| number > std::mem::replace(last, number.max(*last)));
                }
            }
            Message::Ping(_) | Message::Close(_) => {}
        }
    }

    fn hold(&mut self, message: FromProgram) {
        self.bytes += length(&message);
        self.held.push_back(message);
    }

    fn broke(&mut self, error: axum::Error) {
        let inner = error.into_inner();
        if let Some(tungstenite::Error::Capacity(error)) = inner.downcast_ref() {
            warn!(%error, "a message of a program is too long");
            self.hold(FromProgram::TooLong);
        } else {
            debug!(error = %inner, "the line of a program broke");
        }
    }

    /// Passes on the messages that have come.
    async fn pass_on(&mut self) {
        for message in self.held.drain(..) {
            if self.said.send(message).await.is_err() {
                return;
            }
        }
    }
}

fn length(message: &FromProgram) -> usize {
    match message {
        FromProgram::Lines { text } => text.len(),
        FromProgram::TooLong => 0,
    }
}
