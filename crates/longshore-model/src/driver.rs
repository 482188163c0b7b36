//! A driver: a pure translator between one agent's wire and the words of the waist.
//!
//! It gets a line, a command or a tick, and says what happened and what to write back. It has no task, no socket
//! and no clock, so that a capture of a real agent replays through it in microseconds.

use crate::anchor::{Answer, Launch, Query};
use crate::command::AgentCommand;
use crate::event::{Draft, Raw, RawFault};
use crate::id::{Context, QueryId, SessionId};
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

/// What a driver wants done about it, in order.
#[derive(Debug, Default)]
pub struct Output {
    /// What happened, to which session.
    pub said: Vec<(SessionId, Draft)>,
    /// Lines to write to the agent, without their line feeds.
    pub lines: Vec<String>,
    /// Answers to questions.
    pub answers: Vec<(QueryId, Result<Answer, String>)>,
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
