//! What the app hears of a session: updates of its timeline.
//!
//! The app draws a row for every message chunk, so a message is sent once, when it is finished. It draws a tool call once
//! and replaces the result: a call is sent when its arguments are known, and a result when it is final.

use std::collections::HashSet;

use longshore_model::command::Attachment;
use longshore_model::event::{Body, Event, NoticeLevel};
use longshore_model::id::{ItemId, Seq};
use longshore_model::item::{
    FileChange, FileChangeKind, PlanStatus, PlanStep, ToolKind, ToolOutcome, ToolStatus,
};
use longshore_model::timeline::{Content, Item, ItemChange, Timeline};
use serde_json::{Map, Value, json};

use super::size;
use super::wire::{
    AvailableCommand, CallStatus, ContentChunk, Plan, PlanEntry, SessionUpdate, ToolCall, ToolCallUpdate,
};
use super::words;

/// The most entries of a plan, and the most characters of each.
const ENTRIES: (usize, usize) = (200, 1_000);
/// The most commands that are listed, and the most characters of a description.
const COMMANDS: (usize, usize) = (500, 300);

/// What a client that hears one session live has to be told.
#[derive(Debug, Default)]
pub(crate) struct SessionDialect {
    /// Calls that began without arguments, and are not announced yet.
    held: HashSet<ItemId>,
}

impl SessionDialect {
    /// The updates for an event. `agent` is the name of the session's agent.
    pub(crate) fn updates(
        &mut self,
        agent: &str,
        event: &Event,
        change: Option<ItemChange<'_>>,
    ) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        if let Body::CommandsListed { commands } = &event.body {
            let listed = commands.iter().take(COMMANDS.0).map(|command| AvailableCommand {
                name: command.name.clone(),
                description: size::brief(&command.description, COMMANDS.1),
            });
            updates.push(SessionUpdate::AvailableCommandsUpdate { available_commands: listed.collect() });
        }
        let Some(change) = change else { return updates };
        let item = change.item;
        // A client that missed some events hears them again, when their items are known already.
        let began = change.began || item.seq == event.seq;
        match &item.content {
            Content::Tool { .. } | Content::Delegation { .. } | Content::Diff { .. } => {
                self.call(item, began, change.settled(), &mut updates);
            }
            Content::Approval { .. } | Content::Question { .. } => ask(agent, item, began, &mut updates),
            Content::UserMessage { .. }
            | Content::Message { .. }
            | Content::Reasoning { .. }
            | Content::Plan { .. }
            | Content::TurnDiff
            | Content::TurnEnd(_)
            | Content::Notice { .. } => {
                if change.settled() {
                    said(item, &mut updates);
                }
            }
        }
        if matches!(event.body, Body::TurnFinished(_)) {
            self.held.clear();
        }
        updates
    }

    /// A call is announced once. Some agents send its arguments after its beginning.
    fn call(&mut self, item: &Item, began: bool, settled: bool, updates: &mut Vec<SessionUpdate>) {
        let is_new = began || item.id.is_some_and(|id| self.held.remove(&id));
        if is_new {
            match item.id {
                Some(id) if !settled && arguments(item).is_empty() => drop(self.held.insert(id)),
                Some(_) | None => updates.push(call(item)),
            }
        }
        if settled {
            updates.extend(result(item));
        }
    }
}

/// Everything that was said and done in a session, for a client that has none of it.
pub(crate) fn history(agent: &str, timeline: &Timeline) -> Vec<SessionUpdate> {
    let mut updates = Vec::new();
    for item in &timeline.items {
        match &item.content {
            Content::Tool { .. } | Content::Delegation { .. } | Content::Diff { .. } => {
                updates.push(call(item));
                if item.ended_at.is_some() {
                    updates.extend(result(item));
                }
            }
            Content::Approval { .. } | Content::Question { .. } => ask(agent, item, true, &mut updates),
            Content::UserMessage { .. }
            | Content::Message { .. }
            | Content::Reasoning { .. }
            | Content::Plan { .. }
            | Content::TurnDiff
            | Content::TurnEnd(_)
            | Content::Notice { .. } => {
                // What is not finished comes as news, once.
                if item.ended_at.is_some() {
                    said(item, &mut updates);
                }
            }
        }
    }
    updates
}

/// The calls that are under way, for a client that comes back: it may not know them, and draws none twice.
pub(crate) fn open_calls(timeline: &Timeline, until: Seq) -> Vec<SessionUpdate> {
    let is_open = |item: &&Item| item.ended_at.is_none() && item.seq <= until;
    let mut updates = Vec::new();
    for item in timeline.items.iter().filter(is_open) {
        if let Content::Tool { .. } | Content::Delegation { .. } | Content::Diff { .. } = item.content {
            updates.push(call(item));
        }
    }
    updates
}

/// A text of the agent for people.
pub(crate) fn agent_says(text: &str) -> Vec<SessionUpdate> {
    let chunk = |piece| SessionUpdate::AgentMessageChunk { content: ContentChunk::text(piece) };
    size::pieces(text).into_iter().map(chunk).collect()
}

fn agent_thinks(text: &str) -> impl Iterator<Item = SessionUpdate> {
    let chunk = |piece| SessionUpdate::AgentThoughtChunk { content: ContentChunk::text(piece) };
    size::pieces(text).into_iter().map(chunk)
}

/// What is a text or a list, as it stands.
fn said(item: &Item, updates: &mut Vec<SessionUpdate>) {
    match &item.content {
        Content::UserMessage { attachments, by: _ } => {
            let text = with_attachments(&item.text, attachments);
            let chunk = |piece| SessionUpdate::UserMessageChunk { content: ContentChunk::text(piece) };
            updates.extend(size::pieces(&text).into_iter().map(chunk));
        }
        Content::Message { .. } => updates.extend(agent_says(&item.text)),
        Content::Reasoning { .. } => updates.extend(agent_thinks(&item.text)),
        Content::Plan { steps } => {
            updates.extend(agent_says(&item.text));
            if !steps.is_empty() {
                updates.push(SessionUpdate::Plan { plan: plan(steps) });
            }
        }
        Content::TurnEnd(end) => {
            updates.extend(words::turn_ended(end, &item.text).iter().flat_map(|text| agent_says(text)));
        }
        Content::Notice { level: NoticeLevel::Info } => updates.extend(agent_thinks(&item.text)),
        Content::Notice { level: NoticeLevel::Warning | NoticeLevel::Error } => {
            updates.extend(agent_says(&item.text));
        }
        // The changes of a turn are those of its calls, which the client has.
        Content::TurnDiff => {}
        Content::Tool { .. }
        | Content::Diff { .. }
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::Delegation { .. } => {}
    }
}

fn with_attachments(text: &str, attachments: &[Attachment]) -> String {
    attachments.iter().fold(text.to_owned(), |text, attachment| {
        let name = attachment.name.as_deref().unwrap_or("a file");
        format!("{text}\n[{name}, {}]", attachment.media_type)
    })
}

fn plan(steps: &[PlanStep]) -> Plan {
    let entry = |step: &PlanStep| PlanEntry {
        content: size::brief(&step.text, ENTRIES.1),
        priority: "medium",
        status: match step.status {
            PlanStatus::Pending => "pending",
            PlanStatus::InProgress => "in_progress",
            PlanStatus::Completed => "completed",
        },
    };
    Plan { entries: steps.iter().take(ENTRIES.0).map(entry).collect() }
}

/// An approval or a question: the client is told that it waits, and what became of it. It is never asked itself,
/// because it refuses everything at once.
fn ask(agent: &str, item: &Item, began: bool, updates: &mut Vec<SessionUpdate>) {
    let (waits, ended) = match &item.content {
        Content::Approval { request, decision, expired } => {
            let waits = words::approval_waits(agent, request, &item.text);
            let expired = expired.as_deref().map(words::approval_expired);
            (waits, decision.as_ref().map(|made| words::approval_decided(request, made)).or(expired))
        }
        Content::Question { request, answer, expired } => {
            let waits = words::question_waits(agent, request, &item.text);
            let expired = expired.as_deref().map(words::question_expired);
            (waits, answer.as_ref().map(words::question_answered).or(expired))
        }
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::Tool { .. }
        | Content::Diff { .. }
        | Content::TurnDiff
        | Content::Delegation { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => return,
    };
    if began || ended.is_some() {
        updates.extend(agent_says(&ended.unwrap_or(waits)));
    }
}

fn call_id(item: &Item) -> String {
    item.id.map_or_else(|| format!("item-{}", item.seq), |id| id.to_string())
}

fn call(item: &Item) -> SessionUpdate {
    let name = match &item.content {
        Content::Tool { call, .. } | Content::Delegation { call: Some(call), .. } => call.name.as_str(),
        Content::Delegation { call: None, .. } => "delegate",
        Content::Diff { .. } => "edit",
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => "tool",
    };
    let arguments = Some(size::arguments(arguments(item))).filter(|arguments| !arguments.is_empty());
    SessionUpdate::ToolCall {
        tool_call: ToolCall { call_id: call_id(item), name: name.to_owned(), arguments },
    }
}

/// What a tool was called with. The client decodes an object only.
fn arguments(item: &Item) -> Map<String, Value> {
    match &item.content {
        Content::Tool { call, .. } => arguments_of(call),
        Content::Delegation { delegation, task, call, .. } => {
            let mut arguments = call.as_ref().map(arguments_of).unwrap_or_default();
            arguments.insert("agent".to_owned(), json!(delegation.agent));
            arguments.insert("session".to_owned(), json!(delegation.child));
            arguments.entry("task").or_insert_with(|| json!(task));
            arguments
        }
        Content::Diff { changes, .. } => {
            let files: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            Map::from_iter([("files".to_owned(), json!(files))])
        }
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => Map::new(),
    }
}

fn arguments_of(call: &longshore_model::item::ToolCall) -> Map<String, Value> {
    let mut arguments = match &call.input {
        Value::Object(fields) => fields.clone(),
        Value::Null => Map::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::from_iter([("input".to_owned(), call.input.clone())])
        }
    };
    // The client shows the command of a call beside its name.
    if let (Some(command), ToolKind::Execute) = (&call.command, call.kind) {
        arguments.entry("command").or_insert_with(|| json!(command));
    }
    arguments
}

/// The result of a call that has ended.
fn result(item: &Item) -> Option<SessionUpdate> {
    let none = Value::Null;
    let (status, code, data, changes) = match &item.content {
        Content::Tool { outcome, changes, .. } => {
            (outcome.as_ref()?.status, outcome_code(outcome), outcome, &changes[..])
        }
        Content::Delegation { end, outcome, .. } => {
            let status = match end.as_ref().map(|end| end.outcome) {
                Some(longshore_model::lifecycle::TurnOutcome::Completed) => ToolStatus::Completed,
                Some(longshore_model::lifecycle::TurnOutcome::Failed) => ToolStatus::Failed,
                Some(longshore_model::lifecycle::TurnOutcome::Interrupted) => ToolStatus::Cancelled,
                None => outcome.as_ref()?.status,
            };
            (status, outcome_code(outcome), outcome, &[][..])
        }
        Content::Diff { status, changes } => (*status, None, &None, &changes[..]),
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => return None,
    };
    let (status, fault) = match status {
        ToolStatus::Running => return None,
        ToolStatus::Completed => (CallStatus::Completed, None),
        ToolStatus::Failed => (CallStatus::Error, Some("failed")),
        ToolStatus::Declined => (CallStatus::Error, Some("declined")),
        ToolStatus::Cancelled => (CallStatus::Error, Some("cancelled")),
    };
    let error = fault.map(|fault| match item.text.is_empty() {
        true => fault.to_owned(),
        false => size::error(&item.text),
    });
    let data = data.as_ref().map_or(&none, |outcome| &outcome.result);
    let attachments = attachments(&item.content);
    let output = output(&item.text, code, data, changes, &attachments).map(size::output);
    let tool_call_update = ToolCallUpdate { call_id: call_id(item), status, output, error };
    Some(SessionUpdate::ToolCallUpdate { tool_call_update })
}

fn outcome_code(outcome: &Option<ToolOutcome>) -> Option<i64> {
    outcome.as_ref().and_then(|outcome| outcome.exit_code).filter(|code| *code != 0)
}

fn attachments(content: &Content) -> Vec<String> {
    let outcome = match content {
        Content::Tool { outcome, .. } | Content::Delegation { outcome, .. } => outcome.as_ref(),
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::Diff { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => None,
    };
    let attached = outcome.map(|outcome| &outcome.attachments[..]).unwrap_or_default();
    let name =
        |attachment: &Attachment| attachment.name.clone().unwrap_or_else(|| attachment.media_type.clone());
    attached.iter().map(name).collect()
}

/// A text if there is nothing but a text, otherwise an object.
fn output(
    text: &str,
    exit_code: Option<i64>,
    result: &Value,
    changes: &[FileChange],
    attachments: &[String],
) -> Option<Value> {
    if exit_code.is_none() && result.is_null() && changes.is_empty() && attachments.is_empty() {
        return (!text.is_empty()).then(|| json!(text));
    }
    let mut output = Map::new();
    if !text.is_empty() {
        output.insert("output".to_owned(), json!(text));
    }
    if let Some(code) = exit_code {
        output.insert("exit_code".to_owned(), json!(code));
    }
    if !result.is_null() {
        output.insert("result".to_owned(), result.clone());
    }
    if !changes.is_empty() {
        let change = |change: &FileChange| {
            let kind = match change.kind {
                FileChangeKind::Add => "add",
                FileChangeKind::Update => "update",
                FileChangeKind::Delete => "delete",
            };
            json!({ "path": change.path, "kind": kind, "diff": change.diff })
        };
        output.insert("changes".to_owned(), changes.iter().map(change).collect());
    }
    if !attachments.is_empty() {
        output.insert("attachments".to_owned(), json!(attachments));
    }
    Some(Value::Object(output))
}
