//! Captures: recordings of a real agent's wire.
//!
//! A capture is a file of JSON lines. The first line is the heading:
//! `{"capture":1,"driver":..,"agent":..,"scenario":..}`. Every other line is an entry: `{"t":seconds since
//! the start,"dir":..,"msg":..}`. `msg` is the message: as JSON if the message is JSON, as a string
//! otherwise. If a capture has several processes, `"process"` numbers them.
//!
//! [`replay`] gives a capture to a driver once more. A capture of our own hub also contains the other inputs
//! of its driver (`told`). For a capture of another client, a [`Player`] for its protocol works out these
//! inputs, with the driver in a [`Harness`]. A [`Narrator`] describes each event in one line. A [`Tape`]
//! records a wire.

mod driver_record;
mod harness;
mod narrate;
mod player;
mod tape;

use std::io::{self, BufRead, Write};

use longshore_model::command::AgentCommand;
use longshore_model::event::Draft;
use longshore_model::id::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use harness::Harness;
pub(crate) use harness::{DEFAULT_CWD, Waits};
pub use narrate::Narrator;
pub use player::Player;
pub use tape::Tape;

use crate::{acp, claude, codex, opencode, react};

/// The version of the format.
const VERSION: u32 = 1;

/// A recording.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The driver that understands the recording.
    pub driver: String,
    /// The agent and its version.
    pub agent: String,
    /// The scenario.
    pub scenario: String,
    /// The entries, in order.
    pub entries: Vec<CaptureEntry>,
}

/// One entry of a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaptureEntry {
    /// Seconds since the recording began.
    pub t: f64,
    /// The direction.
    pub dir: Direction,
    /// The number of the process, if the recording has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The message.
    pub msg: Box<RawValue>,
}

/// The direction of a message.
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
    /// A remark of the recorder.
    Note,
    /// The driver begins, or gets an input from our hub.
    Told,
}

/// A step in the replay of a capture.
#[derive(Clone, Debug)]
pub enum ReplayStep {
    /// The recorded client did something. A session of ours gives this command for it.
    Told {
        /// The session.
        session: SessionId,
        /// The command.
        command: AgentCommand,
    },
    /// The driver wrote a line to the agent.
    Wrote(String),
    /// The driver emitted an event.
    Said {
        /// The session of the event.
        session: SessionId,
        /// The event. Its raw frame is exactly the recorded line.
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
    /// The first line is not a heading.
    #[error("this file is not a recording of `longshore record`: wrong first line: {0}")]
    Heading(String),
    /// The capture has a later format.
    #[error("the recording has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A line is damaged.
    #[error("line {line} of the recording is damaged: {source}")]
    Line {
        /// The number of the line.
        line: usize,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
    /// No driver has this name.
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

/// The first line of a capture, for a recorder.
pub fn heading(driver: &str, agent: &str, scenario: &str) -> String {
    let (driver, agent, scenario) = (driver.to_owned(), agent.to_owned(), scenario.to_owned());
    line_of(&Heading { capture: VERSION, driver, agent, scenario })
}

impl CaptureEntry {
    /// An entry for a message: as JSON if the message is JSON, as a string otherwise.
    pub fn said(t: f64, dir: Direction, line: &str) -> Self {
        let as_json = RawValue::from_string(line.to_owned());
        let as_text = || RawValue::from_string(line_of(&line)).unwrap_or_else(|_| RawValue::NULL.to_owned());
        // A line that is a JSON string would read back as its content, so it is wrapped in a string once
        // more.
        let is_text = line.trim_start().starts_with('"');
        Self { t, dir, process: None, msg: as_json.ok().filter(|_| !is_text).unwrap_or_else(as_text) }
    }

    /// The original line of the message.
    pub fn line(&self) -> String {
        serde_json::from_str::<String>(self.msg.get()).unwrap_or_else(|_| self.msg.get().to_owned())
    }

    /// The parameters with which a process was started; null if this entry is not a start.
    pub(crate) fn spawn(&self) -> Value {
        let starts = self.dir == Direction::Spawn;
        starts.then(|| serde_json::from_str(self.msg.get()).ok()).flatten().unwrap_or_default()
    }

    /// The entry as a line of the capture.
    pub fn to_line(&self) -> String {
        line_of(self)
    }
}

/// The JSON of a value that can always be serialized.
fn line_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Replays a capture through its driver, and returns every step.
///
/// A recording of our own hub contains the inputs of its driver. Any other client numbers its requests
/// differently, and chooses other parameters than our driver. So the player turns the client's actions into
/// the actions of a session of ours, and gives every recorded response to the matching request of the driver.
/// Nothing else changes, and nothing is left out.
pub fn replay(capture: &Capture) -> Result<Vec<ReplayStep>, CaptureError> {
    if capture.is_told() {
        return capture.replay_told();
    }
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
