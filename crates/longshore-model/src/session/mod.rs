//! The session: a pure state machine. Input in, events and effects out; its state is the fold of its events.
//!
//! ```text
//!  Command  --+                       +-- events   (recorded first)
//!  Drafts   --+--> Session::handle ---+-- effects  (carried out once the events are durable)
//!  Gone     --+      |        ^       +-- reply or refusal
//!                    +-apply--+
//! ```
//!
//! [`Session::handle`] decides, [`Session::apply`] remembers. Deciding records events and applies each at once, so
//! a session that is rebuilt by applying its log stands exactly where it stood.

mod acts;
mod agent;
mod apply;
mod asks;
mod brief;
mod close;
mod command;
mod handing;
mod parts;
mod past;
mod queue;
mod row;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::anchor::{Launch, Start, ToldHere};
use crate::approval::{ApprovalDecision, QuestionAnswer};
use crate::capability::SlashCommand;
use crate::command::{AgentCommand, Command, Refusal, Reply};
use crate::event::{AgentName, Author, Body, Draft, Event, Raw};
use crate::id::{ApprovalId, Context, ItemId, PromptId, QuestionId, Seq, SessionId, TurnId};
use crate::info::{OpenApproval, OpenQuestion, QueuedPrompt};
use crate::lifecycle::{GitState, NativeId, Opened, Sleep, TurnOutcome};
use crate::time::Timestamp;
use crate::usage::Usage;

use acts::Acts;
use parts::{
    AgentState, AskEntry, OpenDelegation, OpenItem, OpenKind, PromptReceipt, Resolution, RunningTurn, Unheard,
};
use past::RecordPiece;

pub use asks::{ASKS_BYTES, ASKS_LIMIT};
pub use handing::GO_ON;
pub use past::RecordPlace;
pub use row::title_of;

/// How many prompts may wait.
pub const QUEUE_LIMIT: usize = 100;
/// How many bytes those that wait may have together. One alone may have more.
pub const QUEUE_BYTES: usize = 16 << 20;
/// How much of a growing item is held for the case that the agent never finishes it.
const OPEN_TEXT_LIMIT: usize = 8 << 20;
/// How much of all growing items together.
pub const OPEN_TEXTS_LIMIT: usize = 32 << 20;
/// How many bytes of what one call prints are taken down while it prints, as they are written.
pub const TOOL_OUTPUT_LIMIT: usize = 16 << 20;
/// How many items may be open at once. When there are more, the oldest is ended.
pub const OPEN_ITEMS_LIMIT: usize = 1_000;

/// What can happen to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Somebody wishes something.
    Command {
        /// What.
        command: Command,
        /// Who.
        by: Author,
    },
    /// The agent said something.
    Said(Draft),
    /// The agent's process is gone.
    Gone {
        /// How.
        sleep: Sleep,
        /// Why, for people.
        reason: String,
    },
    /// What was said elsewhere, read back from the agent's own record.
    Past {
        /// How much of that record comes before it.
        after: u64,
        /// Only turns that began later were read: those before were told here.
        since: Option<Timestamp>,
        /// What, and when.
        drafts: Vec<(Timestamp, Draft)>,
        /// Up to where of that record this is.
        until: u64,
    },
    /// The work tree was looked at.
    Git(GitState),
    /// The log did not take what happened, and the agent was told to stop.
    Silenced {
        /// Why, for people.
        reason: String,
    },
    /// Nobody has needed the agent for a while.
    Idle,
    /// A session that works for this one waits for a person, or no longer.
    ChildWaits {
        /// Which one.
        child: SessionId,
        /// Whether it waits now.
        waiting: bool,
    },
}

/// What the machine wants done. Events are recorded before any effect is carried out.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What happened, with the agent's own frame where there was one.
    pub events: Vec<(Event, Option<Raw>)>,
    /// What to do about it.
    pub effects: Vec<Effect>,
}

/// What a session does to the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Start the agent.
    Launch(Launch),
    /// Start the agent and tell it what the log holds: [`Start::Told`] with the story of this session.
    LaunchFromLog(Launch),
    /// Start the agent and give it back what it said before: [`Start::Lines`] with the lines of this session.
    LaunchFromLines(Launch),
    /// Tell the agent something.
    Tell(AgentCommand),
    /// Stop the agent.
    Stop,
    /// Look at the work tree.
    LookAtGit,
    /// Read what the agent's own record tells of turns that began elsewhere since it was last heard here.
    FollowRecord,
}

/// One conversation with an agent in one work tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    id: SessionId,
    opened: Opened,
    created_at: Timestamp,
    updated_at: Timestamp,
    acts: Acts,
    head: Seq,

    title: String,
    titled: bool,
    model: Option<String>,
    effort: Option<String>,
    native: Option<NativeId>,
    /// How much of the agent's own record was taken in, as long as the conversation is held elsewhere.
    imported: Option<u64>,
    version: Option<String>,
    transcript: Option<String>,
    git: Option<GitState>,
    commands: Vec<SlashCommand>,
    archived: bool,
    closed: bool,

    agent_state: AgentState,
    /// The agent was here before, so that its next coming is a revival.
    woken: bool,
    /// Something was said to the agent, so that it has something to remember.
    spoken: bool,
    /// The agent no longer remembers; the next start tells it what the log holds.
    forgotten: bool,
    /// When the agent was last heard in a turn: what its record tells of turns that began later was said elsewhere.
    heard_at: Timestamp,
    /// When the agent's own record was last taken in, and what was said here since.
    taken_in_at: Timestamp,
    prompts_here: Vec<PromptId>,
    turn: Option<RunningTurn>,
    last_outcome: Option<TurnOutcome>,
    /// A restart of the hub cut the last turn, and nobody has said anything since.
    cut: bool,
    /// What was said in the running turn, or in the one that was cut, and the agent has not reacted to.
    unheard: Vec<Unheard>,
    /// Whether the agent has reacted to anything in that turn.
    reacted: bool,
    /// Prompts of turns that were cut before the agent reacted: their keys may be used again.
    lost: HashSet<PromptId>,
    delegations: BTreeMap<SessionId, OpenDelegation>,
    /// All sessions that work was ever handed to.
    delegated: HashSet<SessionId>,
    queue: VecDeque<QueuedPrompt>,
    keys: HashMap<String, PromptReceipt>,
    open: BTreeMap<ItemId, OpenItem>,
    /// How many bytes of text those have.
    open_bytes: usize,
    ended: HashSet<ItemId>,
    approvals: BTreeMap<ApprovalId, AskEntry<OpenApproval>>,
    approvals_past: HashMap<ApprovalId, Resolution<ApprovalDecision>>,
    /// Asks are being refused because too many wait, and that was said.
    refusing: bool,
    questions: BTreeMap<QuestionId, AskEntry<OpenQuestion>>,
    questions_past: HashMap<QuestionId, Resolution<QuestionAnswer>>,

    usage: Usage,
    /// What had been used when the last turn began.
    usage_before: Usage,
    cost_usd: Option<f64>,
    last_text: String,
}

impl Session {
    /// A new session and its first event.
    pub fn open(id: SessionId, opened: Opened, cx: &mut Context<'_>, out: &mut Outcome) -> Self {
        let mut session = Self::blank(id, opened.clone(), cx.now);
        session.record(Draft::new(Body::SessionOpened(Box::new(opened))), cx, out);
        session
    }

    /// A session as its log tells it. The first event must be its opening; `None` when it is not.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let first = events.next()?;
        let Body::SessionOpened(opened) = &first.body else { return None };
        let mut session = Self::blank(first.session, Opened::clone(opened), first.at);
        session.apply(first);
        for event in events {
            session.apply(event);
        }
        Some(session)
    }

    fn blank(id: SessionId, opened: Opened, at: Timestamp) -> Self {
        Self {
            id,
            title: opened.title.as_deref().map(brief::name).unwrap_or_default(),
            titled: opened.title.is_some(),
            model: opened.model.clone(),
            effort: opened.effort.clone(),
            acts: Acts::since(at, &opened),
            opened,
            created_at: at,
            updated_at: at,
            head: Seq::ZERO,
            native: None,
            imported: None,
            version: None,
            transcript: None,
            git: None,
            commands: Vec::new(),
            archived: false,
            closed: false,
            agent_state: AgentState::Asleep,
            woken: false,
            spoken: false,
            forgotten: false,
            heard_at: at,
            taken_in_at: at,
            prompts_here: Vec::new(),
            turn: None,
            last_outcome: None,
            cut: false,
            unheard: Vec::new(),
            reacted: false,
            lost: HashSet::new(),
            delegations: BTreeMap::new(),
            delegated: HashSet::new(),
            queue: VecDeque::new(),
            keys: HashMap::new(),
            open: BTreeMap::new(),
            open_bytes: 0,
            ended: HashSet::new(),
            approvals: BTreeMap::new(),
            approvals_past: HashMap::new(),
            refusing: false,
            questions: BTreeMap::new(),
            questions_past: HashMap::new(),
            usage: Usage::default(),
            usage_before: Usage::default(),
            cost_usd: None,
            last_text: String::new(),
        }
    }

    /// Something happened. What it comes to is in `out`; a refused wish leaves no trace.
    pub fn handle(
        &mut self,
        input: Input,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Result<Reply, Refusal> {
        match input {
            Input::Command { command, by } => self.command(command, by, cx, out),
            Input::Said(draft) => {
                self.said(draft, cx, out);
                Ok(Reply::Done)
            }
            Input::Gone { sleep, reason } => {
                self.gone(sleep, reason, cx, out);
                Ok(Reply::Done)
            }
            Input::Past { after, since, drafts, until } => {
                self.past(RecordPiece { after, since, drafts, until }, cx, out);
                Ok(Reply::Done)
            }
            Input::Silenced { reason } => {
                self.silenced(&reason, cx, out);
                Ok(Reply::Done)
            }
            Input::Idle => {
                self.idle(out);
                Ok(Reply::Done)
            }
            Input::ChildWaits { child, waiting } => {
                if let Some(open) = self.delegations.get(&child).filter(|open| open.waiting != waiting) {
                    let (turn, item) = (open.turn, open.item);
                    let body = Body::DelegationWaiting { child, waiting };
                    self.record(Draft::new(body).turn(turn).item(item), cx, out);
                }
                Ok(Reply::Done)
            }
            Input::Git(state) => {
                if self.git.as_ref() != Some(&state) {
                    self.record(Draft::new(Body::GitChanged(state)), cx, out);
                }
                Ok(Reply::Done)
            }
        }
    }

    /// Takes down something that happened in the session that this one was forked from.
    pub fn take_over(&mut self, draft: Draft, cx: &mut Context<'_>, out: &mut Outcome) {
        self.record(draft, cx, out);
    }

    /// Gives a draft its seq, remembers it, and puts it among the events to record.
    fn record(&mut self, draft: Draft, cx: &mut Context<'_>, out: &mut Outcome) -> Seq {
        let Draft { turn, item, text, body, raw } = draft;
        let event = Event {
            seq: self.head.next(),
            session: self.id,
            agent: Arc::clone(&self.opened.agent),
            at: cx.now,
            turn,
            item,
            parent: None,
            text,
            body,
        };
        self.apply(&event);
        out.events.push((event, raw));
        self.head
    }

    fn launch(&mut self, out: &mut Outcome) {
        // An agent keeps no record of a conversation in which nothing was said.
        let native = self.native.as_ref().filter(|_| self.spoken);
        let origin = self.opened.forked_from.as_ref();
        let start = match (native, origin.and_then(|origin| origin.native.as_ref())) {
            (Some(native), _) => Start::Resume { native: native.clone() },
            (None, Some(native)) => Start::Fork { native: native.clone() },
            (None, None) => Start::New,
        };
        let from_log = self.forgotten || self.is_only_read() || (start == Start::New && origin.is_some());
        let launch = self.launch_from(start);
        let in_log = self.opened.capabilities.memory_in_log;
        self.agent_state = AgentState::Starting { from_log: from_log || in_log };
        out.effects.push(match (in_log, from_log) {
            // The lines of a file are nobody's memory.
            (_, _) if self.is_only_read() => Effect::LaunchFromLog(launch),
            (true, _) => Effect::LaunchFromLines(launch),
            (false, true) => Effect::LaunchFromLog(launch),
            (false, false) => Effect::Launch(launch),
        });
    }

    /// Whether all that it has is what a file said.
    pub fn is_only_read(&self) -> bool {
        self.opened.from_file && !self.woken
    }

    /// What it takes to start this session's agent.
    pub fn launch_from(&self, start: Start) -> Launch {
        Launch {
            session: self.id,
            agent: Arc::clone(&self.opened.agent),
            cwd: self.opened.cwd.clone(),
            mode: self.opened.mode,
            model: self.model.clone(),
            effort: self.effort.clone(),
            // The hub knows who stands above it.
            deepest: false,
            mcp_servers: self.opened.mcp_servers.clone(),
            start,
        }
    }

    /// Its name.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Its last event.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// The agent's name for the conversation.
    pub fn native(&self) -> Option<&NativeId> {
        self.native.as_ref()
    }

    /// The session that delegated to it.
    pub fn parent(&self) -> Option<SessionId> {
        self.opened.parent
    }

    /// The work tree.
    pub fn cwd(&self) -> &str {
        &self.opened.cwd
    }

    /// Whether prompts that are not held wait for an agent that sleeps.
    pub fn is_waiting(&self) -> bool {
        self.agent_state == AgentState::Asleep && !self.closed && self.next().is_some()
    }

    /// Whether it is held elsewhere, and only read here.
    pub fn is_elsewhere(&self) -> bool {
        self.imported.is_some()
    }

    /// How much of the agent's own record was taken in, as long as it is held elsewhere.
    pub fn imported(&self) -> Option<u64> {
        self.imported
    }

    /// Where it stands beside the agent's own record; none when nothing of that record belongs here now.
    pub fn record_place(&self) -> Option<RecordPlace> {
        let follows = self.opened.capabilities.own_record && !self.closed;
        let native = self.native.as_ref().filter(|_| follows)?;
        let (agent, native) = (Arc::clone(&self.opened.agent), native.clone());
        match (self.imported, self.turn, self.agent_state) {
            (Some(taken), _, _) => Some(RecordPlace { agent, native, taken: Some(taken), told: None }),
            (None, None, AgentState::Asleep | AgentState::Ready | AgentState::Ending(_)) => {
                let (until, since) = (self.heard_at, self.taken_in_at);
                let told = ToldHere { until, since, prompts: self.prompts_here.clone() };
                Some(RecordPlace { agent, native, taken: None, told: Some(told) })
            }
            (None, Some(_), _) | (None, None, AgentState::Starting { .. }) => None,
        }
    }

    /// Whether its agent was told to end and has not ended yet.
    pub fn is_ending(&self) -> bool {
        matches!(self.agent_state, AgentState::Ending(_))
    }

    /// Its agent.
    pub fn agent(&self) -> &AgentName {
        &self.opened.agent
    }

    /// Whether it is over.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether its agent listens and has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.agent_state == AgentState::Ready && self.turn.is_none() && self.next().is_none()
    }

    /// The turn that runs.
    pub fn turn(&self) -> Option<TurnId> {
        self.turn.map(|turn| turn.id)
    }

    /// Whether a turn runs.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// Whether its agent runs or starts, as far as the log tells.
    pub fn has_agent(&self) -> bool {
        self.agent_state != AgentState::Asleep
    }
}
