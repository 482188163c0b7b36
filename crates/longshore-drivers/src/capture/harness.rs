//! The harness: a driver under the clock of a recording, with all steps so far.

use std::collections::HashMap;

use longshore_model::anchor::Start;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, Ids, QuestionId, SessionId};
use longshore_model::lifecycle::Ready;
use longshore_model::time::Timestamp;
use serde_json::json;

use super::ReplayStep;

/// When every replay begins. The time is fixed, so that the same recording always gives the same events.
const BEGINNING: i64 = 1_794_768_000_000_000;
/// The work tree of recordings that name no work tree.
pub(crate) const DEFAULT_CWD: &str = "/home/dev/project";

/// A driver that replays a recording, with its state.
#[derive(Debug)]
pub struct Harness<D> {
    /// All steps so far.
    pub steps: Vec<ReplayStep>,
    /// The time of the recording.
    pub(crate) now: Timestamp,
    /// The conversations that are sessions in this process, by the agent's ids.
    pub(crate) live: HashMap<String, SessionId>,
    /// The conversations that are sessions in any process, by the agent's ids.
    sessions: HashMap<String, SessionId>,
    driver: Option<D>,
    ids: Ids,
    /// Added to the times of the recording, which begin at 0 with every process.
    shift: f64,
    last_t: f64,
}

/// What an agent waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    Approval(ApprovalId),
    Question(QuestionId),
}

impl<D> Default for Harness<D> {
    fn default() -> Self {
        Self::seeded(1)
    }
}

impl<D> Harness<D> {
    /// A harness without a process. The same seed always gives the same ids.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            steps: Vec::new(),
            now: Timestamp::from_micros(BEGINNING),
            live: HashMap::new(),
            sessions: HashMap::new(),
            driver: None,
            ids: Ids::seeded(seed),
            shift: 0.0,
            last_t: 0.0,
        }
    }

    /// Starts a process with this driver.
    pub(crate) fn start(&mut self, driver: D) {
        self.driver = Some(driver);
        self.live.clear();
    }

    /// Whether a process has started.
    pub(crate) fn is_started(&self) -> bool {
        self.driver.is_some()
    }

    /// The time, and new ids.
    pub(crate) fn cx(&mut self) -> Context<'_> {
        Context { now: self.now, ids: &mut self.ids }
    }

    /// The session of a launch: the session of its conversation, or a new session.
    pub(crate) fn session_for(&mut self, start: &Start) -> SessionId {
        let known = match start {
            Start::Resume { native } => self.sessions.get(native).copied(),
            Start::New | Start::Told { .. } | Start::Lines { .. } | Start::Fork { .. } => None,
        };
        known.unwrap_or_else(|| SessionId::mint(&mut self.cx()))
    }

    /// The time of an entry with this `t`.
    pub(super) fn moment(&mut self, t: f64) -> Timestamp {
        if t < self.last_t {
            self.shift += self.last_t;
        }
        self.last_t = t;
        let micros = ((self.shift + t) * 1_000_000.0) as i64;
        Timestamp::from_micros(BEGINNING.saturating_add(micros))
    }

    /// Records the output of an input.
    pub(crate) fn take_down(&mut self, out: Output) {
        for (session, draft) in out.said {
            self.note_ready(session, &draft);
            self.steps.push(ReplayStep::Said { session, draft: Box::new(draft) });
        }
        self.steps.extend(out.lines.into_iter().map(ReplayStep::Wrote));
        if let Some(run) = out.run {
            let run = json!({"type": "run", "arguments": run.arguments, "input": run.input});
            self.steps.push(ReplayStep::Wrote(run.to_string()));
        }
        if out.halt {
            self.steps.push(ReplayStep::Wrote(json!({"type": "halt"}).to_string()));
        }
        for (session, reason) in out.ended {
            self.live.retain(|_, live| *live != session);
            self.steps.push(ReplayStep::Finished(reason));
        }
        self.steps.extend(out.finished.map(ReplayStep::Finished));
    }

    fn note_ready(&mut self, session: SessionId, draft: &Draft) {
        if let Body::SessionReady(Ready { native: Some(native), .. }) = &draft.body {
            self.sessions.insert(native.clone(), session);
            self.live.insert(native.clone(), session);
        }
    }

    /// The approvals and questions that the agent has asked since the replay had this many steps.
    pub(crate) fn asked_since(&self, before: usize) -> impl Iterator<Item = (SessionId, Waits)> {
        self.steps.get(before..).unwrap_or_default().iter().filter_map(|step| {
            let ReplayStep::Said { session, draft } = step else { return None };
            let waits = match &draft.body {
                Body::ApprovalRequested(request) => Waits::Approval(request.approval),
                Body::QuestionAsked(request) => Waits::Question(request.question),
                _ => return None,
            };
            Some((*session, waits))
        })
    }
}

impl<D: Driver> Harness<D> {
    /// Gives the driver an input, if there is a driver.
    pub(crate) fn handle(&mut self, input: Input) -> Option<Output> {
        let mut out = Output::default();
        let driver = self.driver.as_mut()?;
        driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        Some(out)
    }

    /// Whether the driver has a deadline.
    pub(crate) fn waits(&self) -> bool {
        self.driver.as_ref().is_some_and(|driver| driver.deadline().is_some())
    }

    /// Moves the clock to the driver's next deadline, if that is not after `until`.
    pub(crate) fn is_due(&mut self, until: Timestamp) -> bool {
        let due = self.driver.as_ref().and_then(Driver::deadline).filter(|due| *due <= until);
        self.now = self.now.max(due.unwrap_or(self.now));
        due.is_some()
    }
}
