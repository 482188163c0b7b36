//! The parts of a session's state that only the session knows.

use crate::command::Attachment;
use crate::id::{EventId, ItemId, PromptId, Seq, TurnId};
use crate::info::QueuedPrompt;
use crate::lifecycle::SleepCause;
use crate::time::Timestamp;

/// The state of the agent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentState {
    Asleep,
    Starting {
        /// Whether the agent gets what the log holds, instead of using its own memory.
        from_log: bool,
    },
    Ready,
    /// The agent was told to end for this reason, and has not ended yet.
    Ending(SleepCause),
}

/// A waiting approval or question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskEntry<T> {
    /// The whole request.
    pub(super) whole: T,
    /// The request as a row shows it, made once: the hub writes rows at every change.
    pub(super) brief: T,
    /// The size of the request.
    pub(super) bytes: usize,
}

/// The running turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunningTurn {
    pub(super) id: TurnId,
    pub(super) begun: EventId,
    pub(super) started: Timestamp,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WaitingPrompt {
    pub(super) queued: QueuedPrompt,
    /// The event that queued it.
    pub(super) event: EventId,
}

/// A prompt to which the agent has not reacted yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnheardPrompt {
    pub(super) prompt: PromptId,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

/// Delegated work that has not ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OpenDelegation {
    pub(super) begun: EventId,
    pub(super) since: Seq,
    pub(super) turn: Option<TurnId>,
    pub(super) item: Option<ItemId>,
    pub(super) waiting: bool,
}

/// An item that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpenItem {
    pub(super) begun: EventId,
    pub(super) turn: Option<TurnId>,
    pub(super) kind: OpenKind,
    pub(super) text: String,
    /// How many bytes of its output the log has kept.
    pub(super) printed: usize,
    pub(super) since: Timestamp,
    /// How long the item waited for a decision.
    pub(super) waited_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenKind {
    Message,
    Reasoning,
    Plan,
    Tool,
    Diff,
}

/// The outcome of an approval or a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolution<T> {
    Answered(T),
    Expired(String),
}

/// The prompt that a client's key names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PromptReceipt {
    pub(super) prompt: PromptId,
    pub(super) turn: TurnId,
    pub(super) seq: Seq,
    /// The prompt's turn was cut before the agent reacted, so a client may use the key again.
    pub(super) lost: bool,
}
