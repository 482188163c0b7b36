//! The socket transport: a process whose program calls us back, and speaks in lines over that connection.
//!
//! Who serves the connection: the hub, at `/ws/cli/{session}`, and not the anchor on a port of its own. It has an address already,
//! with guards against foreign pages, limits and patience, and one door is easier to watch than one per agent. It hands
//! the connection over as a [`CallbackLine`] of three channels through [`CallbackRegistry`], so that neither side knows the other; what
//! passes through them are the words of [`longshore_model::callback`], which an anchor elsewhere could be sent as well.
//!
//! - What the program is told before it has called is kept in order, and told when it has. What is not known to have
//!   arrived is told again on the next line. See `told`.
//! - A second call takes the place of the first: programs call again when they believe that their line is dead, which
//!   we may not have noticed. What the first line still had to give is heard before the second one.
//! - A program that does not call within [`Limits::attach`], or does not come back within it, is given up.
//! - The end is a close code after which the program does not come back, but ends as it would at the end of its input.
//!
//! | queue | bound | when it is full |
//! |---|---|---|
//! | what the program is told | [`Limits::outgoing`] | [`Socket::is_full`]: sessions are not heard; after [`Limits::stuck`] without an arrival it is stopped |
//! | what it says | one message here, 8 MiB and a message with whoever serves the line | the connection is not read |
//! | lines that broke and still have something to give | 8 | the next call waits |

mod callback_registry;
mod dedup;
mod unacked;

use std::collections::VecDeque;

use longshore_model::callback::{FromProgram, ToProgram};
use longshore_model::event::RawFault;
use longshore_model::id::SessionId;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::{Limits, WireLine as Spoken, at};
use crate::spec::CallBack;
use callback_registry::{Awaited, CallbackEnd};
pub use callback_registry::{CallbackLine, CallbackRegistry};
use dedup::Dedup;
use unacked::Unacked;

/// How many lines may have something to give.
const LINES: usize = 8;

/// What can happen to a line.
#[derive(Debug)]
pub enum SocketEvent {
    /// The program spoke; see [`Socket::line`].
    Said,
    /// It does not take what it is told. Said once.
    Stuck,
    /// It has no line, though its process may be there. Said once.
    Lost(String),
}

/// A program that calls us back.
#[derive(Debug)]
pub struct Socket {
    awaited: Awaited,
    call_back: CallBack,
    limits: Limits,
    /// The way to it, while it has a line.
    line: Option<mpsc::Sender<ToProgram>>,
    arrived: Option<watch::Receiver<u64>>,
    /// What lines have to give: the present one last, before it those that broke.
    incoming: VecDeque<mpsc::Receiver<FromProgram>>,
    heard: Dedup,
    lines: VecDeque<Spoken>,
    told: Unacked,
    /// By when it must have called; none while it has a line.
    calls_by: Option<Instant>,
    /// Whether it ever called.
    called: bool,
    /// Whether it was said that it is stuck, or lost.
    given_up: bool,
    stopping: bool,
    /// Whether the present line was told to close.
    closed: bool,
}

impl Socket {
    /// Expects the program of a session, which was given this token.
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

    /// Lines to tell it, each without its line feed. They are told by [`Socket::next`]; once it is being stopped,
    /// nothing more is.
    pub fn tell(&mut self, lines: impl IntoIterator<Item = String>) {
        if !self.stopping {
            self.told.push(lines);
        }
    }

    /// Whether more waits to arrive than may.
    pub fn is_full(&self) -> bool {
        self.told.full_since().is_some() && !self.stopping
    }

    /// The next line that it spoke.
    pub fn line(&mut self) -> Option<Spoken> {
        self.lines.pop_front()
    }

    /// Begins to stop it: once it was told everything, its line is closed for good.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Waits for what happens next, and tells it meanwhile what it is to be told. Hears it only when `read` says so.
    ///
    /// May be dropped and called again. All lines of one [`SocketEvent::Said`] must be taken before the next call.
    pub async fn next(&mut self, read: bool) -> SocketEvent {
        loop {
            let writes = !self.told.all_written() || (self.stopping && !self.closed);
            let patient = !self.given_up && !self.stopping;
            let stuck_at = self.told.full_since().map(|since| since + self.limits.stuck);
            tokio::select! {
                call = self.awaited.door.call(), if self.incoming.len() < LINES => self.called(call),
                number = arrival(&mut self.arrived), if self.arrived.is_some() => match number {
                    Some(number) => self.told.arrived(number),
                    None => self.broke(),
                },
                permit = room(&self.line), if writes && self.line.is_some() => match permit {
                    Some(permit) => drop(permit.send(self.next_to_tell())),
                    None => self.broke(),
                },
                message = message(&mut self.incoming), if read && !self.incoming.is_empty() => match message {
                    Some(message) => {
                        self.hear(message);
                        return SocketEvent::Said;
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

    /// The process is gone: takes in what its lines still have to give, which ends with them.
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

    /// What it has not been told on this line, and the farewell after that.
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

    /// The line that it has is none any more. What has arrived over it has arrived.
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
                self.lines.extend(self.heard.lines(&text).into_iter().map(Spoken::Whole));
            }
            FromProgram::TooLong => {
                self.lines.push_back(Spoken::Garbled { text: "".into(), fault: RawFault::Truncated });
            }
        }
    }

    fn why_lost(&self) -> String {
        let within = self.limits.attach.as_secs();
        match self.called {
            false => format!("it did not call back within {within} s"),
            true => format!("its line broke and it did not call again within {within} s"),
        }
    }
}

/// The number of the last message that arrived, when that changes; none when the line broke.
async fn arrival(arrived: &mut Option<watch::Receiver<u64>>) -> Option<u64> {
    match arrived {
        Some(arrived) => arrived.changed().await.ok().map(|()| *arrived.borrow_and_update()),
        None => std::future::pending().await,
    }
}

/// Room for a message to the program; none when the line broke.
async fn room(line: &Option<mpsc::Sender<ToProgram>>) -> Option<mpsc::OwnedPermit<ToProgram>> {
    match line {
        Some(line) => line.clone().reserve_owned().await.ok(),
        None => std::future::pending().await,
    }
}

/// The next message, from the oldest line that has any; none when that line has given all.
async fn message(incoming: &mut VecDeque<mpsc::Receiver<FromProgram>>) -> Option<FromProgram> {
    match incoming.front_mut() {
        Some(line) => line.recv().await,
        None => std::future::pending().await,
    }
}
