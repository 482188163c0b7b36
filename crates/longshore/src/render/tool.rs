//! Tool cards: what the agent does, and the result.

use longshore_model::describe;
use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::time::Timestamp;
use serde_json::Value;

use super::clean::{clean, clean_output, untab};
use super::human::{duration, plural};
use super::line::InkLine;
use super::page::BlockItem;
use super::style::{Ink, Style, ink};
use super::wrap::{behind, text_behind, width_of, wrap};

/// How many lines of output a card shows.
const TAIL: usize = 10;
/// How many lines of what a program said last are shown.
const LAST_WORDS: usize = 20;
/// How many lines of a command the head of a card shows.
const COMMAND_LINES: usize = 4;
/// How much streamed output is kept for a call that ends without its whole output, in bytes.
const KEPT: usize = 64 * 1024;

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct ToolCard {
    pub(super) item: BlockItem,
    pub(super) since: Timestamp,
    kind: ToolKind,
    verb: String,
    detail: String,
    cwd: Option<String>,
    /// Tells it from another one that runs at the same time and looks the same.
    twin: usize,
    output: String,
    /// Whether its head was printed: not before there is something to say.
    pub(super) shown: bool,
    /// How it is told of besides.
    besides: Besides,
}

/// How a call is told of besides: what it does may be a thing of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Besides {
    /// Not at all.
    No,
    /// It shows a plan or has asked a question; only its failure is news.
    Itself,
    /// It asks a question, which will be shown by itself; of one that was asked elsewhere nothing but this is known.
    Question,
    /// It delegates: the head of the delegation will be its head.
    Delegation,
    /// And that delegation has ended, with the same words.
    Delegated,
}

/// Tools whose work is seen in itself.
const SEEN: [&str; 3] = ["create_todo", "update_plan", "update_todo_status"];

impl ToolCard {
    pub(super) fn new(item: BlockItem, since: Timestamp, call: &ToolCall, text: &str, home: &str) -> Self {
        let cwd = call.cwd.clone().filter(|cwd| cwd != home);
        let (verb, detail) = words(call, text);
        let besides = match call.kind {
            ToolKind::Think | ToolKind::Other if describe::asks(call) => Besides::Question,
            ToolKind::Delegate => Besides::Delegation,
            ToolKind::Think if SEEN.contains(&call.name.as_str()) => Besides::Itself,
            ToolKind::Execute
            | ToolKind::Read
            | ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Search
            | ToolKind::Fetch
            | ToolKind::Think
            | ToolKind::Other => Besides::No,
        };
        let output = String::new();
        Self { item, since, kind: call.kind, verb, detail, cwd, twin: 1, output, shown: false, besides }
    }

    /// A call of which nothing was heard before its end.
    pub(super) fn unknown(item: BlockItem, since: Timestamp) -> Self {
        let (verb, detail, output) = ("A tool".to_owned(), String::new(), String::new());
        let (kind, besides) = (ToolKind::Other, Besides::No);
        Self { item, since, kind, verb, detail, cwd: None, twin: 1, output, shown: false, besides }
    }

    /// Takes over what is known now; says whether the card reads differently.
    pub(super) fn update(&mut self, call: &ToolCall, text: &str, home: &str) -> bool {
        let newer = ToolCard::new(self.item, self.since, call, text, home);
        let differs = !newer.detail.is_empty() && (&newer.verb, &newer.detail) != (&self.verb, &self.detail);
        if differs {
            (self.kind, self.verb, self.detail, self.cwd) = (newer.kind, newer.verb, newer.detail, newer.cwd);
        }
        differs
    }

    /// Whether there is more to say than that a tool is called, and nothing else says it.
    pub(super) fn is_telling(&self) -> bool {
        !self.detail.is_empty() && self.besides == Besides::No
    }

    /// The delegation that it asked for has begun, and its head was printed.
    pub(super) fn delegation_began(&mut self) {
        self.shown = true;
    }

    /// And has ended, and that was printed.
    pub(super) fn delegation_ended(&mut self) {
        self.besides = Besides::Delegated;
    }

    /// The question that it asks is shown.
    pub(super) fn question_is_shown(&mut self) {
        if self.besides == Besides::Question {
            self.besides = Besides::Itself;
        }
    }

    /// Whether its end is no news.
    pub(super) fn ends_quietly(&self, outcome: &ToolOutcome) -> bool {
        match self.besides {
            Besides::No | Besides::Delegation | Besides::Question => false,
            Besides::Itself => outcome.status == ToolStatus::Completed,
            Besides::Delegated => true,
        }
    }

    /// Numbers it among those that look the same.
    pub(super) fn tell_from<'a>(&mut self, others: impl Iterator<Item = &'a ToolCard>) {
        let alike = others.filter(|other| (&other.verb, &other.detail) == (&self.verb, &self.detail));
        self.twin = alike.map(|other| other.twin + 1).max().unwrap_or(1);
    }

    /// More output.
    pub(super) fn grow(&mut self, text: &str) {
        self.output.push_str(text);
        if self.output.len() > 2 * KEPT {
            self.output = last_bytes(&self.output, KEPT).to_owned();
        }
    }

    /// In a few words, for the status line.
    pub(super) fn brief(&self) -> String {
        let first = self.detail.lines().next().unwrap_or_default();
        format!("{} {first}", self.verb).trim_end().to_owned()
    }

    /// The last line that it printed, for the status line.
    pub(super) fn last_words(&self) -> String {
        let output = clean_output(last_bytes(&self.output, 1024));
        output.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    /// The head of the card.
    pub(super) fn head(&self, again: bool, style: &Style) -> Vec<InkLine> {
        let signs = style.signs();
        let sign =
            if again { InkLine::of(signs.again, ink::DIM) } else { InkLine::of(signs.card, ink::BUSY) };
        let (sign, width) = (sign.with(" ", ink::PLAIN), style.columns());
        // A short verb lets the lines below stand under what it is done to.
        let indent = InkLine::of(&" ".repeat((width_of(&self.verb) + 4).min(8)), ink::PLAIN);
        let shown = if again { 1 } else { COMMAND_LINES };
        let mut details = self.detail.lines();
        let mut first = InkLine::of(&self.verb, ink::BOLD).with("  ", ink::PLAIN);
        first.push(details.next().unwrap_or_default(), ink::PLAIN);
        if self.twin > 1 {
            first.push(&format!(" #{}", self.twin), ink::DIM);
        }
        let mut lines = behind(wrap(&first, width.saturating_sub(indent.width())), &sign, &indent);
        for detail in details.by_ref().take(shown - 1) {
            lines.extend(text_behind(detail, ink::PLAIN, width, &indent, &indent));
        }
        let (hidden, cwd) = (details.count(), self.cwd.as_deref());
        if hidden > 0 && !again {
            let more = format!("{} {}", signs.more, plural(hidden, "more line"));
            lines.extend(text_behind(&more, ink::DIM, width, &indent, &indent));
        }
        if let Some(cwd) = cwd.filter(|_| !again) {
            lines.extend(text_behind(&format!("in {}", clean(cwd)), ink::DIM, width, &indent, &indent));
        }
        lines
    }

    /// What stands under the head when the call has ended.
    pub(super) fn end(
        &self,
        outcome: &ToolOutcome,
        text: &str,
        now: Timestamp,
        style: &Style,
    ) -> Vec<InkLine> {
        let output = match (text.is_empty(), &outcome.result) {
            (false, _) => clean_output(text),
            (true, _) if !self.output.is_empty() => clean_output(&self.output),
            (true, Value::Null) => String::new(),
            (true, Value::String(result)) => clean_output(result),
            (true, result) => clean_output(&format!("{result:#}")),
        };
        let output = output.trim_end().trim_start_matches('\n');
        let folded = outcome.status == ToolStatus::Completed && is_bulk(self.kind);
        let mut lines = if folded { Vec::new() } else { tail(output, style) };
        let gutter = InkLine::of(&format!("  {} ", style.signs().gutter), ink::DIM);
        for attachment in &outcome.attachments {
            let name = attachment.name.as_deref().unwrap_or("attachment");
            let named = clean(&format!("+ {name} ({})", attachment.media_type)).into_owned();
            lines.extend(text_behind(&named, ink::DIM, style.columns(), &gutter, &gutter));
        }

        let (sign, ink) = sign(outcome.status, style);
        let mut words = Vec::new();
        match outcome.status {
            ToolStatus::Running => words.push("still running".to_owned()),
            ToolStatus::Declined => words.push("declined".to_owned()),
            ToolStatus::Cancelled => words.push("stopped".to_owned()),
            ToolStatus::Failed if outcome.exit_code.is_none() => words.push("failed".to_owned()),
            ToolStatus::Failed | ToolStatus::Completed => {}
        }
        words.extend(outcome.exit_code.filter(|code| *code != 0).map(|code| format!("exit {code}")));
        if folded && self.kind != ToolKind::Edit && !output.is_empty() {
            words.push(plural(output.lines().count(), "line"));
        }
        let took = outcome.duration_ms.or(Some(now.millis_since(self.since)).filter(|took| *took > 0));
        words.extend(took.filter(|_| outcome.status != ToolStatus::Declined).map(duration));
        let dot = format!(" {} ", style.signs().dot);
        let quiet = if outcome.status == ToolStatus::Completed { ink::DIM } else { ink };
        lines.push(
            InkLine::of("  ", ink::PLAIN)
                .with(sign, ink)
                .with(" ", ink::PLAIN)
                .with(&words.join(&dot), quiet),
        );
        lines
    }
}

/// The sign and the colour of a status.
pub(super) fn sign(status: ToolStatus, style: &Style) -> (&'static str, Ink) {
    let signs = style.signs();
    match status {
        ToolStatus::Running => (signs.card, ink::BUSY),
        ToolStatus::Completed => (signs.done, ink::GOOD),
        ToolStatus::Failed => (signs.failed, ink::BAD),
        ToolStatus::Declined => (signs.declined, ink::WARN),
        ToolStatus::Cancelled => (signs.stopped, ink::WARN),
    }
}

/// At most so many bytes of the end of a text, whole characters only.
fn last_bytes(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    (from..text.len()).find_map(|at| text.get(at..)).unwrap_or_default()
}

/// The last lines of an output, behind a gutter.
pub(super) fn tail(output: &str, style: &Style) -> Vec<InkLine> {
    let total = output.lines().count();
    let gutter = InkLine::of(&format!("  {} ", style.signs().gutter), ink::DIM);
    let room = style.columns().saturating_sub(gutter.width());
    let mut lines = Vec::new();
    // To fold a single line would take the place that it saves.
    let hidden = if total > TAIL + 1 { total - TAIL } else { 0 };
    if hidden > 0 {
        let more = format!("{} {}", style.signs().more, plural(hidden, "more line"));
        lines.push(InkLine::of(&more, ink::DIM));
    }
    // Only what was kept is counted, so that it is shown how much was not.
    let gap = output.lines().take(hidden).find(|line| is_gap(line));
    for line in gap.into_iter().chain(output.lines().skip(hidden)) {
        lines.push(InkLine::of(&untab(line, 8), ink::DIM).cut(room, style.signs().more));
    }
    behind(lines, &gutter, &gutter)
}

/// Whether a line says how much of an output was not kept, as the built-in agent writes it.
fn is_gap(line: &str) -> bool {
    line.starts_with("[... ") && line.ends_with(" left out ...]")
}

/// What a program said before it ended: the end of it, and of that every word.
pub(super) fn last_words(said: &str, style: &Style) -> Vec<InkLine> {
    let total = said.lines().count();
    let gutter = InkLine::of(&format!("  {} ", style.signs().gutter), ink::DIM);
    let hidden = if total > LAST_WORDS + 1 { total - LAST_WORDS } else { 0 };
    let mut text = match hidden {
        0 => String::new(),
        hidden => format!("{} {}\n", style.signs().more, plural(hidden, "more line")),
    };
    let told: Vec<_> = said.lines().skip(hidden).map(|line| untab(line, 8)).collect();
    text.push_str(&told.join("\n"));
    if text.is_empty() { Vec::new() } else { text_behind(&text, ink::DIM, style.columns(), &gutter, &gutter) }
}

/// Kinds whose output is what they were asked for, not news.
fn is_bulk(kind: ToolKind) -> bool {
    match kind {
        ToolKind::Read | ToolKind::Edit | ToolKind::Search | ToolKind::Fetch => true,
        ToolKind::Execute
        | ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Think
        | ToolKind::Delegate
        | ToolKind::Other => false,
    }
}

/// What a call does: a verb, and what it does it to.
pub(super) fn words(call: &ToolCall, text: &str) -> (String, String) {
    if describe::asks(call) {
        return ("Asked".to_owned(), "a question".to_owned());
    }
    let verb = match call.kind {
        ToolKind::Execute => "Run",
        ToolKind::Read => "Read",
        ToolKind::Edit => "Edit",
        ToolKind::Delete => "Delete",
        ToolKind::Move => "Move",
        ToolKind::Search => "Search",
        ToolKind::Fetch => "Fetch",
        ToolKind::Think => "Think",
        ToolKind::Delegate => "Delegate",
        ToolKind::Other => &call.name,
    };
    let detail = match &call.command {
        Some(command) => command.clone(),
        None if text == describe::running(call) => subject(call.kind, text),
        None if !text.is_empty() && text != call.name => text.to_owned(),
        None => brief_input(&call.input),
    };
    (clean(verb).into_owned(), clean(&detail).trim().to_owned())
}

/// What a line such as `Reading: cart.sh` speaks of, where the verb is said already.
fn subject(kind: ToolKind, line: &str) -> String {
    let rest = match kind {
        ToolKind::Think | ToolKind::Delegate | ToolKind::Other => None,
        ToolKind::Execute
        | ToolKind::Read
        | ToolKind::Edit
        | ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Search
        | ToolKind::Fetch => line.split_once(": ").or_else(|| line.split_once(' ')),
    };
    rest.map_or(line, |(_, subject)| subject).to_owned()
}

/// Arguments in a line: `path: a.rs, limit: 3`.
fn brief_input(input: &Value) -> String {
    let brief = |value: &Value| -> String {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.lines().next().unwrap_or_default().chars().take(80).collect()
    };
    if input.is_null() {
        return String::new();
    }
    let Some(fields) = input.as_object() else { return brief(input) };
    let field = |(key, value): (&String, &Value)| format!("{key}: {}", brief(value));
    fields.iter().take(4).map(field).collect::<Vec<_>>().join(", ")
}
