//! What is known of each thread: its turns, their items, and which of our names each has.

use std::collections::HashMap;

use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::item::{FileChange, ToolCall};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;
use serde_json::Value;

use super::terminals::Farewell;

/// How many turns that are over are remembered for the sake of commands that they left running.
const OVER_LIMIT: usize = 64;

/// How much of a text that grows is held for the case that it is cut short, in bytes.
const TEXT_LIMIT: usize = 8 << 20;

/// A thread of theirs that is a session of ours.
#[derive(Debug)]
pub(super) struct Thread {
    pub session: SessionId,
    pub cwd: String,
    pub mode: Mode,
    pub model: Option<String>,
    /// How hard it shall think, which every turn says.
    pub effort: Option<String>,
    /// Mode or model changed since the last turn began, so the next one says them.
    pub changed: bool,
    /// It was last told to plan, and would go on planning unless told otherwise.
    pub planning: bool,
    /// Codex holds it in memory; otherwise it must be resumed before it hears anything.
    pub loaded: bool,
    /// It has a record of its own, which it has only after its first turn began.
    pub recorded: bool,
    /// A title that waits for that record.
    pub untold_title: Option<String>,
    /// The title that it has, as far as we told it or were told.
    pub title: Option<String>,
    pub archived: bool,
    /// What the first prompt must tell first.
    pub story: Option<String>,
    /// By their name.
    pub turns: HashMap<String, CodexTurn>,
    /// Their name of the turn that runs.
    pub active: Option<String>,
    /// What the thread has used so far.
    pub usage: Option<Usage>,
    /// Who delegated to it.
    pub parent: Option<CodexParent>,
    /// Calls that will spawn a thread, and have not said which.
    pub spawning: Vec<Spawn>,
    /// What was told before the turn that it concerns had a name of theirs.
    pub held: Vec<AgentCommand>,
}

/// Who delegated to a thread, and by which call.
#[derive(Clone, Debug)]
pub(super) struct CodexParent {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub item: ItemId,
    /// Whether that work goes on.
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

/// A turn of theirs.
#[derive(Debug, Default)]
pub(super) struct CodexTurn {
    /// Our name; none for a turn that we only know from things it left behind.
    pub id: Option<TurnId>,
    /// Begun by a prompt, of which the session has taken down all there is.
    pub prompted: bool,
    pub over: bool,
    /// By their name.
    pub items: HashMap<String, CodexItem>,
    /// The item that its list of steps is.
    pub plan: Option<ItemId>,
    /// The diff as it was told last.
    pub diff: Option<String>,
    /// What the thread had used before.
    pub usage_before: Option<Usage>,
    /// Whether it used anything.
    pub used: bool,
    /// When we stop waiting for the network to come back.
    pub network_due: Option<Timestamp>,
    /// The line that tells how often the model's service was tried.
    pub retrying: Option<ItemId>,
    /// Its end, which waits for the ends of its commands.
    pub farewell: Option<Farewell>,
    /// The last thing that the agent said, which is what a delegation comes to.
    pub last_message: String,
}

/// An item of theirs.
#[derive(Debug)]
pub(super) struct CodexItem {
    pub id: ItemId,
    pub open: bool,
    pub what: ItemKind,
    /// What was told of a message, a thought or a plan so far, for the case that it is cut short.
    pub text: String,
}

/// What has to be remembered of an item.
#[derive(Debug, Default)]
pub(super) enum ItemKind {
    #[default]
    Plain,
    Message,
    Plan,
    /// Which of its two texts is told as it grows.
    Thought(Option<ThoughtText>),
    /// A call of a tool, as it was told last.
    Tool(ToolCall),
    /// A call of an MCP server's tool, which a question may be about.
    Mcp {
        server: String,
        tool: String,
        arguments: Value,
    },
    /// What it changes.
    Edit(Vec<FileChange>),
}

/// The texts of a thought.
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

    /// The turn of that name; one that is not known is one that is over.
    pub(super) fn turn(&mut self, native: &str) -> &mut CodexTurn {
        if !self.turns.contains_key(native) {
            self.turns.insert(native.to_owned(), CodexTurn { over: true, ..CodexTurn::default() });
        }
        self.turns.entry(native.to_owned()).or_default()
    }

    /// A turn begins. What earlier ones left is forgotten, except for commands that still run.
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

    /// A turn ends. Commands may run on; everything else that is open will not be heard of again.
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

    /// Their name for a turn of ours that runs.
    pub(super) fn running(&self, id: TurnId) -> Option<&str> {
        self.turns
            .iter()
            .find(|(_, turn)| turn.id == Some(id) && !turn.over)
            .map(|(native, _)| native.as_str())
    }

    /// Whether a turn of ours is over but for the ends of its commands.
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
    /// The item of that name, and whether it is new.
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
    /// It grows: what was told of it is its end if it is cut short.
    pub(super) fn hold(&mut self, words: &str) {
        if self.text.len() < TEXT_LIMIT {
            self.text.push_str(words);
        }
    }
}
