//! When somebody last did something: what lists are sorted by; and when a person did, which the latest session is told by.
//!
//! What the hub notes for itself is no act: that a process was put to sleep, how the work tree stands, and all that it writes
//! down after a restart, which it does for many sessions in one moment.

// Only what is no act is named; acts come in many kinds.
#![allow(clippy::wildcard_enum_match_arm)]

use crate::event::{BY_DELEGATION, BY_HUB, Body, Event};
use crate::lifecycle::{Opened, SleepCause, TurnErrorCode};
use crate::time::Timestamp;

/// When a person or the agent last did something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Acts {
    last: Timestamp,
    /// The same, before the moment of the last one.
    before: Timestamp,
    /// When a person last did something.
    of_person: Option<Timestamp>,
}

impl Acts {
    /// From the moment on in which a session was opened. One that has a parent was opened by an agent.
    pub(super) fn since(at: Timestamp, opened: &Opened) -> Self {
        Self { last: at, before: at, of_person: opened.parent.is_none().then_some(at) }
    }

    pub(super) fn last(&self) -> Timestamp {
        self.last
    }

    pub(super) fn of_person(&self) -> Option<Timestamp> {
        self.of_person
    }

    pub(super) fn note(&mut self, event: &Event) {
        if is_of_person(&event.body) {
            self.of_person = Some(event.at);
        }
        match &event.body {
            // Whatever was written in the same moment was written for the same reason: endings of what the agent left open.
            body if is_of_restart(body) => {
                if self.last == event.at {
                    self.last = self.before;
                }
            }
            Body::SessionSleeping(_)
            | Body::QueueHeld
            | Body::ApprovalExpired { .. }
            | Body::QuestionExpired { .. }
            | Body::GitChanged(_)
            | Body::CommandsListed { .. }
            | Body::UsageLimited(_)
            | Body::Raw { .. } => {}
            _ if event.at == self.last => {}
            _ => (self.last, self.before) = (event.at, self.last),
        }
    }
}

/// What only a person does, and works on with. Who closes a session or puts it away is done with it. Titles, modes and models are changed by agents as well, and nobody knows by whom.
fn is_of_person(body: &Body) -> bool {
    match body {
        Body::PromptQueued { by, .. } => is_person(by),
        Body::ApprovalDecided { decision, .. } => is_person(&decision.by),
        Body::QuestionAnswered { answer, .. } => is_person(&answer.by),
        Body::PromptCancelled { .. }
        | Body::PromptEdited { .. }
        | Body::QueueReordered { .. }
        | Body::QueueSent { .. }
        | Body::SessionHandedOff => true,
        _ => false,
    }
}

fn is_person(by: &str) -> bool {
    by != BY_HUB && by != BY_DELEGATION
}

fn is_of_restart(body: &Body) -> bool {
    match body {
        Body::SessionSleeping(sleep) => sleep.cause == SleepCause::HubRestarted,
        Body::TurnFinished(end) => {
            end.error.as_ref().is_some_and(|error| error.code == TurnErrorCode::HubRestarted)
        }
        _ => false,
    }
}
