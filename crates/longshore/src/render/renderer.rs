//! The renderer: one event in, the text to print now out.

use longshore_model::approval::{ApprovalRequest, QuestionRequest};
use longshore_model::command::Attachment;
use longshore_model::event::{Body, Event};
use longshore_model::item::{FileChange, FileDiff, PlanStep, ToolStatus};
use longshore_model::time::Timestamp;

use super::clean::clean;
use super::diff::{self, Counts};
use super::footer::{self, Told};
use super::human::{elapsed, short_id};
use super::line::Line;
use super::page::{Ask, Block, Item, Page, Voice};
use super::prose::{Prose, Rest};
use super::status::{self, Doing};
use super::style::{Show, Style, ink};
use super::tool::Tool;
use super::wrap::{behind, text_behind};
use super::{ask, lifecycle, plan, question, tool};

/// Draws the events of one session as they come. Pure: what it prints is a function of what it was given.
///
/// It keeps what is still growing and forgets it when it is done, so that a long session costs no more than its
/// open items.
#[derive(Debug)]
pub struct Renderer {
    style: Style,
    page: Page,
    /// Texts that grow, in the order in which they began.
    prose: Vec<(Voice, Item, Prose)>,
    /// When thinking began, by item.
    thoughts: Vec<(Item, Timestamp)>,
    tools: Vec<Tool>,
    /// The changes that were shown in this turn, to tell a new status from new changes.
    diffs: Vec<(Item, ToolStatus, Vec<FileChange>)>,
    asks: Vec<Open>,
    plan: Vec<PlanStep>,
    starting: Option<Timestamp>,
    turn: Option<Timestamp>,
    context: Option<u8>,
    changed: Option<Counts>,
    cwd: String,
    agent: String,
}

/// What waits for an answer.
#[derive(Debug)]
struct Open {
    ask: Ask,
    since: Timestamp,
    item: Item,
    brief: String,
    request: Option<QuestionRequest>,
}

impl Renderer {
    /// A renderer for one session.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            page: Page::default(),
            prose: Vec::new(),
            thoughts: Vec::new(),
            tools: Vec::new(),
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

    /// The terminal has another width now; what is printed already stays as it is.
    pub fn resize(&mut self, width: usize) {
        self.style.width = width;
    }

    /// What this event adds to the terminal: whole lines, or nothing.
    pub fn event(&mut self, event: &Event) -> String {
        if self.agent != *event.agent {
            self.agent = event.agent.to_string();
        }
        let (style, text) = (self.style, event.text());
        match &event.body {
            Body::UserMessage { attachments, by, .. } => {
                self.put(Block::Whole, user_message(text, attachments, by.as_deref(), &style))
            }

            Body::MessageStarted => self.begin(Voice::Message, event.item),
            Body::MessageDelta => self.grow(Voice::Message, event.item, text),
            Body::MessageDone { partial, .. } => self.complete(Voice::Message, event.item, text, *partial),

            Body::ReasoningStarted => self.think(event),
            Body::ReasoningDelta if style.reasoning == Show::Full => {
                self.grow(Voice::Thought, event.item, text)
            }
            Body::ReasoningDelta => self.think(event),
            Body::ReasoningDone { partial } => self.thought(event, *partial),

            Body::PlanStarted => self.begin(Voice::Plan, event.item),
            Body::PlanDelta => self.grow(Voice::Plan, event.item, text),
            Body::PlanUpdated { steps } if steps.is_empty() => {
                self.complete(Voice::Plan, event.item, text, false)
            }
            Body::PlanUpdated { steps } => self.plan(steps, text),

            Body::ToolStarted(call) => {
                let mut tool = Tool::new(event.item, event.at, call, text, &self.cwd);
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
            Body::ToolFinished(outcome) => {
                let at = self.tools.iter().position(|tool| tool.item == event.item);
                let tool = at.map(|at| self.tools.remove(at));
                let tool = tool.unwrap_or_else(|| Tool::unknown(event.item, event.at));
                let mut printed = self.head_if_needed(&tool);
                printed
                    .push_str(&self.put(Block::Body(event.item), tool.end(outcome, text, event.at, &style)));
                printed
            }

            Body::FileDiff(diff) => self.file_diff(event, diff),
            Body::TurnDiff => {
                self.changed = Some(diff::count(text));
                String::new()
            }

            Body::ApprovalRequested(request) => self.approval(event, request),
            Body::ApprovalDecided { approval, decision } => {
                let (what, item) = self.close(Ask::Approval(*approval));
                let lines = ask::decided(decision, &what, &style);
                self.put(Block::Answered(Ask::Approval(*approval), item), lines)
            }
            Body::ApprovalExpired { approval } => self.expire(Ask::Approval(*approval), "approval", text),
            Body::QuestionAsked(request) => {
                let ask = Ask::Question(request.question);
                let brief = text.lines().next().unwrap_or_default().to_owned();
                let request_kept = Some(request.clone());
                self.asks.push(Open { ask, since: event.at, item: event.item, brief, request: request_kept });
                let lines = question::question_lines(request, event.text.as_deref(), &style);
                self.put(Block::Asked(ask, event.item), lines)
            }
            Body::QuestionAnswered { question, answer } => {
                let ask = Ask::Question(*question);
                let asked = self.asks.iter().find(|open| open.ask == ask);
                let lines = question::answered(answer, asked.and_then(|open| open.request.as_ref()), &style);
                let (_, item) = self.close(ask);
                self.put(Block::Answered(ask, item), lines)
            }
            Body::QuestionExpired { question } => self.expire(Ask::Question(*question), "question", text),

            Body::DelegationStarted(delegation) => {
                self.put(Block::Head(event.item), lifecycle::delegated(delegation, text, &style))
            }
            Body::DelegationFinished(end) => {
                self.put(Block::Body(event.item), lifecycle::delegation_end(end, text, &style))
            }

            Body::TurnStarted { .. } => {
                self.turn = Some(event.at);
                self.starting = None;
                self.changed = None;
                String::new()
            }
            Body::TurnFinished(end) => {
                let took = self.turn.take().map(|since| event.at.millis_since(since));
                let told = Told { took, context: self.context, changed: self.changed.take() };
                self.diffs.clear();
                self.put(Block::Whole, footer::lines(end, text, told, &style))
            }

            Body::SessionOpened(opened) => {
                self.cwd.clone_from(&opened.cwd);
                self.starting = Some(event.at);
                self.put(Block::Remark, lifecycle::opened(opened, event.session, &style))
            }
            Body::SessionReady(ready) => {
                self.starting = None;
                self.put(Block::Remark, lifecycle::ready(ready, &event.agent, &style))
            }
            Body::SessionSleeping(sleep) => {
                self.rest();
                self.put(Block::Remark, lifecycle::sleeping(sleep, &event.agent, text, &style))
            }
            Body::SessionRevived { from_log } => {
                self.put(Block::Remark, lifecycle::revived(*from_log, &event.agent, &style))
            }
            Body::SessionHandedOff => {
                self.rest();
                self.put(Block::Remark, lifecycle::handed_off(text, &style))
            }
            Body::SessionClosed => {
                self.rest();
                let why = if text.is_empty() { String::new() } else { format!(": {text}") };
                self.remark(&format!("the session is closed{why}"))
            }
            Body::SessionError(fault) => {
                self.put(Block::Remark, lifecycle::fault(*fault, text, &event.agent, &style))
            }
            Body::Notice { level } => self.put(Block::Remark, lifecycle::notice(*level, text, &style)),

            // Without a turn it is sent at once and seen as the message that it becomes.
            Body::PromptQueued { .. } if self.turn.is_none() => String::new(),
            Body::PromptQueued { .. } => self.remark(&format!("queued: {text}")),
            Body::PromptCancelled { .. } => self.remark("a queued prompt was taken back"),
            Body::PromptEdited { .. } => self.remark(&format!("a queued prompt now reads: {text}")),

            Body::ModelChanged { model } => self.remark(&format!("model: {model}")),
            Body::ModeChanged { mode } => self.remark(&format!("mode: {mode}")),
            Body::ArchiveChanged { archived } => self.remark(if *archived {
                "the session was put away"
            } else {
                "the session was taken out again"
            }),
            Body::UsageUpdated(usage) => {
                self.context = usage.context_percent().or(self.context);
                String::new()
            }
            Body::UsageLimited(limit) => self.put(Block::Remark, lifecycle::limited(limit, event.at, &style)),
            Body::QueueReordered { .. }
            | Body::TitleChanged
            | Body::GitChanged(_)
            | Body::CommandsListed { .. }
            | Body::Raw { .. } => String::new(),
        }
    }

    /// Nothing more comes: prints what was still held back.
    pub fn finish(&mut self) -> String {
        let mut printed = String::new();
        for (voice, item, prose) in std::mem::take(&mut self.prose) {
            let lines = self.voiced(voice, prose.end(self.room(voice), &self.style));
            printed.push_str(&self.put(Block::Prose(voice, item), lines));
        }
        printed
    }

    /// What goes on right now, in one line without a newline; none when nothing does.
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
                Ask::Approval(_) => format!("Your decision is needed{more}: {}", open.brief),
                Ask::Question(_) => format!("Your answer is needed{more}: {}", open.brief),
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
        if let Some(since) = self.turn {
            let writes = self.prose.iter().any(|(voice, ..)| *voice != Voice::Thought);
            let what = if writes {
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

    fn put(&mut self, block: Block, lines: Vec<Line>) -> String {
        self.page.put(block, lines, &self.style)
    }

    fn remark(&mut self, text: &str) -> String {
        let lines = lifecycle::remark(text, &self.style);
        self.put(Block::Remark, lines)
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

/// Texts that grow.
impl Renderer {
    fn room(&self, voice: Voice) -> usize {
        match voice {
            Voice::Message | Voice::Plan => self.style.columns(),
            Voice::Thought => self.style.columns() - 2,
        }
    }

    fn voiced(&self, voice: Voice, lines: Vec<Line>) -> Vec<Line> {
        match voice {
            Voice::Message | Voice::Plan => lines,
            Voice::Thought => {
                let bar = Line::of(&format!("{} ", self.style.signs().gutter), ink::DIM);
                let dimmed = lines.into_iter().map(|line| line.over(ink::DIM.italic())).collect();
                behind(dimmed, &bar, &bar)
            }
        }
    }

    fn prose_of(&mut self, voice: Voice, item: Item) -> usize {
        let at = self.prose.iter().position(|(v, i, _)| (*v, *i) == (voice, item));
        at.unwrap_or_else(|| {
            self.prose.push((voice, item, Prose::default()));
            self.prose.len() - 1
        })
    }

    fn begin(&mut self, voice: Voice, item: Item) -> String {
        self.prose_of(voice, item);
        String::new()
    }

    fn grow(&mut self, voice: Voice, item: Item, text: &str) -> String {
        let (at, room) = (self.prose_of(voice, item), self.room(voice));
        let lines = self.prose[at].2.push(text, room, &self.style);
        let lines = self.voiced(voice, lines);
        self.put(Block::Prose(voice, item), lines)
    }

    fn complete(&mut self, voice: Voice, item: Item, whole: &str, partial: bool) -> String {
        let at = self.prose_of(voice, item);
        let (_, _, prose) = self.prose.remove(at);
        let mut printed = match prose.done(whole, self.room(voice), &self.style) {
            Rest::Continues(lines) => {
                let lines = self.voiced(voice, lines);
                self.put(Block::Prose(voice, item), lines)
            }
            Rest::Differs(lines) => {
                let note = lifecycle::remark("parts got lost on the way; here is all of it:", &self.style);
                let mut printed = self.put(Block::Whole, note);
                let lines = self.voiced(voice, lines);
                printed.push_str(&self.put(Block::Prose(voice, item), lines));
                printed
            }
        };
        if partial {
            printed.push_str(&self.remark("cut off here: the agent did not finish"));
        }
        printed
    }

    fn think(&mut self, event: &Event) -> String {
        if !self.thoughts.iter().any(|(item, _)| *item == event.item) {
            self.thoughts.push((event.item, event.at));
        }
        String::new()
    }

    fn thought(&mut self, event: &Event, partial: bool) -> String {
        let at = self.thoughts.iter().position(|(item, _)| *item == event.item);
        let since = at.map(|at| self.thoughts.remove(at).1);
        match self.style.reasoning {
            Show::Hidden => String::new(),
            Show::Full => self.complete(Voice::Thought, event.item, event.text(), partial),
            Show::Folded => {
                let gist = gist(event.text());
                let took = since.map(|since| event.at.millis_since(since)).filter(|took| *took >= 1_000);
                let took = took.map(|took| format!(" for {}", elapsed(took))).unwrap_or_default();
                if gist.is_empty() {
                    return String::new();
                }
                let line = Line::of(&format!("{} thought{took}: ", self.style.signs().dot), ink::DIM);
                let line = line.with(&gist, ink::DIM.italic());
                let line = line.cut(self.style.columns(), self.style.signs().more);
                self.put(Block::Remark, vec![line])
            }
        }
    }

    fn plan(&mut self, steps: &[PlanStep], why: &str) -> String {
        if self.plan == steps {
            return String::new();
        }
        self.plan = steps.to_vec();
        let lines = plan::lines(steps, why, &self.style);
        self.put(Block::Whole, lines)
    }
}

/// Tools, changes, approvals.
impl Renderer {
    /// The head of a card, once there is something to say; `again` when it was said otherwise before.
    fn tool_head(&mut self, item: Item, again: bool) -> String {
        let style = self.style;
        let Some(tool) = self.tools.iter_mut().find(|tool| tool.item == item) else { return String::new() };
        if (tool.shown && !again) || !tool.is_telling() {
            return String::new();
        }
        let lines = tool.head(again, &style);
        tool.shown = true;
        self.put(Block::Head(item), lines)
    }

    /// The end of a call stands under its head; when something else was printed since, it is named again.
    fn head_if_needed(&mut self, tool: &Tool) -> String {
        if tool.shown && self.page.stands_at(tool.item) {
            return String::new();
        }
        let lines = tool.head(tool.shown, &self.style);
        let mut printed = String::new();
        if tool.shown {
            // A blank line tells it from heads of calls that still run.
            printed.push_str(&self.put(Block::Whole, lines));
            self.page = Page::at(Block::Head(tool.item));
        } else {
            printed.push_str(&self.put(Block::Head(tool.item), lines));
        }
        printed
    }

    fn file_diff(&mut self, event: &Event, diff: &FileDiff) -> String {
        let (style, item) = (self.style, event.item);
        let of_tool = self.tools.iter().any(|tool| tool.item == item && tool.shown);
        let (sign, sign_ink) = tool::sign(diff.status, &style);
        let seen = self.diffs.iter().position(|(of, _, changes)| *of == item && *changes == diff.changes);
        if let Some(seen) = seen {
            let before = std::mem::replace(&mut self.diffs[seen].1, diff.status);
            if before == diff.status || of_tool {
                return String::new();
            }
            let word = match diff.status {
                ToolStatus::Running => return String::new(),
                ToolStatus::Completed => "applied",
                ToolStatus::Failed => "not applied",
                ToolStatus::Declined => "declined",
                ToolStatus::Cancelled => "cancelled",
            };
            let mut line =
                Line::of("  ", ink::PLAIN).with(sign, sign_ink).with(&format!(" {word}"), ink::DIM);
            if !self.page.stands_at(item) {
                let paths: Vec<_> = diff.changes.iter().map(|change| clean(&change.path)).collect();
                line = Line::of(sign, sign_ink).with(&format!(" {word}: {}", paths.join(", ")), ink::DIM);
                line = line.cut(style.columns(), style.signs().more);
            }
            return self.put(Block::Body(item), vec![line]);
        }
        self.diffs.retain(|(of, ..)| *of != item);
        self.diffs.push((item, diff.status, diff.changes.clone()));
        let head = |change: &FileChange| {
            let mut line = if of_tool {
                Line::of("  ", ink::PLAIN)
            } else {
                Line::of(sign, sign_ink)
                    .with(" ", ink::PLAIN)
                    .with(diff::verb(change), ink::BOLD)
                    .with("  ", ink::PLAIN)
            };
            line.append(diff::title(change, &style));
            super::wrap::wrap(&line, style.columns())
        };
        let hint = format!(" (longshore show {})", short_id(event.session));
        let lines = diff::lines(&diff.changes, diff::FOLD, &hint, &style, head);
        let block = if of_tool && self.page.stands_at(item) { Block::Body(item) } else { Block::Head(item) };
        self.put(block, lines)
    }

    fn approval(&mut self, event: &Event, request: &ApprovalRequest) -> String {
        let ask = Ask::Approval(request.approval);
        let changes = match &request.subject {
            longshore_model::approval::Subject::Edit { changes, .. } => Some(changes),
            longshore_model::approval::Subject::Command { .. }
            | longshore_model::approval::Subject::Tool { .. }
            | longshore_model::approval::Subject::Permissions { .. } => None,
        };
        let diff_above = self.page.stands_at(event.item)
            && changes.is_some_and(|asked| {
                self.diffs
                    .iter()
                    .any(|(of, _, shown)| *of == event.item && shown == asked && diff::fits(shown))
            });
        let brief = ask::brief(&request.subject);
        self.asks.push(Open { ask, since: event.at, item: event.item, brief, request: None });
        let lines = ask::approval_lines(request, event.text.as_deref(), diff_above, &self.style);
        self.put(Block::Asked(ask, event.item), lines)
    }

    /// Takes an open question away; gives what it was about, unless that stands right above.
    fn close(&mut self, ask: Ask) -> (String, Item) {
        let at = self.asks.iter().position(|open| open.ask == ask);
        let open = at.map(|at| self.asks.remove(at));
        let item = open.as_ref().and_then(|open| open.item);
        let above = self.page.just_asked(ask);
        let brief = open.filter(|_| !above).map(|open| open.brief).unwrap_or_default();
        (brief, item)
    }

    fn expire(&mut self, ask: Ask, noun: &str, why: &str) -> String {
        let (what, item) = self.close(ask);
        let mut text = format!("the {noun} is void");
        if !what.is_empty() {
            text.push_str(&format!(" ({what})"));
        }
        if !why.is_empty() {
            text.push_str(&format!(": {why}"));
        }
        let lines = lifecycle::remark(&text, &self.style);
        self.put(Block::Answered(ask, item), lines)
    }
}

fn user_message(text: &str, attachments: &[Attachment], by: Option<&str>, style: &Style) -> Vec<Line> {
    let first = Line::of("> ", ink::PERSON);
    let rest = Line::of("  ", ink::PLAIN);
    let mut lines = text_behind(&clean(text), ink::BOLD, style.columns(), &first, &rest);
    for attachment in attachments {
        let name = attachment.name.as_deref().unwrap_or("attachment");
        let text = format!("+ {name} ({})", attachment.media_type);
        lines.extend(text_behind(&clean(&text), ink::DIM, style.columns(), &rest, &rest));
    }
    if let Some(by) = by.filter(|by| *by != "owner") {
        lines.extend(text_behind(&format!("from {}", clean(by)), ink::DIM, style.columns(), &rest, &rest));
    }
    lines
}

/// The first thing that a thought says, without its markup.
fn gist(thought: &str) -> String {
    let thought = clean(thought);
    let line = thought.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.trim_matches(['*', '#', '_', ' ']).to_owned()
}
