//! The inputs of a driver besides the lines of its agent. A recording with these inputs needs no player.
//!
//! A hub records when a driver begins, with the seed of its ids. It also records every later input, except
//! the agent's lines, which are in the recording anyway. So a replay gives the driver the same inputs at the
//! same times, and the driver emits the same events. Recordings of other clients have no such entries. For
//! them, a [`Player`](super::Player) works out the inputs that a session of ours would have given.

use std::collections::HashMap;

use longshore_model::driver::{Driver, Http, Input, Output};
use longshore_model::event::{AgentName, Raw};
use longshore_model::id::{Context, Ids};
use longshore_model::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::harness::Harness;
use super::{Capture, CaptureEntry, CaptureError, Direction, ReplayStep};
use crate::table;

/// An entry that is not part of the wire.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DriverRecord {
    /// A driver begins.
    Begins(Beginning),
    /// The driver gets this input.
    Input(Input),
}

/// Everything that a driver needs to do the same again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Beginning {
    pub(crate) agent: AgentName,
    /// The seed of the driver's ids.
    pub(crate) seed: u64,
    /// Whether the agent is a server, which sends events instead of lines.
    pub(crate) server: bool,
    /// When the recording began. The times of all entries count from here.
    pub(crate) since: Timestamp,
}

/// A driver that replays its recording.
struct RecordedDriver {
    driver: Box<dyn Driver>,
    ids: Ids,
    server: bool,
    since: Timestamp,
    /// Whether the driver just got a response to its request. The recording also contains this response as it
    /// was on the wire.
    answered: bool,
}

impl RecordedDriver {
    fn new(capture: &Capture, beginning: Beginning) -> Result<Self, CaptureError> {
        let Beginning { agent: name, seed, server, since } = beginning;
        let agents = table::built_in();
        let named = agents.iter().find(|agent| *agent.name() == *name);
        // Several agents in a person's settings may share one driver.
        let agent = named.or_else(|| agents.iter().find(|agent| agent.driver_name() == capture.driver));
        let unknown = || CaptureError::UnknownDriver(capture.driver.clone());
        let driver = agent.ok_or_else(unknown)?.driver();
        Ok(Self { driver, ids: Ids::seeded(seed), server, since, answered: false })
    }

    /// The driver's input for a line of its agent.
    fn input_of(&mut self, entry: &CaptureEntry) -> Option<Input> {
        if std::mem::take(&mut self.answered) {
            return None;
        }
        let line = Raw::from(entry.line());
        Some(if self.server { Input::Http(Http::Event(line)) } else { Input::Line(line) })
    }

    fn handle(&mut self, t: f64, input: Input) -> Output {
        let micros = (t * 1_000_000.0).round() as i64;
        let now = Timestamp::from_micros(self.since.micros().saturating_add(micros));
        let mut out = Output::default();
        self.driver.handle(input, &mut Context { now, ids: &mut self.ids }, &mut out);
        out
    }
}

impl Capture {
    /// Whether the capture has the inputs of its drivers.
    pub(super) fn is_told(&self) -> bool {
        self.entries.iter().any(|entry| entry.dir == Direction::Told)
    }

    /// Replays the capture with the recorded inputs.
    pub(super) fn replay_told(&self) -> Result<Vec<ReplayStep>, CaptureError> {
        let mut harness = Harness::<()>::default();
        let mut drivers: HashMap<Option<u32>, RecordedDriver> = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let driver = drivers.get_mut(&entry.process);
            let (driver, input) = match (entry.dir, driver) {
                (Direction::Told, driver) => {
                    let damaged = |source| CaptureError::Line { line: at + 2, source };
                    match (serde_json::from_str(entry.msg.get()).map_err(damaged)?, driver) {
                        (DriverRecord::Begins(beginning), _) => {
                            drivers.insert(entry.process, RecordedDriver::new(self, beginning)?);
                            continue;
                        }
                        (DriverRecord::Input(_), None) => continue,
                        (DriverRecord::Input(input), Some(driver)) => (driver, input),
                    }
                }
                (Direction::FromAgent, Some(driver)) => match driver.input_of(entry) {
                    Some(input) => (driver, input),
                    None => continue,
                },
                (Direction::FromAgent, None)
                | (
                    Direction::Spawn
                    | Direction::ToAgent
                    | Direction::Stderr
                    | Direction::Exit
                    | Direction::Note,
                    _,
                ) => continue,
            };
            driver.answered = matches!(&input, Input::Http(Http::Response { result: Ok(_), .. }));
            if let Input::Tell { session, command } = &input {
                harness.steps.push(ReplayStep::Told { session: *session, command: command.clone() });
            }
            harness.take_down(driver.handle(entry.t, input));
        }
        Ok(harness.steps)
    }
}
