//! What can happen: the closed set of bodies that an event can have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Author;
use crate::approval::{ApprovalDecision, ApprovalRequest, QuestionAnswer, QuestionRequest};
use crate::capability::{Mode, SlashCommand};
use crate::command::Attachment;
use crate::id::{ApprovalId, PromptId, QuestionId, SessionId, TurnId};
use crate::item::{FileDiff, PlanStep, ToolCall, ToolOutcome};
use crate::lifecycle::{
    Delegation, DelegationEnd, GitState, Opened, Ready, SessionFault, Sleep, TurnEnd, UsageLimit,
};
use crate::usage::Usage;

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
        by: Option<Author>,
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
    /// The session that does that work waits for a person, or no longer.
    DelegationWaiting {
        /// The session.
        child: SessionId,
        /// Whether it waits now.
        waiting: bool,
    },
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
    SessionOpened(Box<Opened>),
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
    /// Something worth a line: a retry, a warning. Text: the line. With an item it goes on: the newest line takes the place of
    /// the one before.
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
        by: Author,
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
    /// All prompts that wait are held until a person sends them on. Text: why.
    QueueHeld,
    /// Prompts that were held are sent on, as soon as the agent is free.
    QueueSent {
        /// Which ones.
        prompts: Vec<PromptId>,
    },

    /// Text: the title.
    TitleChanged,
    /// The agent thinks with another model.
    ModelChanged {
        /// Its name.
        model: String,
    },
    /// The agent thinks more, or less.
    EffortChanged {
        /// How hard, in its own words; empty when nobody else can choose it.
        effort: String,
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
    /// What was said elsewhere has been taken in from the agent's own record.
    Imported {
        /// How much of that record.
        until: u64,
    },
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
