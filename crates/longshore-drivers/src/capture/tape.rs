//! The tape: records a wire while it is in use.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_model::driver::Input;
use longshore_model::time::Timestamp;
use serde_json::json;

use super::driver_record::{Beginning, DriverRecord};
use super::{CaptureEntry, Direction, line_of};
use crate::clock;

/// Records messages. All clones record to the same tape.
#[derive(Clone)]
pub struct Tape {
    began: Timestamp,
    /// The number of this tape's process, and the number of processes so far.
    process: Option<u32>,
    processes: Arc<AtomicU32>,
    sink: Arc<Mutex<dyn FnMut(CaptureEntry) + Send>>,
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { began, process, .. } = self;
        f.debug_struct("Tape").field("began", began).field("process", process).finish_non_exhaustive()
    }
}

impl Tape {
    /// Starts a tape that passes each entry to `sink`. The driver reads nothing from the agent while `sink`
    /// runs.
    pub fn new(sink: impl FnMut(CaptureEntry) + Send + 'static) -> Self {
        let sink = Arc::new(Mutex::new(sink));
        Self { began: clock::now(), process: None, processes: Arc::default(), sink }
    }

    /// The same tape, for the driver of a further process.
    pub(crate) fn of_process(&self) -> Self {
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        Self { process: Some(process + 1), ..self.clone() }
    }

    /// Records a message, unchanged.
    pub fn note(&self, dir: Direction, said: &str) {
        self.note_at(clock::now(), dir, said);
    }

    /// Records a message with a time that the caller has read from the clock.
    pub(crate) fn note_at(&self, now: Timestamp, dir: Direction, said: &str) {
        let micros = now.micros().saturating_sub(self.began.micros());
        let mut entry = CaptureEntry::said(micros as f64 / 1_000_000.0, dir, said);
        entry.process = self.process;
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink(entry);
    }

    /// Records an input that is not a line of the agent.
    pub(crate) fn told(&self, now: Timestamp, input: &Input) {
        self.note_at(now, Direction::Told, &line_of(&json!({ "input": input })));
    }

    /// Records that a driver begins.
    pub(crate) fn begins(&self, agent: &str, seed: u64, server: bool) {
        let beginning = Beginning { agent: agent.into(), seed, server, since: self.began };
        self.note(Direction::Told, &line_of(&DriverRecord::Begins(beginning)));
    }
}
