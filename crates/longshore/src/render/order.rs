//! The reading order of a session: an agent's message stands before the message of a person that interrupted
//! it.

use std::collections::HashSet;

use longshore_model::event::{Body, Event};
use longshore_model::id::ItemId;

/// Puts the events of a log into that order.
#[derive(Debug, Default)]
pub struct InOrder {
    /// What the agent has begun to say, and not ended.
    open: HashSet<ItemId>,
    /// The words that were spoken into it, and what came after them.
    waiting: Vec<Event>,
}

impl InOrder {
    /// Takes the next event, and adds those whose turn it is.
    pub fn take(&mut self, event: Event, ready: &mut Vec<Event>) {
        let goes_on = event.item.is_some_and(|item| self.open.contains(&item));
        let speaks_into = matches!(event.body, Body::UserMessage { .. }) && !self.open.is_empty();
        if !goes_on && (speaks_into || !self.waiting.is_empty()) {
            return self.waiting.push(event);
        }
        if matches!(event.body, Body::MessageStarted | Body::MessageDelta) {
            self.open.extend(event.item);
        } else if matches!(event.body, Body::MessageDone { .. })
            && let Some(item) = event.item
        {
            self.open.remove(&item);
        }
        ready.push(event);
        if self.open.is_empty() {
            for event in std::mem::take(&mut self.waiting) {
                self.take(event, ready);
            }
        }
    }

    /// What is left when nothing more comes.
    pub fn rest(self) -> Vec<Event> {
        self.waiting
    }
}
