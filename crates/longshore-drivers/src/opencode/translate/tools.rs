//! Tool calls: pending, running with their output so far, completed or failed.

use longshore_model::event::{Body, Draft};
use longshore_model::item::{FileDiff, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use serde_json::Value;

use super::conversation::{OpenCodeToolCall, PartKind};
use super::{OpenCode, diffs};
use crate::kit::Scribe;
use crate::kit::contents::linked;
use crate::opencode::wire::{Part, State};

impl OpenCode {
    pub(super) fn tool(&mut self, part: &Part, scribe: &mut Scribe<'_>) {
        let native = &part.session_id;
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let (session, directory) = (conversation.session, conversation.directory.clone());
        let call = call_of(part, &directory);
        let is_new = !conversation.parts.contains_key(&part.id);
        let fresh = PartKind::Tool(Box::new(OpenCodeToolCall {
            call_id: part.call_id.clone(),
            call: call.clone(),
            told: 0,
            changes: Vec::new(),
            asked: false,
            child: None,
        }));
        let known = conversation.part(&part.id, &part.message_id, fresh, &mut scribe.cx);
        let PartKind::Tool(tool) = &mut known.what else { return };
        if known.done {
            return;
        }
        let (turn, item, state) = (known.turn, known.item, &part.state);
        let draft = |body: Body| Draft::new(body).turn(turn).item(item);
        let mut drafts = Vec::new();
        if is_new {
            let mut started = draft(Body::ToolStarted(call));
            started.text = title_of(state);
            drafts.push(started);
        } else if tool.call != call && !call.input.is_null() {
            tool.call = call.clone();
            let mut updated = draft(Body::ToolUpdated(call));
            updated.text = title_of(state);
            drafts.push(updated);
        }
        if let Some(mut outcome) = outcome_of(&part.tool, state) {
            known.done = true;
            outcome.duration_ms.take_if(|_| tool.asked);
            let mut changes = diffs::changes_of(&part.tool, state, &directory);
            if changes.is_empty() && outcome.status == ToolStatus::Completed {
                changes = std::mem::take(&mut tool.changes);
            }
            if !changes.is_empty() {
                drafts.push(draft(Body::FileDiff(FileDiff { status: outcome.status, changes })));
            }
            let text = if state.status == "error" { &state.error } else { &state.output };
            drafts.push(draft(Body::ToolFinished(outcome)).text(&**text));
        } else if let Some(output) = state.metadata["output"].as_str()
            && let Some(more) = output.get(tool.told..).filter(|more| !more.is_empty())
        {
            tool.told = output.len();
            drafts.push(draft(Body::ToolOutputDelta).text(more));
        }
        scribe.quote_all(session, drafts);
        if let Some(child) = state.metadata["sessionId"].as_str().filter(|_| part.tool == "task") {
            self.delegated(native, &part.id, child, scribe);
        }
    }
}

fn call_of(part: &Part, directory: &str) -> ToolCall {
    let kind = match part.tool.as_str() {
        "bash" => ToolKind::Execute,
        "read" => ToolKind::Read,
        "edit" | "write" | "apply_patch" | "multiedit" | "patch" => ToolKind::Edit,
        "glob" | "grep" | "list" | "codesearch" => ToolKind::Search,
        "webfetch" | "websearch" => ToolKind::Fetch,
        "task" => ToolKind::Delegate,
        _ => ToolKind::Other,
    };
    let input = &part.state.input;
    let command = input["command"].as_str().filter(|_| kind == ToolKind::Execute).map(str::to_owned);
    let cwd = command.as_ref().map(|_| input["workdir"].as_str().unwrap_or(directory).to_owned());
    // Until the arguments are known, they are an empty object.
    let input = if input.as_object().is_some_and(|input| input.is_empty()) { &Value::Null } else { input };
    ToolCall { name: part.tool.clone(), kind, command, cwd, input: input.clone() }
}

fn title_of(state: &State) -> Option<String> {
    let title = Some(state.title.as_str()).filter(|title| !title.is_empty());
    title.or_else(|| state.input["description"].as_str()).map(str::to_owned)
}

/// The outcome of a call that has ended.
fn outcome_of(tool: &str, state: &State) -> Option<ToolOutcome> {
    let exit_code = state.metadata["exit"].as_i64();
    let status = match state.status.as_str() {
        // A stopped command counts as completed in OpenCode, and has no exit code.
        "completed" if state.metadata["exit"].is_null() && state.output.contains(ABORTED) => {
            ToolStatus::Cancelled
        }
        // A tool that does not exist, or a command that reports its own failure.
        "completed" if tool == "invalid" || exit_code.is_some_and(|code| code != 0) => ToolStatus::Failed,
        "completed" => ToolStatus::Completed,
        "error" if state.metadata["interrupted"] == true || is_stop(&state.error) => ToolStatus::Cancelled,
        "error" if is_no(&state.error) => ToolStatus::Declined,
        "error" => ToolStatus::Failed,
        _ => return None,
    };
    let duration = state.time.start.zip(state.time.end).map(|(start, end)| (end - start).max(0.0) as u64);
    let attachments = state.attachments.iter();
    let attachments = attachments.map(|file| linked(file.filename.clone(), &file.mime, &file.url)).collect();
    Some(ToolOutcome { exit_code, duration_ms: duration, attachments, ..ToolOutcome::of(status) })
}

const ABORTED: &str = "<shell_metadata>\nUser aborted the command";

fn is_stop(error: &str) -> bool {
    matches!(error, "Tool execution aborted" | "Task cancelled")
}

fn is_no(error: &str) -> bool {
    error.starts_with("The user rejected permission")
        || error.starts_with("The user dismissed")
        || error.starts_with("The user has specified a rule which prevents")
}
