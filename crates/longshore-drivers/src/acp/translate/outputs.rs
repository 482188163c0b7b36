//! The output and the result of a call. The protocol leaves the form of both to the agents.

use longshore_model::command::Attachment;
use longshore_model::item::{ToolOutcome, ToolStatus};
use serde_json::Value;

use super::tools::AcpToolCall;
use crate::acp::wire::{Block, ToolContent};
use crate::argv::line_in;
use crate::kit::contents::attached;

/// The text that a call shows; none if it shows none.
pub(super) fn printed(content: &[ToolContent]) -> Option<String> {
    let mut texts = Vec::new();
    for shown in content.iter().filter(|shown| shown.kind == "content") {
        let block = shown.content.as_ref().map(|block| serde_json::from_str::<Block<'_>>(block.get()));
        // An attachment is not text.
        if let Some(Ok(block)) = block
            && !matches!(block.kind.as_ref(), "image" | "audio")
        {
            texts.push(unfenced(&block.words()).to_owned());
        }
    }
    let text = texts.join("\n");
    (!text.is_empty()).then_some(text)
}

/// Pictures and other attachments that a call shows.
pub(super) fn attachments_in(content: &[ToolContent]) -> Vec<Attachment> {
    let shown =
        content.iter().filter(|shown| shown.kind == "content").filter_map(|shown| shown.content.as_ref());
    shown.filter_map(|block| attached(&serde_json::from_str::<Value>(block.get()).ok()?)).collect()
}

/// The text without the code fence that one agent puts around it.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    // The first line names a language.
    let inner = inner.and_then(|inner| inner.split_once('\n')).map(|(_, inner)| inner);
    inner
        .filter(|inner| !inner.contains("```"))
        .map_or(text, |inner| inner.strip_suffix('\n').unwrap_or(inner))
}

/// Arguments that the agent shows as text.
pub(super) fn arguments_in(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text).ok().filter(Value::is_object)
}

/// The output of a command, without the report that one agent makes of it for its model. The report also
/// contains the exit code.
pub(super) fn without_report(tool: &mut AcpToolCall, printed: String, raw: &Value) -> String {
    let Some(output) = raw.as_str().filter(|_| printed.starts_with("Command: ")) else { return printed };
    let code = printed.lines().rev().find_map(|line| line.strip_prefix("Exit Code: "));
    tool.exit_code = code.and_then(|code| code.trim().parse().ok()).or(tool.exit_code);
    if output.is_empty() || printed.contains(output) { output.to_owned() } else { printed }
}

/// The text of a call's result for the model.
pub(super) fn text_in(raw: &Value) -> Option<String> {
    let text = match raw {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let names = ["formatted_output", "output", "content", "stdout", "error"];
            let told = |name: &str| match fields.get(name)? {
                Value::String(text) => Some(text.clone()),
                blocks @ Value::Array(_) => text_in(blocks),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
            };
            names.into_iter().filter_map(told).find(|text| !text.is_empty()).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

/// The outcome of a call.
pub(super) fn outcome_of(status: ToolStatus, raw: &Value, known_code: Option<i64>) -> ToolOutcome {
    let in_contents =
        raw["contents"].as_array().into_iter().flatten().find_map(|one| one["exitCode"].as_i64());
    let exit_code = raw["exit_code"].as_i64().or_else(|| raw["metadata"]["exit"].as_i64()).or(in_contents);
    let duration_ms = raw["duration"]["secs"].as_u64().map(|seconds| {
        let nanos = raw["duration"]["nanos"].as_u64().unwrap_or(0);
        seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
    });
    // A result without a text is kept as data.
    let result = if text_in(raw).is_none() { raw.clone() } else { Value::Null };
    ToolOutcome {
        status,
        exit_code: exit_code.or(known_code),
        duration_ms,
        result,
        ..ToolOutcome::of(status)
    }
}

/// The MCP tool that the arguments of a call name: `server.tool`.
pub(super) fn mcp_tool_in(input: &Value) -> Option<String> {
    Some(format!("{}.{}", input["server"].as_str()?, input["tool"].as_str()?))
}

/// The command line in the arguments of a call: one text, or a list of words.
pub(super) fn command_in(input: &Value) -> Option<String> {
    match &input["command"] {
        Value::String(line) => Some(line.clone()).filter(|line| !line.is_empty()),
        Value::Array(words) => line_in(words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The folder of a command, if the arguments of its call name one.
pub(super) fn folder_in(input: &Value) -> Option<String> {
    let named = ["cwd", "directory", "dir_path", "workdir"].into_iter().find_map(|name| input[name].as_str());
    named.filter(|folder| !folder.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn output_is_found_wherever_agents_put_it() {
        let cases = [
            (json!("hi"), Some("hi"), None),
            (json!([{"type": "text", "text": "hi"}]), Some("hi"), None),
            (json!({"formatted_output": "hi\n", "stdout": "other", "exit_code": 3}), Some("hi\n"), Some(3)),
            (json!({"output": "hi", "metadata": {"exit": 0}}), Some("hi"), Some(0)),
            (json!({"content": "hi", "contents": [{"exitCode": 1}]}), Some("hi"), Some(1)),
            (json!({"stdout": "Success", "success": true}), Some("Success"), None),
            (json!({"content": [{"type": "text", "text": "hi"}]}), Some("hi"), None),
            (json!({"error": "aborted"}), Some("aborted"), None),
            (json!({"rows": [1, 2]}), None, None),
            (json!(null), None, None),
        ];
        for (raw, text, code) in cases {
            assert_eq!(text_in(&raw).as_deref(), text, "of {raw}");
            let outcome = outcome_of(ToolStatus::Completed, &raw, None);
            assert_eq!(outcome.exit_code, code, "of {raw}");
            assert_eq!(outcome.result.is_null(), text.is_some() || raw.is_null(), "of {raw}");
        }
        let timed =
            outcome_of(ToolStatus::Failed, &json!({"duration": {"secs": 2, "nanos": 5_000_000}}), Some(7));
        assert_eq!((timed.duration_ms, timed.exit_code), (Some(2_005), Some(7)));
    }

    #[test]
    fn a_fence_around_everything_is_left_out() {
        for (text, expected) in [
            ("```\na\nb\n```", "a\nb"),
            ("```rust\nfn a() {}\n```", "fn a() {}"),
            ("```\na\n```\nand\n```\nb\n```", "```\na\n```\nand\n```\nb\n```"),
            ("a ```b```", "a ```b```"),
            ("``````", "``````"),
            ("", ""),
        ] {
            assert_eq!(unfenced(text), expected);
        }
    }

    #[test]
    fn a_command_is_a_line_or_its_words() {
        let cases = [
            (json!({"command": "ls -la"}), Some("ls -la")),
            (json!({"command": ["/bin/bash", "-lc", "ls | wc"]}), Some("ls | wc")),
            (json!({"command": ["ls", "-la"]}), Some("ls -la")),
            (json!({"command": ["./evil.sh", "-c", "make test"]}), Some("./evil.sh -c 'make test'")),
            (json!({"command": []}), None),
            (json!({"path": "x"}), None),
        ];
        for (input, line) in cases {
            assert_eq!(command_in(&input).as_deref(), line, "of {input}");
        }
    }
}
