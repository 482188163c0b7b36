//! What is known of each conversation: its turns, their messages and parts, and which of our names each has.

use std::collections::{BTreeMap, HashMap};

use longshore_model::capability::Mode;
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::item::{FileChange, ToolCall};
use longshore_model::lifecycle::TurnError;
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;

use crate::opencode::wire::Tokens;

/// A conversation of theirs that is a session of ours.
#[derive(Debug)]
pub(super) struct OpenCodeConversation {
    pub session: SessionId,
    pub directory: String,
    pub mode: Mode,
    /// The model asked for, as `provider/model`.
    pub model: Option<String>,
    /// How hard it shall think: a variant of that model.
    pub effort: Option<String>,
    /// The model that it says it uses.
    pub uses: Option<String>,
    /// The title that it has, as far as we told it or were told.
    pub title: Option<String>,
    /// It was last told to plan, and would go on planning unless told otherwise.
    pub planning: bool,
    /// What the first prompt must tell first.
    pub story: Option<String>,
    /// The line that tells how often the model's service was tried.
    pub retrying: Option<ItemId>,
    /// The slash commands that it knows.
    pub commands: Vec<String>,
    pub turn: Option<OpenCodeTurn>,
    /// How many messages of ours are to be heard of.
    pub expected: usize,
    /// Messages from before this moment are no news: what a copy took over, or what earlier turns left. In
    /// milliseconds since 1970.
    pub since: f64,
    /// The turn before the one that runs, of which there may be last words.
    last: Option<TurnId>,
    /// Messages of these two turns, by their name.
    pub messages: HashMap<String, OpenCodeMessage>,
    /// Parts of these two turns, by their name, which orders them by time.
    pub parts: BTreeMap<String, OpenCodePart>,
    /// What it has used so far, and how that was told last.
    pub tokens: Tokens,
    pub usage: Option<Usage>,
    /// How much of the context the last step took.
    pub context: Option<u64>,
    pub parent: Option<OpenCodeParent>,
}

/// Who delegated to a conversation, and by which call.
#[derive(Clone, Debug)]
pub(super) struct OpenCodeParent {
    /// Their name.
    pub native: String,
    pub turn: Option<TurnId>,
    /// The call, once it is known.
    pub item: Option<ItemId>,
    /// Whether that work goes on.
    pub working: bool,
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct OpenCodeTurn {
    pub id: TurnId,
    /// It was heard of, and not only asked for.
    pub heard: bool,
    /// It was told to stop.
    pub stopping: bool,
    /// Somebody cancelled what it asked for.
    pub cancelled: bool,
    /// OpenCode says that it was stopped.
    pub aborted: bool,
    pub error: Option<TurnError>,
    /// OpenCode says that it rests, while a message of the turn is not done.
    pub resting: bool,
    /// When to ask whether the turn is over.
    pub due: Option<Timestamp>,
    /// What the conversation had used before.
    pub before: Tokens,
    /// The messages of the model, by their name.
    pub steps: BTreeMap<String, ModelStep>,
    /// The item that its list of things to do is.
    pub plan: Option<ItemId>,
    /// What it changed, as it was told last.
    pub diff: Option<String>,
    /// The last thing that the agent said, which is what a delegation comes to.
    pub last_message: String,
}

/// One message of the model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelStep {
    pub done: bool,
    pub tokens: Tokens,
    pub cost: f64,
}

/// A message of one of the last two turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCodeMessage {
    pub turn: Option<TurnId>,
    pub author: Author,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// Our session, which has taken down all there is.
    Ours,
    /// Somebody else's words to the agent, or OpenCode's own.
    Other,
    Agent,
}

/// A part of a message.
#[derive(Debug)]
pub(super) struct OpenCodePart {
    pub item: ItemId,
    pub turn: Option<TurnId>,
    pub done: bool,
    pub what: PartKind,
}

#[derive(Debug)]
pub(super) enum PartKind {
    /// How many bytes of it were told.
    Text {
        told: usize,
    },
    Thought {
        told: usize,
    },
    Tool(Box<OpenCodeToolCall>),
    /// What somebody else said.
    Said,
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct OpenCodeToolCall {
    /// Their name of the call, which questions are about.
    pub call_id: String,
    pub call: ToolCall,
    /// How many bytes of its output were told.
    pub told: usize,
    /// What it would change, as the question about it said.
    pub changes: Vec<FileChange>,
    /// Whether it was asked about: then its own times hold the wait for the answer.
    pub asked: bool,
    /// The conversation that it gave work to.
    pub child: Option<String>,
}

impl OpenCodeTurn {
    pub(super) fn new(id: TurnId) -> Self {
        Self {
            id,
            heard: false,
            stopping: false,
            cancelled: false,
            aborted: false,
            error: None,
            resting: false,
            due: None,
            before: Tokens::default(),
            steps: BTreeMap::new(),
            plan: None,
            diff: None,
            last_message: String::new(),
        }
    }

    /// What its messages used.
    pub(super) fn tokens(&self) -> Tokens {
        let mut all = Tokens::default();
        for step in self.steps.values() {
            all += step.tokens;
        }
        all
    }

    /// Whether every message that the model began is done.
    pub(super) fn is_done(&self) -> bool {
        self.steps.values().all(|step| step.done) && (!self.steps.is_empty() || self.error.is_some())
    }
}

impl OpenCodeConversation {
    pub(super) fn new(session: SessionId, directory: String, mode: Mode, model: Option<String>) -> Self {
        Self {
            session,
            directory,
            mode,
            model,
            effort: None,
            uses: None,
            title: None,
            planning: false,
            story: None,
            retrying: None,
            commands: Vec::new(),
            turn: None,
            expected: 0,
            since: 0.0,
            last: None,
            messages: HashMap::new(),
            parts: BTreeMap::new(),
            tokens: Tokens::default(),
            usage: None,
            context: None,
            parent: None,
        }
    }

    pub(super) fn turn_id(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// A turn begins. Of the one before something may still be heard, of earlier ones not.
    pub(super) fn begin(&mut self, turn: OpenCodeTurn) -> &mut OpenCodeTurn {
        let last = self.last;
        self.messages.retain(|_, message| message.turn.is_some() && message.turn == last);
        self.parts.retain(|_, part| part.turn.is_some() && part.turn == last);
        self.last = Some(turn.id);
        let before = self.tokens;
        self.turn.insert(OpenCodeTurn { before, ..turn })
    }

    /// The turn that a message belongs to; one that is not known belongs to the one that runs.
    pub(super) fn turn_of(&self, message: &str) -> Option<TurnId> {
        self.messages.get(message).map_or_else(|| self.turn_id(), |message| message.turn)
    }

    /// Who wrote a message. OpenCode tells of a message before its parts, so one that is not known is no news: it is of an
    /// earlier turn, or of the conversation that this one is a copy of.
    pub(super) fn author_of(&self, message: &str) -> Option<Author> {
        self.messages.get(message).map(|message| message.author)
    }

    /// The part of that name, which `fresh` makes when there is none.
    pub(super) fn part(
        &mut self,
        id: &str,
        message: &str,
        fresh: PartKind,
        cx: &mut Context<'_>,
    ) -> &mut OpenCodePart {
        let turn = self.turn_of(message);
        let made = || OpenCodePart { item: ItemId::mint(cx), turn, done: false, what: fresh };
        self.parts.entry(id.to_owned()).or_insert_with(made)
    }

    /// The call of a tool by their name of it.
    pub(super) fn call(&mut self, call_id: &str) -> Option<(ItemId, &mut OpenCodeToolCall)> {
        self.parts.values_mut().find_map(|part| match &mut part.what {
            PartKind::Tool(tool) if tool.call_id == call_id => Some((part.item, &mut **tool)),
            PartKind::Tool(_) | PartKind::Text { .. } | PartKind::Thought { .. } | PartKind::Said => None,
        })
    }
}
