//! What is known of the conversation, of those of its sub-agents, and of their calls of tools.

use longshore_model::id::{ItemId, SessionId, TurnId};
use longshore_model::item::ToolCall;

/// The conversation itself among all that are held.
pub(super) const MAIN: usize = 0;

/// A conversation: the one that the process is for, or that of a sub-agent.
#[derive(Debug)]
pub(super) struct ClaudeConversation {
    pub session: SessionId,
    /// The turn that runs, in our name for it.
    pub turn: Option<TurnId>,
    pub stream: Stream,
    /// The last thing that was said, which is what a delegation comes to.
    pub last_message: String,
    /// The item that the list of steps is, and the turn that it was last told in.
    pub plan: Option<(Option<TurnId>, ItemId)>,
    /// Of a sub-agent: who gave it its work.
    pub parent: Option<ClaudeParent>,
}

/// Who gave a sub-agent its work, and by which call.
#[derive(Clone, Debug)]
pub(super) struct ClaudeParent {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub item: Option<ItemId>,
    /// Their name for the work, by which it can be stopped.
    pub task: Option<String>,
    /// Whether that work goes on.
    pub working: bool,
    /// Whether the turn that gave the work goes on without it.
    pub background: bool,
    /// Whether what it was asked has been told.
    pub prompted: bool,
}

/// The message that the model is writing.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Its name.
    pub message: String,
    pub blocks: Vec<Growing>,
}

/// A block that grows.
#[derive(Debug)]
pub(super) struct Growing {
    pub index: u64,
    pub item: ItemId,
    pub kind: BlockKind,
    /// Its whole text has come.
    pub whole: bool,
}

/// What kind of block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thought,
}

/// A call of a tool that has no result yet.
#[derive(Debug)]
pub(super) struct ClaudeToolCall {
    /// The conversation that it is of.
    pub conversation: usize,
    pub turn: Option<TurnId>,
    pub item: ItemId,
    /// Their name for the tool.
    pub name: String,
    pub call: ToolCall,
    /// Somebody said no.
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
    /// The block that grows at this place.
    pub(super) fn growing(&self, index: u64, kind: BlockKind) -> Option<ItemId> {
        let of = |block: &&Growing| block.index == index && block.kind == kind && !block.whole;
        self.blocks.iter().rev().find(of).map(|block| block.item)
    }

    /// The whole text of a block of this message has come: of the oldest that still grows.
    pub(super) fn settle(&mut self, message: &str, kind: BlockKind) -> Option<ItemId> {
        if self.message != message {
            return None;
        }
        let block = self.blocks.iter_mut().find(|block| block.kind == kind && !block.whole)?;
        block.whole = true;
        Some(block.item)
    }
}
