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

mod agent;
mod apply;
mod close;
mod past;
mod wish;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::anchor::{Launch, Start};
use crate::approval::{ApprovalDecision, QuestionAnswer};
use crate::capability::SlashCommand;
use crate::command::{AgentCommand, Command, Refusal, Reply};
use crate::event::{Actor, AgentName, Body, Draft, Event, Raw};
use crate::id::{ApprovalId, Context, ItemId, PromptId, QuestionId, Seq, SessionId, TurnId};
use crate::info::{Activity, OpenApproval, OpenQuestion, QueuedPrompt, SessionInfo, Status};
use crate::lifecycle::{GitState, NativeId, Opened, Sleep, TurnOutcome};
use crate::time::Timestamp;
use crate::usage::Usage;

/// How many prompts may wait.
pub const QUEUE_LIMIT: usize = 100;
/// How many characters of a first prompt make a title.
const TITLE_CHARS: usize = 80;
/// How many characters of the last output make a preview.
const PREVIEW_CHARS: usize = 240;
/// How much of a growing item is held for the case that the agent never finishes it.
const OPEN_TEXT_LIMIT: usize = 8 << 20;

/// What can happen to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Somebody wishes something.
    Wish {
        /// What.
        command: Command,
        /// Who.
        by: Actor,
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
        /// What, and when.
        drafts: Vec<(Timestamp, Draft)>,
        /// Up to where of that record this is.
        until: u64,
    },
    /// The work tree was looked at.
    Git(GitState),
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
}

/// Where the agent's process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Asleep,
    Starting,
    Ready,
}

/// The turn that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Turn {
    id: TurnId,
    started: Timestamp,
}

/// An item that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
struct OpenItem {
    turn: Option<TurnId>,
    kind: OpenKind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenKind {
    Message,
    Reasoning,
    Plan,
    Tool,
    Diff,
}

/// What became of an approval.
#[derive(Clone, Debug, PartialEq)]
enum Asked<T> {
    Answered(T),
    Expired(String),
}

/// What a key that a client chose stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Taken {
    prompt: PromptId,
    turn: TurnId,
    seq: Seq,
}

/// One conversation with an agent in one work tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    id: SessionId,
    opened: Opened,
    created_at: Timestamp,
    updated_at: Timestamp,
    head: Seq,

    title: String,
    titled: bool,
    model: Option<String>,
    native: Option<NativeId>,
    /// How much of the agent's own record was taken in, as long as the conversation is held elsewhere.
    imported: Option<u64>,
    version: Option<String>,
    transcript: Option<String>,
    git: Option<GitState>,
    commands: Vec<SlashCommand>,
    archived: bool,
    closed: bool,

    link: Link,
    /// The agent was here before, so that its next coming is a revival.
    woken: bool,
    /// Something was said to the agent, so that it has something to remember.
    spoken: bool,
    /// The agent no longer remembers; the next start tells it what the log holds.
    forgotten: bool,
    turn: Option<Turn>,
    last_outcome: Option<TurnOutcome>,
    queue: VecDeque<QueuedPrompt>,
    keys: HashMap<String, Taken>,
    open: BTreeMap<ItemId, OpenItem>,
    ended: HashSet<ItemId>,
    approvals: BTreeMap<ApprovalId, OpenApproval>,
    approvals_past: HashMap<ApprovalId, Asked<ApprovalDecision>>,
    questions: BTreeMap<QuestionId, OpenQuestion>,
    questions_past: HashMap<QuestionId, Asked<QuestionAnswer>>,

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
            title: opened.title.clone().unwrap_or_default(),
            titled: opened.title.is_some(),
            model: opened.model.clone(),
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
            link: Link::Asleep,
            woken: false,
            spoken: false,
            forgotten: false,
            turn: None,
            last_outcome: None,
            queue: VecDeque::new(),
            keys: HashMap::new(),
            open: BTreeMap::new(),
            ended: HashSet::new(),
            approvals: BTreeMap::new(),
            approvals_past: HashMap::new(),
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
            Input::Wish { command, by } => self.wish(command, by, cx, out),
            Input::Said(draft) => {
                self.said(draft, cx, out);
                Ok(Reply::Done)
            }
            Input::Gone { sleep, reason } => {
                self.gone(sleep, reason, cx, out);
                Ok(Reply::Done)
            }
            Input::Past { after, drafts, until } => {
                self.past(after, drafts, until, cx, out);
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

    /// Begins the next turn if the agent is free; wakes it if it sleeps.
    fn pump(&mut self, cx: &mut Context<'_>, out: &mut Outcome) {
        if self.closed || self.turn.is_some() {
            return;
        }
        let Some(next) = self.queue.front() else { return };
        match self.link {
            Link::Starting => {}
            Link::Asleep => self.launch(out),
            Link::Ready => {
                let next = next.clone();
                let QueuedPrompt { prompt, turn, text, attachments, by } = next;
                self.record(Draft::new(Body::TurnStarted { prompt: Some(prompt) }).turn(turn), cx, out);
                let said = Body::UserMessage {
                    prompt: Some(prompt),
                    attachments: attachments.clone(),
                    by: Some(by),
                };
                let item = ItemId::mint(cx);
                self.record(Draft::new(said).turn(turn).item(item).text(text.clone()), cx, out);
                out.effects.push(Effect::Tell(AgentCommand::Prompt { turn, prompt, text, attachments }));
            }
        }
    }

    fn launch(&mut self, out: &mut Outcome) {
        self.link = Link::Starting;
        // An agent keeps no record of a conversation in which nothing was said.
        let native = self.native.as_ref().filter(|_| self.spoken);
        let origin = self.opened.forked_from.as_ref();
        let start = match (native, origin.and_then(|origin| origin.native.as_ref())) {
            (Some(native), _) => Start::Resume { native: native.clone() },
            (None, Some(native)) => Start::Fork { native: native.clone() },
            (None, None) => Start::New,
        };
        let knows_nothing = start == Start::New && origin.is_some();
        let launch = self.launch_from(start);
        out.effects.push(match (self.opened.capabilities.memory_in_log, self.forgotten || knows_nothing) {
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

    /// The work tree.
    pub fn cwd(&self) -> &str {
        &self.opened.cwd
    }

    /// Whether prompts wait for an agent that sleeps.
    pub fn is_waiting(&self) -> bool {
        self.link == Link::Asleep && !self.closed && !self.queue.is_empty()
    }

    /// Whether it is held elsewhere, and only read here.
    pub fn is_elsewhere(&self) -> bool {
        self.imported.is_some()
    }

    /// How much of the agent's own record was taken in, as long as it is held elsewhere.
    pub fn imported(&self) -> Option<u64> {
        self.imported
    }

    /// Its agent.
    pub fn agent(&self) -> &AgentName {
        &self.opened.agent
    }

    /// Whether a turn runs.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// Whether its agent runs or starts, as far as the log tells.
    pub fn has_agent(&self) -> bool {
        self.link != Link::Asleep
    }

    /// The session as lists show it.
    pub fn info(&self) -> SessionInfo {
        let activity = match (self.closed, self.link, self.turn) {
            (true, _, _) => Activity::Closed,
            (_, Link::Starting, _) => Activity::Starting,
            (_, _, Some(_)) if !(self.approvals.is_empty() && self.questions.is_empty()) => Activity::Waiting,
            (_, _, Some(_)) => Activity::Working,
            (_, Link::Ready, None) => Activity::Idle,
            (_, Link::Asleep, None) => Activity::Sleeping,
        };
        let status = match (activity, self.last_outcome) {
            (Activity::Closed, _) => Status::Completed,
            (Activity::Starting | Activity::Working | Activity::Waiting, _) => Status::Active,
            (_, Some(TurnOutcome::Failed)) => Status::Error,
            (_, Some(TurnOutcome::Interrupted)) => Status::Interrupted,
            (_, Some(TurnOutcome::Completed) | None) => Status::Idle,
        };
        let project =
            self.opened.cwd.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty());
        let metadata = [("agentVersion", &self.version), ("transcript", &self.transcript)];
        SessionInfo {
            provider: Arc::clone(&self.opened.agent),
            session_id: self.id,
            title: self.title.clone(),
            project: project.map(str::to_owned),
            repo: self.git.as_ref().and_then(|git| git.remote.clone()),
            status,
            created_at: self.created_at,
            updated_at: self.updated_at,
            preview: self.preview(),
            metadata: metadata
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value.clone()?.into())))
                .collect(),
            raw_session: None,
            activity,
            cwd: self.opened.cwd.clone(),
            mode: self.opened.mode,
            model: self.model.clone(),
            mcp_servers: self.opened.mcp_servers.clone(),
            native: self.native.clone(),
            imported: self.imported,
            capabilities: self.opened.capabilities.clone(),
            head: self.head,
            turn: self.turn.map(|turn| turn.id),
            queue: self.queue.iter().map(QueuedPrompt::without_data).collect(),
            approvals: self.approvals.values().cloned().collect(),
            questions: self.questions.values().cloned().collect(),
            usage: self.usage,
            context_percent: self.usage.context_percent(),
            cost_usd: self.cost_usd,
            git: self.git.clone(),
            commands: self.commands.clone(),
            archived: self.archived,
            parent: self.opened.parent,
            forked_from: self.opened.forked_from.clone(),
        }
    }

    /// The end of what was last said: of the message that grows right now, else of the last one.
    fn preview(&self) -> Option<String> {
        let grows = |item: &&OpenItem| item.kind == OpenKind::Message && !item.text.trim().is_empty();
        let text = self.open.values().rev().find(grows).map_or(self.last_text.as_str(), |item| &item.text);
        let tail = tail(text.trim(), PREVIEW_CHARS);
        (!tail.is_empty()).then(|| tail.to_owned())
    }
}

/// The last `chars` characters.
fn tail(text: &str, chars: usize) -> &str {
    match text.char_indices().rev().nth(chars.saturating_sub(1)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

/// A title made of a prompt: its first line with words, cut at a word.
pub fn title_of(prompt: &str) -> String {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS).collect();
    let whole = cut.rfind(' ').filter(|at| *at > TITLE_CHARS / 2).map_or(cut.as_str(), |at| &cut[..at]);
    format!("{}…", whole.trim_end())
}
