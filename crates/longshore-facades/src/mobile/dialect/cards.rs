//! What the app draws as a card: tool calls, file changes, plans, delegated work and questions. A card is a `tool_use`
//! block; it shows as running until a `tool_result` names it.

use longshore_model::item::{FileChange, PlanStatus, PlanStep, ToolCall, ToolKind, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::{Content, Item};
use serde_json::{Map, Value, json};

use super::cut;
use super::permissions::{QUESTION_TOOL, question_id, question_input};
use crate::mobile::wire::ContentBlock;

/// The card of an item, if it is one.
pub(super) fn card_of(item: &Item, provider: &str) -> Option<ContentBlock> {
    let (name, input) = match &item.content {
        // The question itself is the card of this tool.
        Content::Tool { call, .. } if is_question(&call.name) => return None,
        Content::Tool { call, changes, .. } => (tool_name(call, provider), tool_input(call, changes)),
        Content::Diff { changes, .. } => {
            ("file_change".to_owned(), json!({ "changes": changes_of(changes) }))
        }
        Content::Plan { steps } => ("TodoWrite".to_owned(), plan_input(steps, &item.text)),
        Content::Delegation { delegation, task, .. } => {
            let input = json!({ "description": task, "prompt": task, "subagent_type": &*delegation.agent });
            ("Task".to_owned(), input)
        }
        Content::Question { request, .. } => (QUESTION_TOOL.to_owned(), question_input(request, &item.text)),
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => return None,
    };
    Some(ContentBlock::ToolUse { id: card_id(item), name, input })
}

/// The result of a card, once it has one.
pub(super) fn result_of(item: &Item) -> Option<ContentBlock> {
    item.ended_at?;
    let content = match &item.content {
        Content::Tool { call, .. } if is_question(&call.name) => return None,
        Content::Tool { outcome, .. } => {
            let status = outcome.as_ref().map_or(ToolStatus::Cancelled, |outcome| outcome.status);
            let code = outcome.as_ref().and_then(|outcome| outcome.exit_code).filter(|code| *code != 0);
            let code = code.map(|code| format!("[exit code {code}]"));
            output(&item.text, status, code)
        }
        Content::Diff { status, .. } => output(&item.text, *status, None),
        Content::Plan { .. } => "Updated".to_owned(),
        Content::Delegation { end, .. } => {
            let status = end.as_ref().map_or(ToolStatus::Completed, |end| match end.outcome {
                TurnOutcome::Completed => ToolStatus::Completed,
                TurnOutcome::Failed => ToolStatus::Failed,
                TurnOutcome::Interrupted => ToolStatus::Cancelled,
            });
            output(&item.text, status, None)
        }
        Content::Question { answer, expired, .. } => match (answer, expired) {
            (Some(answer), _) if answer.answers.is_empty() => format!("Not answered, by {}", answer.by),
            (Some(answer), _) => {
                let words = answer.answers.values().map(|value| match value {
                    Value::String(text) => text.clone(),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                        value.to_string()
                    }
                });
                format!("{} ({})", words.collect::<Vec<_>>().join("; "), answer.by)
            }
            (None, Some(why)) => why.clone(),
            (None, None) => return None,
        },
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => return None,
    };
    Some(ContentBlock::ToolResult { tool_use_id: card_id(item), content })
}

/// The id of a card.
pub(super) fn card_id(item: &Item) -> String {
    match (&item.content, item.id) {
        (Content::Question { request, .. }, _) => question_id(request.question),
        (_, Some(id)) => id.to_string(),
        (_, None) => format!("item-{}", item.seq),
    }
}

/// The app finds the tool of questions without regard to case and punctuation.
fn is_question(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    plain.eq_ignore_ascii_case(QUESTION_TOOL)
}

fn tool_name(call: &ToolCall, provider: &str) -> String {
    match call.kind == ToolKind::Execute && call.command.is_some() && provider.starts_with("codex") {
        true => "command_execution".to_owned(),
        false => call.name.clone(),
    }
}

fn tool_input(call: &ToolCall, changes: &[FileChange]) -> Value {
    let mut input = match &call.input {
        Value::Object(input) => input.clone(),
        Value::Null => Map::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Map::from_iter([("input".to_owned(), other.clone())])
        }
    };
    if let Some(command) = &call.command {
        input.insert("command".to_owned(), command.as_str().into());
    }
    if !changes.is_empty() {
        input.insert("changes".to_owned(), changes_of(changes));
    }
    Value::Object(input)
}

/// File changes, as the app shows them.
pub(super) fn changes_of(changes: &[FileChange]) -> Value {
    let one = |change: &FileChange| {
        let mut one = json!({ "path": change.path, "kind": change.kind, "diff": cut(&change.diff) });
        if let Some(moved) = &change.moved_to {
            one["movedTo"] = moved.as_str().into();
        }
        one
    };
    changes.iter().map(one).collect()
}

fn plan_input(steps: &[PlanStep], text: &str) -> Value {
    let status = |status| match status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Completed => "completed",
    };
    let todos: Vec<Value> = steps
        .iter()
        .map(|step| json!({ "content": step.text, "status": status(step.status), "activeForm": step.text }))
        .collect();
    let mut input = json!({ "todos": todos });
    if !text.is_empty() {
        input["plan"] = cut(text).into();
    }
    input
}

/// An output; if there is none, what there is to say of it. The app takes an empty one for none.
fn output(text: &str, status: ToolStatus, note: Option<String>) -> String {
    let said = match status {
        ToolStatus::Running => None,
        ToolStatus::Completed => text.is_empty().then(|| "(no output)".to_owned()),
        ToolStatus::Failed => note.or_else(|| text.is_empty().then(|| "(failed)".to_owned())),
        ToolStatus::Declined => Some("[declined]".to_owned()),
        ToolStatus::Cancelled => Some("[stopped]".to_owned()),
    };
    match said {
        Some(said) if text.is_empty() => said,
        Some(said) => format!("{}\n{said}", cut(text)),
        None => cut(text),
    }
}
