//! The HTTP transport: a process that is a server on loopback, beside its pipes.
//!
//! As in [`super::Stdio`], everything comes from one method, whose future may be dropped at any await.
//! Requests wait until the server has named its address.
//!
//! | queue | bound | when it is full |
//! |---|---|---|
//! | requests | 256 waiting | [`Http::is_full`]: the task reads no commands of sessions; a further request fails |
//! | responses | [`Limits::line`] bytes each | the request fails |
//! | events | 64 messages, [`Limits::line`] bytes each | the transport does not read the connection, and the server waits |

mod client;
mod events;

use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;

use longshore_model::driver::{Http as HttpInput, Request, Response};
use longshore_model::event::{Raw, RawFault};
use longshore_model::id::SessionId;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::Limits;
use crate::spec::Server;
pub(crate) use client::base64;
use client::{Failure, Peer, basic};
use events::{EventStream, StreamEvent};

/// How many requests may wait.
const WAITING: usize = 256;

/// How many requests may be on their way, except for patient ones.
const AT_ONCE: usize = 16;

/// How many events may wait to be taken.
const EVENTS: usize = 64;

/// What can happen to a server.
#[derive(Debug)]
pub enum HttpEvent {
    /// The server sent a message.
    Input(HttpInput),
    /// The server sent something unreadable.
    Garbled {
        /// The readable part of the message.
        text: Raw,
        /// Why the message cannot be read.
        fault: RawFault,
    },
    /// The server is gone, though its process may still run. Reported once.
    Lost(String),
}

/// A server and its connections.
#[derive(Debug)]
pub struct Http {
    server: Server,
    authorization: String,
    limits: Limits,
    peer: Option<Peer>,
    /// Until when the server must name its address.
    starts_by: Instant,
    waiting: VecDeque<Request>,
    /// The ids of requests that found no place in the queue.
    refused: VecDeque<u64>,
    /// Sessions with a request on its way.
    busy: HashSet<SessionId>,
    running: JoinSet<HttpResult>,
    /// How many requests on their way have no deadline.
    patient: usize,
    hear: mpsc::Sender<StreamEvent>,
    heard: mpsc::Receiver<StreamEvent>,
    following: JoinSet<()>,
    lost: bool,
}

#[derive(Debug)]
struct HttpResult {
    id: u64,
    session: Option<SessionId>,
    patient: bool,
    result: Result<Response, Failure>,
}

impl Http {
    /// A server that was just started with this password.
    pub fn new(server: Server, password: &str, limits: Limits) -> Self {
        let (hear, heard) = mpsc::channel(EVENTS);
        Self {
            authorization: basic(server.user, password),
            server,
            starts_by: Instant::now() + limits.start,
            limits,
            peer: None,
            waiting: VecDeque::new(),
            refused: VecDeque::new(),
            busy: HashSet::new(),
            running: JoinSet::new(),
            patient: 0,
            hear,
            heard,
            following: JoinSet::new(),
            lost: false,
        }
    }

    /// Takes a line of the process, which may name the server's address.
    pub fn line(&mut self, line: &str) {
        if self.peer.is_none()
            && let Some(at) = (self.server.listening)(line)
        {
            self.listens(at);
        }
    }

    fn listens(&mut self, at: SocketAddr) {
        let peer = Peer { at, authorization: self.authorization.clone() };
        self.peer = Some(peer.clone());
        let Server { events: path, says_nothing, .. } = self.server;
        let (limits, hear) = (self.limits.clone(), self.hear.clone());
        self.following.spawn(EventStream { peer, path, says_nothing, limits, hear }.follow());
        self.pump();
    }

    /// Queues requests. [`Http::next`] sends them.
    pub fn ask(&mut self, requests: impl IntoIterator<Item = Request>) {
        for request in requests {
            match self.waiting.len() < WAITING {
                true => self.waiting.push_back(request),
                false => self.refused.push_back(request.id),
            }
        }
        self.pump();
    }

    /// Whether as many requests wait as may.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING && !self.lost
    }

    /// Sends the waiting requests that may be sent now.
    fn pump(&mut self) {
        let Some(peer) = &self.peer else { return };
        let mut at = 0;
        while let Some(request) = self.waiting.get(at) {
            let free = request.session.is_none_or(|session| !self.busy.contains(&session));
            let room = self.running.len() - self.patient < AT_ONCE;
            if !free || (!request.patient && !room) {
                at += 1;
                continue;
            }
            let Some(request) = self.waiting.remove(at) else { break };
            let within = (!request.patient).then_some(self.limits.answer);
            match request.patient {
                true => self.patient += 1,
                false => self.busy.extend(request.session),
            }
            let (peer, longest) = (peer.clone(), self.limits.line);
            self.running.spawn(async move {
                let result = peer.ask(&request, longest, within).await;
                let Request { id, session, patient, .. } = request;
                HttpResult { id, session, patient, result }
            });
        }
    }

    /// Waits for the next event. Reads responses and events only if `read` is set.
    ///
    /// The future may be dropped, and the function called again.
    pub async fn next(&mut self, read: bool) -> HttpEvent {
        if let Some(id) = self.refused.pop_front() {
            return HttpEvent::Input(HttpInput::Response {
                id,
                result: Err("too many requests wait".to_owned()),
            });
        }
        let starting = self.peer.is_none() && !self.lost;
        tokio::select! {
            biased;
            Some(done) = self.running.join_next(), if read => match done {
                Ok(done) => self.answered(done),
                Err(error) => self.lose(error.to_string()),
            },
            Some(heard) = self.heard.recv(), if read => match heard {
                StreamEvent::Connected => HttpEvent::Input(HttpInput::Connected),
                StreamEvent::Disconnected => HttpEvent::Input(HttpInput::Disconnected),
                StreamEvent::Event(raw) => HttpEvent::Input(HttpInput::Event(raw)),
                StreamEvent::Garbled { text, fault } => HttpEvent::Garbled { text, fault },
                StreamEvent::Lost(why) => self.lose(why),
            },
            () = sleep_until(self.starts_by), if starting => {
                let within = self.limits.start.as_secs();
                self.lose(format!("it did not say where it listens within {within} s"))
            }
            else => std::future::pending().await,
        }
    }

    fn answered(&mut self, done: HttpResult) -> HttpEvent {
        let HttpResult { id, session, patient, result } = done;
        match patient {
            true => self.patient -= 1,
            false => drop(session.map(|session| self.busy.remove(&session))),
        }
        self.pump();
        HttpEvent::Input(HttpInput::Response { id, result: result.map_err(|failure| failure.to_string()) })
    }

    fn lose(&mut self, why: String) -> HttpEvent {
        self.lost = true;
        HttpEvent::Lost(why)
    }
}
