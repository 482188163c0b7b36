//! The gateway without a wire: what a client of one API asks becomes what a service of another is asked, and back.

use longshore_model::service::ModelApi;
use longshore_models::api::{Event, Stream};
use longshore_models::gateway::{Exchange, GatewayAnswer, Service, read};
use longshore_models::script::{self, Delivery, Script, ScriptFrame};
use proptest::prelude::*;
use serde_json::{Value, json};

const APIS: [ModelApi; 3] = [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages];

fn at(place: &str, api: ModelApi) -> Service {
    Service::new(api, &format!("http://{place}/v1"))
}

/// What a service is asked on behalf of a client.
pub(super) fn asked(client: ModelApi, service: ModelApi, body: &Value) -> Value {
    let asked = read(client, body.to_string().as_bytes()).unwrap();
    serde_json::from_str(&asked.body(&at("here", service))).unwrap()
}

fn refused(client: ModelApi, body: &Value) -> String {
    read(client, body.to_string().as_bytes()).unwrap_err().to_string()
}

/// What codex asks in the middle of a turn, shortened.
fn of_codex() -> Value {
    let text = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let grammar = json!({ "type": "grammar", "syntax": "lark", "definition": "start: begin_patch" });
    json!({
        "model": "qwen3-coder",
        "instructions": "You are Codex.",
        "input": [
            text("developer", "input_text", "Mind the sandbox."),
            text("user", "input_text", "make it"),
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "of another service" },
            text("assistant", "output_text", "I will."),
            { "type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}" },
            { "type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin Patch" },
            { "type": "function_call", "call_id": "c3", "name": "write", "namespace": "mcp__demo", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c1", "output": "a.txt" },
            { "type": "custom_tool_call_output", "call_id": "c2", "output": "Success." },
            { "type": "function_call_output", "call_id": "c3", "output": [
                { "type": "input_text", "text": "wrote" },
                { "type": "input_image", "image_url": "data:image/png;base64,QUJD" },
            ] },
            text("developer", "input_text", "The mode is another now."),
        ],
        "tools": [
            { "type": "function", "name": "exec_command", "description": "Runs.", "parameters": { "type": "object" }, "strict": false },
            { "type": "custom", "name": "apply_patch", "description": "Edits.", "format": grammar },
            { "type": "namespace", "name": "mcp__demo", "description": "", "tools": [
                { "type": "function", "name": "write", "description": "Writes.", "parameters": { "type": "object" } },
            ] },
            { "type": "web_search" },
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "reasoning": { "effort": "medium", "summary": "auto" },
        "text": { "format": { "type": "json_schema", "name": "out", "schema": { "type": "object" }, "strict": true } },
        "store": false,
        "stream": true,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
    })
}

#[test]
fn codex_is_understood_by_a_service_that_chats() {
    let body = asked(ModelApi::Responses, ModelApi::Chat, &of_codex());
    let function = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments.to_string() });
    let call = |id: &str, function: Value| json!({ "id": id, "type": "function", "function": function });
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    assert_eq!(
        body["messages"],
        json!([
            { "role": "system", "content": "You are Codex.\n\nMind the sandbox." },
            { "role": "user", "content": "make it" },
            { "role": "assistant", "content": "I will.", "tool_calls": [
                call("c1", function("exec_command", json!({ "cmd": "ls" }))),
                call("c2", function("apply_patch", json!({ "input": "*** Begin Patch" }))),
                call("c3", function("mcp__demo__write", json!({}))),
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "a.txt" },
            { "role": "tool", "tool_call_id": "c2", "content": "Success." },
            { "role": "tool", "tool_call_id": "c3", "content": "wrote" },
            { "role": "user", "content": [
                image,
                { "type": "text", "text": "<system-message>\nThe mode is another now.\n</system-message>" },
            ] },
        ])
    );
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["exec_command", "apply_patch", "mcp__demo__write"], "what others host is left out");
    let patch = &body["tools"][1]["function"];
    assert_eq!(patch["parameters"]["required"], json!(["input"]));
    assert!(patch["description"].as_str().unwrap().contains("start: begin_patch"), "{patch}");
    assert_eq!((&body["tool_choice"], &body["parallel_tool_calls"]), (&json!("auto"), &json!(true)));
    assert_eq!((&body["reasoning_effort"], &body["stream"]), (&json!("medium"), &json!(true)));
    assert_eq!(body["response_format"]["json_schema"]["name"], "out");
}

#[test]
fn tools_that_come_with_the_conversation_are_offered() {
    let body = json!({ "model": "m", "input": [
        { "type": "additional_tools", "role": "developer", "tools": [{ "type": "custom", "name": "exec", "description": "Runs." }] },
        { "role": "user", "content": "go" },
        { "type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": { "query": "birds" } },
        { "type": "tool_search_output", "call_id": "s", "execution": "client", "tools": [
            { "type": "namespace", "name": "mcp__zoo", "tools": [{ "type": "function", "name": "heron", "parameters": null }] },
        ] },
    ], "tools": [{ "type": "tool_search", "execution": "client", "description": "Finds.", "parameters": { "type": "object", "properties": {} } }] });
    let body = asked(ModelApi::Responses, ModelApi::Chat, &body);
    let names: Vec<&Value> =
        body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["tool_search", "exec", "mcp__zoo__heron"]);
    assert_eq!(body["messages"][2]["content"], "These tools can be called now: mcp__zoo__heron");
}

#[test]
fn claude_is_understood_by_the_services_of_openai() {
    let body = json!({
        "model": "m",
        "max_tokens": 32_000,
        "system": [
            { "type": "text", "text": "x-anthropic-billing-header: changes=always;" },
            { "type": "text", "text": "You are Claude Code.", "cache_control": { "type": "ephemeral" } },
        ],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" } },
            ] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Hm.", "signature": "of another service" },
                { "type": "text", "text": "Looking." },
                { "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "ls" } },
            ] },
            { "role": "user", "content": [
                { "type": "text", "text": "and hurry" },
                { "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [{ "type": "text", "text": "no" }] },
            ] },
        ],
        "tools": [
            { "name": "Bash", "description": "Runs.", "input_schema": { "type": "object" } },
            { "type": "web_search_20250305", "name": "web_search" },
        ],
        "tool_choice": { "type": "any", "disable_parallel_tool_use": true },
        "thinking": { "type": "adaptive" },
        "output_config": { "effort": "high" },
        "stop_sequences": ["STOP"],
        "temperature": 1,
        "stream": true,
    });
    let chat = asked(ModelApi::Messages, ModelApi::Chat, &body);
    let function = json!({ "name": "Bash", "arguments": "{\"command\":\"ls\"}" });
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    assert_eq!(
        chat["messages"],
        json!([
            { "role": "system", "content": "You are Claude Code." },
            { "role": "user", "content": [{ "type": "text", "text": "look" }, image] },
            { "role": "assistant", "content": "Looking.", "tool_calls": [{ "id": "t1", "type": "function", "function": function }] },
            { "role": "tool", "tool_call_id": "t1", "content": "no" },
            { "role": "user", "content": "and hurry" },
        ])
    );
    assert_eq!(chat["tools"].as_array().unwrap().len(), 1);
    assert_eq!((&chat["tool_choice"], &chat["parallel_tool_calls"]), (&json!("required"), &json!(false)));
    assert_eq!((&chat["max_completion_tokens"], &chat["stop"]), (&json!(32_000), &json!(["STOP"])));
    assert_eq!(chat["reasoning_effort"], "high");
    let responses = asked(ModelApi::Messages, ModelApi::Responses, &body);
    assert_eq!(responses["instructions"], "You are Claude Code.");
    assert_eq!((&responses["max_output_tokens"], &responses["temperature"]), (&json!(32_000), &json!(1.0)));
    let kinds: Vec<&Value> =
        responses["input"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["message", "message", "function_call", "function_call_output", "message"]);
}

#[test]
fn a_chat_is_understood_by_the_others() {
    let body = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be good." },
            { "role": "user", "content": "hi" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_0", "type": "function", "function": { "name": "f", "arguments": "{\"n\":1}" } },
            ] },
            { "role": "tool", "tool_call_id": "call_0", "content": "one" },
            { "role": "assistant", "tool_calls": [
                { "id": "call_0", "type": "function", "function": { "name": "f", "arguments": "{\"n\":2}" } },
            ] },
            { "role": "tool", "tool_call_id": "call_0", "content": "two" },
        ],
        "tools": [{ "type": "function", "function": { "name": "f", "parameters": { "type": "object" } } }],
        "tool_choice": { "type": "function", "function": { "name": "f" } },
        "max_tokens": 100,
        "stop": "END",
        "response_format": { "type": "json_object" },
    });
    let responses = asked(ModelApi::Chat, ModelApi::Responses, &body);
    let results: Vec<(&Value, &Value)> = responses["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["type"] == "function_call_output")
        .map(|item| (&item["call_id"], &item["output"]))
        .collect();
    let (first, second) = (json!("call_0"), json!("call_0_2"));
    assert_eq!(
        results,
        [(&first, &json!("one")), (&second, &json!("two"))],
        "a name that comes twice loses nothing"
    );
    assert_eq!(responses["tool_choice"], json!({ "type": "function", "name": "f" }));
    assert_eq!(responses["text"]["format"]["type"], "json_object");
    let messages = asked(ModelApi::Chat, ModelApi::Messages, &body);
    assert_eq!((&messages["max_tokens"], &messages["stop_sequences"]), (&json!(100), &json!(["END"])));
    assert_eq!(messages["tool_choice"], json!({ "type": "tool", "name": "f" }));
    assert_eq!(messages["system"][0]["text"], "Be good.");
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_reason() {
    let message = json!([{ "role": "user", "content": "hi" }]);
    let stored = json!({ "model": "m", "input": "hi", "previous_response_id": "r" });
    assert!(refused(ModelApi::Responses, &stored).contains("nothing is stored here"));
    let reference = json!({ "model": "m", "input": [{ "type": "item_reference", "id": "x" }] });
    assert!(refused(ModelApi::Responses, &reference).contains("nothing is stored here"));
    assert!(refused(ModelApi::Responses, &json!({ "model": "m" })).contains("`input`"));
    assert!(refused(ModelApi::Chat, &json!({ "messages": message })).contains("`model`"));
    assert!(refused(ModelApi::Chat, &json!({ "model": "m", "messages": message, "n": 2 })).contains("`n`"));
    assert!(
        refused(ModelApi::Messages, &json!({ "model": "m", "messages": [] })).contains("nothing is asked")
    );
    let robot = json!([{ "role": "robot", "content": "hi" }]);
    assert!(refused(ModelApi::Messages, &json!({ "model": "m", "messages": robot })).contains("robot"));
    assert!(refused(ModelApi::Chat, &json!("hi")).contains("cannot be read"));
}

/// The bytes of an answer, as a service that speaks `api` would stream it.
pub(super) fn streamed(api: ModelApi, actions: Value) -> Vec<u8> {
    let api = match api {
        ModelApi::Chat => script::Api::Chat,
        ModelApi::Responses => script::Api::Responses,
        ModelApi::Messages => script::Api::Messages,
    };
    let script = Script::from_value(json!([{ "do": actions }])).unwrap();
    let delivery = Delivery::Stream { usage: true };
    let exchange = script::Exchange { number: 7, model: "m".to_owned(), created_at: 1, delivery };
    let frames = match api.render(&script.steps[0], &exchange) {
        script::ScriptAnswer::Stream { frames, .. } => frames,
        script::ScriptAnswer::Plain { .. } => panic!("not a stream"),
    };
    let encoded = frames.into_iter().filter_map(|frame| match frame {
        ScriptFrame::Event(event) => Some(event.encode()),
        ScriptFrame::Wait(_) | ScriptFrame::Cut | ScriptFrame::Hang => None,
    });
    encoded.collect::<String>().into_bytes()
}

/// A request that any of them could have sent.
pub(super) fn plain(api: ModelApi) -> Value {
    let messages = json!([{ "role": "user", "content": "hi" }]);
    match api {
        ModelApi::Chat => {
            json!({ "model": "m", "messages": messages, "stream": true, "stream_options": { "include_usage": true } })
        }
        ModelApi::Responses => json!({ "model": "m", "input": messages, "stream": true }),
        ModelApi::Messages => json!({ "model": "m", "messages": messages, "stream": true, "max_tokens": 9 }),
    }
}

/// What the service said, translated for a client; as a stream and as one body.
pub(super) fn answered(
    client: ModelApi,
    service: ModelApi,
    request: &Value,
    pieces: &[&[u8]],
) -> (String, Option<Value>) {
    let asked = read(client, request.to_string().as_bytes()).unwrap();
    let exchange = Exchange { id: "x".to_owned(), created_at: 1 };
    let mut answer = GatewayAnswer::new(client, at("here", service), asked, exchange);
    let mut stream = Stream::new(service);
    let mut frames = String::new();
    for piece in pieces {
        stream.feed(piece, |event| answer.tell(event));
        frames.push_str(&answer.frames());
    }
    stream.end(|event| answer.tell(event));
    frames.push_str(&answer.frames());
    (frames, answer.whole().ok())
}

/// What a stream says in the end: texts whole, without the names and the data of services.
#[derive(Debug, Default, PartialEq)]
struct Gist {
    text: String,
    thought: String,
    calls: Vec<(Option<String>, String, String)>,
    usage: Vec<Option<u64>>,
    end: String,
}

fn gist(api: ModelApi, bytes: &[u8]) -> Gist {
    let mut gist = Gist::default();
    let mut tell = |event: Event<'_>| match event {
        Event::Text(text) => gist.text.push_str(&text),
        Event::Reasoning(text) => gist.thought.push_str(&text),
        Event::TextDone(_) | Event::ReasoningDone { .. } | Event::ThoughtAloud { .. } => {}
        Event::Call { id, name, arguments } => gist.calls.push((id, name, arguments)),
        // Some APIs have a 0 for what is not known.
        Event::Usage(usage) if usage.input.unwrap_or(0) == 0 => {}
        Event::Usage(usage) => gist.usage = vec![usage.input, usage.cached_input, usage.output],
        Event::Ended(finish) => gist.end = format!("{finish:?}"),
        Event::Failed(failure) => gist.end = format!("failed: {}", failure.message),
    };
    let mut stream = Stream::new(api);
    stream.feed(bytes, &mut tell);
    stream.end(&mut tell);
    gist
}

pub(super) fn every_pair() -> impl Iterator<Item = (ModelApi, ModelApi)> {
    APIS.into_iter().flat_map(|client| APIS.into_iter().map(move |service| (client, service)))
}

#[test]
fn an_answer_says_the_same_in_every_api_however_its_bytes_arrive() {
    let answers = [
        json!([
            { "reason": "Let me think" },
            { "say": "Hello, a héron.", "chunks": 3 },
            { "call": "f", "id": "a", "args": { "x": "ü\n" } },
            { "call": "g", "id": "b", "args": {} },
        ]),
        json!([{ "say": "Half" }, { "incomplete": "max_output_tokens" }]),
        json!([{ "say": "Half" }, { "fail": { "code": "server_error", "message": "broken" } }]),
        json!([{ "say": "Half", "unfinished": true }, { "end": true }]),
        json!([]),
    ];
    for (number, actions) in answers.into_iter().enumerate() {
        for (client, service) in every_pair() {
            let bytes = streamed(service, actions.clone());
            let (whole, body) = answered(client, service, &plain(client), &[&bytes]);
            let (said, expected) = (gist(client, whole.as_bytes()), gist(service, &bytes));
            assert_eq!(said, expected, "{service:?} for {client:?}: {whole}");
            assert_eq!(body.is_some(), !expected.end.contains(':'), "{body:?}");
            for at in (0..bytes.len()).step_by(if number == 0 { 1 } else { 7 }) {
                let (left, right) = bytes.split_at(at);
                let (pieces, _) = answered(client, service, &plain(client), &[left, right]);
                assert_eq!(pieces, whole, "{service:?} for {client:?}, cut at {at}");
            }
        }
    }
}

fn events(frames: &str) -> Vec<Value> {
    let data = frames.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

#[test]
fn codex_gets_its_own_kinds_of_calls_back() {
    let calls = json!([
        { "call": "exec_command", "id": "c9", "args": { "cmd": "ls" } },
        { "call": "apply_patch", "id": "c1", "args": { "input": "*** Begin Patch\n" } },
        { "call": "mcp__demo__write", "args": { "x": 1 } },
    ]);
    let bytes = streamed(ModelApi::Chat, calls);
    let (frames, body) = answered(ModelApi::Responses, ModelApi::Chat, &of_codex(), &[&bytes]);
    let events = events(&frames);
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(
        (&done[0]["type"], &done[0]["call_id"], &done[0]["arguments"]),
        (&json!("function_call"), &json!("c9"), &json!("{\"cmd\":\"ls\"}"))
    );
    assert_eq!(
        (&done[1]["type"], &done[1]["input"]),
        (&json!("custom_tool_call"), &json!("*** Begin Patch\n"))
    );
    assert_eq!(done[1]["call_id"], "call_x_1", "c1 is the name of a call that was made before");
    assert_eq!((&done[2]["name"], &done[2]["namespace"]), (&json!("write"), &json!("mcp__demo")));
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["input_tokens"], 100);
    assert_eq!(body.unwrap()["output"].as_array().unwrap().len(), 3);
}

#[test]
fn arguments_that_are_no_json_reach_the_client_whole() {
    let bytes = streamed(ModelApi::Chat, json!([{ "call": "f", "args": "{broken" }]));
    let (frames, _) = answered(ModelApi::Responses, ModelApi::Chat, &plain(ModelApi::Responses), &[&bytes]);
    assert_eq!(gist(ModelApi::Responses, frames.as_bytes()).calls[0].2, "{broken");
    // A client of this API would lose the whole answer over them.
    let (frames, _) = answered(ModelApi::Messages, ModelApi::Chat, &plain(ModelApi::Messages), &[&bytes]);
    assert_eq!(
        gist(ModelApi::Messages, frames.as_bytes()).calls[0].2,
        "{\"malformed_arguments\":\"{broken\"}"
    );
}

/// Any JSON, made of the words that requests are made of.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "role",
        "content",
        "text",
        "input",
        "messages",
        "tools",
        "name",
        "namespace",
        "function",
        "arguments",
        "call_id",
        "id",
        "output",
        "tool_calls",
        "tool_use",
        "tool_result",
        "user",
        "assistant",
        "system",
        "message",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "reasoning",
        "custom",
        "model",
        "image_url",
        "stop",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        "[a-z\u{0}\u{e9}\\.]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(words.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_asked_is_read_or_refused(items in prop::collection::vec(any_json(), 0..8), tools in any_json()) {
        for client in APIS {
            let mut body = json!({ "model": "m", "messages": items, "input": items });
            if tools.is_array() {
                body["tools"] = tools.clone();
            }
            if let Ok(asked) = read(client, body.to_string().as_bytes()) {
                for service in APIS {
                    let told: Value = serde_json::from_str(&asked.body(&at("here", service))).unwrap();
                    prop_assert_eq!(&told["model"], "m");
                }
            }
        }
    }
}

#[test]
fn a_window_that_is_full_is_told_so_that_the_client_sums_up() {
    let events = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "Half" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "model_context_window_exceeded" } }),
        json!({ "type": "message_stop" }),
    ];
    let bytes: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let (frames, body) =
        answered(ModelApi::Responses, ModelApi::Messages, &plain(ModelApi::Responses), &[bytes.as_bytes()]);
    assert!(
        frames.contains("event: response.failed\n") && !frames.contains("response.incomplete"),
        "{frames}"
    );
    assert_eq!(body.unwrap()["error"]["code"], "context_length_exceeded");
    let (_, body) = answered(ModelApi::Chat, ModelApi::Messages, &plain(ModelApi::Chat), &[bytes.as_bytes()]);
    assert_eq!(body.unwrap()["choices"][0]["finish_reason"], "length", "it has no other word");
}
