//! Players: a player translates a recording into the inputs of a driver.
//!
//! This module has the parts that all protocols share. A player adds the parts of its own protocol: the
//! purpose of a process, the command of a session in place of the recorded client's action, and the request
//! of the driver to which a recorded response belongs.

use std::sync::Arc;

use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::Raw;
use longshore_model::host_io::{HostFault, HostRequestId, Job};
use longshore_model::id::SessionId;
use longshore_model::time::Timestamp;
use serde_json::Value;

use super::harness::Harness;
use super::{Capture, CaptureEntry, Direction, ReplayStep};

/// A player for recordings of one protocol.
pub trait Player {
    /// The driver that replays them.
    type Driver: Driver;

    /// The harness with the driver.
    fn harness(&mut self) -> &mut Harness<Self::Driver>;

    /// A process starts with this entry. The entries after it (`ahead`) only show what the process is started
    /// for.
    fn spawn(&mut self, entry: &CaptureEntry, ahead: &[CaptureEntry]);

    /// Whether a message of the recorded client shows that a process starts. Some recordings have no entry
    /// for the start.
    fn begins(&mut self, _said: &Value) -> bool {
        !self.harness().is_started()
    }

    /// Handles a message of the recorded client. The player lets our session do the same.
    fn client_said(&mut self, said: &Value, ahead: &[CaptureEntry]);

    /// Handles a message of the agent. If it is a response, the player gives it to the matching request of
    /// the driver.
    fn agent_said(&mut self, line: &str);

    /// Handles any other entry.
    fn other_entry(&mut self, _entry: &CaptureEntry) {}

    /// Sees the driver's output before it is recorded. The player may turn an output that is not a line into
    /// a line.
    fn note(&mut self, _out: &mut Output) {}

    /// Continues after the whole output of an input is recorded.
    fn go_on(&mut self) {}

    /// The sessions of this process.
    fn live(&mut self) -> Vec<SessionId> {
        self.harness().live.values().copied().collect()
    }

    /// Replays a whole recording through the driver.
    fn hear(mut self, capture: &Capture) -> Vec<ReplayStep>
    where
        Self: Sized,
    {
        self.play_all(&capture.entries);
        std::mem::take(&mut self.harness().steps)
    }

    /// Replays all of these entries.
    fn play_all(&mut self, entries: &[CaptureEntry]) {
        for (at, entry) in entries.iter().enumerate() {
            self.play(entry, &entries[at + 1..]);
        }
    }

    /// Replays one entry of a recording.
    fn play(&mut self, entry: &CaptureEntry, ahead: &[CaptureEntry]) {
        let until = self.harness().moment(entry.t);
        self.wait_until(until);
        match entry.dir {
            Direction::Spawn => self.spawn(entry, ahead),
            Direction::ToAgent => {
                let said = serde_json::from_str::<Value>(entry.msg.get()).unwrap_or_default();
                if self.begins(&said) {
                    self.spawn(entry, ahead);
                }
                self.client_said(&said, ahead);
            }
            Direction::FromAgent => {
                if !self.harness().is_started() {
                    self.spawn(entry, ahead);
                }
                self.agent_said(&entry.line());
            }
            Direction::Stderr | Direction::Exit | Direction::Note | Direction::Told => {
                self.other_entry(entry);
            }
        }
    }

    /// Lets time pass without any message.
    fn wait(&mut self, seconds: f64) {
        let until = self.harness().now.plus_millis((seconds * 1_000.0) as i64);
        self.wait_until(until);
    }

    /// Lets time pass. The driver gets a tick at each of its deadlines.
    fn wait_until(&mut self, until: Timestamp) {
        // Every tick ends at least one wait, and there are few waits.
        for _ in 0..1_000 {
            if !self.harness().is_due(until) {
                break;
            }
            self.feed(Input::Tick);
        }
        let stand = self.harness();
        stand.now = stand.now.max(until);
    }

    /// Whether the driver waits for the agent.
    fn waits(&mut self) -> bool {
        self.harness().waits()
    }

    /// Gives the driver a command of a session.
    fn tell(&mut self, session: SessionId, command: AgentCommand) {
        self.harness().steps.push(ReplayStep::Told { session, command: command.clone() });
        self.feed(Input::Tell { session, command });
    }

    /// Gives the driver an input, and records its output.
    fn feed(&mut self, input: Input) {
        self.feed_as(input, |_| None);
    }

    /// Gives the driver a line with our ids in it. Drafts that carry this line carry the recorded line
    /// instead.
    fn feed_in_our_words(&mut self, line: &Value, recorded: &Raw) {
        let told: Raw = Arc::from(line.to_string());
        self.feed_as(Input::Line(told.clone()), |raw| (*raw == told).then(|| recorded.clone()));
    }

    /// Gives the driver an input. `recorded` turns each raw frame back into its recorded form.
    fn feed_as(&mut self, input: Input, recorded: impl Fn(&Raw) -> Option<Raw>) {
        let Some(mut out) = self.harness().handle(input) else { return };
        for (_, draft) in &mut out.said {
            if let Some(recorded) = draft.raw.as_ref().and_then(&recorded) {
                draft.raw = Some(recorded);
            }
        }
        let looks = out.host_requests.extract_if(.., |work| matches!(work.job, Job::Look { .. }));
        let looks: Vec<HostRequestId> = looks.map(|work| work.id).collect();
        self.note(&mut out);
        self.harness().take_down(out);
        for id in looks {
            // The work tree of a recording no longer exists.
            let result = Err(HostFault::Failed("a recording has no files".to_owned()));
            self.feed(Input::WorkDone { id, result });
        }
        self.go_on();
    }
}
