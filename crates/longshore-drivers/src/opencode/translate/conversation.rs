//! The state of each conversation: its turns, their messages and parts, and our ids for them.

use std::collections::{BTreeMap, HashMap};

use longshore_model::capability::Mode;
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::item::{FileChange, ToolCall};
use longshore_model::lifecycle::TurnError;
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;

use super::stops::EarlyStop;
use crate::opencode::wire::Tokens;

/// A conversation of OpenCode that is a session of ours.
#[derive(Debug)]
pub(super) struct OpenCodeConversation {
    pub session: SessionId,
    pub directory: String,
    pub mode: Mode,
    /// The requested model, as `provider/model`.
    pub model: Option<String>,
    /// The effort of the agent: a variant of the model.
    pub effort: Option<String>,
    /// The model that OpenCode reports.
    pub uses: Option<String>,
    /// The title that was last set or reported.
    pub title: Option<String>,
    /// Whether the last turn was a planning turn. OpenCode continues to plan until it is told otherwise.
    pub planning: bool,
    /// The transcript that the first prompt must contain.
    pub story: Option<String>,
    /// The item of the notice that counts the attempts of a request to the model.
    pub retrying: Option<ItemId>,
    /// The slash commands of the conversation.
    pub commands: Vec<String>,
    pub turn: Option<OpenCodeTurn>,
    /// How many of our messages OpenCode has not reported yet.
    pub expected: usize,
    /// Messages from before this time are old: a fork copied them, or an earlier turn left them. In
    /// milliseconds since 1970.
    pub since: f64,
    /// The turn before the running turn. Its last messages may still arrive.
    last: Option<TurnId>,
    /// The messages of these two turns, by OpenCode's ids.
    pub messages: HashMap<String, OpenCodeMessage>,
    /// The parts of these two turns, by OpenCode's ids, which are ordered by time.
    pub parts: BTreeMap<String, OpenCodePart>,
    /// The tokens of the conversation so far, as last reported.
    pub tokens: Tokens,
    pub usage: Option<Usage>,
    /// How much of the context the last step used.
    pub context: Option<u64>,
    pub parent: Option<OpenCodeParent>,
}

/// The conversation that delegated work to a conversation, and the call.
#[derive(Clone, Debug)]
pub(super) struct OpenCodeParent {
    /// OpenCode's id of the delegating conversation.
    pub native: String,
    pub turn: Option<TurnId>,
    /// The call, once the driver knows it.
    pub item: Option<ItemId>,
    /// Whether the work continues.
    pub working: bool,
}

/// A running turn.
#[derive(Debug)]
pub(super) struct OpenCodeTurn {
    pub id: TurnId,
    /// Whether OpenCode has reported the turn, and it was not only requested.
    pub heard: bool,
    /// Whether a client requested a stop.
    pub stopping: bool,
    /// That stop, if OpenCode may have had nothing to stop yet.
    pub early_stop: Option<EarlyStop>,
    /// Whether a person cancelled a request of the turn.
    pub cancelled: bool,
    /// Whether OpenCode reports that the turn was stopped.
    pub aborted: bool,
    pub error: Option<TurnError>,
    /// Whether OpenCode reports that it is idle, although a message of the turn is not complete.
    pub resting: bool,
    /// When the driver asks whether the turn is over.
    pub due: Option<Timestamp>,
    /// The tokens of the conversation before the turn.
    pub before: Tokens,
    /// The messages of the model, by OpenCode's ids.
    pub steps: BTreeMap<String, ModelStep>,
    /// The item of the turn's to-do list.
    pub plan: Option<ItemId>,
    /// The diff that was last reported.
    pub diff: Option<String>,
    /// The agent's last message, which is the result of a delegation.
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
    /// Our session, which has already recorded the message completely.
    Ours,
    /// Another client, or OpenCode itself.
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
    /// How many bytes of the text the driver has emitted.
    Text {
        told: usize,
    },
    Thought {
        told: usize,
    },
    Tool(Box<OpenCodeToolCall>),
    /// A text from another author.
    Said,
}

/// A tool call.
#[derive(Debug)]
pub(super) struct OpenCodeToolCall {
    /// OpenCode's id of the call, to which requests refer.
    pub call_id: String,
    pub call: ToolCall,
    /// How many bytes of the output the driver has emitted.
    pub told: usize,
    /// The changes that the request for permission showed.
    pub changes: Vec<FileChange>,
    /// Whether the agent requested an approval. Then the call's times include the wait for the decision.
    pub asked: bool,
    /// The conversation to which the call delegated work.
    pub child: Option<String>,
}

impl OpenCodeTurn {
    pub(super) fn new(id: TurnId) -> Self {
        Self {
            id,
            heard: false,
            stopping: false,
            early_stop: None,
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

    /// The tokens of the turn's messages.
    pub(super) fn tokens(&self) -> Tokens {
        let mut all = Tokens::default();
        for step in self.steps.values() {
            all += step.tokens;
        }
        all
    }

    /// Whether every message of the model is complete.
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

    /// Begins a turn. The last messages of the previous turn may still arrive; older turns are forgotten.
    pub(super) fn begin(&mut self, turn: OpenCodeTurn) -> &mut OpenCodeTurn {
        let last = self.last;
        self.messages.retain(|_, message| message.turn.is_some() && message.turn == last);
        self.parts.retain(|_, part| part.turn.is_some() && part.turn == last);
        self.last = Some(turn.id);
        let before = self.tokens;
        self.turn.insert(OpenCodeTurn { before, ..turn })
    }

    /// The turn of a message. An unknown message belongs to the running turn.
    pub(super) fn turn_of(&self, message: &str) -> Option<TurnId> {
        self.messages.get(message).map_or_else(|| self.turn_id(), |message| message.turn)
    }

    /// The author of a message. OpenCode reports a message before its parts. So an unknown message is old: it
    /// belongs to an earlier turn, or to the origin of a fork.
    pub(super) fn author_of(&self, message: &str) -> Option<Author> {
        self.messages.get(message).map(|message| message.author)
    }

    /// The part with this id. If there is none, `fresh` makes it.
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

    /// The tool call with this id.
    pub(super) fn call(&mut self, call_id: &str) -> Option<(ItemId, &mut OpenCodeToolCall)> {
        self.parts.values_mut().find_map(|part| match &mut part.what {
            PartKind::Tool(tool) if tool.call_id == call_id => Some((part.item, &mut **tool)),
            PartKind::Tool(_) | PartKind::Text { .. } | PartKind::Thought { .. } | PartKind::Said => None,
        })
    }
}
