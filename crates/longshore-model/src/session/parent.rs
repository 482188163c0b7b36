//! The parent of an event: the event that it answers or ends.
//!
//! The session finds the parent among the things that are open, never in the log. If nothing is open that an
//! event answers or ends, the event has no parent. A delta has no parent, either.

// Only answers and ends have a parent.
#![allow(clippy::wildcard_enum_match_arm)]

use super::{OpenKind, Session};
use crate::event::{Body, Event};
use crate::id::{EventId, ItemId, PromptId};
use crate::item::ToolStatus;

impl Session {
    /// The parent of an event that the session has not applied yet.
    pub fn parent_of(&self, event: &Event) -> Option<EventId> {
        match &event.body {
            Body::MessageDone { .. }
            | Body::ReasoningDone { .. }
            | Body::PlanUpdated { .. }
            | Body::ToolFinished(_) => self.beginning_of(event.item?),
            Body::FileDiff(diff) if diff.status != ToolStatus::Running => {
                let item = event.item.filter(|item| self.is_open(*item, OpenKind::Diff))?;
                self.beginning_of(item)
            }
            Body::ApprovalDecided { approval, .. } | Body::ApprovalExpired { approval } => {
                let open = &self.approvals.get(approval)?.whole;
                Some(EventId::of(self.id, open.seq, open.requested_at))
            }
            Body::QuestionAnswered { question, .. } | Body::QuestionExpired { question } => {
                let open = &self.questions.get(question)?.whole;
                Some(EventId::of(self.id, open.seq, open.asked_at))
            }
            Body::DelegationWaiting { child, .. } => Some(self.delegations.get(child)?.begun),
            Body::DelegationFinished(end) => Some(self.delegations.get(&end.child)?.begun),
            Body::TurnStarted { prompt: Some(prompt) }
            | Body::UserMessage { prompt: Some(prompt), .. }
            | Body::PromptEdited { prompt }
            | Body::PromptCancelled { prompt } => self.queuing_of(*prompt),
            Body::TurnFinished(_) => {
                self.turn.filter(|turn| Some(turn.id) == event.turn).map(|turn| turn.begun)
            }
            _ => None,
        }
    }

    fn beginning_of(&self, item: ItemId) -> Option<EventId> {
        self.open.get(&item).map(|open| open.begun)
    }

    fn queuing_of(&self, prompt: PromptId) -> Option<EventId> {
        self.queue.iter().find(|waiting| waiting.queued.prompt == prompt).map(|waiting| waiting.event)
    }
}
