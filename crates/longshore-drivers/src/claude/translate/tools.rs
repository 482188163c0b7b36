//! Tool calls: what each call does, and how it ended.

use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
use serde_json::Value;

use super::conversation::ClaudeToolCall;
use crate::claude::wire::Block;
use crate::kit::contents::{attached, last_part};

/// The tool with which Claude asks people.
pub(super) const ASK_USER: &str = "AskUserQuestion";
/// The tool with which Claude shows its plan and asks to carry it out.
pub(crate) const EXIT_PLAN: &str = "ExitPlanMode";
/// The model's text for a command without output. People need not see it.
pub(crate) const NO_OUTPUT: &str = "(Bash completed with no output)";
/// The beginning of the output of a failed command.
const EXIT_CODE: &str = "Exit code ";
/// The result of a call that was stopped from outside.
pub(crate) const REJECTED: &str = "User rejected tool use";

/// A call as a type of the model.
pub(crate) fn call_of(name: &str, input: &Value, cwd: Option<&str>) -> ToolCall {
    let kind = kind_of(name);
    let command = (kind == ToolKind::Execute).then(|| input["command"].as_str().map(str::to_owned)).flatten();
    ToolCall {
        name: name_of(name),
        kind,
        cwd: cwd.filter(|_| command.is_some()).map(str::to_owned),
        command,
        input: input.clone(),
    }
}

/// `mcp__server__tool` becomes `server.tool`.
pub(super) fn name_of(name: &str) -> String {
    match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}.{tool}"),
        None => name.to_owned(),
    }
}

pub(super) fn kind_of(name: &str) -> ToolKind {
    match name {
        "Bash" | "PowerShell" => ToolKind::Execute,
        "Read" | "NotebookRead" => ToolKind::Read,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "LS" | "ToolSearch" => ToolKind::Search,
        "WebFetch" | "WebSearch" | "web_search" | "web_fetch" => ToolKind::Fetch,
        "Task" | "Agent" => ToolKind::Delegate,
        "TodoWrite" | "TodoRead" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" | "EnterPlanMode"
        | EXIT_PLAN => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// The title of a call, in one line.
pub(crate) fn title_of(name: &str, call: &ToolCall) -> String {
    let fields: &[&str] = match name {
        "Bash" | "PowerShell" => &["command"],
        "Read" | "Edit" | "Write" | "MultiEdit" => &["file_path"],
        "NotebookEdit" | "NotebookRead" => &["notebook_path"],
        "Glob" | "Grep" => &["pattern"],
        "LS" => &["path"],
        "WebFetch" => &["url"],
        "WebSearch" | "ToolSearch" => &["query"],
        "Task" | "Agent" => &["description", "prompt"],
        "TaskCreate" => &["subject"],
        "Skill" => &["skill", "command"],
        _ => &[],
    };
    let said = fields.iter().find_map(|field| call.input[*field].as_str()).filter(|text| !text.is_empty());
    said.map_or_else(|| call.name.clone(), str::to_owned)
}

/// The outcome of a call, and its output.
pub(super) fn outcome_of(
    tool: &ClaudeToolCall,
    block: &Block,
    data: &Value,
    stopping: bool,
) -> (ToolOutcome, String) {
    let status = match block.is_error {
        false => ToolStatus::Completed,
        true if tool.denied => ToolStatus::Declined,
        true if stopping || data == REJECTED => ToolStatus::Cancelled,
        true => ToolStatus::Failed,
    };
    let said = text_of(&block.content);
    let mut outcome = ToolOutcome::of(status);
    let parts = block.content.as_array().map_or(&[][..], Vec::as_slice);
    outcome.attachments = parts.iter().filter_map(attached).collect();
    if let ([only], Some(path)) = (&mut outcome.attachments[..], tool.call.input["file_path"].as_str()) {
        only.name = Some(last_part(path));
    }
    outcome.duration_ms = ["totalDurationMs", "durationMs"].iter().find_map(|field| data[*field].as_u64());
    let text = match tool.call.kind {
        ToolKind::Execute => match exit_code(&said) {
            Some((code, rest)) if block.is_error => {
                outcome.exit_code = Some(code);
                rest.to_owned()
            }
            Some(_) | None => {
                if said == NO_OUTPUT {
                    String::new()
                } else {
                    said
                }
            }
        },
        ToolKind::Read
        | ToolKind::Edit
        | ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Search
        | ToolKind::Fetch
        | ToolKind::Think => said,
        // The rest is only for the model: how it can write to the sub-agent again.
        ToolKind::Delegate if data["content"].is_array() => text_of(&data["content"]),
        ToolKind::Delegate => said.lines().next().unwrap_or_default().to_owned(),
        ToolKind::Other => {
            // A result that is only text needs no data, because it is in the output. Attachments need not be
            // repeated, either.
            if parts.iter().any(|part| part["type"] != "text" && attached(part).is_none()) {
                outcome.result = block.content.clone();
            }
            said
        }
    };
    (outcome, unwrapped(&text).to_owned())
}

/// The text of a result, which is a string or a list of blocks.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// `Exit code 3`, and the output after it.
pub(crate) fn exit_code(text: &str) -> Option<(i64, &str)> {
    let rest = text.strip_prefix(EXIT_CODE)?;
    let (code, output) = rest.split_once('\n').unwrap_or((rest, ""));
    Some((code.trim().parse().ok()?, output))
}

/// The text without the tag that Claude puts around it for the model.
fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix("<tool_use_error>").and_then(|rest| rest.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}
