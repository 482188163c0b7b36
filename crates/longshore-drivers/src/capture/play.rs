//! Players: whoever sits between a recording and a driver.
//!
//! What is the same with every protocol is here, and a player says only what is peculiar to its own: what a process is
//! started for, what a session of ours would have said in place of the recorded client, and which request of the
//! driver a recorded answer belongs to.

use std::sync::Arc;

use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::Raw;
use longshore_model::id::SessionId;
use longshore_model::time::Timestamp;
use longshore_model::work::{Job, WorkFault, WorkId};
use serde_json::Value;

use super::stand::Harness;
use super::{Capture, Direction, Entry, Step};

/// One that plays recordings of one protocol to its driver.
pub trait Play {
    /// The driver that hears them.
    type Driver: Driver;

    /// Where the driver stands.
    fn stand(&mut self) -> &mut Harness<Self::Driver>;

    /// A process starts with this entry. What follows it is looked at only to see what it is started for.
    fn spawn(&mut self, entry: &Entry, ahead: &[Entry]);

    /// Whether a process starts with what the recorded client says, which not every recording tells.
    fn begins(&mut self, _said: &Value) -> bool {
        !self.stand().is_started()
    }

    /// The recorded client said something: what would a session of ours have done?
    fn client_said(&mut self, said: &Value, ahead: &[Entry]);

    /// The agent said something. An answer is given to the request of the driver that it belongs to.
    fn agent_said(&mut self, line: &str);

    /// Something else was recorded.
    fn aside(&mut self, _entry: &Entry) {}

    /// Notes what the driver says and wants before it is taken down. What is no line is taken down if it is made one.
    fn note(&mut self, _out: &mut Output) {}

    /// Goes on when all that came of an input was taken down.
    fn go_on(&mut self) {}

    /// The sessions of this process.
    fn live(&mut self) -> Vec<SessionId> {
        self.stand().live.values().copied().collect()
    }

    /// Has the driver hear a whole recording.
    fn hear(mut self, capture: &Capture) -> Vec<Step>
    where
        Self: Sized,
    {
        self.play_all(&capture.entries);
        std::mem::take(&mut self.stand().steps)
    }

    /// All of these entries.
    fn play_all(&mut self, entries: &[Entry]) {
        for (at, entry) in entries.iter().enumerate() {
            self.play(entry, &entries[at + 1..]);
        }
    }

    /// One entry of a recording.
    fn play(&mut self, entry: &Entry, ahead: &[Entry]) {
        let until = self.stand().moment(entry.t);
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
                if !self.stand().is_started() {
                    self.spawn(entry, ahead);
                }
                self.agent_said(&entry.line());
            }
            Direction::Stderr | Direction::Exit | Direction::Note => self.aside(entry),
        }
    }

    /// Lets time pass in which nobody says anything.
    fn wait(&mut self, seconds: f64) {
        let until = self.stand().now.plus_millis((seconds * 1_000.0) as i64);
        self.wait_until(until);
    }

    /// Lets time pass: at each deadline of the driver it is told so.
    fn wait_until(&mut self, until: Timestamp) {
        // Every tick ends at least one wait, of which there are not many.
        for _ in 0..1_000 {
            if !self.stand().is_due(until) {
                break;
            }
            self.feed(Input::Tick);
        }
        let stand = self.stand();
        stand.now = stand.now.max(until);
    }

    /// Whether anybody waits for the agent.
    fn waits(&mut self) -> bool {
        self.stand().waits()
    }

    /// A session tells its agent something.
    fn tell(&mut self, session: SessionId, command: AgentCommand) {
        self.stand().steps.push(Step::Told { session, command: command.clone() });
        self.feed(Input::Tell { session, command });
    }

    /// Has the driver do something, and takes down what comes of it.
    fn feed(&mut self, input: Input) {
        self.feed_as(input, |_| None);
    }

    /// Has the driver hear a line in words of ours. What carries it then carries the one that was recorded.
    fn feed_in_our_words(&mut self, line: &Value, recorded: &Raw) {
        let told: Raw = Arc::from(line.to_string());
        self.feed_as(Input::Line(told.clone()), |raw| (*raw == told).then(|| recorded.clone()));
    }

    /// Has the driver do something. A frame that was recorded otherwise is taken down as it was recorded.
    fn feed_as(&mut self, input: Input, recorded: impl Fn(&Raw) -> Option<Raw>) {
        let Some(mut out) = self.stand().handle(input) else { return };
        for (_, draft) in &mut out.said {
            if let Some(recorded) = draft.raw.as_ref().and_then(&recorded) {
                draft.raw = Some(recorded);
            }
        }
        let looks = out.works.extract_if(.., |work| matches!(work.job, Job::Look { .. }));
        let looks: Vec<WorkId> = looks.map(|work| work.id).collect();
        self.note(&mut out);
        self.stand().take_down(out);
        for id in looks {
            // The work tree of a recording is long gone.
            let result = Err(WorkFault::Failed("a recording has no files".to_owned()));
            self.feed(Input::WorkDone { id, result });
        }
        self.go_on();
    }
}
