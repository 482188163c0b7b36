//! Reads requests of OpenAI Responses: a list of items, each a message, a call or a result.

use crate::api::{RequestOptions, Strict};
use crate::history::HistoryPart;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gateway::conversation::{Conversation, FILE, IMAGE, attached, output, words};
use crate::gateway::model_request::{ClientOptions, ModelRequest, Unreadable, parse};
use crate::gateway::openai::{choice, format};
use crate::gateway::sealed;
use crate::gateway::tools::{ClientTool, ClientToolKind, Tools};

/// Names for the client's tools that have no name.
const SEARCH: &str = "tool_search";
const SHELL: &str = "local_shell";

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesBody {
    model: Option<String>,
    instructions: Option<String>,
    input: Value,
    tools: Option<Vec<Value>>,
    tool_choice: Value,
    parallel_tool_calls: Option<bool>,
    reasoning: Value,
    text: Value,
    max_output_tokens: Option<u64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stream: Option<bool>,
    previous_response_id: Value,
    conversation: Value,
}

pub(in crate::gateway) fn read(body: &[u8]) -> Result<ModelRequest, Unreadable> {
    let body: ResponsesBody = parse(body)?;
    if !body.previous_response_id.is_null() || !body.conversation.is_null() {
        let why = "nothing is stored here: send the whole conversation as `input`, without `previous_response_id` and `conversation`";
        return Err(Unreadable::new(why));
    }
    let items = match body.input {
        Value::String(text) => vec![json!({ "role": "user", "content": text })],
        Value::Array(items) => items,
        _ => return Err(Unreadable::new("`input` is neither a text nor a list of items")),
    };
    let mut tools = Tools::default();
    for tool in body.tools.iter().flatten() {
        offer(&mut tools, None, tool);
    }
    // The conversation can contain tools too. All tools must be known before the calls are read.
    for item in &items {
        if matches!(kind_of(item), "additional_tools" | "tool_search_output") {
            list(&item["tools"]).iter().for_each(|tool| offer(&mut tools, None, tool));
        }
    }
    let mut said = Conversation::default();
    said.system(body.instructions.as_deref().unwrap_or_default());
    for item in &items {
        tell(&mut said, &tools, item)?;
    }
    let options = RequestOptions {
        tool_choice: choice(&body.tool_choice, |choice| named(choice, &tools)),
        parallel_calls: body.parallel_tool_calls,
        temperature: body.temperature,
        top_p: body.top_p,
        stop: Vec::new(),
        format: format(&body.text["format"], &body.text["format"]),
        strict: Strict::default(),
    };
    let client = ClientOptions {
        model: body.model,
        max_output: body.max_output_tokens,
        effort: text_of(&body.reasoning["effort"]).map(str::to_owned),
        options,
        streamed: body.stream.unwrap_or(false),
        tells_usage: true,
    };
    ModelRequest::new(client, said, tools)
}

/// The kind of an item. A message may leave out its type.
fn kind_of(item: &Value) -> &str {
    text_of(&item["type"]).unwrap_or("message")
}

fn text_of(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn offer(tools: &mut Tools, group: Option<&str>, tool: &Value) {
    let name = tool["name"].as_str().unwrap_or_default();
    let description = tool["description"].as_str().unwrap_or_default();
    let of_kind = |kind: ClientToolKind, name: &str| ClientTool {
        kind,
        group: group.map(str::to_owned),
        name: name.to_owned(),
    };
    match kind_of(tool) {
        "function" => {
            tools.add(of_kind(ClientToolKind::Function, name), description, tool["parameters"].clone())
        }
        "custom" => tools.add_custom(group, name, description, &tool["format"]),
        "namespace" => list(&tool["tools"]).iter().for_each(|tool| offer(tools, Some(name), tool)),
        "tool_search" if tool["execution"] == "client" => {
            tools.add(of_kind(ClientToolKind::Search, SEARCH), description, tool["parameters"].clone());
        }
        "local_shell" => {
            let parameters = json!({
                "type": "object",
                "properties": {
                    "command": { "type": "array", "items": { "type": "string" }, "description": "A program and its arguments." },
                    "working_directory": { "type": "string" },
                    "timeout_ms": { "type": "integer" },
                },
                "required": ["command"],
            });
            tools.add(
                of_kind(ClientToolKind::Shell, SHELL),
                "Runs a command on the user's machine.",
                parameters,
            );
        }
        // OpenAI's service would run such a tool itself. Another service cannot.
        other => tracing::debug!(kind = other, "left out a tool"),
    }
}

fn tell(said: &mut Conversation, tools: &Tools, item: &Value) -> Result<(), Unreadable> {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    let id = || text_of(&item["call_id"]).or(text_of(&item["id"])).unwrap_or_default();
    let name = || tools.name(text_of(&item["namespace"]), text("name"));
    match kind_of(item) {
        "message" => match text("role") {
            "assistant" => parts(&item["content"]).iter().for_each(|part| match part {
                HistoryPart::InputText { text } | HistoryPart::OutputText { text } => said.assistant(text),
                HistoryPart::Attached(_) => {}
            }),
            "system" | "developer" => said.system(&output(parts(&item["content"]), true).content),
            "user" => said.user(parts(&item["content"])),
            other => {
                let why = format!(
                    "a message has the role {other:?}; known are user, assistant, system and developer"
                );
                return Err(Unreadable::new(why));
            }
        },
        "function_call" => said.call(id(), name(), as_text(&item["arguments"])),
        "custom_tool_call" => said.call(id(), name(), json!({ "input": item["input"] }).to_string()),
        "tool_search_call" => said.call(id(), tools.name(None, SEARCH), as_text(&item["arguments"])),
        "local_shell_call" => said.call(id(), tools.name(None, SHELL), item["action"].to_string()),
        "tool_search_output" => {
            let found = list(&item["tools"]).iter().flat_map(|tool| names(tools, tool)).collect::<Vec<_>>();
            let told = match found.is_empty() {
                true => "No tool was found.".to_owned(),
                false => format!("These tools can be called now: {}", found.join(", ")),
            };
            said.result(id(), output(words(&told).into_iter().collect(), true));
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            let output_of = match &item["output"] {
                Value::Object(object) => {
                    let success = object.get("success").and_then(Value::as_bool).unwrap_or(true);
                    let content = object.get("content").or(object.get("body")).unwrap_or(&Value::Null);
                    output(parts(content), success)
                }
                other => output(parts(other), true),
            };
            said.result(id(), output_of);
        }
        "reasoning" => said.thought(sealed::open(text("encrypted_content"))),
        "item_reference" => {
            return Err(Unreadable::new(
                "nothing is stored here: send the item itself instead of an item_reference",
            ));
        }
        "additional_tools" => {}
        other => tracing::warn!(kind = other, "passed over an item that only its own service can read"),
    }
    Ok(())
}

/// The names of the tools that a search found.
fn names(tools: &Tools, tool: &Value) -> Vec<String> {
    let name = tool["name"].as_str().unwrap_or_default();
    match kind_of(tool) {
        "namespace" => {
            let inner = list(&tool["tools"]).iter().filter_map(|tool| tool["name"].as_str());
            inner.map(|inner| tools.name(Some(name), inner)).collect()
        }
        _ => vec![tools.name(None, name)],
    }
}

fn as_text(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

fn parts(content: &Value) -> Vec<HistoryPart> {
    let part = |part: &Value| match kind_of(part) {
        "input_image" => {
            let url = part["image_url"].as_str().or(part["image_url"]["url"].as_str())?;
            Some(HistoryPart::Attached(attached(url, IMAGE, None)))
        }
        "input_file" => {
            let url = text_of(&part["file_data"]).or(text_of(&part["file_url"]))?;
            Some(HistoryPart::Attached(attached(url, FILE, part["filename"].as_str())))
        }
        _ => words(part["text"].as_str().or(part["refusal"].as_str())?),
    };
    match content {
        Value::String(text) => words(text).into_iter().collect(),
        other => list(other).iter().filter_map(part).collect(),
    }
}

/// The name of the tool that the model must call.
fn named(choice: &Value, tools: &Tools) -> Option<String> {
    Some(tools.name(text_of(&choice["namespace"]), text_of(&choice["name"])?))
}
