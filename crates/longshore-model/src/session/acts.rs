//! When somebody last did something: what lists are sorted by, and what the latest session is told by.
//!
//! What the hub notes for itself is no act: that a process was put to sleep, how the work tree stands, and all that it writes
//! down after a restart, which it does for many sessions in one moment.

// Only what is no act is named; acts come in many kinds.
#![allow(clippy::wildcard_enum_match_arm)]

use crate::event::{Body, Event};
use crate::lifecycle::{SleepCause, TurnErrorCode};
use crate::time::Timestamp;

/// When a person or the agent last did something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Acts {
    last: Timestamp,
    /// The same, before the moment of the last one.
    before: Timestamp,
}

impl Acts {
    pub(super) fn since(at: Timestamp) -> Self {
        Self { last: at, before: at }
    }

    pub(super) fn last(&self) -> Timestamp {
        self.last
    }

    pub(super) fn note(&mut self, event: &Event) {
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
            _ => *self = Self { last: event.at, before: self.last },
        }
    }
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
