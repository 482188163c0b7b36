//! The state of each thread: its turns, their items, and our ids for them.

use std::collections::HashMap;

use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::item::{FileChange, ToolCall};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;
use serde_json::Value;

use super::terminals::Farewell;

/// The most finished turns that the driver remembers because of commands that still run.
const OVER_LIMIT: usize = 64;

/// The most bytes that the driver holds of a growing text, in case the text is cut short.
const TEXT_LIMIT: usize = 8 << 20;

/// A thread of Codex that is a session of ours.
#[derive(Debug)]
pub(super) struct Thread {
    pub session: SessionId,
    pub cwd: String,
    pub mode: Mode,
    pub model: Option<String>,
    /// The effort of the agent. Every turn repeats it.
    pub effort: Option<String>,
    /// Whether mode or model changed since the last turn began, so that the next turn must contain them.
    pub changed: bool,
    /// Whether the last turn was a planning turn. Codex continues to plan until it is told otherwise.
    pub planning: bool,
    /// Whether Codex has the thread in memory. Otherwise the driver must resume the thread first.
    pub loaded: bool,
    /// Whether the thread has a record of its own, which exists only after its first turn began.
    pub recorded: bool,
    /// A title that waits for the record.
    pub untold_title: Option<String>,
    /// The title that was last set or reported.
    pub title: Option<String>,
    pub archived: bool,
    /// The transcript that the first prompt must contain.
    pub story: Option<String>,
    /// The turns, by Codex's ids.
    pub turns: HashMap<String, CodexTurn>,
    /// Codex's id of the running turn.
    pub active: Option<String>,
    /// The usage of the thread so far.
    pub usage: Option<Usage>,
    /// The thread that delegated work to this thread.
    pub parent: Option<CodexParent>,
    /// Calls that will spawn a thread, and have not named it yet.
    pub spawning: Vec<Spawn>,
    /// Commands for a turn whose Codex id is not known yet.
    pub held: Vec<AgentCommand>,
}

/// The thread that delegated work to a thread, and the call.
#[derive(Clone, Debug)]
pub(super) struct CodexParent {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub item: ItemId,
    /// Whether the work continues.
    pub working: bool,
}

/// A call that will spawn a thread.
#[derive(Clone, Debug)]
pub(super) struct Spawn {
    pub turn: Option<TurnId>,
    pub item: ItemId,
    pub task: String,
    pub model: Option<String>,
}

/// A turn of Codex.
#[derive(Debug, Default)]
pub(super) struct CodexTurn {
    /// Our id; none for a turn of which only remains are known.
    pub id: Option<TurnId>,
    /// Whether a prompt began the turn. The session has recorded this prompt completely.
    pub prompted: bool,
    pub over: bool,
    /// Whether Codex has reported that it began with the turn. Before that, it refuses to interrupt the turn.
    pub begun: bool,
    /// Whether Codex refused that, so that the driver interrupts the turn once it has begun.
    pub stops_when_begun: bool,
    /// The items, by Codex's ids.
    pub items: HashMap<String, CodexItem>,
    /// The item of the turn's list of steps.
    pub plan: Option<ItemId>,
    /// The diff that was last reported.
    pub diff: Option<String>,
    /// The usage of the thread before the turn.
    pub usage_before: Option<Usage>,
    /// Whether the turn used anything.
    pub used: bool,
    /// When the driver stops waiting for the network.
    pub network_due: Option<Timestamp>,
    /// The item of the notice that counts the attempts of a request to the model.
    pub retrying: Option<ItemId>,
    /// The end of the turn, which waits for the ends of its commands.
    pub farewell: Option<Farewell>,
    /// The agent's last message, which is the result of a delegation.
    pub last_message: String,
}

/// An item of Codex.
#[derive(Debug)]
pub(super) struct CodexItem {
    pub id: ItemId,
    pub open: bool,
    pub what: ItemKind,
    /// The text so far of a message, a thought or a plan, in case it is cut short.
    pub text: String,
}

/// The facts about an item that the driver must remember.
#[derive(Debug, Default)]
pub(super) enum ItemKind {
    #[default]
    Plain,
    Message,
    Plan,
    /// Which of the two texts of a thought the driver emits while the thought grows.
    Thought(Option<ThoughtText>),
    /// A tool call, as it was last reported.
    Tool(ToolCall),
    /// A call of an MCP server's tool. A question may be about it.
    Mcp {
        server: String,
        tool: String,
        arguments: Value,
    },
    /// The changes of files.
    Edit(Vec<FileChange>),
}

/// The two texts of a thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThoughtText {
    Summary,
    Content,
}

impl Thread {
    pub(super) fn new(session: SessionId, cwd: String, mode: Mode, model: Option<String>) -> Self {
        Self {
            session,
            cwd,
            mode,
            model,
            effort: None,
            changed: false,
            planning: false,
            loaded: true,
            recorded: false,
            untold_title: None,
            title: None,
            archived: false,
            story: None,
            turns: HashMap::new(),
            active: None,
            usage: None,
            parent: None,
            spawning: Vec::new(),
            held: Vec::new(),
        }
    }

    /// The turn with this id. An unknown turn is a turn that is over.
    pub(super) fn turn(&mut self, native: &str) -> &mut CodexTurn {
        if !self.turns.contains_key(native) {
            self.turns.insert(native.to_owned(), CodexTurn { over: true, ..CodexTurn::default() });
        }
        self.turns.entry(native.to_owned()).or_default()
    }

    /// Begins a turn. Forgets earlier turns, except turns with commands that still run.
    pub(super) fn begin(&mut self, native: &str, id: TurnId, prompted: bool) {
        let stays = |turn: &CodexTurn| !turn.over || turn.farewell.is_some();
        self.turns.retain(|_, turn| stays(turn) || turn.items.values().any(|item| item.open));
        if self.turns.len() > OVER_LIMIT {
            self.turns.retain(|_, turn| stays(turn));
        }
        let begun = CodexTurn { id: Some(id), prompted, usage_before: self.usage, ..CodexTurn::default() };
        self.turns.insert(native.to_owned(), begun);
        self.active = Some(native.to_owned());
        self.recorded = true;
    }

    /// Ends a turn. Its commands may continue; its other open items will not change any longer.
    pub(super) fn end(&mut self, native: &str) {
        if self.active.as_deref() == Some(native) {
            self.active = None;
        }
        if let Some(turn) = self.turns.get_mut(native) {
            turn.over = true;
            turn.network_due = None;
            let id = turn.id;
            self.spawning.retain(|spawn| spawn.turn != id);
            turn.items.retain(|_, item| item.open && matches!(item.what, ItemKind::Tool(_)));
        }
    }

    /// Codex's id of a running turn of ours.
    pub(super) fn running(&self, id: TurnId) -> Option<&str> {
        self.turns
            .iter()
            .find(|(_, turn)| turn.id == Some(id) && !turn.over)
            .map(|(native, _)| native.as_str())
    }

    /// Whether a turn of ours is over except for the ends of its commands.
    pub(super) fn is_leaving(&self, id: TurnId) -> bool {
        self.turns.values().any(|turn| turn.id == Some(id) && turn.farewell.is_some())
    }

    /// The open call of an MCP server's tool that a question is about.
    pub(super) fn mcp_call(&self, server: &str, arguments: Option<&Value>) -> Option<(ItemId, &str)> {
        self.turns.values().flat_map(|turn| turn.items.values()).filter(|item| item.open).find_map(|item| {
            match &item.what {
                ItemKind::Mcp { server: of, tool, arguments: with }
                    if of == server && arguments.is_none_or(|arguments| arguments == with) =>
                {
                    Some((item.id, tool.as_str()))
                }
                ItemKind::Mcp { .. }
                | ItemKind::Plain
                | ItemKind::Message
                | ItemKind::Plan
                | ItemKind::Thought(_)
                | ItemKind::Tool(_)
                | ItemKind::Edit(_) => None,
            }
        })
    }
}

impl CodexTurn {
    /// The item with this id, and whether it is new.
    pub(super) fn item(&mut self, native: &str, cx: &mut Context<'_>) -> (&mut CodexItem, bool) {
        let fresh = !self.items.contains_key(native);
        let item = self.items.entry(native.to_owned()).or_insert_with(|| CodexItem {
            id: ItemId::mint(cx),
            open: true,
            what: ItemKind::Plain,
            text: String::new(),
        });
        (item, fresh)
    }
}

impl CodexItem {
    /// Adds to the text that becomes final if the item is cut short.
    pub(super) fn hold(&mut self, words: &str) {
        if self.text.len() < TEXT_LIMIT {
            self.text.push_str(words);
        }
    }
}
