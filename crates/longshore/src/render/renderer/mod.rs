//! The renderer: takes one event, returns the text to print now.

mod talk;
mod work;

use longshore_model::approval::{ApprovalRequest, QuestionRequest};
use longshore_model::event::{Body, Event};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::item::{FileChange, PlanStep, ToolCall, ToolStatus};
use longshore_model::time::Timestamp;

use super::diff::{self, Counts};
use super::footer::{self, TurnFacts};
use super::human::short_id;
use super::line::InkLine;
use super::page::{AskId, BlockItem, PageBlock, PageState, ProseVoice};
use super::prose::Prose;
use super::status::{self, Doing};
use super::style::{Show, Style};
use super::tool::ToolCard;
use super::{ask, fold, lifecycle, question};

/// Draws the events of one session as they come. It is pure: its output depends only on its input.
///
/// It keeps what still grows and forgets what is finished, so a long session costs no more than its open
/// items.
#[derive(Debug)]
pub struct Renderer {
    style: Style,
    page: PageState,
    /// Texts that grow, in the order in which they began.
    prose: Vec<(ProseVoice, BlockItem, Prose)>,
    /// Remarks that wait for the end of the paragraph in whose middle they came.
    by_the_way: Vec<InkLine>,
    /// When thinking began, by item.
    thoughts: Vec<(BlockItem, Timestamp)>,
    tools: Vec<ToolCard>,
    /// Calls that are over by now, and whose end may still be to come here.
    named: Vec<ToolCard>,
    /// The changes that were shown in this turn, to tell a new status from new changes.
    diffs: Vec<(BlockItem, ToolStatus, Vec<FileChange>)>,
    asks: Vec<OpenAsk>,
    plan: Vec<PlanStep>,
    starting: Option<Timestamp>,
    turn: Option<RunningTurn>,
    context: Option<u8>,
    changed: Option<Counts>,
    cwd: String,
    agent: String,
}

/// The turn that runs.
#[derive(Clone, Copy, Debug)]
struct RunningTurn {
    id: Option<TurnId>,
    since: Timestamp,
}

/// What waits for an answer.
#[derive(Debug)]
struct OpenAsk {
    ask: AskId,
    since: Timestamp,
    item: BlockItem,
    brief: String,
    request: Option<QuestionRequest>,
}

impl Renderer {
    /// A renderer for one session.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            page: PageState::default(),
            prose: Vec::new(),
            by_the_way: Vec::new(),
            thoughts: Vec::new(),
            tools: Vec::new(),
            named: Vec::new(),
            diffs: Vec::new(),
            asks: Vec::new(),
            plan: Vec::new(),
            starting: None,
            turn: None,
            context: None,
            changed: None,
            cwd: String::new(),
            agent: String::new(),
        }
    }

    /// The work tree, for a renderer that does not see the session open.
    pub fn in_folder(mut self, cwd: &str) -> Self {
        cwd.clone_into(&mut self.cwd);
        self
    }

    /// Notes an approval that is already decided. It needs no box any more; its decision will follow.
    pub fn decided_since(&mut self, event: &Event, request: &ApprovalRequest) {
        let (ask, brief) = (AskId::Approval(request.approval), ask::brief(&request.subject));
        self.asks.push(OpenAsk { ask, since: event.at, item: event.item, brief, request: None });
    }

    /// A call that began before this renderer saw anything, so that its end has a name.
    pub fn began_before(&mut self, item: ItemId, since: Timestamp, call: &ToolCall, text: &str, runs: bool) {
        let tools = if runs { &mut self.tools } else { &mut self.named };
        if !tools.iter().any(|tool| tool.item == Some(item)) {
            tools.push(ToolCard::new(Some(item), since, call, text, &self.cwd));
        }
    }

    /// Sets a new width of the terminal; printed text stays as it is.
    pub fn resize(&mut self, width: usize) {
        self.style.width = width;
    }

    /// What this event adds to the terminal: whole lines, or nothing.
    pub fn event(&mut self, event: &Event) -> String {
        let mut printed = self.drawn(event);
        if !self.is_amid_a_paragraph() {
            printed.push_str(&self.put_by_the_way());
        }
        printed
    }

    /// A remark of the program itself, between the agent's messages.
    pub fn aside(&mut self, text: &str) -> String {
        self.remark(text)
    }

    fn drawn(&mut self, event: &Event) -> String {
        if self.agent != *event.agent {
            self.agent = event.agent.to_string();
        }
        let (style, text) = (self.style, event.text());
        match &event.body {
            Body::UserMessage { attachments, by, .. } => {
                self.put(PageBlock::Whole, talk::user_message(text, attachments, by.as_deref(), &style))
            }

            Body::MessageStarted => self.begin(ProseVoice::Message, event.item),
            Body::MessageDelta => self.grow(ProseVoice::Message, event.item, text),
            Body::MessageDone { partial, .. } => {
                self.complete(ProseVoice::Message, event.item, text, *partial)
            }

            Body::ReasoningStarted => self.think(event),
            Body::ReasoningDelta if style.reasoning == Show::Full => {
                self.grow(ProseVoice::Thought, event.item, text)
            }
            Body::ReasoningDelta => self.think(event),
            Body::ReasoningDone { partial } => self.thought(event, *partial),

            Body::PlanStarted => self.begin(ProseVoice::Plan, event.item),
            Body::PlanDelta => self.grow(ProseVoice::Plan, event.item, text),
            Body::PlanUpdated { steps } if steps.is_empty() => {
                self.complete(ProseVoice::Plan, event.item, text, false)
            }
            Body::PlanUpdated { steps } => self.plan(event.item, steps, text),

            Body::ToolStarted(call) => {
                let mut tool = ToolCard::new(event.item, event.at, call, text, &self.cwd);
                tool.tell_from(self.tools.iter());
                self.tools.push(tool);
                self.tool_head(event.item, false)
            }
            Body::ToolUpdated(call) => {
                let cwd = std::mem::take(&mut self.cwd);
                let tool = self.tools.iter_mut().find(|tool| tool.item == event.item);
                let again = tool.is_some_and(|tool| tool.update(call, text, &cwd) && tool.shown);
                self.cwd = cwd;
                self.tool_head(event.item, again)
            }
            Body::ToolOutputDelta => {
                if let Some(tool) = self.tools.iter_mut().find(|tool| tool.item == event.item) {
                    tool.grow(text);
                }
                self.tool_head(event.item, false)
            }
            Body::ToolFinished(outcome) => self.tool_end(event, outcome),

            Body::FileDiff(diff) => self.file_diff(event, diff),
            Body::TurnDiff => {
                self.changed = Some(diff::count(text));
                String::new()
            }

            Body::ApprovalRequested(request) => self.approval(event, request),
            Body::ApprovalDecided { approval, decision } => {
                let (what, item) = self.close(AskId::Approval(*approval));
                let lines = ask::decided(decision, &what, &style);
                self.put(PageBlock::Answered(AskId::Approval(*approval), item), lines)
            }
            Body::ApprovalExpired { approval } => self.expire(AskId::Approval(*approval), "approval", text),
            Body::QuestionAsked(request) => {
                let ask = AskId::Question(request.question);
                // Some name the call that asks, others do not.
                let asking = |tool: &&mut ToolCard| event.item.is_none() || tool.item == event.item;
                self.tools.iter_mut().filter(asking).for_each(ToolCard::question_is_shown);
                let brief = text.lines().next().unwrap_or_default().to_owned();
                let request_kept = Some(request.clone());
                self.asks.push(OpenAsk {
                    ask,
                    since: event.at,
                    item: event.item,
                    brief,
                    request: request_kept,
                });
                let lines = question::question_lines(request, event.text.as_deref(), &style);
                self.put(PageBlock::Asked(ask, event.item), lines)
            }
            Body::QuestionAnswered { question, answer } => {
                let ask = AskId::Question(*question);
                let asked = self.asks.iter().find(|open| open.ask == ask);
                let lines = question::answered(answer, asked.and_then(|open| open.request.as_ref()), &style);
                let (_, item) = self.close(ask);
                self.put(PageBlock::Answered(ask, item), lines)
            }
            Body::QuestionExpired { question } => self.expire(AskId::Question(*question), "question", text),

            Body::DelegationStarted(delegation) => {
                if let Some(tool) = self.tool_of(event.item) {
                    tool.delegation_began();
                }
                self.put(PageBlock::Head(event.item), lifecycle::delegated(delegation, text, &style))
            }
            Body::DelegationFinished(end) => {
                let mut printed = String::new();
                if let Some(tool) = self.tool_of(event.item) {
                    tool.delegation_ended();
                }
                if !self.page.stands_at(event.item) {
                    let head = lifecycle::delegated_before(end, &style);
                    printed.push_str(&self.page.put_again(event.item, head, &style));
                }
                let lines = lifecycle::delegation_end(end, text, &style);
                // Under its head, also where the delegation is no item.
                let block =
                    if event.item.is_some() { PageBlock::Body(event.item) } else { PageBlock::Head(None) };
                printed.push_str(&self.put(block, lines));
                printed
            }

            Body::TurnStarted { .. } => {
                self.turn = Some(RunningTurn { id: event.turn, since: event.at });
                self.starting = None;
                self.changed = None;
                String::new()
            }
            Body::TurnFinished(end) => {
                let took = self.turn.take().map(|turn| event.at.millis_since(turn.since));
                let told = TurnFacts { took, context: self.context, changed: self.changed.take() };
                self.diffs.clear();
                self.thoughts.clear();
                let running =
                    self.tools.iter().filter(|tool| tool.shown).map(|tool| fold::brief(&tool.brief()));
                let running: Vec<String> = running.map(|tool| format!("still running: {tool}")).collect();
                let mut printed: String = running.iter().map(|left| self.remark(left)).collect();
                printed.push_str(&self.put(PageBlock::Whole, footer::lines(end, text, told, &style)));
                printed
            }

            Body::SessionOpened(opened) => {
                self.cwd.clone_from(&opened.cwd);
                self.starting = Some(event.at);
                self.put(PageBlock::Remark, lifecycle::opened(opened, event.session, &style))
            }
            // It was ready before, and has given the conversation a name by now.
            Body::SessionReady(_) if event.turn.is_some() => String::new(),
            Body::SessionReady(ready) => {
                self.starting = None;
                self.put(PageBlock::Remark, lifecycle::ready(ready, &event.agent, &style))
            }
            Body::SessionSleeping(sleep) => {
                self.rest();
                self.put(PageBlock::Remark, lifecycle::sleeping(sleep, &event.agent, text, &style))
            }
            Body::SessionRevived { from_log } => {
                self.put(PageBlock::Remark, lifecycle::revived(*from_log, &event.agent, &style))
            }
            Body::SessionHandedOff => {
                self.rest();
                self.put(PageBlock::Remark, lifecycle::handed_off(text, &style))
            }
            Body::SessionClosed => {
                self.rest();
                let why = if text.is_empty() { String::new() } else { format!(": {text}") };
                self.remark(&format!("the session has ended{why}"))
            }
            Body::SessionError(fault) => {
                self.put(PageBlock::Remark, lifecycle::fault(*fault, text, &event.agent, &style))
            }
            Body::Notice { level } => self.put(PageBlock::Remark, lifecycle::notice(*level, text, &style)),

            // Without a turn it is sent at once and seen as the message that it becomes.
            Body::PromptQueued { .. } if self.turn.is_none() => String::new(),
            // So it is when it goes into the turn that runs.
            Body::PromptQueued { turn_id, .. } if self.turn.is_some_and(|turn| turn.id == Some(*turn_id)) => {
                String::new()
            }
            Body::PromptQueued { .. } => self.remark(&format!("queued: {}", fold::brief(text))),
            Body::PromptCancelled { .. } => self.remark("a queued prompt was removed"),
            Body::PromptEdited { .. } => {
                self.remark(&format!("a queued prompt now reads: {}", fold::brief(text)))
            }

            Body::ModelChanged { model } => self.remark(&format!("model: {model}")),
            Body::EffortChanged { effort } if effort.is_empty() => self.remark("effort: the agent's own"),
            Body::EffortChanged { effort } => self.remark(&format!("effort: {effort}")),
            Body::ModeChanged { mode } => self.remark(&format!("mode: {mode}")),
            Body::ArchiveChanged { archived } => {
                self.remark(if *archived { "the session was archived" } else { "the session was unarchived" })
            }
            Body::UsageUpdated(usage) => {
                self.context = usage.context_percent().or(self.context);
                String::new()
            }
            Body::UsageLimited(limit) => {
                self.put(PageBlock::Remark, lifecycle::limited(limit, event.at, &style))
            }
            Body::QueueHeld => {
                let id = short_id(event.session);
                let how = format!(
                    "`longshore queue send {id} --all` (or /send) sends every held prompt, `discard` empties the queue"
                );
                self.remark(&format!("{text}; {how}"))
            }
            Body::QueueSent { prompts } => self.remark(&match prompts.len() {
                1 => "1 held prompt is sent on".to_owned(),
                many => format!("{many} held prompts are sent on"),
            }),
            Body::DelegationWaiting { child, waiting: true } => {
                self.remark(&format!("{} waits for a person", short_id(*child)))
            }
            Body::DelegationWaiting { waiting: false, .. }
            | Body::QueueReordered { .. }
            | Body::TitleChanged
            | Body::GitChanged(_)
            | Body::CommandsListed { .. }
            | Body::Imported { .. }
            | Body::Raw { .. } => String::new(),
        }
    }

    fn tool_of(&mut self, item: BlockItem) -> Option<&mut ToolCard> {
        self.tools.iter_mut().find(|tool| tool.item == item && item.is_some())
    }

    /// Prints everything that was held back, at the end.
    pub fn finish(&mut self) -> String {
        let mut printed = String::new();
        for (voice, item, prose) in std::mem::take(&mut self.prose) {
            let lines = self.voiced(voice, prose.end(self.room(voice), &self.style));
            printed.push_str(&self.put(PageBlock::Prose(voice, item), lines));
        }
        printed.push_str(&self.put_by_the_way());
        printed
    }

    /// The current activity, in one line without a newline; none if there is none.
    pub fn status(&self, now: Timestamp) -> Option<String> {
        self.doing().map(|doing| status::line(&doing, now, &self.style))
    }

    fn doing(&self) -> Option<Doing> {
        let busy = |what: &str, since: Timestamp| Doing {
            what: what.to_owned(),
            since,
            aside: String::new(),
            waits: false,
        };
        if let Some(open) = self.asks.first() {
            let more = match self.asks.len() {
                1 => String::new(),
                many => format!(" (and {} more)", many - 1),
            };
            let what = match open.ask {
                AskId::Approval(_) => format!("Your decision is needed{more}: {}", open.brief),
                AskId::Question(_) => format!("Your answer is needed{more}: {}", open.brief),
            };
            let what = what.trim_end_matches([':', ' ']).to_owned();
            return Some(Doing { waits: true, ..busy(&what, open.since) });
        }
        if let Some(tool) = self.tools.last() {
            let more = match self.tools.len() {
                1 => String::new(),
                many => format!(" (and {} more)", many - 1),
            };
            let what = format!("{}{more}", tool.brief());
            return Some(Doing { aside: tool.last_words(), ..busy(&what, tool.since) });
        }
        if let Some(RunningTurn { since, .. }) = self.turn {
            let written = self.prose.iter().rfind(|(voice, ..)| *voice != ProseVoice::Thought);
            // Beside what stands before it.
            let room = self.style.columns().saturating_sub(24);
            let tail = written.map(|(_, _, prose)| prose.tail(room)).unwrap_or_default();
            if !tail.is_empty() {
                return Some(Doing { aside: tail.to_owned(), ..busy("Writing", since) });
            }
            let what = if written.is_some() {
                "Writing"
            } else if self.thoughts.is_empty() {
                "Working"
            } else {
                "Thinking"
            };
            return Some(busy(what, since));
        }
        self.starting.map(|since| busy(&format!("Starting {}", self.agent), since))
    }

    fn put(&mut self, block: PageBlock, lines: Vec<InkLine>) -> String {
        if block == PageBlock::Remark && self.is_amid_a_paragraph() {
            self.by_the_way.extend(lines);
            return String::new();
        }
        let goes_on = matches!(block, PageBlock::Prose(..));
        let mut printed = if goes_on || lines.is_empty() { String::new() } else { self.put_by_the_way() };
        printed.push_str(&self.page.put(block, lines, &self.style));
        printed
    }

    fn put_by_the_way(&mut self) -> String {
        self.page.put(PageBlock::Remark, std::mem::take(&mut self.by_the_way), &self.style)
    }

    /// Whether what was printed last is a part of a paragraph or of a fence of which more comes.
    fn is_amid_a_paragraph(&self) -> bool {
        let goes_on = |(voice, item, prose): &(ProseVoice, BlockItem, Prose)| {
            self.page.ends_with(PageBlock::Prose(*voice, *item)) && prose.is_amid_a_block()
        };
        self.prose.iter().any(goes_on)
    }

    fn remark(&mut self, text: &str) -> String {
        let lines = lifecycle::remark(text, &self.style);
        self.put(PageBlock::Remark, lines)
    }

    fn rest(&mut self) {
        self.turn = None;
        self.starting = None;
        self.tools.clear();
        self.asks.clear();
        self.thoughts.clear();
        self.diffs.clear();
    }
}
