//! Items that are tool calls.

use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
use serde_json::{Value, json};

use crate::argv::{line_in, unwrapped};
use crate::codex::wire::Item;
use crate::kit::contents::{attached, picture_at};

/// The tool call of an item; none if the item is something else.
pub(crate) fn call_of(item: &Item) -> Option<ToolCall> {
    let call =
        |name: &str, kind, input| ToolCall { name: name.to_owned(), kind, command: None, cwd: None, input };
    Some(match item.kind.as_str() {
        "commandExecution" => ToolCall {
            name: if item.source == "userShell" { "user_shell" } else { "exec_command" }.to_owned(),
            kind: command_kind(item),
            command: Some(unwrapped(&item.command)),
            cwd: item.cwd.clone(),
            input: json!({"command": item.command}),
        },
        "mcpToolCall" => {
            call(&format!("{}.{}", item.server, item.tool), ToolKind::Other, item.arguments.clone())
        }
        "dynamicToolCall" => {
            let name = match &item.namespace {
                Some(namespace) => format!("{namespace}.{}", item.tool),
                None => item.tool.clone(),
            };
            call(&name, ToolKind::Other, item.arguments.clone())
        }
        "collabAgentToolCall" => {
            let mut input = json!({"prompt": item.prompt});
            if !item.receiver_thread_ids.is_empty() {
                input["receiverThreadIds"] = json!(item.receiver_thread_ids);
            }
            call(&item.tool, ToolKind::Delegate, input)
        }
        "webSearch" => {
            let opens = matches!(item.action["type"].as_str(), Some("openPage" | "findInPage"));
            let kind = if opens { ToolKind::Fetch } else { ToolKind::Search };
            call("web_search", kind, json!({"query": item.query, "action": item.action}))
        }
        "imageView" => call("view_image", ToolKind::Read, json!({"path": item.path})),
        "imageGeneration" => {
            call("image_generation", ToolKind::Other, json!({"prompt": item.revised_prompt}))
        }
        "sleep" => call("sleep", ToolKind::Other, json!({"durationMs": item.duration_ms})),
        _ => return None,
    })
}

/// A model's call by name and arguments, for all tools that Codex has ever had.
pub(crate) fn called(name: &str, input: Value, cwd: &str) -> ToolCall {
    let command = match &input["command"] {
        Value::Array(words) => line_in(words),
        Value::String(command) => Some(command.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            input["cmd"].as_str().map(str::to_owned)
        }
    };
    let kind = match (&command, name) {
        (Some(_), _) => ToolKind::Execute,
        (None, "apply_patch") => ToolKind::Edit,
        (None, "view_image") => ToolKind::Read,
        (None, "web_search") => ToolKind::Search,
        (None, _) => ToolKind::Other,
    };
    let place = input["workdir"].as_str().unwrap_or(cwd);
    let cwd = command.is_some().then(|| place.to_owned());
    ToolCall { name: name.to_owned(), kind, command, cwd, input }
}

/// The title of a call, in one line.
pub(crate) fn title_of(item: &Item, call: &ToolCall) -> String {
    match item.kind.as_str() {
        "commandExecution" => call.command.clone().unwrap_or_default(),
        "collabAgentToolCall" => item.prompt.clone().unwrap_or_else(|| item.tool.clone()),
        "webSearch" if !item.query.is_empty() => item.query.clone(),
        "imageView" => item.path.clone().unwrap_or_default(),
        _ => call.name.clone(),
    }
}

/// The outcome of a call, and its output.
pub(crate) fn outcome_of(item: Item) -> (ToolOutcome, Option<String>) {
    let mut outcome = ToolOutcome {
        attachments: Vec::new(),
        status: status_of(&item, false),
        exit_code: item.exit_code,
        duration_ms: item.duration_ms,
        result: Value::Null,
    };
    let text = match item.kind.as_str() {
        "commandExecution" => item.aggregated_output,
        "mcpToolCall" => match item.error {
            Some(error) => Some(error.message),
            None => {
                let content = item.result["content"].as_array().map_or(&[][..], Vec::as_slice);
                let data = &item.result["structuredContent"];
                outcome.attachments = content.iter().filter_map(attached).collect();
                let told = |part: &Value| part["type"] == "text" || attached(part).is_some();
                outcome.result = match data {
                    // A result that is only text needs no data, because the text is in the output.
                    // Attachments need not be repeated, either.
                    Value::Null if content.iter().all(told) => Value::Null,
                    Value::Null => Value::Array(content.to_vec()),
                    data => data.clone(),
                };
                Some(texts(content))
            }
        },
        "dynamicToolCall" => {
            if item.success == Some(false) {
                outcome.status = ToolStatus::Failed;
            }
            let content = item.content_items;
            outcome.attachments = content.iter().flatten().filter_map(attached).collect();
            content.map(|content| texts(&content))
        }
        "collabAgentToolCall" => {
            let said: Vec<String> =
                item.agents_states.into_values().filter_map(|state| state.message).collect();
            (!said.is_empty()).then(|| said.join("\n\n"))
        }
        "imageView" => {
            outcome.attachments = item.path.as_deref().map(picture_at).into_iter().collect();
            None
        }
        "imageGeneration" => {
            outcome.attachments = item.saved_path.as_deref().map(picture_at).into_iter().collect();
            item.saved_path
        }
        _ => None,
    };
    (outcome, text)
}

/// The status of an item.
pub(crate) fn status_of(item: &Item, started: bool) -> ToolStatus {
    match item.status.as_str() {
        "inProgress" => ToolStatus::Running,
        "failed" => ToolStatus::Failed,
        "declined" => ToolStatus::Declined,
        "interrupted" => ToolStatus::Cancelled,
        "" if started => ToolStatus::Running,
        _ => ToolStatus::Completed,
    }
}

fn texts(content: &[Value]) -> String {
    content.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The kind of a command. Codex splits a command into parts; the most dangerous part decides.
fn command_kind(item: &Item) -> ToolKind {
    let all =
        |kinds: &[&str]| item.command_actions.iter().all(|action| kinds.contains(&action.kind.as_str()));
    if item.command_actions.is_empty() {
        ToolKind::Execute
    } else if all(&["read"]) {
        ToolKind::Read
    } else if all(&["read", "search", "listFiles"]) {
        ToolKind::Search
    } else {
        ToolKind::Execute
    }
}
