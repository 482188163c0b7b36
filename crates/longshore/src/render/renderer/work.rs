//! Work: tools, file changes, and the approvals before them.

use longshore_model::approval::{ApprovalRequest, Subject};
use longshore_model::event::Event;
use longshore_model::item::{FileChange, FileDiff, ToolOutcome, ToolStatus};

use super::{OpenAsk, Renderer};
use crate::render::clean::clean;
use crate::render::human::short_id;
use crate::render::line::InkLine;
use crate::render::page::{AskId, BlockItem, PageBlock};
use crate::render::style::ink;
use crate::render::tool::{self, ToolCard};
use crate::render::wrap::wrap;
use crate::render::{ask, diff, lifecycle};

impl Renderer {
    /// The head of a card, once there is something to say; `again` when it was said otherwise before.
    pub(super) fn tool_head(&mut self, item: BlockItem, again: bool) -> String {
        let style = self.style;
        let Some(tool) = self.tools.iter_mut().find(|tool| tool.item == item) else { return String::new() };
        if (tool.shown && !again) || !tool.is_telling() {
            return String::new();
        }
        let lines = tool.head(again, &style);
        tool.shown = true;
        self.put(PageBlock::Head(item), lines)
    }

    /// The end of a call stands under its head; when something else was printed since, it is named again.
    pub(super) fn head_if_needed(&mut self, tool: &ToolCard) -> String {
        if tool.shown && self.page.stands_at(tool.item) {
            return String::new();
        }
        let lines = tool.head(tool.shown, &self.style);
        if tool.shown {
            self.page.put_again(tool.item, lines, &self.style)
        } else {
            self.put(PageBlock::Head(tool.item), lines)
        }
    }

    pub(super) fn tool_end(&mut self, event: &Event, outcome: &ToolOutcome) -> String {
        let known = [&mut self.tools, &mut self.named];
        let tool = known.into_iter().find_map(|tools| {
            let at = tools.iter().position(|tool| tool.item == event.item)?;
            Some(tools.remove(at))
        });
        let tool = tool.unwrap_or_else(|| ToolCard::unknown(event.item, event.at));
        // Who said no stands right above.
        if outcome.status == ToolStatus::Declined && self.page.just_answered(event.item) {
            return String::new();
        }
        if tool.ends_quietly(outcome) {
            return String::new();
        }
        let mut printed = self.head_if_needed(&tool);
        let lines = tool.end(outcome, event.text(), event.at, &self.style);
        printed.push_str(&self.put(PageBlock::Body(event.item), lines));
        printed
    }

    pub(super) fn file_diff(&mut self, event: &Event, diff: &FileDiff) -> String {
        let (style, item) = (self.style, event.item);
        let diff = &FileDiff { changes: self.seen_from_here(&diff.changes), ..diff.clone() };
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
                ToolStatus::Cancelled => "stopped",
            };
            let mut line =
                InkLine::of("  ", ink::PLAIN).with(sign, sign_ink).with(&format!(" {word}"), ink::DIM);
            if !self.page.stands_at(item) {
                let paths: Vec<_> = diff.changes.iter().map(|change| clean(&change.path)).collect();
                line = InkLine::of(sign, sign_ink).with(&format!(" {word}: {}", paths.join(", ")), ink::DIM);
                line = line.cut(style.columns(), style.signs().more);
            }
            return self.put(PageBlock::Body(item), vec![line]);
        }
        self.diffs.retain(|(of, ..)| *of != item);
        self.diffs.push((item, diff.status, diff.changes.clone()));
        let head = |change: &FileChange| {
            let mut line = if of_tool {
                InkLine::of("  ", ink::PLAIN)
            } else {
                InkLine::of(sign, sign_ink)
                    .with(" ", ink::PLAIN)
                    .with(diff::verb(change), ink::BOLD)
                    .with("  ", ink::PLAIN)
            };
            line.append(diff::title(change, &style));
            wrap(&line, style.columns())
        };
        let hint = format!(" (longshore show {})", short_id(event.session));
        let lines = diff::lines(&diff.changes, diff::FOLD, &hint, &style, head);
        let block =
            if of_tool && self.page.stands_at(item) { PageBlock::Body(item) } else { PageBlock::Head(item) };
        self.put(block, lines)
    }

    pub(super) fn approval(&mut self, event: &Event, request: &ApprovalRequest) -> String {
        let ask = AskId::Approval(request.approval);
        let request = &self.as_seen_from_here(request);
        let changes = match &request.subject {
            Subject::Edit { changes, .. } => Some(changes),
            Subject::Command { .. }
            | Subject::Tool { .. }
            | Subject::Plan { .. }
            | Subject::Permissions { .. } => None,
        };
        let diff_above = self.page.stands_at(event.item)
            && changes.is_some_and(|asked| {
                self.diffs
                    .iter()
                    .any(|(of, _, shown)| *of == event.item && shown == asked && diff::fits(shown))
            });
        let brief = ask::brief(&request.subject);
        self.asks.push(OpenAsk { ask, since: event.at, item: event.item, brief, request: None });
        let lines = ask::approval_lines(request, event.text.as_deref(), diff_above, &self.style);
        self.put(PageBlock::Asked(ask, event.item), lines)
    }

    /// The changes with paths as a person in the work tree would name them.
    fn seen_from_here(&self, changes: &[FileChange]) -> Vec<FileChange> {
        let near = |path: &str| {
            let below = path.strip_prefix(self.cwd.as_str()).filter(|_| !self.cwd.is_empty());
            below.and_then(|path| path.strip_prefix('/')).unwrap_or(path).to_owned()
        };
        let nearer = |change: &FileChange| FileChange {
            path: near(&change.path),
            moved_to: change.moved_to.as_deref().map(near),
            ..change.clone()
        };
        changes.iter().map(nearer).collect()
    }

    fn as_seen_from_here(&self, request: &ApprovalRequest) -> ApprovalRequest {
        let mut request = request.clone();
        match &mut request.subject {
            Subject::Edit { changes, .. } => *changes = self.seen_from_here(changes),
            Subject::Command { .. }
            | Subject::Tool { .. }
            | Subject::Plan { .. }
            | Subject::Permissions { .. } => {}
        }
        request
    }

    /// Takes an open question away; gives what it was about, unless that stands right above.
    pub(super) fn close(&mut self, ask: AskId) -> (String, BlockItem) {
        let at = self.asks.iter().position(|open| open.ask == ask);
        let open = at.map(|at| self.asks.remove(at));
        let item = open.as_ref().and_then(|open| open.item);
        let above = self.page.just_asked(ask) || self.page.stands_under(item);
        let brief = open.filter(|_| !above).map(|open| open.brief).unwrap_or_default();
        (brief, item)
    }

    pub(super) fn expire(&mut self, ask: AskId, noun: &str, why: &str) -> String {
        let (what, item) = self.close(ask);
        let mut text = format!("the {noun} was withdrawn");
        if !what.is_empty() {
            text.push_str(&format!(" ({what})"));
        }
        if !why.is_empty() {
            text.push_str(&format!(": {why}"));
        }
        let lines = lifecycle::remark(&text, &self.style);
        self.put(PageBlock::Answered(ask, item), lines)
    }
}
