//! The state of the conversation, of its sub-agents' conversations, and of their tool calls.

use longshore_model::id::{ItemId, SessionId, TurnId};
use longshore_model::item::ToolCall;

/// The index of the main conversation.
pub(super) const MAIN: usize = 0;

/// A conversation: the main conversation of the process, or the conversation of a sub-agent.
#[derive(Debug)]
pub(super) struct ClaudeConversation {
    pub session: SessionId,
    /// The running turn, by our id.
    pub turn: Option<TurnId>,
    pub stream: Stream,
    /// The last message, which is the result of a delegation.
    pub last_message: String,
    /// The item of the list of steps, and the turn that last reported it.
    pub plan: Option<(Option<TurnId>, ItemId)>,
    /// For a sub-agent: who delegated work to it.
    pub parent: Option<ClaudeParent>,
}

/// The conversation that delegated work to a sub-agent, and the call.
#[derive(Clone, Debug)]
pub(super) struct ClaudeParent {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub item: Option<ItemId>,
    /// Claude's id of the work, with which the driver can stop it.
    pub task: Option<String>,
    /// Whether the work continues.
    pub working: bool,
    /// Whether the turn that delegated the work continues without it.
    pub background: bool,
    /// Whether the driver has emitted the sub-agent's prompt.
    pub prompted: bool,
}

/// The message that the model writes now.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The id of the message.
    pub message: String,
    pub blocks: Vec<Growing>,
}

/// A growing block.
#[derive(Debug)]
pub(super) struct Growing {
    pub index: u64,
    pub item: ItemId,
    pub kind: BlockKind,
    /// Whether the whole text has arrived.
    pub whole: bool,
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thought,
}

/// A tool call without a result.
#[derive(Debug)]
pub(super) struct ClaudeToolCall {
    /// The conversation of the call.
    pub conversation: usize,
    pub turn: Option<TurnId>,
    pub item: ItemId,
    /// Claude's name of the tool.
    pub name: String,
    pub call: ToolCall,
    /// Whether a person denied the call.
    pub denied: bool,
}

impl ClaudeConversation {
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            turn: None,
            stream: Stream::default(),
            last_message: String::new(),
            plan: None,
            parent: None,
        }
    }
}

impl Stream {
    /// The growing block at this index.
    pub(super) fn growing(&self, index: u64, kind: BlockKind) -> Option<ItemId> {
        let of = |block: &&Growing| block.index == index && block.kind == kind && !block.whole;
        self.blocks.iter().rev().find(of).map(|block| block.item)
    }

    /// The whole text of a block of this message has arrived. This is the oldest block that still grows.
    pub(super) fn settle(&mut self, message: &str, kind: BlockKind) -> Option<ItemId> {
        if self.message != message {
            return None;
        }
        let block = self.blocks.iter_mut().find(|block| block.kind == kind && !block.whole)?;
        block.whole = true;
        Some(block.item)
    }
}
