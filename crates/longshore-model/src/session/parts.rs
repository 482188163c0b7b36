//! What a session is made of, as far as nobody outside needs to know.

use crate::command::Attachment;
use crate::id::{ItemId, PromptId, Seq, TurnId};
use crate::lifecycle::SleepCause;
use crate::time::Timestamp;

/// Where the agent's process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentState {
    Asleep,
    Starting {
        /// It is told what the log holds, and not left to remember by itself.
        from_log: bool,
    },
    Ready,
    /// It was told to end, for that reason, and has not ended yet.
    Ending(SleepCause),
}

/// Something that an agent asks and that waits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskEntry<T> {
    /// As it was asked.
    pub(super) whole: T,
    /// As a row has it. It is made once: rows are written with every change.
    pub(super) brief: T,
    /// How large it is.
    pub(super) bytes: usize,
}

/// The turn that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunningTurn {
    pub(super) id: TurnId,
    pub(super) started: Timestamp,
}

/// What a person said that the agent has not reacted to yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unheard {
    pub(super) prompt: PromptId,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

/// Work that was handed to another session and has not ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OpenDelegation {
    pub(super) turn: Option<TurnId>,
    pub(super) item: Option<ItemId>,
    pub(super) waiting: bool,
}

/// An item that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpenItem {
    pub(super) turn: Option<TurnId>,
    pub(super) kind: OpenKind,
    pub(super) text: String,
    /// How many bytes were taken down of what it printed.
    pub(super) printed: usize,
    pub(super) since: Timestamp,
    /// How long it waited for somebody to decide.
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

/// What became of an approval or a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolution<T> {
    Answered(T),
    Expired(String),
}

/// The prompt that a key of a client stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PromptReceipt {
    pub(super) prompt: PromptId,
    pub(super) turn: TurnId,
    pub(super) seq: Seq,
}
