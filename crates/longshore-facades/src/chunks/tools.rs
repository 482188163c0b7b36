//! Tool calls, delegations, changes of files and plans as the protocol shows them: all are calls of tools.

use longshore_model::describe::{self, fenced};
use longshore_model::item::{PlanStatus, PlanStep, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{Delegation, TurnOutcome};
use longshore_model::timeline::{Content, Item};
use serde_json::{Value, json};

use super::wire::{ToolCallDetails, ToolCallResponse, ToolEvent};

/// The most characters of a result, and of everything else that a call says at once.
pub(super) const RESULT_CHARS: usize = 10_000;

const DELEGATING: &str = "🚀 Starting subagent with full tool access - streaming work in real-time...";
const DELEGATED: &str = "✅ Subagent completed - returning task result to supervisor";
/// The name under which clients know a sub-agent that is no session of the hub.
const SUBAGENT: &str = "delegate_to_think_execute";
/// The names of what is no call of a tool at the agent, but is one here.
const CHANGES: &str = "file_changes";
const PLAN: &str = "update_plan";

/// The call as it begins; none for an item that is no call.
pub(super) fn begun(item: &Item) -> Option<ToolCallResponse> {
    match &item.content {
        Content::Tool { call, .. } if call.kind == ToolKind::Delegate => {
            Some(delegation_begun(item, delegate_of(call), task_of(call), arguments(call)))
        }
        Content::Tool { call, .. } => Some(tool_begun(item, call)),
        Content::Delegation { delegation, task, .. } => {
            let arguments =
                json!({ "task": cut(task).text, "agent": delegation.agent, "session": delegation.child });
            Some(delegation_begun(item, &delegate(delegation), task, arguments))
        }
        Content::Diff { changes, .. } => {
            let paths: Vec<String> = changes.iter().map(|change| format!("- {}", change.path)).collect();
            let arguments = json!({ "paths": changes.iter().map(|change| &change.path).collect::<Vec<_>>() });
            Some(ToolCallResponse {
                tool_call_details: ToolCallDetails { arguments, ..details(&paths.join("\n")) },
                ..of(item, CHANGES, "Changing files".to_owned())
            })
        }
        Content::Plan { .. } => Some(of(item, PLAN, "Updating the plan".to_owned())),
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => None,
    }
}

fn delegation_begun(item: &Item, name: &str, task: &str, arguments: Value) -> ToolCallResponse {
    let summary = format!("🤖 **General Subagent**\n\n**Task:**\n{task}");
    ToolCallResponse {
        event_type: ToolEvent::DelegationCall,
        tool_call_details: ToolCallDetails { arguments, ..details(&summary) },
        ..of(item, name, DELEGATING.to_owned())
    }
}

fn tool_begun(item: &Item, call: &ToolCall) -> ToolCallResponse {
    let details = ToolCallDetails {
        arguments: arguments(call),
        command: call.command.as_deref().map(|command| cut(command).text),
        ..details(&describe::before(call))
    };
    ToolCallResponse { tool_call_details: details, ..of(item, &name(call), describe::running(call)) }
}

/// The next piece of the output of a call that runs. It says `call`: clients would end it at `result`.
pub(super) fn part(item: &Item, piece: &str) -> Option<ToolCallResponse> {
    let begun = begun(item)?;
    let tool_call_details = ToolCallDetails::default();
    Some(ToolCallResponse {
        stream_part: Some(piece.to_owned()),
        is_complete: false,
        tool_call_details,
        ..begun
    })
}

/// The call as it ended; none for what is no call, or has not ended.
pub(super) fn ended(item: &Item) -> Option<ToolCallResponse> {
    match &item.content {
        Content::Tool { call, outcome: Some(outcome), .. } if call.kind == ToolKind::Delegate => {
            let how = match outcome.status {
                ToolStatus::Running | ToolStatus::Completed => TurnOutcome::Completed,
                ToolStatus::Failed => TurnOutcome::Failed,
                ToolStatus::Declined | ToolStatus::Cancelled => TurnOutcome::Interrupted,
            };
            Some(delegation_ended(item, delegate_of(call), how))
        }
        Content::Tool { call, outcome: Some(outcome), .. } => Some(tool_ended(item, call, outcome)),
        Content::Delegation { delegation, end: Some(end), .. } => {
            Some(delegation_ended(item, &delegate(delegation), end.outcome))
        }
        Content::Diff { status, changes } if *status != ToolStatus::Running => {
            let call = ToolCall { name: CHANGES.to_owned(), ..ToolCall::unknown() };
            let summary = describe::after(&call, &ToolOutcome::of(*status), "", changes);
            let said = match status {
                ToolStatus::Running | ToolStatus::Completed => "Changed files",
                ToolStatus::Failed => "Failed: the files are not changed",
                ToolStatus::Declined => "Declined: the files are not changed",
                ToolStatus::Cancelled => "Cancelled: the files are not changed",
            };
            Some(ToolCallResponse {
                event_type: event_of(*status),
                ..with_result(of(item, CHANGES, said.to_owned()), &summary, None)
            })
        }
        Content::Plan { steps } if item.ended_at.is_some() => {
            let result = of(item, PLAN, "Updated the plan".to_owned());
            let result = ToolCallResponse { event_type: ToolEvent::Result, ..result };
            Some(with_result(result, &plan_text(&item.text, steps), None))
        }
        Content::Tool { outcome: None, .. }
        | Content::Delegation { end: None, .. }
        | Content::Diff { .. }
        | Content::Plan { .. }
        | Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => None,
    }
}

fn tool_ended(item: &Item, call: &ToolCall, outcome: &ToolOutcome) -> ToolCallResponse {
    let changes = if let Content::Tool { changes, .. } = &item.content { changes.as_slice() } else { &[] };
    let begun = tool_begun(item, call);
    let summary = describe::after(call, outcome, &item.text, changes);
    let said = describe::finished(call, outcome);
    let result = ToolCallResponse { event_type: event_of(outcome.status), tool_response: said, ..begun };
    with_result(result, &summary, Some(&item.text))
}

fn delegation_ended(item: &Item, name: &str, outcome: TurnOutcome) -> ToolCallResponse {
    let said = match outcome {
        TurnOutcome::Completed => DELEGATED,
        TurnOutcome::Failed => "❌ Subagent failed",
        TurnOutcome::Interrupted => "⏹️ Subagent was stopped",
    };
    let result = of(item, name, said.to_owned());
    let result = ToolCallResponse { event_type: ToolEvent::DelegationResult, ..result };
    with_result(result, &format!("**General Subagent Result:**\n\n{}", item.text), Some(&item.text))
}

/// The end of a call that has none although its turn is over: without one, clients show it as running for ever.
pub(super) fn given_up(begun: &ToolCallResponse) -> ToolCallResponse {
    let (event_type, said) = match begun.event_type {
        ToolEvent::Call | ToolEvent::Result | ToolEvent::Error => (ToolEvent::Error, "It did not end"),
        ToolEvent::DelegationCall | ToolEvent::DelegationResult => {
            (ToolEvent::DelegationResult, "The turn ended before the subagent did")
        }
    };
    let tool_response = said.to_owned();
    ToolCallResponse { event_type, tool_response, stream_part: None, is_complete: true, ..begun.clone() }
}

fn of(item: &Item, name: &str, said: String) -> ToolCallResponse {
    ToolCallResponse {
        call_id: item.id.map_or_else(|| format!("item-{}", item.seq), |id| id.to_string()),
        event_type: ToolEvent::Call,
        tool_name: name.to_owned(),
        tool_response: said,
        tool_call_details: ToolCallDetails::default(),
        stream_part: None,
        is_complete: true,
        is_truncated: false,
        original_length: None,
    }
}

fn with_result(mut call: ToolCallResponse, summary: &str, output: Option<&str>) -> ToolCallResponse {
    call.tool_call_details.summary = cut(summary).text;
    if let Some(output) = output {
        let CutText { text, whole } = cut(output);
        call.tool_call_details.content = Some(text);
        call.is_truncated = whole.is_some();
        call.original_length = whole;
    }
    call
}

fn details(summary: &str) -> ToolCallDetails {
    ToolCallDetails { summary: cut(summary).text, ..ToolCallDetails::default() }
}

/// Clients drop a call without a name.
fn name(call: &ToolCall) -> String {
    if call.name.is_empty() { "tool".to_owned() } else { call.name.clone() }
}

/// The name of a call of a sub-agent. Clients know one by how its name begins.
fn delegate_of(call: &ToolCall) -> &str {
    if call.name.starts_with("delegate_to_") { &call.name } else { SUBAGENT }
}

/// The task that an agent gives to a sub-agent of its own.
fn task_of(call: &ToolCall) -> &str {
    let texts = ["prompt", "task", "task_description", "description"].iter();
    texts.filter_map(|name| call.input.get(name)?.as_str()).next().unwrap_or_default()
}

fn delegate(delegation: &Delegation) -> String {
    format!("delegate_to_{}", delegation.agent)
}

fn event_of(status: ToolStatus) -> ToolEvent {
    match status {
        ToolStatus::Running => ToolEvent::Call,
        ToolStatus::Completed => ToolEvent::Result,
        ToolStatus::Failed | ToolStatus::Declined | ToolStatus::Cancelled => ToolEvent::Error,
    }
}

fn plan_text(text: &str, steps: &[PlanStep]) -> String {
    let lines = steps.iter().map(|step| {
        let mark = match step.status {
            PlanStatus::Pending => "[ ]",
            PlanStatus::InProgress => "[~]",
            PlanStatus::Completed => "[x]",
        };
        format!("- {mark} {}", step.text)
    });
    let steps = lines.collect::<Vec<_>>().join("\n");
    match (text.is_empty(), steps.is_empty()) {
        (true, _) => steps,
        (false, true) => text.to_owned(),
        (false, false) => format!("{text}\n\n{steps}"),
    }
}

/// The arguments as an object, without texts that are too long.
fn arguments(call: &ToolCall) -> Value {
    let input = match &call.input {
        Value::Null => return Value::Null,
        Value::Object(_) => call.input.clone(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            json!({ "input": call.input })
        }
    };
    let mut input = input;
    shorten(&mut input);
    input
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let CutText { text: short, whole: Some(_) } = cut(text) {
                *text = short;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text of at most [`RESULT_CHARS`], and how many characters it had if it was longer.
struct CutText {
    text: String,
    whole: Option<usize>,
}

fn cut(text: &str) -> CutText {
    let Some((end, _)) = text.char_indices().nth(RESULT_CHARS) else {
        return CutText { text: text.to_owned(), whole: None };
    };
    let count = text.chars().count();
    let shown = &text[..end];
    CutText {
        text: format!("{shown}... [truncated — {count} chars total, the first {RESULT_CHARS} are shown]"),
        whole: Some(count),
    }
}

/// A command in a block of its own, with its invisible characters written out.
pub(super) fn command_block(command: &str) -> String {
    fenced("sh", &describe::reveal(&cut(command).text))
}
