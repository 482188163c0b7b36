//! The socket transport: a process whose program connects to the hub and exchanges lines over that connection.
//!
//! The hub serves the connection, at `/ws/cli/{session}`, so the anchor has no port. The hub already has an
//! address with checks and limits, and one address is easier to guard than one per agent. The hub hands the
//! connection over as a [`CallbackLine`] of three channels through [`CallbackRegistry`], so neither side
//! knows the other. The channels carry the types of [`longshore_model::callback`], which could also go to an
//! anchor on another machine.
//!
//! - Messages to the program wait, in order, until it connects. Messages that may not have arrived are sent again on the
//!   next connection. See `unacked`.
//! - A second connection replaces the first: programs reconnect when they believe that their connection is dead, which
//!   the hub may not have noticed. The rest of the first connection is read before the second one.
//! - If a program does not connect, or does not reconnect, within [`Limits::attach`], the anchor stops it.
//! - The connection ends with a close code. After that code the program does not reconnect, but ends as at
//!   the end of its input.
//!
//! | queue | bound | when it is full |
//! |---|---|---|
//! | messages to the program | [`Limits::outgoing`] | [`Socket::is_full`]: the task reads no commands of sessions; after [`Limits::stuck`] without an arrival it stops the program |
//! | messages from the program | one message here, 8 MiB and a message in the hub | the hub does not read the connection |
//! | broken connections with unread messages | 8 | the next connection waits |

mod callback_registry;
mod dedup;
mod unacked;

use std::collections::VecDeque;

use longshore_model::callback::{FromProgram, ToProgram};
use longshore_model::event::RawFault;
use longshore_model::id::SessionId;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::{Limits, WireLine, at};
use crate::spec::CallBack;
use callback_registry::{Awaited, CallbackEnd};
pub use callback_registry::{CallbackLine, CallbackRegistry};
use dedup::Dedup;
use unacked::Unacked;

/// How many connections may have unread messages.
const LINES: usize = 8;

/// An event of the program's connection.
#[derive(Debug)]
pub enum SocketEvent {
    /// The program sent something; see [`Socket::line`].
    Readable,
    /// There was no room for further messages, and enough have arrived.
    Room,
    /// The program takes no messages. Reported once.
    Stuck,
    /// The program has no connection, though its process may still run. Reported once.
    Lost(String),
}

/// A program that calls back to the hub.
#[derive(Debug)]
pub struct Socket {
    awaited: Awaited,
    call_back: CallBack,
    limits: Limits,
    /// The sender to the program, while it has a connection.
    line: Option<mpsc::Sender<ToProgram>>,
    arrived: Option<watch::Receiver<u64>>,
    /// The receivers of all connections with unread messages. The present connection is the last one.
    incoming: VecDeque<mpsc::Receiver<FromProgram>>,
    heard: Dedup,
    lines: VecDeque<WireLine>,
    told: Unacked,
    /// Until when the program must connect. None while it has a connection.
    calls_by: Option<Instant>,
    /// Whether the program has ever connected.
    called: bool,
    /// Whether `Stuck` or `Lost` was reported.
    given_up: bool,
    stopping: bool,
    /// Whether the close message was sent to the present connection.
    closed: bool,
}

impl Socket {
    /// Registers the program of a session with this token.
    pub fn new(
        call_back: CallBack,
        reception: &CallbackRegistry,
        session: SessionId,
        token: String,
        limits: Limits,
    ) -> Self {
        Self {
            awaited: reception.expect(session, token, limits.line),
            call_back,
            line: None,
            arrived: None,
            incoming: VecDeque::new(),
            heard: Dedup::default(),
            lines: VecDeque::new(),
            told: Unacked::new(limits.outgoing),
            calls_by: Some(Instant::now() + limits.attach),
            called: false,
            given_up: false,
            stopping: false,
            closed: false,
            limits,
        }
    }

    /// Queues lines, each without its line feed. [`Socket::next`] sends them. While the program is being
    /// stopped, nothing more is queued.
    pub fn tell(&mut self, lines: impl IntoIterator<Item = String>) {
        if !self.stopping {
            self.told.push(lines);
        }
    }

    /// Whether more bytes are unacknowledged than allowed.
    pub fn is_full(&self) -> bool {
        self.told.full_since().is_some() && !self.stopping
    }

    /// The next line of the program.
    pub fn line(&mut self) -> Option<WireLine> {
        self.lines.pop_front()
    }

    /// Begins to stop the program: after the last message, its connection closes for good.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Waits for the next event, and sends messages meanwhile. Reads only if `read` is set.
    ///
    /// The future may be dropped, and the function called again. The caller must take all lines of one
    /// [`SocketEvent::Readable`] before the next call.
    pub async fn next(&mut self, read: bool) -> SocketEvent {
        loop {
            let writes = !self.told.all_written() || (self.stopping && !self.closed);
            let patient = !self.given_up && !self.stopping;
            let stuck_at = self.told.full_since().map(|since| since + self.limits.stuck);
            tokio::select! {
                call = self.awaited.door.call(), if self.incoming.len() < LINES => self.called(call),
                number = arrival(&mut self.arrived), if self.arrived.is_some() => match number {
                    Some(number) => {
                        self.told.arrived(number);
                        // The caller decided what to read and to hear while there was no room.
                        if stuck_at.is_some() && self.told.full_since().is_none() {
                            return SocketEvent::Room;
                        }
                    }
                    None => self.broke(),
                },
                permit = room(&self.line), if writes && self.line.is_some() => match permit {
                    Some(permit) => drop(permit.send(self.next_to_tell())),
                    None => self.broke(),
                },
                message = message(&mut self.incoming), if read && !self.incoming.is_empty() => match message {
                    Some(message) => {
                        self.hear(message);
                        return SocketEvent::Readable;
                    }
                    None => drop(self.incoming.pop_front()),
                },
                () = at(stuck_at), if patient => {
                    self.given_up = true;
                    return SocketEvent::Stuck;
                }
                () = at(self.calls_by), if patient => {
                    self.given_up = true;
                    return SocketEvent::Lost(self.why_lost());
                }
            }
        }
    }

    /// Reads the rest of the connections after the process has ended.
    pub async fn hear_last_words(&mut self) {
        if let Some(call) = self.awaited.door.waiting() {
            self.called(call);
        }
        let within = self.limits.after_exit;
        let all = async {
            while !self.incoming.is_empty() {
                match message(&mut self.incoming).await {
                    Some(message) => self.hear(message),
                    None => drop(self.incoming.pop_front()),
                }
            }
        };
        if timeout(within, all).await.is_err() {
            tracing::debug!("a line stays open after the end of its process");
        }
    }

    /// The next message for this connection, or the close message after the last one.
    fn next_to_tell(&mut self) -> ToProgram {
        if let Some((number, text)) = self.told.next() {
            return ToProgram::Lines { number, text };
        }
        self.closed = true;
        ToProgram::Close { code: self.call_back.farewell, reason: "stopped".to_owned() }
    }

    fn called(&mut self, call: CallbackEnd) {
        if self.called {
            self.heard.came_back();
            tracing::debug!("a program called again");
        }
        self.hang_up();
        let CallbackEnd { said, told, arrived } = call;
        (self.line, self.arrived) = (Some(told), Some(arrived));
        self.incoming.push_back(said);
        self.told.begin_again();
        (self.called, self.closed, self.calls_by) = (true, false, None);
    }

    /// Drops the present connection. Its last acknowledgements still count.
    fn hang_up(&mut self) {
        self.line = None;
        if let Some(arrived) = self.arrived.take() {
            self.told.arrived(*arrived.borrow());
        }
    }

    fn broke(&mut self) {
        self.hang_up();
        self.calls_by = Some(Instant::now() + self.limits.attach);
    }

    fn hear(&mut self, message: FromProgram) {
        match message {
            FromProgram::Lines { text } => {
                self.lines.extend(self.heard.lines(&text).into_iter().map(WireLine::Whole));
            }
            FromProgram::TooLong => {
                self.lines.push_back(WireLine::Garbled { text: "".into(), fault: RawFault::Truncated });
            }
        }
    }

    fn why_lost(&self) -> String {
        let within = self.limits.attach.as_secs();
        match self.called {
            false => format!("it did not call back within {within} s"),
            true => format!("its connection broke and it did not connect again within {within} s"),
        }
    }
}

/// The number of the last message that arrived, when it changes. None if the connection broke.
async fn arrival(arrived: &mut Option<watch::Receiver<u64>>) -> Option<u64> {
    match arrived {
        Some(arrived) => arrived.changed().await.ok().map(|()| *arrived.borrow_and_update()),
        None => std::future::pending().await,
    }
}

/// Room for a message to the program. None if the connection broke.
async fn room(line: &Option<mpsc::Sender<ToProgram>>) -> Option<mpsc::OwnedPermit<ToProgram>> {
    match line {
        Some(line) => line.clone().reserve_owned().await.ok(),
        None => std::future::pending().await,
    }
}

/// The next message, from the oldest connection. None if that connection has ended.
async fn message(incoming: &mut VecDeque<mpsc::Receiver<FromProgram>>) -> Option<FromProgram> {
    match incoming.front_mut() {
        Some(line) => line.recv().await,
        None => std::future::pending().await,
    }
}
