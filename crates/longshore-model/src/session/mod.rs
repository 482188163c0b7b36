//! The session: a pure state machine. Input in, events and effects out; its state is the fold of its events.
//!
//! ```text
//!  Command  --+                       +-- events   (recorded first)
//!  Drafts   --+--> Session::handle ---+-- effects  (carried out once the events are durable)
//!  Gone     --+      |        ^       +-- reply or refusal
//!                    +-apply--+
//! ```
//!
//! [`Session::handle`] decides, [`Session::apply`] remembers. `handle` records events and applies each at
//! once, so a session that applies its log again reaches exactly the same state.

mod acts;
mod agent;
mod apply;
mod ask_limits;
mod bounds;
mod brief;
mod close;
mod command;
mod handing;
mod parent;
mod past;
mod queue;
mod row;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::anchor::{Launch, Start, ToldHere};
use crate::approval::{ApprovalDecision, QuestionAnswer};
use crate::capability::SlashCommand;
use crate::command::{AgentCommand, Command, Refusal, Reply};
use crate::event::{AgentName, Author, Body, Draft, Event, Raw};
use crate::id::{ApprovalId, Context, ItemId, PromptId, QuestionId, Seq, SessionId, TurnId};
use crate::info::{OpenApproval, OpenQuestion};
use crate::lifecycle::{GitState, NativeId, Opened, Sleep, TurnOutcome};
use crate::recent::Recent;
use crate::time::Timestamp;
use crate::usage::Usage;

use acts::Acts;
use bounds::{KEYS_BYTES, RESOLUTIONS_BYTES};
use past::RecordPiece;
use state::{
    AgentState, AskEntry, OpenDelegation, OpenItem, OpenKind, PromptReceipt, Resolution, RunningTurn,
    UnheardPrompt, WaitingPrompt,
};

pub use ask_limits::{ASKS_BYTES, ASKS_LIMIT};
pub use bounds::{
    DELEGATIONS_LIMIT, ENDED_ITEMS_LIMIT, KEYS_LIMIT, OPEN_ITEMS_LIMIT, OPEN_TEXTS_LIMIT, PROMPTS_HERE_LIMIT,
    QUEUE_BYTES, QUEUE_LIMIT, RESOLUTIONS_LIMIT, TOOL_OUTPUT_LIMIT,
};
pub use handing::GO_ON;
pub use past::RecordPlace;
pub use row::title_of;

/// The input of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A client sent a command.
    Command {
        /// The command.
        command: Command,
        /// The sender.
        by: Author,
    },
    /// The agent sent an event.
    Said(Draft),
    /// The agent's process is gone.
    Gone {
        /// How the process ended.
        sleep: Sleep,
        /// The reason, for people.
        reason: String,
    },
    /// Events from the agent's own record that happened elsewhere.
    Past {
        /// The position in the record before these events.
        after: u64,
        /// Only turns that began after this time were read; earlier turns were held here.
        since: Option<Timestamp>,
        /// The events, each with its time.
        drafts: Vec<(Timestamp, Draft)>,
        /// The position in the record after these events.
        until: u64,
    },
    /// The git state of the work tree.
    Git(GitState),
    /// The log refused an event, and the hub stopped the agent.
    Silenced {
        /// The reason, for people.
        reason: String,
    },
    /// Nobody has needed the agent for a long time.
    Idle,
    /// A child session begins or ends to wait for a person.
    ChildWaits {
        /// The child.
        child: SessionId,
        /// Whether the child waits now.
        waiting: bool,
    },
}

/// The result of an input. The hub records the events before it carries out any effect.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The events, each with the agent's own frame if there was one.
    pub events: Vec<(Event, Option<Raw>)>,
    /// The effects.
    pub effects: Vec<Effect>,
}

/// What a session wants done outside of itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Start the agent.
    Launch(Launch),
    /// Start the agent and tell it what the log holds: [`Start::Told`] with the story of this session.
    LaunchFromLog(Launch),
    /// Start the agent and give it its earlier lines: [`Start::Lines`] with the lines of this session.
    LaunchFromLines(Launch),
    /// Send the agent a command.
    Tell(AgentCommand),
    /// Stop the agent.
    Stop,
    /// Read the git state of the work tree.
    LookAtGit,
    /// Read from the agent's own record the turns that began elsewhere since the agent last reported
    /// something here.
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
    /// How much of the agent's own record is imported, while the conversation is held elsewhere.
    imported: Option<u64>,
    version: Option<String>,
    transcript: Option<String>,
    git: Option<GitState>,
    commands: Vec<SlashCommand>,
    archived: bool,
    closed: bool,

    agent_state: AgentState,
    /// Whether the agent ran before, so that its next start is a revival.
    woken: bool,
    /// Whether the agent received a prompt, so that it has something to remember.
    spoken: bool,
    /// Whether the agent has forgotten the conversation; the next start tells it what the log holds.
    forgotten: bool,
    /// When the agent last reported something in a turn. Turns in its record that began later happened
    /// elsewhere.
    heard_at: Timestamp,
    /// When the agent's own record was last imported, and the prompts that were sent here since.
    taken_in_at: Timestamp,
    prompts_here: VecDeque<(PromptId, Timestamp)>,
    turn: Option<RunningTurn>,
    last_outcome: Option<TurnOutcome>,
    /// Whether a restart of the hub interrupted the last turn, and nobody has sent a prompt since.
    cut: bool,
    /// The prompt with which a turn that was cut goes on, until that prompt's turn ends.
    resumed: Option<PromptReceipt>,
    /// Prompts of the running or interrupted turn to which the agent has not reacted.
    unheard: Vec<UnheardPrompt>,
    /// Whether the agent has reacted to anything in that turn.
    reacted: bool,
    delegations: BTreeMap<SessionId, OpenDelegation>,
    /// Sessions that work was handed to.
    delegated: Recent<SessionId, ()>,
    queue: VecDeque<WaitingPrompt>,
    keys: Recent<String, PromptReceipt>,
    open: BTreeMap<ItemId, OpenItem>,
    /// The bytes of text that the open items have.
    open_bytes: usize,
    ended: Recent<ItemId, ()>,
    approvals: BTreeMap<ApprovalId, AskEntry<OpenApproval>>,
    approvals_past: Recent<ApprovalId, Resolution<ApprovalDecision>>,
    /// Asks are being refused because too many wait, and that was said.
    refusing: bool,
    questions: BTreeMap<QuestionId, AskEntry<OpenQuestion>>,
    questions_past: Recent<QuestionId, Resolution<QuestionAnswer>>,

    usage: Usage,
    /// The usage before the last turn began.
    usage_before: Usage,
    cost_usd: Option<f64>,
    last_text: String,
}

impl Session {
    /// Opens a session and records its first event.
    pub fn open(id: SessionId, opened: Opened, cx: &mut Context<'_>, out: &mut Outcome) -> Self {
        let mut session = Self::blank(id, opened.clone(), cx.now);
        session.record(Draft::new(Body::SessionOpened(Box::new(opened))), cx, out);
        session
    }

    /// Rebuilds a session from its log. Returns `None` if the first event is not its opening.
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
            prompts_here: VecDeque::new(),
            turn: None,
            last_outcome: None,
            cut: false,
            resumed: None,
            unheard: Vec::new(),
            reacted: false,
            delegations: BTreeMap::new(),
            delegated: Recent::of(DELEGATIONS_LIMIT),
            queue: VecDeque::new(),
            keys: Recent::of(KEYS_LIMIT).within(KEYS_BYTES),
            open: BTreeMap::new(),
            open_bytes: 0,
            ended: Recent::of(ENDED_ITEMS_LIMIT),
            approvals: BTreeMap::new(),
            approvals_past: Recent::of(RESOLUTIONS_LIMIT).within(RESOLUTIONS_BYTES),
            refusing: false,
            questions: BTreeMap::new(),
            questions_past: Recent::of(RESOLUTIONS_LIMIT).within(RESOLUTIONS_BYTES),
            usage: Usage::default(),
            usage_before: Usage::default(),
            cost_usd: None,
            last_text: String::new(),
        }
    }

    /// Handles one input and adds the result to `out`. A refused command changes nothing.
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

    /// Records an event of the session from which this one was forked, at the time when it happened there.
    pub fn take_over(&mut self, draft: Draft, cx: &mut Context<'_>, out: &mut Outcome) {
        self.record(draft, cx, out);
    }

    /// Gives a draft its seq, applies it, and adds it to the events to record.
    fn record(&mut self, draft: Draft, cx: &mut Context<'_>, out: &mut Outcome) -> Seq {
        let Draft { turn, item, text, body, raw } = draft;
        let mut event = Event {
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
        event.parent = self.parent_of(&event);
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

    /// Whether everything in the session came from an imported file.
    pub fn is_only_read(&self) -> bool {
        self.opened.from_file && !self.woken
    }

    /// The launch of this session's agent.
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

    /// The id of the session.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The seq of the last event.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// The agent's name of the conversation.
    pub fn native(&self) -> Option<&NativeId> {
        self.native.as_ref()
    }

    /// The session that delegated to this one.
    pub fn parent(&self) -> Option<SessionId> {
        self.opened.parent
    }

    /// The work tree.
    pub fn cwd(&self) -> &str {
        &self.opened.cwd
    }

    /// Whether the agent sleeps while prompts wait that are not held.
    pub fn is_waiting(&self) -> bool {
        self.agent_state == AgentState::Asleep && !self.closed && self.next().is_some()
    }

    /// Whether the conversation is held elsewhere and only read here.
    pub fn is_elsewhere(&self) -> bool {
        self.imported.is_some()
    }

    /// How much of the agent's own record is imported, while the conversation is held elsewhere.
    pub fn imported(&self) -> Option<u64> {
        self.imported
    }

    /// The session's position in the agent's own record; none if the session imports nothing from that record
    /// now.
    pub fn record_place(&self) -> Option<RecordPlace> {
        let follows = self.opened.capabilities.own_record && !self.closed;
        let native = self.native.as_ref().filter(|_| follows)?;
        let (agent, native) = (Arc::clone(&self.opened.agent), native.clone());
        match (self.imported, self.turn, self.agent_state) {
            (Some(taken), _, _) => Some(RecordPlace { agent, native, taken: Some(taken), told: None }),
            (None, None, AgentState::Asleep | AgentState::Ready | AgentState::Ending(_)) => {
                let (until, since) = (self.heard_at, self.taken_in_at);
                let prompts = self.prompts_here.iter().map(|(prompt, _)| *prompt).collect();
                let told = ToldHere { until, since, prompts };
                Some(RecordPlace { agent, native, taken: None, told: Some(told) })
            }
            (None, Some(_), _) | (None, None, AgentState::Starting { .. }) => None,
        }
    }

    /// Whether the agent was told to end and has not ended yet.
    pub fn is_ending(&self) -> bool {
        matches!(self.agent_state, AgentState::Ending(_))
    }

    /// The agent.
    pub fn agent(&self) -> &AgentName {
        &self.opened.agent
    }

    /// Whether the session is closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the agent listens and has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.agent_state == AgentState::Ready && self.turn.is_none() && self.next().is_none()
    }

    /// The running turn.
    pub fn turn(&self) -> Option<TurnId> {
        self.turn.map(|turn| turn.id)
    }

    /// Whether a turn runs.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// Whether the agent runs or starts, according to the log.
    pub fn has_agent(&self) -> bool {
        self.agent_state != AgentState::Asleep
    }
}
