//! The narrator: one line per event, for people who compare two runs. Ids are numbered in the order in which
//! they appear.

use std::collections::HashMap;
use std::fmt::Write;

use super::ReplayStep;
use longshore_model::approval::{AnswerAction, Decision, Subject};
use longshore_model::command::AgentCommand;
use longshore_model::delegation::ChildNews;
use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use longshore_model::item::{FileChange, ToolCall};
use longshore_model::usage::Usage;
use serde::Serialize;
use serde_json::Value;

/// How many characters of a text are shown.
const SHOWN: usize = 90;

/// Describes a replay, one line per event.
#[derive(Debug, Default)]
pub struct Narrator {
    said: usize,
    names: HashMap<String, String>,
    counts: HashMap<&'static str, usize>,
}

impl Narrator {
    /// A narrator that knows no ids yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Describes one step of a replay. Events are numbered; other steps are indented.
    pub fn step(&mut self, step: &ReplayStep) -> String {
        match step {
            ReplayStep::Told { session, command } => {
                let session = self.session(*session);
                let told = self.command(command);
                format!("   > {session}{told}")
            }
            ReplayStep::Wrote(line) => format!("  -> {}", self.wrote(line)),
            ReplayStep::Said { session, draft } => self.event(*session, draft),
            ReplayStep::Finished(reason) => format!("   ! finished: {}", quoted(reason)),
        }
    }

    /// One event: `0007 turn-1 item-2 message_delta "Hello"`.
    pub fn event(&mut self, session: SessionId, draft: &Draft) -> String {
        self.said += 1;
        let session = self.session(session);
        let mut line = format!("{:04} {session}", self.said);
        if let Some(turn) = draft.turn {
            let _ = write!(line, "{} ", self.name("turn", turn));
        }
        if let Some(item) = draft.item {
            let _ = write!(line, "{} ", self.name("item", item));
        }
        line.push_str(&kind_of(&draft.body));
        let details = self.details(&draft.body);
        if !details.is_empty() {
            let _ = write!(line, " {details}");
        }
        if let Some(text) = &draft.text {
            let _ = write!(line, " {}", quoted(text));
        }
        line
    }

    /// The name of a session. The first session is the main one and needs no name.
    fn session(&mut self, session: SessionId) -> String {
        match self.name("session", session).as_str() {
            "session-1" => String::new(),
            other => format!("{other} "),
        }
    }

    fn name(&mut self, kind: &'static str, id: impl ToString) -> String {
        let id = id.to_string();
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("{kind}-{count}");
        self.names.insert(id, name.clone());
        name
    }

    /// The details that the type and the text of an event do not show.
    fn details(&mut self, body: &Body) -> String {
        match body {
            Body::UserMessage { attachments, .. } if !attachments.is_empty() => {
                format!("with {} attachments", attachments.len())
            }
            Body::MessageDone { phase, partial } => {
                let phase = phase.map(|phase| word(&phase)).unwrap_or_default();
                [phase, if *partial { "partial".to_owned() } else { String::new() }].join("")
            }
            Body::ReasoningDone { partial: true } => "partial".to_owned(),
            Body::PlanUpdated { steps } => {
                let steps = steps.iter().map(|step| format!("[{}] {}", word(&step.status), step.text));
                steps.collect::<Vec<_>>().join(", ")
            }
            Body::ToolStarted(call) | Body::ToolUpdated(call) => call_line(call),
            Body::ToolFinished(outcome) => {
                let mut line = word(&outcome.status);
                if let Some(code) = outcome.exit_code {
                    let _ = write!(line, " exit {code}");
                }
                if !outcome.result.is_null() {
                    let _ = write!(line, " {}", shown(&outcome.result.to_string()));
                }
                for attachment in &outcome.attachments {
                    let _ = write!(line, " with {}", attachment.media_type);
                }
                line
            }
            Body::FileDiff(diff) => format!("{} {}", word(&diff.status), changes_line(&diff.changes)),
            Body::ApprovalRequested(request) => {
                let subject = match &request.subject {
                    Subject::Command { command, always, .. } if always.is_empty() => {
                        format!("command {}", quoted(command))
                    }
                    Subject::Command { command, always, .. } => {
                        format!("command {} (always: {})", quoted(command), always.join(" "))
                    }
                    Subject::Edit { changes, .. } => format!("edit {}", changes_line(changes)),
                    Subject::Tool { name, input } => format!("tool {name} {}", shown(&input.to_string())),
                    Subject::Plan { plan } => format!("plan {}", quoted(plan)),
                    Subject::Permissions { permissions } => {
                        format!("permissions {}", shown(&permissions.to_string()))
                    }
                };
                let options: Vec<String> = request.options.iter().map(word::<Decision>).collect();
                format!("{} {subject} [{}]", self.name("approval", request.approval), options.join(" "))
            }
            Body::ApprovalDecided { approval, decision } => {
                format!("{} {}", self.name("approval", approval), word(&decision.decision))
            }
            Body::ApprovalExpired { approval } => self.name("approval", approval),
            Body::QuestionAsked(request) => {
                let mut line = self.name("question", request.question);
                for field in &request.fields {
                    let _ = write!(line, " {}:{}", field.id, word(&field.kind));
                    if !field.choices.is_empty() {
                        let labels: Vec<&str> = field.choices.iter().map(|one| one.label.as_str()).collect();
                        let _ = write!(line, "({})", labels.join("|"));
                    }
                    line.push_str(if field.optional { "?" } else { "" });
                }
                line
            }
            Body::QuestionAnswered { question, answer } => {
                format!("{} {}", self.name("question", question), word::<AnswerAction>(&answer.action))
            }
            Body::QuestionExpired { question } => self.name("question", question),
            Body::DelegationStarted(delegation) => format!("to {}", self.name("session", delegation.child)),
            Body::DelegationFinished(end) => {
                format!("by {} {}", self.name("session", end.child), word(&end.outcome))
            }
            Body::TurnFinished(end) => {
                let mut line = word(&end.outcome);
                if let Some(error) = &end.error {
                    let _ = write!(line, " {}", word(&error.code));
                }
                if let Some(usage) = &end.usage {
                    let _ = write!(line, " {}", usage_line(usage));
                }
                line
            }
            Body::SessionOpened(opened) => match opened.parent {
                Some(parent) => format!("{} child of {}", opened.mode, self.name("session", parent)),
                None => opened.mode.to_string(),
            },
            Body::SessionReady(ready) => {
                let version = ready.version.as_deref().unwrap_or("?");
                let native = ready.native.as_deref().unwrap_or("?");
                format!("{native} {version} {}", ready.model.as_deref().unwrap_or("?"))
            }
            Body::SessionError(fault) => word(&fault.code),
            Body::Notice { level } => word(level),
            Body::ModelChanged { model } => model.clone(),
            Body::EffortChanged { effort } => effort.clone(),
            Body::ModeChanged { mode } => mode.to_string(),
            Body::UsageUpdated(usage) => usage_line(usage),
            Body::UsageLimited(limit) => format!("{} {}%", limit.name, limit.used_percent),
            Body::ArchiveChanged { archived } => archived.to_string(),
            Body::Raw { kind, fault } => match fault {
                Some(fault) => format!("{kind} {}", word(fault)),
                None => kind.clone(),
            },
            Body::Imported { until } => format!("until {until}"),
            Body::CommandsListed { commands } => format!("{} commands", commands.len()),
            Body::UserMessage { .. }
            | Body::MessageStarted
            | Body::MessageDelta
            | Body::ReasoningStarted
            | Body::ReasoningDelta
            | Body::ReasoningDone { .. }
            | Body::PlanStarted
            | Body::PlanDelta
            | Body::ToolOutputDelta
            | Body::TurnDiff
            | Body::TurnStarted { .. }
            | Body::SessionSleeping(_)
            | Body::SessionRevived { .. }
            | Body::SessionHandedOff
            | Body::SessionClosed
            | Body::PromptQueued { .. }
            | Body::PromptCancelled { .. }
            | Body::PromptEdited { .. }
            | Body::QueueReordered { .. }
            | Body::QueueHeld
            | Body::QueueSent { .. }
            | Body::DelegationWaiting { .. }
            | Body::TitleChanged
            | Body::GitChanged(_) => String::new(),
        }
    }

    fn command(&mut self, command: &AgentCommand) -> String {
        match command {
            AgentCommand::Prompt { turn, text, attachments, .. } => {
                let files = if attachments.is_empty() { "" } else { " with attachments" };
                format!("prompt {} {}{files}", self.name("turn", turn), quoted(text))
            }
            AgentCommand::Steer { turn, text, .. } => {
                format!("steer {} {}", self.name("turn", turn), quoted(text))
            }
            AgentCommand::Interrupt { turn } => format!("interrupt {}", self.name("turn", turn)),
            AgentCommand::Decide { approval, decision } => {
                format!("decide {} {}", self.name("approval", approval), word(&decision.decision))
            }
            AgentCommand::Answer { question, answer } => {
                let answers = shown(&word(&answer.answers));
                format!("answer {} {} {answers}", self.name("question", question), word(&answer.action))
            }
            AgentCommand::SetMode(mode) => format!("set mode {mode}"),
            AgentCommand::SetModel(model) => format!("set model {model}"),
            AgentCommand::SetEffort(effort) => format!("set effort {effort}"),
            AgentCommand::Rename(title) => format!("rename {}", quoted(title)),
            AgentCommand::Archive(true) => "archive".to_owned(),
            AgentCommand::Archive(false) => "take out of the archive".to_owned(),
            AgentCommand::Child { call, news } => {
                let news = match news {
                    ChildNews::Opened { child, .. } => format!("opened {}", self.name("session", child)),
                    ChildNews::Said { text } => format!("said {}", quoted(text)),
                    ChildNews::Ended { outcome, text } => format!("{} {}", word(outcome), quoted(text)),
                };
                format!("child {call} {news}")
            }
        }
    }

    /// A line to the agent, with our ids replaced by their short names.
    fn wrote(&self, line: &str) -> String {
        let said: Value = serde_json::from_str(line).unwrap_or_default();
        let mut rest = match (&said["method"], &said["id"]) {
            _ if said["type"].is_string() => said.to_string(),
            (Value::String(method), _) => format!("{method} {}", said["params"]),
            (_, id) if said["error"].is_null() => format!("answer {id} {}", said["result"]),
            (_, id) => format!("refusal {id} {}", said["error"]),
        };
        for (id, name) in &self.names {
            rest = rest.replace(id, name);
        }
        // Only our driver writes such ids into a line. They are ids of prompts, which events do not show.
        for name in ["\"clientUserMessageId\":\"", "\"message_uuid\":\"", "\"uuid\":\""] {
            if let Some(at) = rest.find(name) {
                let from = at + name.len();
                let to = rest[from..].find('"').map_or(rest.len(), |end| from + end);
                rest.replace_range(from..to, "prompt");
            }
        }
        rest.trim_end_matches(" null").to_owned()
    }
}

fn kind_of(body: &Body) -> String {
    let json = serde_json::to_value(body).unwrap_or_default();
    json["type"].as_str().unwrap_or_default().to_owned()
}

/// The word for a value of an enum.
fn word<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

fn call_line(call: &ToolCall) -> String {
    format!("{} {}", word(&call.kind), call.name)
}

fn changes_line(changes: &[FileChange]) -> String {
    let one = |change: &FileChange| {
        let lines = change.diff.lines().filter(|line| !line.starts_with("+++") && !line.starts_with("---"));
        let (mut more, mut less) = (0, 0);
        for line in lines {
            more += usize::from(line.starts_with('+'));
            less += usize::from(line.starts_with('-'));
        }
        let moved = change.moved_to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        format!("{} {}{moved} +{more} -{less}", word(&change.kind), change.path)
    };
    changes.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn usage_line(usage: &Usage) -> String {
    let number = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!("in {} out {} context {}", number(usage.input), number(usage.output), number(usage.context_used))
}

fn quoted(text: &str) -> String {
    format!("{:?}", shown(text))
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}... ({} characters)", &text[..at], text.chars().count()),
        None => text.to_owned(),
    }
}
