//! The kind of each body: one table, for code that sorts events without looking into them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Body;

/// The ten public categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Category {
    UserMessage,
    AgentMessage,
    Reasoning,
    Plan,
    ToolCommand,
    FileDiff,
    ApprovalRequest,
    UserInputRequest,
    LifecycleStatus,
    Metadata,
}

/// The role of an event in its item, which is all that compaction needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// A piece of the item. The item's final event repeats it, so compaction may remove it afterwards.
    Delta,
    /// The event carries the whole content of its item.
    Final,
    /// The event is complete in itself.
    Fact,
}

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The public category.
    pub category: Category,
    /// The role of the event in its item.
    pub growth: Growth,
    /// Whether search covers the text: messages of people and agents, and what tools ran and printed.
    pub searchable: bool,
    /// Whether the event is part of the conversation, which a fork copies.
    pub conversation: bool,
}

impl Kind {
    const fn of(category: Category, growth: Growth, searchable: bool, conversation: bool) -> Self {
        Self { category, growth, searchable, conversation }
    }
}

impl Body {
    /// The kind of the body.
    #[rustfmt::skip]
    pub fn kind(&self) -> Kind {
        use Category::{
            AgentMessage, ApprovalRequest, FileDiff, LifecycleStatus, Metadata, Plan, Reasoning, ToolCommand,
            UserInputRequest, UserMessage,
        };
        use Growth::{Delta, Fact, Final};
        const FOUND: bool = true;
        const PASSED: bool = false;
        const SAID: bool = true;
        const AROUND: bool = false;
        match self {
            Body::UserMessage { .. } => Kind::of(UserMessage, Fact, FOUND, SAID),
            Body::MessageStarted => Kind::of(AgentMessage, Fact, PASSED, SAID),
            Body::MessageDelta => Kind::of(AgentMessage, Delta, PASSED, SAID),
            Body::MessageDone { .. } => Kind::of(AgentMessage, Final, FOUND, SAID),
            Body::ReasoningStarted => Kind::of(Reasoning, Fact, PASSED, SAID),
            Body::ReasoningDelta => Kind::of(Reasoning, Delta, PASSED, SAID),
            Body::ReasoningDone { .. } => Kind::of(Reasoning, Final, FOUND, SAID),
            Body::PlanStarted => Kind::of(Plan, Fact, PASSED, SAID),
            Body::PlanDelta => Kind::of(Plan, Delta, PASSED, SAID),
            Body::PlanUpdated { .. } => Kind::of(Plan, Final, FOUND, SAID),
            Body::ToolStarted(_) => Kind::of(ToolCommand, Fact, FOUND, SAID),
            Body::ToolOutputDelta => Kind::of(ToolCommand, Delta, PASSED, SAID),
            Body::ToolUpdated(_) => Kind::of(ToolCommand, Fact, PASSED, SAID),
            Body::ToolFinished(_) => Kind::of(ToolCommand, Final, FOUND, SAID),
            Body::FileDiff(_) => Kind::of(FileDiff, Fact, PASSED, SAID),
            Body::TurnDiff => Kind::of(FileDiff, Fact, PASSED, SAID),
            Body::ApprovalRequested(_) => Kind::of(ApprovalRequest, Fact, PASSED, SAID),
            Body::ApprovalDecided { .. } => Kind::of(ApprovalRequest, Fact, PASSED, SAID),
            Body::ApprovalExpired { .. } => Kind::of(ApprovalRequest, Fact, PASSED, SAID),
            Body::QuestionAsked(_) => Kind::of(UserInputRequest, Fact, PASSED, SAID),
            Body::QuestionAnswered { .. } => Kind::of(UserInputRequest, Fact, PASSED, SAID),
            Body::QuestionExpired { .. } => Kind::of(UserInputRequest, Fact, PASSED, SAID),
            Body::DelegationStarted(_) => Kind::of(ToolCommand, Fact, PASSED, SAID),
            Body::DelegationWaiting { .. } => Kind::of(ToolCommand, Fact, PASSED, SAID),
            Body::DelegationFinished(_) => Kind::of(ToolCommand, Fact, PASSED, SAID),
            Body::TurnStarted { .. } => Kind::of(LifecycleStatus, Fact, PASSED, SAID),
            Body::TurnFinished(_) => Kind::of(LifecycleStatus, Fact, PASSED, SAID),
            Body::SessionOpened(_) => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::SessionReady(_) => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::SessionSleeping(_) => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::SessionRevived { .. } => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::SessionHandedOff => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::SessionClosed => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::SessionError(_) => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::Notice { .. } => Kind::of(LifecycleStatus, Fact, PASSED, AROUND),
            Body::PromptQueued { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::PromptCancelled { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::PromptEdited { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::QueueReordered { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::QueueHeld => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::QueueSent { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::TitleChanged => Kind::of(Metadata, Fact, FOUND, AROUND),
            Body::ModelChanged { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::EffortChanged { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::ModeChanged { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::GitChanged(_) => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::CommandsListed { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::UsageUpdated(_) => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::UsageLimited(_) => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::Imported { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::ArchiveChanged { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
            Body::Raw { .. } => Kind::of(Metadata, Fact, PASSED, AROUND),
        }
    }

    /// The public category.
    pub fn category(&self) -> Category {
        self.kind().category
    }

    /// The role of the event in its item.
    pub fn growth(&self) -> Growth {
        self.kind().growth
    }

    /// Whether search covers the text.
    pub fn is_searchable(&self) -> bool {
        self.kind().searchable
    }
}
