//! Tool calls. Facts about a call come in parts from three sources, in any order and more than once:
//! `tool_call`, `tool_call_update` and the request for permission. The driver merges each part into the known
//! facts.

use longshore_model::command::Attachment;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, SessionId, TurnId};
use longshore_model::item::{FileChange, FileDiff, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use serde_json::Value;

use super::conversation::AcpConversation;
use super::diffs::{self, Edit};
use super::outputs;
use crate::acp::rows::ToolNameSource;
use crate::acp::wire::{PlanEntry, ToolPart};
use crate::kit::Scribe;

/// The source of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// `tool_call`.
    Call,
    /// `tool_call_update`.
    Update,
    /// `session/request_permission`.
    Permission,
}

/// A tool call, as far as the driver knows it.
#[derive(Debug)]
pub(super) struct AcpToolCall {
    pub item: ItemId,
    pub open: bool,
    /// Whether the driver has emitted the call. Some agents name a call before they know what it does.
    pub told: bool,
    pub call: ToolCall,
    pub title: String,
    /// Whether the call has begun its work.
    pub begun: bool,
    /// Whether a person denied the call.
    pub denied: bool,
    /// The changes of the call.
    pub edits: Vec<Edit>,
    /// The output so far.
    pub output: String,
    /// The terminals of the call, whose output the hub knows.
    pub terminals: Vec<String>,
    pub exit_code: Option<i64>,
    /// The files of the call.
    pub paths: Vec<String>,
    /// Pictures and other attachments of the call.
    pub attachments: Vec<Attachment>,
    /// Whether the call leaves a mode, because the agent has finished planning.
    pub switches: bool,
    /// The plan that the agent asks to carry out.
    pub plan: Option<String>,
}

impl AcpConversation {
    /// Merges a part into a call, and emits what is new. Returns the item of the call.
    pub(super) fn tool_told(
        &mut self,
        mut part: ToolPart,
        source: Source,
        names: ToolNameSource,
        scribe: &mut Scribe<'_>,
    ) -> Option<ItemId> {
        if part.tool_call_id.is_empty() {
            return None;
        }
        let id = std::mem::take(&mut part.tool_call_id);
        let fresh = !self.tools.contains_key(&id);
        if fresh {
            self.fall_silent(scribe);
        }
        let (session, turn) = (self.session, self.turn_id());
        let stopped = self.turn.as_ref().is_some_and(|turn| turn.cut);
        if let Some(turn) = &mut self.turn {
            turn.worked = true;
        }
        let tool = self.tools.entry(id.clone()).or_insert_with(|| AcpToolCall {
            item: ItemId::mint(&mut scribe.cx),
            open: true,
            told: false,
            call: ToolCall::unknown(),
            title: String::new(),
            begun: false,
            denied: false,
            edits: Vec::new(),
            output: String::new(),
            terminals: Vec::new(),
            exit_code: None,
            paths: Vec::new(),
            attachments: Vec::new(),
            switches: false,
            plan: None,
        });
        if !tool.open {
            return Some(tool.item);
        }
        let before = (tool.call.clone(), tool.title.clone());
        tool.learn(&part, source, &id, fresh, names);
        let item = tool.item;
        if source == Source::Call && fresh && part.says_nothing_yet() {
            return Some(item);
        }
        if !tool.told {
            tool.begin(session, turn, scribe);
        } else if before != (tool.call.clone(), tool.title.clone()) {
            let draft = Draft::new(Body::ToolUpdated(tool.call.clone()));
            scribe.say(session, draft.turn(turn).item(item).text(tool.shown_title()));
        }
        let content = part.content.as_deref().unwrap_or_default();
        tool.terminals
            .extend(content.iter().filter(|one| one.kind == "terminal").map(|one| one.terminal_id.clone()));
        let changed = diffs::lay_over(&mut tool.edits, content, &part.meta, &tool.call, &self.cwd);
        let ends = match part.status.as_deref() {
            // An agent also reports a stopped command as completed.
            Some("completed") if stopped && tool.call.kind == ToolKind::Execute => {
                Some(ToolStatus::Cancelled)
            }
            Some("completed") => Some(ToolStatus::Completed),
            Some("failed") if tool.denied => Some(ToolStatus::Declined),
            Some("failed") if stopped => Some(ToolStatus::Cancelled),
            Some("failed") => Some(ToolStatus::Failed),
            Some(_) | None => None,
        };
        let prints = match source {
            Source::Update => part.status.as_deref() != Some("pending"),
            // Content that arrives before a call begins shows what the call will do.
            Source::Call | Source::Permission => ends.is_some(),
        };
        // One agent puts its model's description of the command into the content.
        let described = tool.call.input["description"].as_str();
        let printed = outputs::printed(content).filter(|text| prints && Some(text.as_str()) != described);
        let todos = if before.0.input == tool.call.input { None } else { todos_in(&tool.call.input) };
        let cwd = &self.cwd;
        // The approval shows the change itself, so the item need not. The item never shows a part of a change
        // at an unknown place.
        let shows = source != Source::Permission && tool.edits.iter().all(|edit| !edit.is_stray());
        let attached = outputs::attachments_in(content);
        if !attached.is_empty() {
            tool.attachments = attached;
        }
        if changed && ends.is_none() && shows {
            let diff = FileDiff { status: ToolStatus::Running, changes: tool.changes(cwd) };
            scribe.say(session, Draft::new(Body::FileDiff(diff)).turn(turn).item(item));
        }
        match ends {
            None => {
                if let Some(more) = printed.and_then(|printed| tool.prints(printed)) {
                    scribe.say(session, Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text(more));
                }
            }
            Some(status) => {
                let raw = part.raw_output.take().unwrap_or_default();
                let printed = printed.map(|printed| outputs::without_report(tool, printed, &raw));
                let outcome = outputs::outcome_of(status, &raw, tool.exit_code);
                let text = tool.whole_output(printed, &raw);
                tool.end(session, turn, cwd, outcome, text, scribe);
            }
        }
        if let Some(entries) = todos {
            self.planned(entries, scribe);
        }
        Some(item)
    }

    /// Handles output of a terminal. It is output of the call that runs in it.
    pub(super) fn terminal_told(
        &mut self,
        terminal: &str,
        printed: Option<&str>,
        exit_code: Option<i32>,
        scribe: &mut Scribe<'_>,
    ) {
        let (session, turn) = (self.session, self.turn_id());
        let Some(tool) = self.tools.values_mut().find(|tool| tool.terminals.iter().any(|of| of == terminal))
        else {
            return;
        };
        tool.exit_code = exit_code.map(i64::from).or(tool.exit_code);
        if let Some(more) = printed.filter(|_| tool.open).and_then(|printed| tool.prints(printed.to_owned()))
        {
            scribe.say(session, Draft::new(Body::ToolOutputDelta).turn(turn).item(tool.item).text(more));
        }
    }

    /// The turn is over. Ends every call whose end the agent never reported.
    pub(super) fn close_tools(&mut self, outcome: TurnOutcome, scribe: &mut Scribe<'_>) {
        let (session, turn, cwd) = (self.session, self.turn_id(), self.cwd.clone());
        let mut open: Vec<&mut AcpToolCall> = self.tools.values_mut().filter(|tool| tool.open).collect();
        open.sort_by_key(|tool| tool.item);
        for tool in open {
            let status = match (tool.denied, outcome) {
                (true, _) => ToolStatus::Declined,
                // If an agent completes its turn, it has finished the calls that it began.
                (false, TurnOutcome::Completed) if tool.begun => ToolStatus::Completed,
                (false, TurnOutcome::Completed | TurnOutcome::Failed | TurnOutcome::Interrupted) => {
                    ToolStatus::Cancelled
                }
            };
            if !tool.told {
                tool.begin(session, turn, scribe);
            }
            let ended = ToolOutcome { exit_code: tool.exit_code, ..ToolOutcome::of(status) };
            let text = tool.whole_output(None, &Value::Null);
            tool.end(session, turn, &cwd, ended, text, scribe);
        }
    }
}

impl AcpToolCall {
    /// The title of the call for people.
    fn shown_title(&self) -> String {
        if self.title.is_empty() { self.call.name.clone() } else { self.title.clone() }
    }

    fn begin(&mut self, session: SessionId, turn: Option<TurnId>, scribe: &mut Scribe<'_>) {
        self.told = true;
        let draft = Draft::new(Body::ToolStarted(self.call.clone()));
        scribe.say(session, draft.turn(turn).item(self.item).text(self.shown_title()));
    }

    fn learn(&mut self, part: &ToolPart, source: Source, id: &str, fresh: bool, names: ToolNameSource) {
        self.begun |= matches!(part.status.as_deref(), Some("in_progress" | "completed"));
        if let Some(kind) = part.kind.as_deref() {
            self.call.kind = kind_of(kind);
            self.switches |= kind == "switch_mode";
        }
        if self.switches {
            let told = part.raw_input.as_ref().and_then(|input| input["plan"].as_str()).map(str::to_owned);
            let shown = || outputs::printed(part.content.as_deref().unwrap_or_default());
            let shown = told.or_else(|| if source == Source::Update { None } else { shown() });
            self.plan = shown.filter(|plan| !plan.is_empty()).or(self.plan.take());
        }
        if let Some(title) = part.title.as_deref() {
            // The request for permission may have another title than the call.
            if source != Source::Permission || self.title.is_empty() {
                self.title = unquoted(title).to_owned();
            }
        }
        let own = part.name.as_deref().or_else(|| part.meta["claudeCode"]["toolName"].as_str());
        let own = own.or_else(|| part.meta["toolName"].as_str());
        let name = own.map(|name| name.trim_start_matches("mcp__acp__").to_owned());
        let name = name.or_else(|| outputs::mcp_tool_in(part.raw_input.as_ref()?)).or_else(|| match names {
            _ if !fresh => None,
            ToolNameSource::InId => id.split_once("__").map(|(name, _)| name.to_owned()),
            ToolNameSource::InFirstTitle if source == Source::Call => part.title.clone(),
            ToolNameSource::InFirstTitle | ToolNameSource::Nowhere => None,
        });
        match name {
            Some(name) => self.call.name = name,
            None if fresh => self.call.name = part.kind.clone().unwrap_or_else(|| "tool".to_owned()),
            None => {}
        }
        if let Some(locations) = part.locations.as_ref().filter(|locations| !locations.is_empty()) {
            self.paths = locations.iter().map(|location| location.path.clone()).collect();
        }
        if let Some(input) = part.raw_input.as_ref().filter(|input| !is_empty(input)) {
            if source != Source::Permission || is_empty(&self.call.input) {
                self.call.input = input.clone();
            }
            self.call.command = outputs::command_in(input).or(self.call.command.take());
            if self.call.command.is_some() {
                self.call.cwd = outputs::folder_in(input).or(self.call.cwd.take());
            }
        }
        if source == Source::Permission && part.raw_input.is_none() && is_empty(&self.call.input) {
            let shown = outputs::printed(part.content.as_deref().unwrap_or_default());
            self.call.input = shown.and_then(|shown| outputs::arguments_in(&shown)).unwrap_or_default();
        }
        if self.call.kind == ToolKind::Execute && part.raw_input.is_none() && is_empty(&self.call.input) {
            self.call.command = Some(self.title.clone()).filter(|title| !title.is_empty());
        }
    }

    /// Whether the call asks to carry out a plan, and the driver knows the plan.
    pub(super) fn asks_for_its_plan(&self) -> bool {
        self.switches && self.plan.is_some()
    }

    /// The changes of the call, file by file.
    pub(super) fn changes(&self, cwd: &str) -> Vec<FileChange> {
        self.edits.iter().map(|edit| edit.change(cwd)).collect()
    }

    /// The new part of the output. Agents repeat the whole output every time.
    fn prints(&mut self, printed: String) -> Option<String> {
        let more = printed.strip_prefix(self.output.as_str())?.to_owned();
        self.output = printed;
        (!more.is_empty()).then_some(more)
    }

    /// The whole output: from our terminal, from the content that the call shows, or from the result for the
    /// model.
    fn whole_output(&mut self, printed: Option<String>, raw: &Value) -> Option<String> {
        if !self.terminals.is_empty() && !self.output.is_empty() {
            return Some(std::mem::take(&mut self.output));
        }
        let told = printed.or_else(|| outputs::text_in(raw));
        told.or_else(|| Some(std::mem::take(&mut self.output)).filter(|output| !output.is_empty()))
    }

    fn end(
        &mut self,
        session: SessionId,
        turn: Option<TurnId>,
        cwd: &str,
        outcome: ToolOutcome,
        text: Option<String>,
        scribe: &mut Scribe<'_>,
    ) {
        self.open = false;
        let outcome = ToolOutcome { attachments: std::mem::take(&mut self.attachments), ..outcome };
        if !self.edits.is_empty() {
            let diff = FileDiff { status: outcome.status, changes: self.changes(cwd) };
            scribe.say(session, Draft::new(Body::FileDiff(diff)).turn(turn).item(self.item));
        }
        let mut draft = Draft::new(Body::ToolFinished(outcome)).turn(turn).item(self.item);
        draft.text = text;
        scribe.say(session, draft);
    }
}

/// A title without its backquotes, if the title is only code.
fn unquoted(title: &str) -> &str {
    let inner = title.strip_prefix('`').and_then(|title| title.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).unwrap_or(title)
}

fn kind_of(kind: &str) -> ToolKind {
    match kind {
        "execute" => ToolKind::Execute,
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "delete" => ToolKind::Delete,
        "move" => ToolKind::Move,
        "search" => ToolKind::Search,
        "fetch" => ToolKind::Fetch,
        "think" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty)
}

/// The plan in the arguments of a call, for agents that have only a tool for plans.
fn todos_in(input: &Value) -> Option<Vec<PlanEntry>> {
    let todos = input.get("todos")?.as_array()?;
    let word = |todo: &Value, name: &str| todo[name].as_str().unwrap_or_default().to_owned();
    let entries: Vec<PlanEntry> = todos
        .iter()
        .map(|todo| PlanEntry { content: word(todo, "content"), status: word(todo, "status") })
        .collect();
    entries.iter().all(|entry| !entry.content.is_empty()).then_some(entries).filter(|all| !all.is_empty())
}
