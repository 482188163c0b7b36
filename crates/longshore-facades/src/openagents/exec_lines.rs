//! A session as the lines that `codex exec --json` prints, for `thread/load_latest`, whose clients read such lines.
//!
//! They are made of the timeline, so every agent's session has them.

use longshore_model::item::{FileChange, PlanStatus, PlanStep, ToolKind, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::{Content, Item, Timeline};
use serde_json::{Value, json};

use super::size;

/// The lines of a session, the oldest first.
pub(crate) fn lines(session: &str, timeline: &Timeline) -> Vec<String> {
    let begin = json!({ "type": "thread.started", "thread_id": session });
    std::iter::once(begin)
        .chain(timeline.items.iter().filter_map(line))
        .map(|line| line.to_string())
        .collect()
}

fn line(item: &Item) -> Option<Value> {
    let text = item.text.as_str();
    let of_item = |mut body: Value| {
        body["id"] = json!(item.id.map_or_else(|| format!("item-{}", item.seq), |id| id.to_string()));
        let kind = if item.ended_at.is_some() { "item.completed" } else { "item.started" };
        Some(json!({ "type": kind, "item": body }))
    };
    match &item.content {
        Content::UserMessage { .. } => of_item(json!({ "type": "user_message", "text": text })),
        Content::Message { .. } => of_item(json!({ "type": "agent_message", "text": text })),
        Content::Reasoning { .. } => of_item(json!({ "type": "reasoning", "text": text })),
        Content::Plan { steps } if steps.is_empty() => {
            of_item(json!({ "type": "agent_message", "text": text }))
        }
        Content::Plan { steps } => {
            let items: Vec<Value> = steps.iter().map(step).collect();
            of_item(json!({ "type": "todo_list", "items": items }))
        }
        Content::Tool { call, outcome, changes } => {
            let status = status(outcome.as_ref().map_or(ToolStatus::Running, |outcome| outcome.status));
            if call.kind == ToolKind::Execute {
                let code = outcome.as_ref().and_then(|outcome| outcome.exit_code);
                let output = size::output(json!(text));
                let command = call.command.as_deref().unwrap_or(&call.name);
                return of_item(json!({
                    "type": "command_execution", "command": command, "aggregated_output": output,
                    "exit_code": code, "status": status,
                }));
            }
            if !changes.is_empty() {
                return of_item(
                    json!({ "type": "file_change", "changes": files(changes), "status": status }),
                );
            }
            let arguments = arguments(&call.input);
            of_item(json!({
                "type": "tool_call", "tool_name": call.name, "arguments": arguments, "status": status,
            }))
        }
        Content::Diff { status: of, changes } => {
            of_item(json!({ "type": "file_change", "changes": files(changes), "status": status(*of) }))
        }
        Content::Delegation { delegation, task, .. } => {
            let arguments = json!({ "agent": delegation.agent, "task": size::brief(task, 4_000) });
            of_item(json!({ "type": "tool_call", "tool_name": "delegate", "arguments": arguments }))
        }
        Content::TurnEnd(end) => match end.outcome {
            TurnOutcome::Completed => Some(json!({ "type": "turn.completed", "usage": end.usage })),
            TurnOutcome::Failed | TurnOutcome::Interrupted => {
                let message = end.error.as_ref().map_or(text, |error| &error.message);
                Some(json!({ "type": "turn.failed", "error": { "message": message } }))
            }
        },
        // Such lines know no approvals, no questions and no notices.
        Content::TurnDiff | Content::Approval { .. } | Content::Question { .. } | Content::Notice { .. } => {
            None
        }
    }
}

fn step(step: &PlanStep) -> Value {
    json!({ "text": step.text, "completed": step.status == PlanStatus::Completed })
}

fn arguments(input: &Value) -> Value {
    match input {
        Value::Object(fields) => Value::Object(size::arguments(fields.clone())),
        Value::Null => json!({}),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            json!({ "input": size::output(input.clone()) })
        }
    }
}

fn files(changes: &[FileChange]) -> Vec<Value> {
    changes.iter().map(|change| json!({ "path": change.path, "kind": change.kind })).collect()
}

fn status(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Running => "in_progress",
        ToolStatus::Completed => "completed",
        ToolStatus::Declined => "declined",
        ToolStatus::Failed | ToolStatus::Cancelled => "failed",
    }
}
