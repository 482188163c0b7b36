//! Reads requests of Anthropic Messages: messages of two roles, made of blocks. Results are blocks of the user.

use crate::api::{Format, RequestOptions, Strict, ToolChoice};
use crate::history::HistoryPart;
use serde::Deserialize;
use serde_json::Value;

use crate::gateway::conversation::{Conversation, FILE, IMAGE, attached, output, words};
use crate::gateway::model_request::{ClientOptions, ModelRequest, Unreadable, parse};
use crate::gateway::sealed;
use crate::gateway::tools::{ClientTool, ClientToolKind, Tools};

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessagesBody {
    model: Option<String>,
    system: Value,
    messages: Vec<AnthropicMessage>,
    tools: Option<Vec<Value>>,
    tool_choice: Value,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop_sequences: Option<Vec<String>>,
    output_config: Value,
    stream: Option<bool>,
}

#[derive(Deserialize)]
struct AnthropicMessage {
    role: String,
    #[serde(default)]
    content: Value,
}

pub(in crate::gateway) fn read(body: &[u8]) -> Result<ModelRequest, Unreadable> {
    let body: MessagesBody = parse(body)?;
    let mut tools = Tools::default();
    for tool in body.tools.iter().flatten() {
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        // A tool without a schema runs on Anthropic's service, or only Anthropic's models know it.
        if tool["input_schema"].is_object() {
            let of_client =
                ClientTool { kind: ClientToolKind::Function, group: None, name: text("name").to_owned() };
            tools.add(of_client, text("description"), tool["input_schema"].clone());
        } else {
            tracing::debug!(kind = text("type"), "left out a tool");
        }
    }
    let mut said = Conversation::default();
    system(&mut said, &body.system);
    for message in &body.messages {
        match message.role.as_str() {
            "user" => user(&mut said, &message.content),
            "assistant" => assistant(&mut said, &tools, &message.content),
            "system" => system(&mut said, &message.content),
            other => {
                let why = format!("a message has the role {other:?}; known are user, assistant and system");
                return Err(Unreadable::new(why));
            }
        }
    }
    let config = &body.output_config;
    let options = RequestOptions {
        tool_choice: choice(&body.tool_choice, &tools),
        parallel_calls: body.tool_choice["disable_parallel_tool_use"].as_bool().map(|not| !not),
        temperature: body.temperature,
        top_p: body.top_p,
        stop: body.stop_sequences.unwrap_or_default(),
        format: format(&config["format"]),
        strict: Strict::default(),
    };
    let client = ClientOptions {
        model: body.model,
        max_output: body.max_tokens,
        effort: config["effort"].as_str().map(str::to_owned),
        options,
        streamed: body.stream.unwrap_or(false),
        tells_usage: true,
    };
    ModelRequest::new(client, said, tools)
}

fn blocks(content: &Value) -> &[Value] {
    content.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn system(said: &mut Conversation, content: &Value) {
    match content {
        Value::String(text) => said.system(text),
        other => {
            blocks(other).iter().filter_map(|block| block["text"].as_str()).for_each(|text| said.system(text))
        }
    }
}

fn user(said: &mut Conversation, content: &Value) {
    for block in blocks(content).iter().filter(|block| block["type"] == "tool_result") {
        let success = block["is_error"] != true;
        said.result(
            block["tool_use_id"].as_str().unwrap_or_default(),
            output(parts(&block["content"]), success),
        );
    }
    said.user(parts(content));
}

fn assistant(said: &mut Conversation, tools: &Tools, content: &Value) {
    if let Value::String(text) = content {
        said.assistant(text);
    }
    for block in blocks(content) {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match text("type") {
            "text" => said.assistant(text("text")),
            "thinking" => said.thought(sealed::open(text("signature"))),
            "redacted_thinking" => said.thought(sealed::open(text("data"))),
            "tool_use" => said.call(text("id"), tools.name(None, text("name")), block["input"].to_string()),
            other => tracing::warn!(kind = other, "passed over a block that only its own service can read"),
        }
    }
}

/// The texts and attachments of a message. Results are read separately.
fn parts(content: &Value) -> Vec<HistoryPart> {
    let part = |block: &Value| {
        let source = &block["source"];
        let text = |key: &str| source[key].as_str();
        match block["type"].as_str()? {
            "text" => words(block["text"].as_str()?),
            kind @ ("image" | "document") => {
                let elsewhere = if kind == "image" { IMAGE } else { FILE };
                let title = block["title"].as_str();
                match (text("media_type"), text("data"), text("url")) {
                    (Some("text/plain"), Some(data), _) => words(data),
                    (Some(kind), Some(data), _) => {
                        let url = format!("data:{kind};base64,{data}");
                        Some(HistoryPart::Attached(attached(&url, elsewhere, title)))
                    }
                    (_, _, Some(url)) => Some(HistoryPart::Attached(attached(url, elsewhere, title))),
                    (_, _, None) => None,
                }
            }
            // A tool that a search for tools found.
            "tool_reference" => words(&format!("[tool: {}]", block["tool_name"].as_str()?)),
            _ => None,
        }
    };
    match content {
        Value::String(text) => words(text).into_iter().collect(),
        other => blocks(other).iter().filter_map(part).collect(),
    }
}

fn choice(choice: &Value, tools: &Tools) -> Option<ToolChoice> {
    match choice["type"].as_str()? {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::Never),
        "any" => Some(ToolChoice::Must),
        "tool" => Some(ToolChoice::Tool(tools.name(None, choice["name"].as_str()?))),
        _ => None,
    }
}

fn format(format: &Value) -> Option<Format> {
    (format["type"] == "json_schema").then(|| Format::Schema {
        name: "answer".to_owned(),
        schema: format["schema"].clone(),
        strict: true,
    })
}
