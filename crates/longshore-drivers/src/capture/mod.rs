//! Captures: the recorded wire of a real agent.
//!
//! A file of JSON lines. The first names what was recorded, `{"capture":1,"driver":..,"agent":..,"scenario":..}`;
//! every other is `{"t":seconds since the start,"dir":..,"msg":..}`, where `msg` is what was said: as JSON when it was
//! JSON, as a string when it was not.
//!
//! [`replay`] has a driver hear a capture again, with a player ([`Play`]) for each protocol and the driver on a
//! [`Harness`]; [`Narrator`] tells in one line what each event says, and a [`Tape`] is how a wire gets into a capture.

mod narrate;
mod play;
mod stand;
mod tape;

use std::io::{self, BufRead, Write};

use longshore_model::command::AgentCommand;
use longshore_model::event::Draft;
use longshore_model::id::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use narrate::Narrator;
pub use play::Play;
pub use stand::Harness;
pub(crate) use stand::{DEFAULT_CWD, Waits};
pub use tape::Tape;

use crate::{acp, claude, codex, opencode, react};

/// The version of the format.
const VERSION: u32 = 1;

/// A recording.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The driver that understands it.
    pub driver: String,
    /// The agent and its version.
    pub agent: String,
    /// What was played.
    pub scenario: String,
    /// What was said, in order.
    pub entries: Vec<Entry>,
}

/// One thing that was said or done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Seconds since the recording began.
    pub t: f64,
    /// Who to whom.
    pub dir: Direction,
    /// What.
    pub msg: Box<RawValue>,
}

/// Who to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The agent's process was started.
    Spawn,
    /// A line to the agent.
    ToAgent,
    /// A line from the agent.
    FromAgent,
    /// A line that the agent wrote to its stderr.
    Stderr,
    /// The agent's process ended.
    Exit,
    /// A remark of whoever recorded.
    Note,
}

/// What happens when a capture is replayed.
#[derive(Clone, Debug)]
pub enum Step {
    /// The recorded client did what a session of ours does so.
    Told {
        /// Which session.
        session: SessionId,
        /// What it tells its agent.
        command: AgentCommand,
    },
    /// The driver wrote a line to the agent.
    Wrote(String),
    /// The driver said that something happened.
    Said {
        /// To which session.
        session: SessionId,
        /// What; its raw frame is the recorded line, to the letter.
        draft: Box<Draft>,
    },
    /// The driver gave the process up, for this reason.
    Finished(String),
}

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be read.
    #[error("cannot read the recording")]
    Io(#[from] io::Error),
    /// The first line is no heading.
    #[error("this file is not a recording of `longshore record`: wrong first line: {0}")]
    Heading(String),
    /// It is of a later version.
    #[error("the recording has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A line is not of the format.
    #[error("line {line} of the recording is damaged: {source}")]
    Line {
        /// Which line.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// No driver understands it.
    #[error("no driver is called `{0}`")]
    UnknownDriver(String),
}

#[derive(Serialize, Deserialize)]
struct Heading {
    capture: u32,
    driver: String,
    agent: String,
    scenario: String,
}

impl Capture {
    /// Reads a whole capture.
    pub fn read(from: impl BufRead) -> Result<Self, CaptureError> {
        let mut lines = from.lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let heading: Heading =
            serde_json::from_str(&first).map_err(|error| CaptureError::Heading(error.to_string()))?;
        if heading.capture != VERSION {
            return Err(CaptureError::Version(heading.capture));
        }
        let mut entries = Vec::new();
        for (at, line) in lines.enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            entries.push(
                serde_json::from_str(&line).map_err(|source| CaptureError::Line { line: at + 2, source })?,
            );
        }
        let Heading { driver, agent, scenario, .. } = heading;
        Ok(Self { driver, agent, scenario, entries })
    }

    /// Writes a whole capture.
    pub fn write(&self, mut to: impl Write) -> Result<(), CaptureError> {
        writeln!(to, "{}", heading(&self.driver, &self.agent, &self.scenario))?;
        for entry in &self.entries {
            writeln!(to, "{}", entry.to_line())?;
        }
        Ok(())
    }
}

/// The first line of a capture, for whoever writes one while it happens.
pub fn heading(driver: &str, agent: &str, scenario: &str) -> String {
    let (driver, agent, scenario) = (driver.to_owned(), agent.to_owned(), scenario.to_owned());
    line_of(&Heading { capture: VERSION, driver, agent, scenario })
}

impl Entry {
    /// A line that was said: as JSON if it is JSON, as a string if it is not.
    pub fn said(t: f64, dir: Direction, line: &str) -> Self {
        let as_json = RawValue::from_string(line.to_owned());
        let as_text = || RawValue::from_string(line_of(&line)).unwrap_or_else(|_| RawValue::NULL.to_owned());
        // A line that is a JSON string would read back as its content, so it is wrapped once more.
        let is_text = line.trim_start().starts_with('"');
        Self { t, dir, msg: as_json.ok().filter(|_| !is_text).unwrap_or_else(as_text) }
    }

    /// The line as it was said.
    pub fn line(&self) -> String {
        serde_json::from_str::<String>(self.msg.get()).unwrap_or_else(|_| self.msg.get().to_owned())
    }

    /// What a process was started with; nothing if this is not the start of one.
    pub(crate) fn spawn(&self) -> Value {
        let starts = self.dir == Direction::Spawn;
        starts.then(|| serde_json::from_str(self.msg.get()).ok()).flatten().unwrap_or_default()
    }

    /// The line of the capture.
    pub fn to_line(&self) -> String {
        line_of(self)
    }
}

/// JSON of things that cannot fail to be JSON.
fn line_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Has the capture's driver hear it again, and says all that comes of it.
///
/// The recorded client numbered its requests and chose its parameters otherwise than our driver does, so what it
/// did is turned into what a session of ours would have done, and every recorded answer goes to the request
/// of the driver that it is an answer to. Nothing else is changed and nothing is left out.
pub fn replay(capture: &Capture) -> Result<Vec<Step>, CaptureError> {
    match capture.driver.as_str() {
        acp::NAME => Ok(acp::replay::replay(capture)),
        codex::NAME => Ok(codex::replay::replay(capture)),
        codex::exec::NAME => Ok(codex::exec::replay::replay(capture)),
        claude::NAME => Ok(claude::replay::replay(capture)),
        opencode::NAME => Ok(opencode::replay::replay(capture)),
        react::NAME => Ok(react::replay::replay(capture)),
        other => Err(CaptureError::UnknownDriver(other.to_owned())),
    }
}
