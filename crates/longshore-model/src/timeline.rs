//! The timeline: the fold of events that a client draws.
//!
//! Folding an event again changes nothing. Folding can stop and continue at any seq. A log without the deltas
//! of finished items folds to the same timeline. The web app has the same fold in TypeScript; both run the
//! vectors in `tests/vectors`.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::{ApprovalDecision, ApprovalRequest, QuestionAnswer, QuestionRequest};
use crate::command::Attachment;
use crate::event::{Author, Body, Event, MessagePhase, NoticeLevel};
use crate::id::{ApprovalId, ItemId, QuestionId, Seq, TurnId};
use crate::item::{FileChange, PlanStep, ToolCall, ToolOutcome, ToolStatus};
use crate::lifecycle::{Delegation, DelegationEnd, TurnEnd};
use crate::time::Timestamp;

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

/// One thing on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TimelineItem")]
pub struct Item {
    /// The seq of the event that began the item.
    pub seq: Seq,
    /// The id of the item, for items that grow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ItemId>,
    /// The turn of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// When the item began.
    pub started_at: Timestamp,
    /// When the item ended; none while it grows or waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The text that a person reads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The kind of item, with its data.
    #[serde(flatten)]
    pub content: Content,
}

/// The kind of an item, with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "content", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Content {
    /// A message of a person.
    UserMessage {
        /// The attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The author.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Author>,
    },
    /// A message of the agent.
    Message {
        /// Whether the message is an interim comment or the final answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
        /// Whether the message is cut off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
    /// A thought of the agent.
    Reasoning {
        /// Whether the thought is cut off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
    /// A plan of the agent.
    Plan {
        /// The steps of the plan.
        steps: Vec<PlanStep>,
    },
    /// A tool call.
    Tool {
        /// The call.
        call: ToolCall,
        /// How the call ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcome>,
        /// The file changes of the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
    },
    /// Files that changed.
    Diff {
        /// The status of the change.
        status: ToolStatus,
        /// The changes, one per file.
        changes: Vec<FileChange>,
    },
    /// All changes of a turn. The text is the diff.
    TurnDiff,
    /// An approval.
    Approval {
        /// The request.
        request: ApprovalRequest,
        /// The decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<ApprovalDecision>,
        /// Why nobody can decide any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expired: Option<String>,
    },
    /// A question of the agent.
    Question {
        /// The request.
        request: QuestionRequest,
        /// The answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<QuestionAnswer>,
        /// Why nobody can answer any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expired: Option<String>,
    },
    /// Work that the agent gave to another session. The text is that session's output, and finally its
    /// result.
    Delegation {
        /// The session that does the work.
        delegation: Delegation,
        /// The text of the task.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        task: String,
        /// How the work ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<DelegationEnd>,
        /// The tool call that delegated the work; none if the agent reports no call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCall>,
        /// How that call ended. The call can end long before the work does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcome>,
    },
    /// The end of a turn.
    TurnEnd(TurnEnd),
    /// A line between items: the agent woke or went to sleep, the session closed, a retry, a warning.
    Notice {
        /// How important the line is.
        level: NoticeLevel,
    },
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

    /// Applies one event. An event that is already folded changes nothing.
    pub fn apply(&mut self, event: &Event) {
        if event.seq <= self.head {
            return;
        }
        self.head = event.seq;
        match &event.body {
            Body::UserMessage { attachments, by, .. } => {
                self.push(event, Content::UserMessage { attachments: attachments.clone(), by: by.clone() });
            }
            Body::MessageStarted => {
                self.grow(event, || Content::Message { phase: None, partial: false });
            }
            Body::MessageDelta => self.grow(event, || Content::Message { phase: None, partial: false }),
            Body::MessageDone { phase, partial } => {
                self.settle(event, Content::Message { phase: *phase, partial: *partial });
            }
            Body::ReasoningStarted | Body::ReasoningDelta => {
                self.grow(event, || Content::Reasoning { partial: false });
            }
            Body::ReasoningDone { partial } => self.settle(event, Content::Reasoning { partial: *partial }),
            Body::PlanStarted | Body::PlanDelta => self.grow(event, || Content::Plan { steps: Vec::new() }),
            Body::PlanUpdated { steps } => self.settle(event, Content::Plan { steps: steps.clone() }),

            Body::ToolStarted(call) | Body::ToolUpdated(call) => self.tool(event, call),
            Body::ToolOutputDelta => self.grow(event, unknown_tool),
            Body::ToolFinished(outcome) => self.tool_finished(event, outcome),
            Body::FileDiff(diff) => self.diff(event, diff.status, &diff.changes),
            Body::TurnDiff => {
                if let Some(turn) = event.turn {
                    self.upsert(Key::TurnDiff(turn), event, Content::TurnDiff);
                }
            }

            Body::ApprovalRequested(request) => {
                let content = Content::Approval { request: request.clone(), decision: None, expired: None };
                self.upsert(Key::Approval(request.approval), event, content);
            }
            Body::ApprovalDecided { approval, decision: made } => {
                self.answered(Key::Approval(*approval), event, |content| {
                    if let Content::Approval { decision, .. } = content {
                        *decision = Some(made.clone());
                    }
                });
            }
            Body::ApprovalExpired { approval } => {
                self.answered(Key::Approval(*approval), event, |content| {
                    if let Content::Approval { expired, .. } = content {
                        *expired = Some(event.text().to_owned());
                    }
                });
            }
            Body::QuestionAsked(request) => {
                let content = Content::Question { request: request.clone(), answer: None, expired: None };
                self.upsert(Key::Question(request.question), event, content);
            }
            Body::QuestionAnswered { question, answer: given } => {
                self.answered(Key::Question(*question), event, |content| {
                    if let Content::Question { answer, .. } = content {
                        *answer = Some(given.clone());
                    }
                });
            }
            Body::QuestionExpired { question } => {
                self.answered(Key::Question(*question), event, |content| {
                    if let Content::Question { expired, .. } = content {
                        *expired = Some(event.text().to_owned());
                    }
                });
            }

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
                    Some(item) => self.finish_with(item, event, content),
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
            | Body::Raw { .. } => {}
        }
    }

    /// A thing that is whole as it comes.
    fn push(&mut self, event: &Event, content: Content) {
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
    }

    fn entry(&mut self, key: Key, event: &Event, content: impl FnOnce() -> Content) -> &mut Item {
        let at = *self.index.entry(key).or_insert_with(|| {
            self.items.push(begun(event, content()));
            self.items.len() - 1
        });
        &mut self.items[at]
    }

    /// A thing that begins or grows. One that has ended stays as it is: its last word was the whole of it.
    fn grow(&mut self, event: &Event, content: impl FnOnce() -> Content) {
        let Some(id) = event.item else { return };
        let item = self.entry(Key::Item(id), event, content);
        // The call of a delegation may end before the work; after that nothing grows until the result is there.
        let called = matches!(item.content, Content::Delegation { outcome: Some(_), .. });
        if item.ended_at.is_none() && !called {
            item.text.push_str(event.text());
        }
    }

    /// The final word about a thing.
    fn settle(&mut self, event: &Event, content: Content) {
        let Some(id) = event.item else { return self.push(event, content) };
        let item = self.entry(Key::Item(id), event, || content.clone());
        item.text = event.text().to_owned();
        item.content = content;
        item.ended_at = Some(event.at);
    }

    /// A thing of which only the newest state counts.
    fn upsert(&mut self, key: Key, event: &Event, content: Content) {
        let item = self.entry(key, event, || content.clone());
        item.text = event.text().to_owned();
        item.content = content;
    }

    /// A thing that is whole as it comes, and may come again.
    fn finish_with(&mut self, item: ItemId, event: &Event, content: Content) {
        self.upsert(Key::Item(item), event, content);
        self.entry(Key::Item(item), event, || Content::TurnDiff).ended_at = Some(event.at);
    }

    fn answered(&mut self, key: Key, event: &Event, change: impl FnOnce(&mut Content)) {
        if let Some(at) = self.index.get(&key) {
            let item = &mut self.items[*at];
            change(&mut item.content);
            item.ended_at = Some(event.at);
        }
    }

    fn tool(&mut self, event: &Event, newest: &ToolCall) {
        let Some(id) = event.item else { return };
        let fresh = || Content::Tool { call: newest.clone(), outcome: None, changes: Vec::new() };
        let content = &mut self.entry(Key::Item(id), event, fresh).content;
        if let Content::Tool { call, .. } = content {
            *call = newest.clone();
        } else if let Content::Delegation { call, .. } = content {
            *call = Some(newest.clone());
        }
    }

    fn tool_finished(&mut self, event: &Event, ended: &ToolOutcome) {
        let Some(id) = event.item else { return };
        let item = self.entry(Key::Item(id), event, unknown_tool);
        if let Content::Delegation { outcome, end, .. } = &mut item.content {
            *outcome = Some(ended.clone());
            // The result is the last word; what the call said of it stands in until then.
            if end.is_none() || item.text.is_empty() {
                item.text = event.text().to_owned();
            }
            return;
        }
        if let Content::Tool { outcome, .. } = &mut item.content {
            *outcome = Some(ended.clone());
        }
        item.text = event.text().to_owned();
        item.ended_at = Some(event.at);
    }

    /// A diff on a tool's item is what that tool changes; any other is a thing of its own.
    fn diff(&mut self, event: &Event, newest: ToolStatus, newer: &[FileChange]) {
        let Some(id) = event.item else { return };
        let fresh = || Content::Diff { status: newest, changes: newer.to_vec() };
        let item = self.entry(Key::Item(id), event, fresh);
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
    }

    /// A delegation on a tool's item takes its place: they are one thing.
    fn delegation_started(&mut self, event: &Event, begun_now: &Delegation) {
        let of = |call, outcome| Content::Delegation {
            delegation: begun_now.clone(),
            task: event.text().to_owned(),
            end: None,
            call,
            outcome,
        };
        let Some(id) = event.item else { return self.items.push(begun(event, of(None, None))) };
        let item = self.entry(Key::Item(id), event, || of(None, None));
        let (call, outcome) = if let Content::Tool { call, outcome, .. } = &mut item.content {
            (Some(call.clone()), outcome.take())
        } else if let Content::Delegation { call, outcome, .. } = &mut item.content {
            (call.take(), outcome.take())
        } else {
            (None, None)
        };
        item.content = of(call, outcome);
        item.ended_at = None;
    }

    fn delegation_finished(&mut self, event: &Event, ended: &DelegationEnd) {
        let of = |item: &&mut Item| matches!(&item.content, Content::Delegation { delegation, .. } if delegation.child == ended.child);
        if let Some(item) = self.items.iter_mut().rev().find(of) {
            if let Content::Delegation { end, .. } = &mut item.content {
                *end = Some(ended.clone());
            }
            item.text = event.text().to_owned();
            item.ended_at = Some(event.at);
        }
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
