//! A driver: a pure translator between one agent's wire and the vocabulary of the waist.
//!
//! A driver gets a line, a command or a tick. It returns events, and lines for the agent. A driver has no
//! task, no socket and no clock, so a capture of a real agent replays through it in microseconds.
//!
//! Some agents are HTTP servers that report on a stream of events. Their drivers also get [`Input::Http`],
//! and write [`Output::requests`] instead of lines.
//!
//! Some agents use one process per turn. Their drivers outlive these processes: a driver says which process
//! to start ([`Output::run`]), learns how it ended ([`Input::Ended`]), and can stop it ([`Output::halt`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::anchor::{AgentQuestion, Answer, Launch};
use crate::command::AgentCommand;
use crate::delegation::DelegationRequest;
use crate::event::{Draft, Raw, RawFault};
use crate::host_io::{HostFault, HostReply, HostRequest, HostRequestId};
use crate::id::{Context, QueryId, SessionId};
use crate::lifecycle::Sleep;
use crate::time::Timestamp;

/// The input of a driver. In JSON it is what a recording holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The process runs and listens: begin this session.
    Open(Launch),
    /// The process runs and listens: answer this query and do nothing else.
    Ask {
        /// The id of the query.
        id: QueryId,
        /// The question.
        query: AgentQuestion,
    },
    /// A line from the agent.
    Line(Raw),
    /// A line from the agent that the transport could not read.
    Garbled {
        /// The readable part of the line.
        text: Raw,
        /// What is wrong with the line.
        fault: RawFault,
    },
    /// A command from a session to its agent.
    Tell {
        /// The session.
        session: SessionId,
        /// The command.
        command: AgentCommand,
    },
    /// The agent's HTTP server answered a request, or its stream of events changed.
    Http(Http),
    /// The process of a turn has ended. The driver has already received all of its lines.
    Ended {
        /// How the process ended.
        sleep: Sleep,
        /// The reason, for people.
        reason: String,
    },
    /// The session is stopped; the process continues for other sessions. Emit no further events for this
    /// session, nor for its child sessions listed in [`Output::ended`].
    Close {
        /// The session.
        session: SessionId,
    },
    /// The result of a [`HostRequest`].
    WorkDone {
        /// The id of the request.
        id: HostRequestId,
        /// The reply, or why there is none.
        result: Result<HostReply, HostFault>,
    },
    /// The time has reached [`Driver::deadline`].
    Tick,
}

/// News from an agent that is an HTTP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Http {
    /// The stream of events is open, for the first time or again. Events between two connections are lost.
    Connected,
    /// The stream of events broke. The anchor either opens it again or gives the process up.
    Disconnected,
    /// An event of the stream.
    Event(Raw),
    /// The response to a request, or its failure.
    Response {
        /// [`Request::id`].
        id: u64,
        /// The response, or why there is none.
        result: Result<Response, String>,
    },
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The status: `200`, `404`.
    pub status: u16,
    /// The body, unchanged.
    pub body: Raw,
}

/// An HTTP request to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The driver's own id of the request; the response has the same id.
    pub id: u64,
    /// The session. Requests of one session go out one after the other: each waits for the previous response.
    pub session: Option<SessionId>,
    /// The method.
    pub method: Method,
    /// The path: `/session?limit=3`.
    pub path: String,
    /// The body, as JSON.
    pub body: Option<String>,
    /// The agent responds only when the work is done, however long that takes. Such a request delays no other
    /// request.
    pub patient: bool,
}

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// The method as HTTP writes it: `GET`.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// The process of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The arguments, after the arguments that every process of the agent gets.
    pub arguments: Vec<String>,
    /// Additional environment variables, for values that must not be on a command line.
    pub env: BTreeMap<String, String>,
    /// The files that the process needs. The anchor creates them before the process starts and deletes them
    /// when it ends.
    pub files: Vec<RunFile>,
    /// The whole input of the process. Then its stdin closes.
    pub input: String,
}

/// A file for a process. An argument before the process's other arguments names the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFile {
    /// The beginning of that argument, before the path: `--image=`.
    pub flag: String,
    /// The extension of the file's name: `png`.
    pub extension: String,
    /// The content, in base64.
    pub data: String,
}

/// What a driver wants done, in order.
#[derive(Debug, Default)]
pub struct Output {
    /// The events, each with its session.
    pub said: Vec<(SessionId, Draft)>,
    /// The lines for the agent, without their line feeds.
    pub lines: Vec<String>,
    /// The process to start for a turn. At most one such process runs at a time.
    pub run: Option<Run>,
    /// Stop the process of the turn; the driver continues.
    pub halt: bool,
    /// The HTTP requests to the agent.
    pub requests: Vec<Request>,
    /// The answers to queries.
    pub answers: Vec<(QueryId, Result<Answer, String>)>,
    /// Sessions that this process cannot serve any longer, each with the reason. The process continues for
    /// other sessions.
    pub ended: Vec<(SessionId, String)>,
    /// Delegations: the session whose agent delegates, the agent's id of the call, and what the agent wants.
    pub delegates: Vec<(SessionId, String, DelegationRequest)>,
    /// Requests for files and processes. Each comes back as [`Input::WorkDone`], in any order.
    pub host_requests: Vec<HostRequest>,
    /// The process is no longer needed: stop it, for this reason.
    pub finished: Option<String>,
}

impl Output {
    /// Adds an event of a session.
    pub fn say(&mut self, session: SessionId, draft: Draft) {
        self.said.push((session, draft));
    }
}

/// The driver of one agent process.
pub trait Driver: Send {
    /// Handles one input.
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output);

    /// The latest time at which the driver wants a [`Input::Tick`].
    fn deadline(&self) -> Option<Timestamp>;
}
