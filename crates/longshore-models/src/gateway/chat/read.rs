//! Reads requests of OpenAI Chat Completions. Calls are parts of assistant messages, results are separate messages.

use crate::api::{RequestOptions, Strict};
use crate::history::HistoryPart;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gateway::conversation::{Conversation, FILE, IMAGE, attached, output, words};
use crate::gateway::model_request::{ClientOptions, ModelRequest, Unreadable, parse};
use crate::gateway::openai::{choice, format};
use crate::gateway::sealed;
use crate::gateway::tools::{ClientTool, ClientToolKind, Tools};

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatBody {
    model: Option<String>,
    messages: Vec<ChatMessage>,
    tools: Option<Vec<Value>>,
    tool_choice: Value,
    parallel_tool_calls: Option<bool>,
    max_completion_tokens: Option<u64>,
    max_tokens: Option<u64>,
    reasoning_effort: Option<String>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop: Value,
    response_format: Value,
    n: Option<u64>,
    stream: Option<bool>,
    stream_options: Value,
}

#[derive(Deserialize)]
struct ChatMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    refusal: Option<String>,
    /// Thoughts in the form in which the gateway sent them.
    #[serde(default)]
    reasoning_details: Value,
    #[serde(default)]
    tool_calls: Option<Vec<Value>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

pub(in crate::gateway) fn read(body: &[u8]) -> Result<ModelRequest, Unreadable> {
    let body: ChatBody = parse(body)?;
    if body.n.is_some_and(|count| count > 1) {
        return Err(Unreadable::new("`n`: there is one answer to a request here, not several"));
    }
    let mut tools = Tools::default();
    for tool in body.tools.iter().flatten() {
        offer(&mut tools, tool);
    }
    let mut said = Conversation::default();
    for message in &body.messages {
        tell(&mut said, &tools, message)?;
    }
    let stop = match &body.stop {
        Value::String(word) => vec![word.clone()],
        other => list(other).iter().filter_map(|word| word.as_str().map(str::to_owned)).collect(),
    };
    let options = RequestOptions {
        tool_choice: choice(&body.tool_choice, |choice| named(choice, &tools)),
        parallel_calls: body.parallel_tool_calls,
        temperature: body.temperature,
        top_p: body.top_p,
        stop,
        format: format(&body.response_format, &body.response_format["json_schema"]),
        strict: Strict::default(),
    };
    let client = ClientOptions {
        model: body.model,
        max_output: body.max_completion_tokens.or(body.max_tokens),
        effort: body.reasoning_effort,
        options,
        streamed: body.stream.unwrap_or(false),
        tells_usage: body.stream_options["include_usage"] == true,
    };
    ModelRequest::new(client, said, tools)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn offer(tools: &mut Tools, tool: &Value) {
    let (function, custom) = (&tool["function"], &tool["custom"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if custom.is_object() {
        let grammar = &custom["format"]["grammar"];
        tools.add_custom(None, &text(&custom["name"]), &text(&custom["description"]), grammar);
    } else {
        let tool = ClientTool { kind: ClientToolKind::Function, group: None, name: text(&function["name"]) };
        tools.add(tool, &text(&function["description"]), function["parameters"].clone());
    }
}

fn tell(said: &mut Conversation, tools: &Tools, message: &ChatMessage) -> Result<(), Unreadable> {
    let parts = parts(&message.content);
    match message.role.as_str() {
        "system" | "developer" => said.system(&output(parts, true).content),
        "user" => said.user(parts),
        "assistant" => {
            let details = list(&message.reasoning_details).iter();
            for sealed in details.filter_map(|detail| detail["data"].as_str()).filter_map(sealed::open) {
                said.thought(Some(sealed));
            }
            said.assistant(&output(parts, true).content);
            said.assistant(message.refusal.as_deref().unwrap_or_default());
            for call in message.tool_calls.iter().flatten() {
                let id = call["id"].as_str().unwrap_or_default();
                let (function, custom) = (&call["function"], &call["custom"]);
                let (called, arguments) = match custom.is_object() {
                    true => (custom, json!({ "input": custom["input"] }).to_string()),
                    false => (function, as_text(&function["arguments"])),
                };
                let name = tools.name(None, called["name"].as_str().unwrap_or_default());
                said.call(id, name, arguments);
            }
        }
        "tool" => said.result(message.tool_call_id.as_deref().unwrap_or_default(), output(parts, true)),
        other => {
            let why = format!(
                "a message has the role {other:?}; known are user, assistant, tool, system and developer"
            );
            return Err(Unreadable::new(why));
        }
    }
    Ok(())
}

fn as_text(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

fn parts(content: &Value) -> Vec<HistoryPart> {
    let part = |part: &Value| {
        if let Some(url) = part["image_url"]["url"].as_str().or(part["image_url"].as_str()) {
            return Some(HistoryPart::Attached(attached(url, IMAGE, None)));
        }
        if let Some(data) = part["file"]["file_data"].as_str() {
            return Some(HistoryPart::Attached(attached(data, FILE, part["file"]["filename"].as_str())));
        }
        words(part["text"].as_str().or(part["refusal"].as_str())?)
    };
    match content {
        Value::String(text) => words(text).into_iter().collect(),
        other => list(other).iter().filter_map(part).collect(),
    }
}

/// The name of the tool that the model must call.
fn named(choice: &Value, tools: &Tools) -> Option<String> {
    let name = choice["function"]["name"].as_str().or(choice["custom"]["name"].as_str())?;
    Some(tools.name(None, name))
}
