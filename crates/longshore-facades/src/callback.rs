//! `/ws/cli/{session}`: the door for programs of agents that call back, such as a Claude Code with `--sdk-url`.
//!
//! It is a door and no more: a message goes to whoever holds the program's process as it came, and what that one says goes to
//! the program. Who that is, [`Callbacks`] knows, which the program is composed with; no agent is known here.
//!
//! | who calls | gets |
//! |---|---|
//! | whoever brings no token, or one that is not known | 401, no upgrade |
//! | the program, with the token that its process was given | its line; it takes the place of the one that it had |
//! | whoever brings the owner's token, a device's or another program's, for a session that there is not | close code 4004 |
//! | the same, for a session whose agent does not call back | close code 4005 |
//! | the same, for a session whose agent does | 401, no upgrade: only its own token opens a line |
//!
//! After each message to the program there is a ping with the number of the message. Frames arrive in order, so its pong says
//! that the message has arrived, which a successful write does not.
//!
//! Bounds: a message of the program has a longest length, which is said with its line; of what it says, [`HELD`] bytes and one
//! message wait here before nothing more is read. Who gets no line says no message of more than 1 KiB. A program whose pings
//! are not answered for long calls again.

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

/// There is no such session.
pub const NO_SUCH_SESSION: u16 = 4004;
/// The agent of the session is none that calls back.
pub const ANOTHER_KIND: u16 = 4005;
/// Another line has taken the place of this one, or its process is gone.
const REPLACED: u16 = 1000;

/// How much of what a program said may wait to be taken.
pub const HELD: usize = 8 << 20;
/// How much is read of a program at once.
const READ_BUFFER: usize = 16 << 10;
/// How often a quiet program is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How long a program may take to end a connection that we have ended.
const FAREWELL: Duration = Duration::from_secs(5);
/// How much it may say meanwhile: nobody listens to it.
const FAREWELL_BYTES: usize = 1 << 10;

/// Whoever holds the processes of programs that call back.
pub trait Callbacks: Send + Sync {
    /// Whether the programs of this agent call back.
    fn expects(&self, agent: &str) -> bool;

    /// Whether some program was given this token.
    fn knows(&self, token: &str) -> bool;

    /// The line to the process of this session, when this is the token that it was given.
    fn answer(&self, session: SessionId, token: &str) -> Option<ProgramLine>;
}

/// A line to whoever holds a program's process.
#[derive(Debug)]
pub struct ProgramLine {
    /// What the program says.
    pub said: mpsc::Sender<FromProgram>,
    /// What it is told. It ends when there is another line, or no process any more.
    pub told: mpsc::Receiver<ToProgram>,
    /// The number of the last message that is known to have arrived.
    pub arrived: watch::Sender<u64>,
    /// How long a message of the program may be.
    pub longest: usize,
}

/// Nobody calls back.
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

/// Opens the connection only to say why it is closed: that is where programs look for the reason.
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

/// Until either side ends it. What was heard by then is passed on.
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

/// Tells the program what it is told, and ends the connection after the last of it.
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
                None => (vec![close(REPLACED, "this line is not the one any more")], true),
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

/// What the program says, on its way.
struct Hearing {
    stream: SplitStream<WebSocket>,
    said: mpsc::Sender<FromProgram>,
    arrived: watch::Sender<u64>,
    held: VecDeque<FromProgram>,
    bytes: usize,
}

impl Hearing {
    /// Until the program ends the connection, or nobody wants to hear it. May be dropped and called again.
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

    /// Passes on what was heard.
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
