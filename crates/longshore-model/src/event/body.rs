//! The bodies of events: the closed set of what can happen.

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

/// What happened. The set is closed, so code that draws or stores events handles every variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "payload", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Body {
    /// A person's message reached the agent. Text: the message.
    UserMessage {
        /// The prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptId>,
        /// The attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// Who sent the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Author>,
    },

    /// The agent begins a message.
    MessageStarted,
    /// Text: the next piece of the message.
    MessageDelta,
    /// Text: the whole message.
    MessageDone {
        /// Whether the message is an interim comment or the final answer, if the agent says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
        /// The agent never finished the message; the text is what there was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },

    /// The agent begins a thought.
    ReasoningStarted,
    /// Text: the next piece of the thought.
    ReasoningDelta,
    /// Text: the whole thought.
    ReasoningDone {
        /// The agent never finished the thought; the text is what there was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },

    /// The agent begins a written plan.
    PlanStarted,
    /// Text: the next piece of the written plan.
    PlanDelta,
    /// The current plan. Text: the written plan, or why it changed.
    PlanUpdated {
        /// The steps, if the agent keeps a list.
        steps: Vec<PlanStep>,
    },

    /// The agent calls a tool. Text: the call in one line.
    ToolStarted(ToolCall),
    /// Text: the next piece of the output.
    ToolOutputDelta,
    /// The agent reports more about the call than at its start.
    ToolUpdated(ToolCall),
    /// The call ended. Text: the whole output.
    ToolFinished(ToolOutcome),

    /// Files change, or would change. With the item of a tool: the changes of that tool. Otherwise the diff
    /// has its own item.
    FileDiff(FileDiff),
    /// Text: the unified diff of everything that the turn has changed so far.
    TurnDiff,

    /// The agent waits for permission. Text: the agent's reason.
    ApprovalRequested(ApprovalRequest),
    /// A person decided an approval.
    ApprovalDecided {
        /// The approval.
        approval: ApprovalId,
        /// The decision.
        #[serde(flatten)]
        decision: ApprovalDecision,
    },
    /// Nobody can decide the approval any more. Text: why.
    ApprovalExpired {
        /// The approval.
        approval: ApprovalId,
    },

    /// The agent waits for data. Text: the question.
    QuestionAsked(QuestionRequest),
    /// A person answered a question.
    QuestionAnswered {
        /// The question.
        question: QuestionId,
        /// The answer.
        #[serde(flatten)]
        answer: QuestionAnswer,
    },
    /// Nobody can answer the question any more. Text: why.
    QuestionExpired {
        /// The question.
        question: QuestionId,
    },

    /// The session gave work to another session. Text: the task.
    DelegationStarted(Delegation),
    /// The other session begins or ends to wait for a person.
    DelegationWaiting {
        /// The other session.
        child: SessionId,
        /// Whether the other session waits now.
        waiting: bool,
    },
    /// The delegated work ended. Text: its result.
    DelegationFinished(DelegationEnd),

    /// A turn begins.
    TurnStarted {
        /// The prompt that began the turn; none if the agent began by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptId>,
    },
    /// A turn ended. Text: the error, if the turn failed.
    TurnFinished(TurnEnd),

    /// The first event of every session.
    SessionOpened(Box<Opened>),
    /// The agent is ready for prompts.
    SessionReady(Ready),
    /// The agent's process is gone; the session stays. Text: why.
    SessionSleeping(Sleep),
    /// The agent runs again and remembers the conversation.
    SessionRevived {
        /// Whether the agent got what the log holds, instead of reading its own memory.
        from_log: bool,
    },
    /// The session continues in the agent's own terminal. Text: the command.
    SessionHandedOff,
    /// The session is closed. Text: why.
    SessionClosed,
    /// An error that ends no turn. Text: the error.
    SessionError(SessionFault),
    /// A retry, a warning, or another message for people. Text: the message. A notice with an item replaces
    /// the previous notice of that item.
    Notice {
        /// How important the notice is.
        level: NoticeLevel,
    },

    /// A prompt waits for its turn. Text: the prompt.
    PromptQueued {
        /// The id of the prompt.
        prompt: PromptId,
        /// The turn that the prompt will begin or steer.
        turn_id: TurnId,
        /// The attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The client's own name for the prompt. Two prompts with the same key are one prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Whether the prompt goes ahead of the waiting prompts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        first: bool,
        /// Who sent the prompt.
        by: Author,
    },
    /// A person took a waiting prompt back.
    PromptCancelled {
        /// The prompt.
        prompt: PromptId,
    },
    /// A person changed the text of a waiting prompt. Text: the new text.
    PromptEdited {
        /// The prompt.
        prompt: PromptId,
    },
    /// The waiting prompts have a new order.
    QueueReordered {
        /// All waiting prompts, the next one first.
        order: Vec<PromptId>,
    },
    /// All waiting prompts are held until a person releases them. Text: why.
    QueueHeld,
    /// Held prompts are released. The session sends them as soon as the agent is free.
    QueueSent {
        /// The released prompts.
        prompts: Vec<PromptId>,
    },

    /// Text: the title.
    TitleChanged,
    /// The agent uses another model.
    ModelChanged {
        /// The model.
        model: String,
    },
    /// The agent thinks harder, or less hard.
    EffortChanged {
        /// The effort, in the agent's words; empty if nobody else can choose it.
        effort: String,
    },
    /// The agent may do more, or less, without asking.
    ModeChanged {
        /// The new mode.
        mode: Mode,
    },
    /// The git state of the work tree changed.
    GitChanged(GitState),
    /// The agent listed its slash commands.
    CommandsListed {
        /// All slash commands.
        commands: Vec<SlashCommand>,
    },
    /// The session's usage so far.
    UsageUpdated(Usage),
    /// How much of an account's allowance is used.
    UsageLimited(UsageLimit),
    /// The hub imported events from the agent's own record.
    Imported {
        /// How much of the record is imported.
        until: u64,
    },
    /// The session was archived, or restored.
    ArchiveChanged {
        /// Whether the session is archived now.
        archived: bool,
    },

    /// A frame for which the vocabulary has no word. The log keeps it; clients do not draw it.
    Raw {
        /// The agent's name of the frame.
        kind: String,
        /// What is wrong with the frame, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<RawFault>,
    },
}

/// Whether a message is an interim comment or the final answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum MessagePhase {
    Commentary,
    FinalAnswer,
}

/// How important a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// Why the driver could not read a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawFault {
    /// The frame is no JSON of the expected shape.
    Malformed,
    /// The frame is not UTF-8. The kept text has the bad bytes replaced.
    InvalidUtf8,
    /// The frame was longer than a line may be. The kept text is its beginning.
    Truncated,
}
