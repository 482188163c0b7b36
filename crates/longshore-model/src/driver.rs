//! A driver: a pure translator between one agent's wire and the words of the waist.
//!
//! It gets a line, a command or a tick, and says what happened and what to write back. It has no task, no socket
//! and no clock, so that a capture of a real agent replays through it in microseconds.
//!
//! Some agents are servers: they are asked over HTTP and tell what happens on a stream of events. Their drivers get
//! [`Input::Http`] besides the lines of the process, and write [`Output::requests`] instead of lines.
//!
//! Some agents have a process for each turn. Their drivers outlive it: they say what to start ([`Output::run`]), hear how
//! it ended ([`Input::Ended`]), and may have it stopped ([`Output::halt`]).

use std::collections::BTreeMap;

use crate::anchor::{Answer, Launch, Query};
use crate::command::AgentCommand;
use crate::delegation::DelegateWish;
use crate::event::{Draft, Raw, RawFault};
use crate::id::{Context, QueryId, SessionId};
use crate::lifecycle::Sleep;
use crate::time::Timestamp;
use crate::work::{Done, Work, WorkFault, WorkId};

/// What can happen to a driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The process runs and listens; begin this session.
    Open(Launch),
    /// The process runs and listens; answer this and nothing else.
    Ask {
        /// The name of the question.
        id: QueryId,
        /// The question.
        query: Query,
    },
    /// A line from the agent.
    Line(Raw),
    /// A line from the agent that could not be read as one.
    Garbled {
        /// What could be saved of it.
        text: Raw,
        /// What was wrong.
        fault: RawFault,
    },
    /// A session tells its agent something.
    Tell {
        /// Which session.
        session: SessionId,
        /// What.
        command: AgentCommand,
    },
    /// A server that the process is, or its stream of events, has something to say.
    Http(Http),
    /// The process of a turn is gone, and all that it said was heard.
    Ended {
        /// How.
        sleep: Sleep,
        /// Why, for people.
        reason: String,
    },
    /// A session is stopped here; the process goes on for others. Nothing more is to be said of it, or of those
    /// that came of it and are named in [`Output::ended`].
    Close {
        /// Which session.
        session: SessionId,
    },
    /// What the driver wanted done is done, or not.
    WorkDone {
        /// Which work.
        id: WorkId,
        /// What came of it.
        result: Result<Done, WorkFault>,
    },
    /// Time has passed, at least to [`Driver::deadline`].
    Tick,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
pub enum Http {
    /// The stream of events is open: for the first time, or again. What happened in between is not told.
    Connected,
    /// The stream of events broke. It will be opened again, or the process given up.
    Disconnected,
    /// An event.
    Event(Raw),
    /// What became of a request.
    Response {
        /// [`Request::id`].
        id: u64,
        /// The answer, or why there is none.
        result: Result<Response, String>,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// `200`, `404`.
    pub status: u16,
    /// The body, whatever it is.
    pub body: Raw,
}

/// What a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The driver's own name for it; comes back with the answer.
    pub id: u64,
    /// Requests of one session go out one after the other, each when the one before was answered.
    pub session: Option<SessionId>,
    /// What to do.
    pub method: Method,
    /// To what: `/session?limit=3`.
    pub path: String,
    /// With what, in JSON.
    pub body: Option<String>,
    /// It is answered when the work is done, however long that takes. Such a one keeps no other waiting.
    pub patient: bool,
}

/// What can be done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// As it is written: `GET`.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// A process for a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Its arguments, after those that every process of the agent has.
    pub arguments: Vec<String>,
    /// What its environment has beyond that of every process of the agent: what is to be on no command line.
    pub env: BTreeMap<String, String>,
    /// Files that it needs. They are laid down for it, and gone when it is.
    pub files: Vec<RunFile>,
    /// All that it is told; then its input ends.
    pub input: String,
}

/// A file for a process, which it finds by an argument ahead of its own ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFile {
    /// What that argument begins with, before the path: `--image=`.
    pub flag: String,
    /// How its name ends: `png`.
    pub extension: String,
    /// What is in it, in base64.
    pub data: String,
}

/// What a driver wants done about it, in order.
#[derive(Debug, Default)]
pub struct Output {
    /// What happened, to which session.
    pub said: Vec<(SessionId, Draft)>,
    /// Lines to write to the agent, without their line feeds.
    pub lines: Vec<String>,
    /// The process to start for a turn. There is one at a time.
    pub run: Option<Run>,
    /// Stop the process of the turn; the driver goes on.
    pub halt: bool,
    /// What to ask the server that the process is.
    pub requests: Vec<Request>,
    /// Answers to questions.
    pub answers: Vec<(QueryId, Result<Answer, String>)>,
    /// Sessions that the process is of no more use to, while it goes on for others. The text says why.
    pub ended: Vec<(SessionId, String)>,
    /// What other sessions are to do for one: whose agent wants it, its name for the call, and what it wants.
    pub delegates: Vec<(SessionId, String, DelegateWish)>,
    /// What to do with files and processes; each comes back as [`Input::WorkDone`], in any order.
    pub works: Vec<Work>,
    /// The process is of no more use; stop it. The text says why.
    pub finished: Option<String>,
}

impl Output {
    /// Something happened.
    pub fn say(&mut self, session: SessionId, draft: Draft) {
        self.said.push((session, draft));
    }
}

/// One per agent process.
pub trait Driver: Send {
    /// The agent's process speaks, a session speaks, or time passes.
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output);

    /// When it wants a [`Input::Tick`], at the latest.
    fn deadline(&self) -> Option<Timestamp>;
}
