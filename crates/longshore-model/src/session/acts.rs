//! When somebody last did something, by which lists are sorted; and when a person did, which decides the
//! latest session.
//!
//! Entries that the hub writes for itself do not count: the end of an idle process, the git state, and
//! everything after a restart, which the hub writes for many sessions at once.

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
    /// The state of a session that was just opened. A session with a parent was opened by an agent.
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
            self.of_person = self.of_person.max(Some(event.at));
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
            // A fork begins with events that are older than the fork.
            _ if event.at <= self.last => {}
            _ => (self.last, self.before) = (event.at, self.last),
        }
    }
}

/// Whether only a person does this and continues with the session. A person who closes or archives a session
/// is done with it. Agents also change titles, modes and models, and the event does not say who did.
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
