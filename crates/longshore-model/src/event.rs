//! The event: an immutable fact with a seq, and the closed set of things that can be a fact.
//!
//! An event's JSON is public contract. A client that knows nothing of a [`Body`] still draws it from `category`
//! and `text`; a client that knows more reads `type` and `payload`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::approval::{ApprovalDecision, ApprovalRequest, QuestionAnswer, QuestionRequest};
use crate::capability::{Mode, SlashCommand};
use crate::command::Attachment;
use crate::id::{ApprovalId, EventId, ItemId, PromptId, QuestionId, Seq, SessionId, TurnId};
use crate::item::{FileDiff, PlanStep, ToolCall, ToolOutcome};
use crate::lifecycle::{
    Delegation, DelegationEnd, GitState, Opened, Ready, SessionFault, Sleep, TurnEnd, UsageLimit,
};
use crate::time::Timestamp;
use crate::usage::Usage;

/// The name of an agent, as in `codex`: what the public contract calls the provider.
pub type AgentName = Arc<str>;

/// A frame of an agent's wire, as it came.
pub type Raw = Arc<str>;

/// Who did something: `owner`, the label of a device, `hub`.
pub type Actor = String;

/// One immutable fact of one session.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its place in the session.
    pub seq: Seq,
    /// The session it is a fact of.
    #[serde(rename = "sessionId")]
    pub session: SessionId,
    /// The agent of that session.
    #[serde(rename = "provider")]
    pub agent: AgentName,
    /// When the hub learned of it.
    #[serde(rename = "timestamp")]
    pub at: Timestamp,
    /// The turn it belongs to.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// The item it tells of.
    #[serde(default)]
    pub item: Option<ItemId>,
    /// The event that it follows from, where that is another than the one before.
    #[serde(default, rename = "parentEventId")]
    pub parent: Option<EventId>,
    /// What a person would read of it: the text itself, a delta of it, a reason, an output.
    #[serde(default)]
    pub text: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

impl Event {
    /// The name of this event in one word.
    pub fn id(&self) -> EventId {
        EventId::of(self.session, self.seq, self.at)
    }

    /// The text, empty when there is none.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// The public JSON of an [`Event`]: the fields of the contract in their order.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Event")]
pub struct EventJson<'a> {
    /// Its place in the session: dense, from 1.
    seq: Seq,
    /// Its name.
    event_id: EventId,
    /// The session it is a fact of.
    session_id: SessionId,
    /// The agent of that session.
    provider: &'a str,
    /// One of ten, for clients that know no types.
    category: Category,
    /// When the hub learned of it, RFC 3339.
    timestamp: Timestamp,
    /// The turn it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
    /// The item it tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemId>,
    /// The event that it follows from, where that is another than the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_event_id: Option<EventId>,
    /// What a person would read of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// `type` and `payload`.
    #[serde(flatten)]
    body: &'a Body,
    /// The agent's own frame, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_event: Option<serde_json::Value>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EventJson {
            seq: self.seq,
            event_id: self.id(),
            session_id: self.session,
            provider: &self.agent,
            category: self.body.category(),
            timestamp: self.at,
            turn: self.turn,
            item: self.item,
            parent_event_id: self.parent,
            text: self.text.as_deref(),
            body: &self.body,
            raw_event: None,
        }
        .serialize(serializer)
    }
}

/// An event that has no seq yet: what a driver says happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The item it tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// What a person would read of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What happened.
    pub body: Body,
    /// The frame that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

impl Draft {
    /// A draft of nothing but its body.
    pub fn new(body: Body) -> Self {
        Self { turn: None, item: None, text: None, body, raw: None }
    }

    /// With its turn.
    #[must_use]
    pub fn turn(mut self, turn: impl Into<Option<TurnId>>) -> Self {
        self.turn = turn.into();
        self
    }

    /// With its item.
    #[must_use]
    pub fn item(mut self, item: impl Into<Option<ItemId>>) -> Self {
        self.item = item.into();
        self
    }

    /// With its text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// With the frame that said so.
    #[must_use]
    pub fn raw(mut self, raw: impl Into<Option<Raw>>) -> Self {
        self.raw = raw.into();
        self
    }
}

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

/// How an event stands to its item, which is all that compaction needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// A piece that the item's final event repeats; may go once that one is there.
    Delta,
    /// Carries the whole content of its item.
    Final,
    /// A fact of its own.
    Fact,
}

/// What happened. Closed: whoever draws or stores events matches all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "payload", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Body {
    /// A person's message reached the agent. Text: the message.
    UserMessage {
        /// The prompt that it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptId>,
        /// What came with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// Whose it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Actor>,
    },

    /// The agent begins to speak.
    MessageStarted,
    /// Text: what it adds.
    MessageDelta,
    /// Text: the whole message.
    MessageDone {
        /// Whether it speaks on the way or concludes, where the agent says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
        /// The agent never finished it; this is what there was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },

    /// The agent begins to think.
    ReasoningStarted,
    /// Text: what it adds.
    ReasoningDelta,
    /// Text: the whole thought.
    ReasoningDone {
        /// The agent never finished it; this is what there was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },

    /// The agent begins to write a plan.
    PlanStarted,
    /// Text: what a written plan grows by.
    PlanDelta,
    /// The plan as it now stands. Text: the written plan, or why it changed.
    PlanUpdated {
        /// Its steps, where the agent keeps a list.
        steps: Vec<PlanStep>,
    },

    /// The agent calls a tool. Text: what it does, in a line.
    ToolStarted(ToolCall),
    /// Text: what its output grows by.
    ToolOutputDelta,
    /// More is known of the call than when it started.
    ToolUpdated(ToolCall),
    /// The call ended. Text: its whole output.
    ToolFinished(ToolOutcome),

    /// Files change, or would. On a tool's item: what the tool changes. Otherwise an item of its own.
    FileDiff(FileDiff),
    /// Text: the unified diff of everything that the turn has changed so far.
    TurnDiff,

    /// The agent waits for a yes. Text: its reason.
    ApprovalRequested(ApprovalRequest),
    /// Somebody decided.
    ApprovalDecided {
        /// Which one.
        approval: ApprovalId,
        /// How.
        #[serde(flatten)]
        decision: ApprovalDecision,
    },
    /// Nobody can decide any more. Text: why.
    ApprovalExpired {
        /// Which one.
        approval: ApprovalId,
    },

    /// The agent waits for data. Text: the question.
    QuestionAsked(QuestionRequest),
    /// Somebody answered.
    QuestionAnswered {
        /// Which one.
        question: QuestionId,
        /// What.
        #[serde(flatten)]
        answer: QuestionAnswer,
    },
    /// Nobody can answer any more. Text: why.
    QuestionExpired {
        /// Which one.
        question: QuestionId,
    },

    /// Work was handed to another session. Text: the task.
    DelegationStarted(Delegation),
    /// That work ended. Text: its result.
    DelegationFinished(DelegationEnd),

    /// A turn begins.
    TurnStarted {
        /// The prompt that began it; none when the agent began by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptId>,
    },
    /// A turn ended. Text: the error, when it failed.
    TurnFinished(TurnEnd),

    /// The first event of every session.
    SessionOpened(Opened),
    /// The agent listens.
    SessionReady(Ready),
    /// The agent's process is gone; the session stays. Text: why.
    SessionSleeping(Sleep),
    /// The agent is back and remembers.
    SessionRevived {
        /// Whether it read its own memory or was told what our log holds.
        from_log: bool,
    },
    /// The session goes on in the agent's own terminal. Text: the command.
    SessionHandedOff,
    /// The session is over. Text: why.
    SessionClosed,
    /// Something went wrong that ends no turn. Text: what.
    SessionError(SessionFault),
    /// Something worth a line: a retry, a warning. Text: the line.
    Notice {
        /// How loud.
        level: NoticeLevel,
    },

    /// A prompt waits for its turn. Text: the prompt.
    PromptQueued {
        /// Its name.
        prompt: PromptId,
        /// The turn that it will begin, or steer.
        turn_id: TurnId,
        /// What comes with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The client's own name for it: the same key twice is one prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Ahead of those that wait already.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        first: bool,
        /// Whose it is.
        by: Actor,
    },
    /// A waiting prompt was taken back.
    PromptCancelled {
        /// Which one.
        prompt: PromptId,
    },
    /// A waiting prompt was rewritten. Text: how it reads now.
    PromptEdited {
        /// Which one.
        prompt: PromptId,
    },
    /// The waiting prompts stand in a new order.
    QueueReordered {
        /// All of them, the next one first.
        order: Vec<PromptId>,
    },

    /// Text: the title.
    TitleChanged,
    /// The agent thinks with another model.
    ModelChanged {
        /// Its name.
        model: String,
    },
    /// The agent may do more, or less, without asking.
    ModeChanged {
        /// What it may do now.
        mode: Mode,
    },
    /// Where the work tree stands.
    GitChanged(GitState),
    /// The slash commands that the agent knows.
    CommandsListed {
        /// All of them.
        commands: Vec<SlashCommand>,
    },
    /// What the session has used so far.
    UsageUpdated(Usage),
    /// How much of an account's allowance is gone.
    UsageLimited(UsageLimit),
    /// Put away, or taken out again.
    ArchiveChanged {
        /// Whether it is put away now.
        archived: bool,
    },

    /// A frame that says nothing we have a word for. It is kept, not drawn.
    Raw {
        /// What the agent calls it.
        kind: String,
        /// What was wrong with it, if anything was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<RawFault>,
    },
}

/// Whether a message speaks on the way or concludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum MessagePhase {
    Commentary,
    FinalAnswer,
}

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// Why a frame could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawFault {
    /// It is no JSON of the expected shape.
    Malformed,
    /// It is no UTF-8; what is kept has the bad bytes replaced.
    InvalidUtf8,
    /// It was longer than a line may be; what is kept is its beginning.
    Truncated,
}

impl Body {
    /// The public category.
    pub fn category(&self) -> Category {
        match self {
            Body::UserMessage { .. } => Category::UserMessage,
            Body::MessageStarted | Body::MessageDelta | Body::MessageDone { .. } => Category::AgentMessage,
            Body::ReasoningStarted | Body::ReasoningDelta | Body::ReasoningDone { .. } => Category::Reasoning,
            Body::PlanStarted | Body::PlanDelta | Body::PlanUpdated { .. } => Category::Plan,
            Body::ToolStarted(_)
            | Body::ToolOutputDelta
            | Body::ToolUpdated(_)
            | Body::ToolFinished(_)
            | Body::DelegationStarted(_)
            | Body::DelegationFinished(_) => Category::ToolCommand,
            Body::FileDiff(_) | Body::TurnDiff => Category::FileDiff,
            Body::ApprovalRequested(_) | Body::ApprovalDecided { .. } | Body::ApprovalExpired { .. } => {
                Category::ApprovalRequest
            }
            Body::QuestionAsked(_) | Body::QuestionAnswered { .. } | Body::QuestionExpired { .. } => {
                Category::UserInputRequest
            }
            Body::TurnStarted { .. }
            | Body::TurnFinished(_)
            | Body::SessionOpened(_)
            | Body::SessionReady(_)
            | Body::SessionSleeping(_)
            | Body::SessionRevived { .. }
            | Body::SessionHandedOff
            | Body::SessionClosed
            | Body::SessionError(_)
            | Body::Notice { .. } => Category::LifecycleStatus,
            Body::PromptQueued { .. }
            | Body::PromptCancelled { .. }
            | Body::PromptEdited { .. }
            | Body::QueueReordered { .. }
            | Body::TitleChanged
            | Body::ModelChanged { .. }
            | Body::ModeChanged { .. }
            | Body::GitChanged(_)
            | Body::CommandsListed { .. }
            | Body::UsageUpdated(_)
            | Body::UsageLimited(_)
            | Body::ArchiveChanged { .. }
            | Body::Raw { .. } => Category::Metadata,
        }
    }

    /// How it stands to its item.
    pub fn growth(&self) -> Growth {
        match self {
            Body::MessageDelta | Body::ReasoningDelta | Body::PlanDelta | Body::ToolOutputDelta => {
                Growth::Delta
            }
            Body::MessageDone { .. }
            | Body::ReasoningDone { .. }
            | Body::PlanUpdated { .. }
            | Body::ToolFinished(_) => Growth::Final,
            Body::UserMessage { .. }
            | Body::MessageStarted
            | Body::ReasoningStarted
            | Body::PlanStarted
            | Body::ToolStarted(_)
            | Body::ToolUpdated(_)
            | Body::FileDiff(_)
            | Body::TurnDiff
            | Body::ApprovalRequested(_)
            | Body::ApprovalDecided { .. }
            | Body::ApprovalExpired { .. }
            | Body::QuestionAsked(_)
            | Body::QuestionAnswered { .. }
            | Body::QuestionExpired { .. }
            | Body::DelegationStarted(_)
            | Body::DelegationFinished(_)
            | Body::TurnStarted { .. }
            | Body::TurnFinished(_)
            | Body::SessionOpened(_)
            | Body::SessionReady(_)
            | Body::SessionSleeping(_)
            | Body::SessionRevived { .. }
            | Body::SessionHandedOff
            | Body::SessionClosed
            | Body::SessionError(_)
            | Body::Notice { .. }
            | Body::PromptQueued { .. }
            | Body::PromptCancelled { .. }
            | Body::PromptEdited { .. }
            | Body::QueueReordered { .. }
            | Body::TitleChanged
            | Body::ModelChanged { .. }
            | Body::ModeChanged { .. }
            | Body::GitChanged(_)
            | Body::CommandsListed { .. }
            | Body::UsageUpdated(_)
            | Body::UsageLimited(_)
            | Body::ArchiveChanged { .. }
            | Body::Raw { .. } => Growth::Fact,
        }
    }

    /// Whether its text is worth finding again: what people and agents said, what tools ran and printed.
    pub fn is_searchable(&self) -> bool {
        match self {
            Body::UserMessage { .. }
            | Body::MessageDone { .. }
            | Body::ReasoningDone { .. }
            | Body::PlanUpdated { .. }
            | Body::ToolStarted(_)
            | Body::ToolFinished(_)
            | Body::TitleChanged => true,
            Body::MessageStarted
            | Body::MessageDelta
            | Body::ReasoningStarted
            | Body::ReasoningDelta
            | Body::PlanStarted
            | Body::PlanDelta
            | Body::ToolOutputDelta
            | Body::ToolUpdated(_)
            | Body::FileDiff(_)
            | Body::TurnDiff
            | Body::ApprovalRequested(_)
            | Body::ApprovalDecided { .. }
            | Body::ApprovalExpired { .. }
            | Body::QuestionAsked(_)
            | Body::QuestionAnswered { .. }
            | Body::QuestionExpired { .. }
            | Body::DelegationStarted(_)
            | Body::DelegationFinished(_)
            | Body::TurnStarted { .. }
            | Body::TurnFinished(_)
            | Body::SessionOpened(_)
            | Body::SessionReady(_)
            | Body::SessionSleeping(_)
            | Body::SessionRevived { .. }
            | Body::SessionHandedOff
            | Body::SessionClosed
            | Body::SessionError(_)
            | Body::Notice { .. }
            | Body::PromptQueued { .. }
            | Body::PromptCancelled { .. }
            | Body::PromptEdited { .. }
            | Body::QueueReordered { .. }
            | Body::ModelChanged { .. }
            | Body::ModeChanged { .. }
            | Body::GitChanged(_)
            | Body::CommandsListed { .. }
            | Body::UsageUpdated(_)
            | Body::UsageLimited(_)
            | Body::ArchiveChanged { .. }
            | Body::Raw { .. } => false,
        }
    }
}
