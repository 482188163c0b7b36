//! Items of the timeline as items of a thread.

use std::borrow::Cow;

use longshore_model::approval::ApprovalDecision;
use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::describe;
use longshore_model::event::NoticeLevel;
use longshore_model::item::{FileChange, FileChangeKind, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::{Content, Item};
use serde_json::{Value, json};

use super::wire::{ChangedFile, InputPart, ThreadItem};

/// How the client names a tool call's item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallFace {
    Command,
    Files,
    Search,
    Picture,
    Tool,
}

impl CallFace {
    pub(super) fn of(call: &ToolCall, changes: &[FileChange]) -> Self {
        let name: String = call.name.chars().filter(|c| *c != '_').collect::<String>().to_lowercase();
        match call.kind {
            _ if call.command.is_some() => CallFace::Command,
            ToolKind::Execute => CallFace::Command,
            _ if !changes.is_empty() => CallFace::Files,
            _ if name == "websearch" && call.input["query"].is_string() => CallFace::Search,
            _ if name == "viewimage" && call.input["path"].is_string() => CallFace::Picture,
            ToolKind::Read
            | ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Search
            | ToolKind::Fetch
            | ToolKind::Think
            | ToolKind::Delegate
            | ToolKind::Other => CallFace::Tool,
        }
    }
}

/// The id of an item. The items of approvals and questions have the ids of the client's cards, so that they close them.
pub(super) fn id_of(item: &Item) -> String {
    if let Content::Approval { request, .. } = &item.content {
        return format!("approval-{}", request.approval);
    }
    if let Content::Question { request, .. } = &item.content {
        return format!("user-input-{}", request.question);
    }
    match item.id {
        Some(id) => id.to_string(),
        None => format!("item-{}", item.seq),
    }
}

/// The item as it is now. None if the protocol has no item for it: what waits for a person, and what is told otherwise.
pub(super) fn thread_item(item: &Item) -> Option<ThreadItem<'_>> {
    let (id, text) = (id_of(item), item.text.as_str());
    Some(match &item.content {
        Content::UserMessage { attachments, .. } => {
            let texts = std::iter::once(InputPart::Text { text });
            ThreadItem::UserMessage { id, content: texts.chain(attachments.iter().map(picture)).collect() }
        }
        Content::Message { .. } => ThreadItem::AgentMessage { id, text: text.into() },
        Content::Reasoning { .. } => ThreadItem::Reasoning { id, summary: [text], content: [] },
        Content::Plan { steps } if steps.is_empty() => ThreadItem::Plan { id, text },
        // The client shows the steps of the newest plan beside the thread.
        Content::Plan { .. } | Content::TurnDiff => return None,
        Content::Tool { call, outcome, changes } => tool_item(id, text, call, outcome.as_ref(), changes),
        Content::Diff { status, changes } => {
            ThreadItem::FileChange { id, status: status_word(*status), changes: files(changes) }
        }
        Content::Approval { decision: Some(decision), .. } => {
            closed(id, decision_line(decision), decision.decision.allows())
        }
        Content::Approval { expired: Some(reason), .. } | Content::Question { expired: Some(reason), .. } => {
            closed(id, format!("No longer asked: {reason}"), false)
        }
        Content::Question { answer: Some(answer), .. } => {
            closed(id, format!("Answered by {}", answer.by), true)
        }
        Content::Approval { decision: None, expired: None, .. }
        | Content::Question { answer: None, expired: None, .. } => {
            return None;
        }
        Content::Delegation { delegation, task, end, .. } => ThreadItem::CollabAgentToolCall {
            id,
            tool: "spawnAgent",
            receiver_thread_ids: [delegation.child],
            prompt: task,
            status: end.as_ref().map_or("inProgress", |end| outcome_word(end.outcome)),
        },
        Content::TurnEnd(end) => {
            let error = end.error.as_ref().filter(|_| end.outcome == TurnOutcome::Failed)?;
            let message = if error.message.is_empty() { text } else { &error.message };
            ThreadItem::AgentMessage { id, text: format!("The turn failed: {message}").into() }
        }
        Content::Notice { level: NoticeLevel::Info } => return None,
        Content::Notice { level: NoticeLevel::Warning | NoticeLevel::Error } => {
            ThreadItem::AgentMessage { id, text: text.into() }
        }
    })
}

fn tool_item<'a>(
    id: String,
    text: &'a str,
    call: &'a ToolCall,
    outcome: Option<&ToolOutcome>,
    changes: &'a [FileChange],
) -> ThreadItem<'a> {
    let status = outcome.map_or(ToolStatus::Running, |outcome| outcome.status);
    match CallFace::of(call, changes) {
        CallFace::Command => ThreadItem::CommandExecution {
            id,
            command: call.command.as_deref().map_or_else(|| describe::running(call).into(), Cow::from),
            cwd: call.cwd.as_deref(),
            status: status_word(status),
            aggregated_output: text,
            exit_code: outcome.and_then(|outcome| outcome.exit_code),
            duration_ms: outcome.and_then(|outcome| outcome.duration_ms),
        },
        CallFace::Files => {
            ThreadItem::FileChange { id, status: status_word(status), changes: files(changes) }
        }
        CallFace::Search => {
            ThreadItem::WebSearch { id, query: call.input["query"].as_str().unwrap_or_default() }
        }
        CallFace::Picture => {
            ThreadItem::ImageView { id, path: call.input["path"].as_str().unwrap_or_default() }
        }
        CallFace::Tool => {
            let tool =
                outcome.map_or_else(|| describe::running(call), |outcome| describe::finished(call, outcome));
            let ended_well = matches!(status, ToolStatus::Running | ToolStatus::Completed);
            let (result, error) = match outcome {
                None => (None, None),
                Some(outcome) if ended_well => (Some(result_of(text, outcome)), None),
                Some(_) => (None, Some(json!({ "message": text }))),
            };
            ThreadItem::McpToolCall {
                id,
                tool,
                status: status_word(status),
                arguments: &call.input,
                result,
                error,
            }
        }
    }
}

fn result_of(text: &str, outcome: &ToolOutcome) -> Value {
    match outcome.result.is_null() || !text.is_empty() {
        true => json!({ "content": [{ "type": "text", "text": text }] }),
        false => outcome.result.clone(),
    }
}

/// The card of an approval or question that nobody can answer any more: the client draws it as a command of one line.
pub(super) fn closed(id: String, line: String, well: bool) -> ThreadItem<'static> {
    ThreadItem::CommandExecution {
        id,
        command: line.into(),
        cwd: None,
        status: if well { "completed" } else { "declined" },
        aggregated_output: "",
        exit_code: Some(i64::from(!well)),
        duration_ms: None,
    }
}

/// A decision in words.
pub(super) fn decision_line(decision: &ApprovalDecision) -> String {
    let verb = if decision.decision.allows() { "Approved" } else { "Denied" };
    format!("{verb} by {}", decision.by)
}

/// The content of a picture stays out: it can be large, and the client shows no pictures of other devices.
fn picture(attachment: &Attachment) -> InputPart<'_> {
    let (path, url) = match &attachment.source {
        AttachmentSource::Data(_) => (None, None),
        AttachmentSource::Path(path) => (Some(path.as_str()), None),
        AttachmentSource::Url(url) => (None, Some(url.as_str())),
    };
    InputPart::Image { filename: attachment.name.as_deref(), mime: &attachment.media_type, path, url }
}

fn files(changes: &[FileChange]) -> Vec<ChangedFile<'_>> {
    let file = |change: &'_ FileChange| -> &'static str {
        match change.kind {
            FileChangeKind::Add => "add",
            FileChangeKind::Update => "update",
            FileChangeKind::Delete => "delete",
        }
    };
    changes
        .iter()
        .map(|change| ChangedFile { path: &change.path, kind: file(change), diff: &change.diff })
        .collect()
}

fn status_word(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Running => "inProgress",
        ToolStatus::Completed => "completed",
        ToolStatus::Failed | ToolStatus::Cancelled => "failed",
        ToolStatus::Declined => "declined",
    }
}

/// How a turn ended, in the words of turns.
pub(super) fn outcome_word(outcome: TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Completed => "completed",
        TurnOutcome::Failed => "failed",
        TurnOutcome::Interrupted => "interrupted",
    }
}
