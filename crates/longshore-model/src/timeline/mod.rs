//! The timeline: the fold of events that a client draws.
//!
//! Folding an event again changes nothing. Folding can stop and continue at any seq. A log without the deltas
//! of finished items folds to the same timeline. The web app has the same fold in TypeScript; both run the
//! vectors in `tests/vectors`.

mod change;
mod content;

use std::collections::HashMap;

use serde::Serialize;

use crate::event::{Body, Event, NoticeLevel};
use crate::id::{ApprovalId, ItemId, QuestionId, Seq, TurnId};
use crate::item::{FileChange, ToolCall, ToolOutcome, ToolStatus};
use crate::lifecycle::{Delegation, DelegationEnd};

pub use change::ItemChange;
use change::Touched;
pub use content::{Content, Item};

/// Everything that a client draws of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// The seq of the last folded event.
    pub head: Seq,
    /// The items, in the order in which they began.
    pub items: Vec<Item>,
    #[serde(skip)]
    index: HashMap<Key, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Item(ItemId),
    TurnDiff(TurnId),
    Approval(ApprovalId),
    Question(QuestionId),
}

impl Timeline {
    /// The timeline of some events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut timeline = Self::default();
        for event in events {
            timeline.apply(event);
        }
        timeline
    }

    /// Applies one event, and returns what it changed. An event that is already folded changes nothing.
    pub fn apply<'a>(&'a mut self, event: &'a Event) -> Option<ItemChange<'a>> {
        if event.seq <= self.head {
            return None;
        }
        self.head = event.seq;
        let before = self.items.len();
        let touched = self.fold(event)?;
        Some(self.change(event, before, &touched))
    }

    fn fold(&mut self, event: &Event) -> Option<Touched> {
        match &event.body {
            Body::UserMessage { attachments, by, .. } => {
                self.push(event, Content::UserMessage { attachments: attachments.clone(), by: by.clone() })
            }
            Body::MessageStarted => self.grow(event, || Content::Message { phase: None, partial: false }),
            Body::MessageDelta => self.grow(event, || Content::Message { phase: None, partial: false }),
            Body::MessageDone { phase, partial } => {
                self.settle(event, Content::Message { phase: *phase, partial: *partial })
            }
            Body::ReasoningStarted | Body::ReasoningDelta => {
                self.grow(event, || Content::Reasoning { partial: false })
            }
            Body::ReasoningDone { partial } => self.settle(event, Content::Reasoning { partial: *partial }),
            Body::PlanStarted | Body::PlanDelta => self.grow(event, || Content::Plan { steps: Vec::new() }),
            Body::PlanUpdated { steps } => self.settle(event, Content::Plan { steps: steps.clone() }),

            Body::ToolStarted(call) | Body::ToolUpdated(call) => self.tool(event, call),
            Body::ToolOutputDelta => self.grow(event, unknown_tool),
            Body::ToolFinished(outcome) => self.tool_finished(event, outcome),
            Body::FileDiff(diff) => self.diff(event, diff.status, &diff.changes),
            Body::TurnDiff => {
                event.turn.map(|turn| self.upsert(Key::TurnDiff(turn), event, Content::TurnDiff))
            }

            Body::ApprovalRequested(request) => {
                let content = Content::Approval { request: request.clone(), decision: None, expired: None };
                Some(self.upsert(Key::Approval(request.approval), event, content))
            }
            Body::ApprovalDecided { approval, decision: made } => {
                self.answered(Key::Approval(*approval), event, |content| {
                    if let Content::Approval { decision, .. } = content {
                        *decision = Some(made.clone());
                    }
                })
            }
            Body::ApprovalExpired { approval } => self.answered(Key::Approval(*approval), event, |content| {
                if let Content::Approval { expired, .. } = content {
                    *expired = Some(event.text().to_owned());
                }
            }),
            Body::QuestionAsked(request) => {
                let content = Content::Question { request: request.clone(), answer: None, expired: None };
                Some(self.upsert(Key::Question(request.question), event, content))
            }
            Body::QuestionAnswered { question, answer: given } => {
                self.answered(Key::Question(*question), event, |content| {
                    if let Content::Question { answer, .. } = content {
                        *answer = Some(given.clone());
                    }
                })
            }
            Body::QuestionExpired { question } => self.answered(Key::Question(*question), event, |content| {
                if let Content::Question { expired, .. } = content {
                    *expired = Some(event.text().to_owned());
                }
            }),

            Body::DelegationStarted(delegation) => self.delegation_started(event, delegation),
            Body::DelegationFinished(ended) => self.delegation_finished(event, ended),
            Body::TurnFinished(end) => self.push(event, Content::TurnEnd(end.clone())),

            Body::SessionSleeping(_)
            | Body::SessionRevived { .. }
            | Body::SessionHandedOff
            | Body::QueueHeld
            | Body::SessionClosed => self.push(event, Content::Notice { level: NoticeLevel::Info }),
            Body::SessionError(_) => self.push(event, Content::Notice { level: NoticeLevel::Error }),
            Body::Notice { level } => {
                let content = Content::Notice { level: *level };
                match event.item {
                    // One that goes on: each word of it takes the place of the one before.
                    Some(item) => Some(self.finish_with(item, event, content)),
                    None => self.push(event, content),
                }
            }

            Body::DelegationWaiting { .. }
            | Body::TurnStarted { .. }
            | Body::SessionOpened(_)
            | Body::SessionReady(_)
            | Body::PromptQueued { .. }
            | Body::PromptCancelled { .. }
            | Body::PromptEdited { .. }
            | Body::QueueReordered { .. }
            | Body::QueueSent { .. }
            | Body::TitleChanged
            | Body::ModelChanged { .. }
            | Body::EffortChanged { .. }
            | Body::ModeChanged { .. }
            | Body::GitChanged(_)
            | Body::CommandsListed { .. }
            | Body::UsageUpdated(_)
            | Body::UsageLimited(_)
            | Body::Imported { .. }
            | Body::ArchiveChanged { .. }
            | Body::Raw { .. } => None,
        }
    }

    /// A thing that is whole as it comes.
    fn push(&mut self, event: &Event, content: Content) -> Option<Touched> {
        let text = match &content {
            Content::Notice { .. } if event.text.is_none() => notice_text(&event.body).to_owned(),
            Content::Notice { .. }
            | Content::UserMessage { .. }
            | Content::Message { .. }
            | Content::Reasoning { .. }
            | Content::Plan { .. }
            | Content::Tool { .. }
            | Content::Diff { .. }
            | Content::TurnDiff
            | Content::Approval { .. }
            | Content::Question { .. }
            | Content::Delegation { .. }
            | Content::TurnEnd(_) => event.text().to_owned(),
        };
        self.items.push(Item { ended_at: Some(event.at), text, ..begun(event, content) });
        Some(Touched::at(self.items.len() - 1))
    }

    /// The place of the item with this key. The item begins now if there is none.
    fn place(&mut self, key: Key, event: &Event, content: impl FnOnce() -> Content) -> usize {
        *self.index.entry(key).or_insert_with(|| {
            self.items.push(begun(event, content()));
            self.items.len() - 1
        })
    }

    /// A thing that begins or grows. One that has ended stays as it is: its last word was the whole of it.
    fn grow(&mut self, event: &Event, content: impl FnOnce() -> Content) -> Option<Touched> {
        let at = self.place(Key::Item(event.item?), event, content);
        let item = &mut self.items[at];
        // The call of a delegation may end before the work; after that nothing grows until the result is there.
        let called = matches!(item.content, Content::Delegation { outcome: Some(_), .. });
        if item.ended_at.is_some() || called {
            return None;
        }
        item.text.push_str(event.text());
        Some(Touched { at, grew: !event.text().is_empty() })
    }

    /// The final word about a thing.
    fn settle(&mut self, event: &Event, content: Content) -> Option<Touched> {
        let Some(id) = event.item else { return self.push(event, content) };
        let at = self.place(Key::Item(id), event, || content.clone());
        let item = &mut self.items[at];
        item.text = event.text().to_owned();
        item.content = content;
        item.ended_at = Some(event.at);
        Some(Touched::at(at))
    }

    /// A thing of which only the newest state counts.
    fn upsert(&mut self, key: Key, event: &Event, content: Content) -> Touched {
        let at = self.place(key, event, || content.clone());
        let item = &mut self.items[at];
        item.text = event.text().to_owned();
        item.content = content;
        Touched::at(at)
    }

    /// A thing that is whole as it comes, and may come again.
    fn finish_with(&mut self, item: ItemId, event: &Event, content: Content) -> Touched {
        let touched = self.upsert(Key::Item(item), event, content);
        self.items[touched.at].ended_at = Some(event.at);
        touched
    }

    fn answered(&mut self, key: Key, event: &Event, change: impl FnOnce(&mut Content)) -> Option<Touched> {
        let at = *self.index.get(&key)?;
        let item = &mut self.items[at];
        change(&mut item.content);
        item.ended_at = Some(event.at);
        Some(Touched::at(at))
    }

    fn tool(&mut self, event: &Event, newest: &ToolCall) -> Option<Touched> {
        let fresh = || Content::Tool { call: newest.clone(), outcome: None, changes: Vec::new() };
        let at = self.place(Key::Item(event.item?), event, fresh);
        let content = &mut self.items[at].content;
        if let Content::Tool { call, .. } = content {
            *call = newest.clone();
        } else if let Content::Delegation { call, .. } = content {
            *call = Some(newest.clone());
        }
        Some(Touched::at(at))
    }

    fn tool_finished(&mut self, event: &Event, ended: &ToolOutcome) -> Option<Touched> {
        let at = self.place(Key::Item(event.item?), event, unknown_tool);
        let item = &mut self.items[at];
        if let Content::Delegation { outcome, end, .. } = &mut item.content {
            *outcome = Some(ended.clone());
            // The result is the last word; what the call said of it stands in until then.
            if end.is_none() || item.text.is_empty() {
                item.text = event.text().to_owned();
            }
            return Some(Touched::at(at));
        }
        if let Content::Tool { outcome, .. } = &mut item.content {
            *outcome = Some(ended.clone());
        }
        item.text = event.text().to_owned();
        item.ended_at = Some(event.at);
        Some(Touched::at(at))
    }

    /// A diff on a tool's item is what that tool changes; any other is a thing of its own.
    fn diff(&mut self, event: &Event, newest: ToolStatus, newer: &[FileChange]) -> Option<Touched> {
        let fresh = || Content::Diff { status: newest, changes: newer.to_vec() };
        let at = self.place(Key::Item(event.item?), event, fresh);
        let item = &mut self.items[at];
        match &mut item.content {
            Content::Tool { changes, .. } => *changes = newer.to_vec(),
            Content::Diff { status, changes } => {
                *status = newest;
                // A change that was cut short names no files; those that were known stay.
                if !newer.is_empty() {
                    *changes = newer.to_vec();
                }
                item.ended_at = (newest != ToolStatus::Running).then_some(event.at);
            }
            Content::UserMessage { .. }
            | Content::Message { .. }
            | Content::Reasoning { .. }
            | Content::Plan { .. }
            | Content::TurnDiff
            | Content::Approval { .. }
            | Content::Question { .. }
            | Content::Delegation { .. }
            | Content::TurnEnd(_)
            | Content::Notice { .. } => {}
        }
        Some(Touched::at(at))
    }

    /// A delegation on a tool's item takes its place: they are one thing.
    fn delegation_started(&mut self, event: &Event, begun_now: &Delegation) -> Option<Touched> {
        let of = |call, outcome| Content::Delegation {
            delegation: begun_now.clone(),
            task: event.text().to_owned(),
            end: None,
            call,
            outcome,
        };
        let Some(id) = event.item else {
            self.items.push(begun(event, of(None, None)));
            return Some(Touched::at(self.items.len() - 1));
        };
        let at = self.place(Key::Item(id), event, || of(None, None));
        let item = &mut self.items[at];
        let (call, outcome) = if let Content::Tool { call, outcome, .. } = &mut item.content {
            (Some(call.clone()), outcome.take())
        } else if let Content::Delegation { call, outcome, .. } = &mut item.content {
            (call.take(), outcome.take())
        } else {
            (None, None)
        };
        item.content = of(call, outcome);
        item.ended_at = None;
        Some(Touched::at(at))
    }

    fn delegation_finished(&mut self, event: &Event, ended: &DelegationEnd) -> Option<Touched> {
        let of = |item: &Item| matches!(&item.content, Content::Delegation { delegation, .. } if delegation.child == ended.child);
        let at = self.items.iter().rposition(of)?;
        let item = &mut self.items[at];
        if let Content::Delegation { end, .. } = &mut item.content {
            *end = Some(ended.clone());
        }
        item.text = event.text().to_owned();
        item.ended_at = Some(event.at);
        Some(Touched::at(at))
    }
}

/// A thing as it begins.
fn begun(event: &Event, content: Content) -> Item {
    Item {
        seq: event.seq,
        id: event.item,
        turn: event.turn,
        started_at: event.at,
        ended_at: None,
        text: String::new(),
        content,
    }
}

fn unknown_tool() -> Content {
    Content::Tool { call: ToolCall::unknown(), outcome: None, changes: Vec::new() }
}

fn notice_text(body: &Body) -> &'static str {
    if matches!(body, Body::SessionRevived { from_log: true }) {
        "Resumed from Longshore's log"
    } else if matches!(body, Body::SessionRevived { .. }) {
        "Resumed"
    } else if matches!(body, Body::SessionClosed) {
        "Ended"
    } else {
        ""
    }
}
