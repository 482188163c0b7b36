//! The same script in every API: what each sends for it, event by event, and what it answers as one body.

use std::time::Duration;

use longshore_models::script::{Api, Delivery, Exchange, Script, ScriptAnswer, ScriptFrame};
use serde_json::{Value, json};

const ALL: [Api; 4] = [Api::Responses, Api::Chat, Api::Messages, Api::Gemini];
const STREAM: Delivery = Delivery::Stream { usage: true };

fn render(api: Api, step: Value, delivery: Delivery) -> ScriptAnswer {
    let script = Script::from_value(json!([step])).expect("a good script");
    let exchange = Exchange { number: 7, model: "m".into(), created_at: 1_700_000_000, delivery };
    api.render(&script.steps[0], &exchange)
}

fn frames(api: Api, actions: Value) -> Vec<ScriptFrame> {
    match render(api, json!({"do": actions}), STREAM) {
        ScriptAnswer::Stream { frames, .. } => frames,
        plain => panic!("not a stream: {plain:?}"),
    }
}

/// What is sent: the JSON of every event, and `[DONE]` as a text.
fn events(frames: &[ScriptFrame]) -> Vec<Value> {
    let sent = frames.iter().filter_map(|frame| match frame {
        ScriptFrame::Event(event) => {
            let data = serde_json::from_str(&event.data).unwrap_or_else(|_| json!(event.data));
            let named = data["type"].as_str().filter(|_| event.name.is_some());
            assert_eq!(event.name.as_deref(), named, "a name is the type of its event");
            Some(data)
        }
        ScriptFrame::Wait(_) | ScriptFrame::Cut | ScriptFrame::Hang => None,
    });
    sent.collect()
}

/// The answer as one body: its status, the waits before it, and itself.
fn whole(api: Api, actions: Value) -> (u16, Vec<ScriptFrame>, Value) {
    match render(api, json!({"do": actions}), Delivery::Whole) {
        ScriptAnswer::Plain { status, before, body, .. } => (status.as_u16(), before, body),
        stream => panic!("not one body: {stream:?}"),
    }
}

/// Thinks, speaks, and calls two tools.
fn story() -> Value {
    json!([
        {"reason": ["First, look.", "Then act."], "raw": "Deep down.", "chunks": 1},
        {"say": ["I will ", "look."], "phase": "commentary"},
        {"call": "look", "namespace": "mcp__eyes", "args": {"at": "it"}, "chunks": 2, "id": "one"},
        {"custom": "patch", "input": "a \"b\"\nc\n", "chunks": "lines"},
    ])
}

#[test]
fn chat_completions_adds_to_one_message() {
    let chunk = |choices: Value| {
        json!({
            "id": "chatcmpl-7",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "m",
            "choices": choices,
        })
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]));
    let begun = |index: u64, id: &str, name: &str| {
        let function = json!({"name": name, "arguments": ""});
        delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}))
    };
    let more = |index: u64, text: &str| {
        delta(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
    };
    let mut usage = chunk(json!([]));
    usage["usage"] = json!({
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 5},
    });
    let wanted = [
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "First, look."})),
        delta(json!({"reasoning_content": "\n\nThen act."})),
        delta(json!({"reasoning_content": "\n\nDeep down."})),
        delta(json!({"content": "I will "})),
        delta(json!({"content": "look."})),
        begun(0, "one", "mcp__eyes__look"),
        more(0, "{\"at\":"),
        more(0, "\"it\"}"),
        begun(1, "call_7_1", "patch"),
        more(1, "{\"input\":\""),
        more(1, "a \\\"b\\\"\\n"),
        more(1, "c\\n"),
        more(1, "\"}"),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}])),
        usage.clone(),
        json!("[DONE]"),
    ];
    assert_eq!(events(&frames(Api::Chat, story())), wanted);

    let (status, before, body) = whole(Api::Chat, story());
    assert_eq!((status, before), (200, vec![]));
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({
        "role": "assistant",
        "content": "I will look.",
        "reasoning_content": "First, look.\n\nThen act.\n\nDeep down.",
        "tool_calls": [
            call("one", "mcp__eyes__look", r#"{"at":"it"}"#),
            call("call_7_1", "patch", r#"{"input":"a \"b\"\nc\n"}"#),
        ],
    });
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    usage["object"] = json!("chat.completion");
    usage["choices"] = json!([choice]);
    assert_eq!(body, usage);
}

#[test]
fn chat_completions_tells_its_usage_only_to_those_who_ask() {
    let quiet = Delivery::Stream { usage: false };
    let ScriptAnswer::Stream { frames, .. } = render(Api::Chat, json!({"do": [{"say": "x"}]}), quiet) else {
        panic!("not a stream");
    };
    let events = events(&frames);
    assert!(events.iter().all(|event| event.get("usage").is_none()), "{events:?}");
    assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "stop");
    assert_eq!(events.last(), Some(&json!("[DONE]")));
}

#[test]
fn messages_sends_block_after_block() {
    let usage = |output: u64| {
        json!({
            "input_tokens": 60,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 40,
            "output_tokens": output,
        })
    };
    let mut message = json!({
        "id": "msg_7",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(1),
    });
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let think = |text: &str| delta(0, json!({"type": "thinking_delta", "thinking": text}));
    let text = |text: &str| delta(1, json!({"type": "text_delta", "text": text}));
    let input = |index, text: &str| delta(index, json!({"type": "input_json_delta", "partial_json": text}));
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let wanted = [
        json!({"type": "message_start", "message": message}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        think("First, look."),
        think("\n\nThen act."),
        think("\n\nDeep down."),
        delta(0, json!({"type": "signature_delta", "signature": "c2NyaXB0ZWQ="})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        text("I will "),
        text("look."),
        stop(1),
        start(2, call("one", "mcp__eyes__look", json!({}))),
        input(2, "{\"at\":"),
        input(2, "\"it\"}"),
        stop(2),
        start(3, call("toolu_7_3", "patch", json!({}))),
        input(3, "{\"input\":\""),
        input(3, "a \\\"b\\\"\\n"),
        input(3, "c\\n"),
        input(3, "\"}"),
        stop(3),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": usage(20),
        }),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(events(&frames(Api::Messages, story())), wanted);

    let (status, before, body) = whole(Api::Messages, story());
    assert_eq!((status, before), (200, vec![]));
    let thoughts = "First, look.\n\nThen act.\n\nDeep down.";
    message["content"] = json!([
        {"type": "thinking", "thinking": thoughts, "signature": "c2NyaXB0ZWQ="},
        {"type": "text", "text": "I will look."},
        call("one", "mcp__eyes__look", json!({"at": "it"})),
        call("toolu_7_3", "patch", json!({"input": "a \"b\"\nc\n"})),
    ]);
    message["stop_reason"] = json!("tool_use");
    message["usage"] = usage(20);
    assert_eq!(body, message);
}

#[test]
fn gemini_sends_part_after_part() {
    let response =
        |candidate: Value| json!({"candidates": [candidate], "modelVersion": "m", "responseId": "resp_7"});
    let candidate = |parts: Value| json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let part = |part: Value| response(candidate(json!([part])));
    let finished = |parts: Value| {
        let mut candidate = candidate(parts);
        candidate["finishReason"] = json!("STOP");
        let mut response = response(candidate);
        response["usageMetadata"] = json!({
            "promptTokenCount": 100,
            "cachedContentTokenCount": 40,
            "candidatesTokenCount": 15,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 120,
        });
        response
    };
    let thought = |text: &str| json!({"text": text, "thought": true});
    let call =
        |id: &str, name: &str, args: Value| json!({"functionCall": {"id": id, "name": name, "args": args}});
    let look = call("one", "mcp__eyes__look", json!({"at": "it"}));
    let patch = call("call_7_1", "patch", json!({"input": "a \"b\"\nc\n"}));
    let thoughts = ["First, look.", "Then act.", "Deep down."].map(thought);
    let wanted = [
        part(thoughts[0].clone()),
        part(thoughts[1].clone()),
        part(thoughts[2].clone()),
        part(json!({"text": "I will "})),
        part(json!({"text": "look."})),
        part(look.clone()),
        part(patch.clone()),
        finished(json!([{"text": ""}])),
    ];
    assert_eq!(events(&frames(Api::Gemini, story())), wanted);

    let (status, before, body) = whole(Api::Gemini, story());
    assert_eq!((status, before), (200, vec![]));
    let said = json!({"text": "I will look."});
    let [first, second, third] = thoughts;
    assert_eq!(body, finished(json!([first, second, third, said, look, patch])));
}

#[test]
fn responses_answers_in_one_body_too() {
    let (status, before, body) = whole(Api::Responses, story());
    assert_eq!((status, before), (200, vec![]));
    let streamed = events(&frames(Api::Responses, story()));
    let last = streamed.last().expect("there are events");
    assert_eq!(last["type"], "response.completed");
    assert_eq!(body, last["response"], "it is what completes the stream");
    assert_eq!(body["output"].as_array().map(Vec::len), Some(4));
}

#[test]
fn the_pace_is_the_same_in_every_api() {
    let steps = json!([{"say": ["a", "b"], "delay_ms": 5}, {"sleep_ms": 70}, {"call": "f", "delay_ms": 3}]);
    let wanted = [5, 5, 70, 3].map(|ms| ScriptFrame::Wait(Duration::from_millis(ms)));
    for api in ALL {
        let streamed = frames(api, steps.clone());
        let waits: Vec<ScriptFrame> = streamed.into_iter().filter(|frame| !frame.is_event()).collect();
        assert_eq!(waits, wanted, "{api:?}");
        let (_, before, _) = whole(api, steps.clone());
        assert_eq!(before, wanted, "{api:?} waits as long before one body");
    }
}

#[test]
fn every_api_can_be_broken_off() {
    for (action, frame) in
        [(json!({"cut": true}), ScriptFrame::Cut), (json!({"hang": true}), ScriptFrame::Hang)]
    {
        for api in ALL {
            let actions = json!([{"say": ["Hal"], "unfinished": true}, action]);
            let streamed = frames(api, actions.clone());
            assert_eq!(streamed.last(), Some(&frame), "{api:?}");
            assert!(events(&streamed).iter().any(|event| event.to_string().contains("Hal")), "{api:?}");
            let (_, before, _) = whole(api, actions);
            assert_eq!(before, std::slice::from_ref(&frame), "{api:?} never comes to its body");
        }
    }
}

#[test]
fn a_message_that_is_left_unfinished_is_not_closed() {
    let sent = events(&frames(Api::Messages, json!([{"say": "x", "unfinished": true}, {"end": true}])));
    let kinds: Vec<&str> = sent.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["message_start", "content_block_start", "content_block_delta"]);
}

#[test]
fn an_end_leaves_out_what_completes_the_answer() {
    let actions = json!([{"say": "x"}, {"end": true}]);
    let last = |api| events(&frames(api, actions.clone())).pop().expect("there are events");
    assert_eq!(last(Api::Responses)["type"], "response.output_item.done");
    assert_eq!(last(Api::Chat)["choices"][0]["delta"], json!({"content": "x"}));
    assert_eq!(last(Api::Messages)["type"], "content_block_stop");
    assert_eq!(last(Api::Gemini)["candidates"][0].get("finishReason"), None);

    assert_eq!(whole(Api::Responses, actions.clone()).2["status"], "in_progress");
    assert_eq!(whole(Api::Chat, actions.clone()).2["choices"][0]["finish_reason"], Value::Null);
    assert_eq!(whole(Api::Messages, actions.clone()).2["stop_reason"], Value::Null);
    assert_eq!(whole(Api::Gemini, actions).2["candidates"][0].get("finishReason"), None);
}

#[test]
fn a_failure_is_an_event_of_its_own_or_a_status() {
    let fails = |api, code: &str| {
        let actions = json!([{"say": "x"}, {"fail": {"code": code, "message": "boom"}}]);
        let last = events(&frames(api, actions.clone())).pop().expect("there are events");
        let (status, _, body) = whole(api, actions);
        (last, status, body)
    };
    let (event, status, body) = fails(Api::Chat, "server_error");
    let error = json!({"message": "boom", "type": "server_error", "param": null, "code": "server_error"});
    assert_eq!((event, status), (json!({"error": error}), 500));
    assert_eq!(body, json!({"error": error}));

    let (event, status, body) = fails(Api::Messages, "overloaded_error");
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}});
    assert_eq!((&event, status, &body), (&error, 529, &error));

    let (event, status, body) = fails(Api::Gemini, "RESOURCE_EXHAUSTED");
    let error = json!({"error": {"code": 429, "message": "boom", "status": "RESOURCE_EXHAUSTED"}});
    assert_eq!((&event, status, &body), (&error, 429, &error));

    let (event, status, body) = fails(Api::Responses, "server_error");
    assert_eq!((event["type"].as_str(), status), (Some("response.failed"), 200));
    assert_eq!(body["error"]["message"], "boom");
}

#[test]
fn why_an_answer_is_incomplete_is_said_in_the_words_of_the_api() {
    let reason = |api, reason: &str| {
        let (_, _, body) = whole(api, json!([{"say": "x"}, {"incomplete": reason}]));
        let place = match api {
            Api::Responses => "/incomplete_details/reason",
            Api::Chat => "/choices/0/finish_reason",
            Api::Messages => "/stop_reason",
            Api::Gemini => "/candidates/0/finishReason",
        };
        body.pointer(place).and_then(Value::as_str).map(str::to_owned).expect("a reason")
    };
    let all = |word: &str| ALL.map(|api| reason(api, word));
    assert_eq!(all("max_output_tokens"), ["max_output_tokens", "length", "max_tokens", "MAX_TOKENS"]);
    assert_eq!(all("content_filter"), ["content_filter", "content_filter", "refusal", "SAFETY"]);
    assert_eq!(all("other"), ["other"; 4], "a word of the API itself goes out as it is");
}

#[test]
fn raw_items_and_events_are_in_the_words_of_the_api() {
    let thing = json!({"type": "future", "x": 1});
    let actions = json!([{"item": thing}, {"event": thing}]);
    let sent = |api| {
        let sent = events(&frames(api, actions.clone()));
        assert_eq!(sent.iter().filter(|event| **event == thing).count(), 1, "{api:?} sends the event");
        sent
    };
    let body = |api| whole(api, actions.clone()).2;

    assert_eq!(sent(Api::Responses)[1]["item"], thing);
    assert_eq!(body(Api::Responses)["output"], json!([thing]));
    assert_eq!(sent(Api::Chat)[1]["choices"][0]["delta"], thing);
    let message = json!({"role": "assistant", "content": "", "type": "future", "x": 1});
    assert_eq!(body(Api::Chat)["choices"][0]["message"], message);
    assert_eq!(sent(Api::Messages)[1]["content_block"], thing);
    assert_eq!(sent(Api::Messages)[2]["type"], "content_block_stop");
    assert_eq!(body(Api::Messages)["content"], json!([thing]));
    assert_eq!(sent(Api::Gemini)[0]["candidates"][0]["content"]["parts"], json!([thing]));
    assert_eq!(body(Api::Gemini)["candidates"][0]["content"]["parts"], json!([thing]));
}

#[test]
fn broken_arguments_stay_as_they_are() {
    let actions = json!([{"call": "f", "args": "{broken"}]);
    let message = &whole(Api::Chat, actions.clone()).2["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{broken");
    assert_eq!(message["content"], Value::Null);
    let sent = events(&frames(Api::Messages, actions.clone()));
    assert_eq!(sent[2]["delta"]["partial_json"], "{broken");
    assert_eq!(whole(Api::Messages, actions.clone()).2["content"][0]["input"], "{broken");
    let sent = events(&frames(Api::Gemini, actions));
    let part = &sent[0]["candidates"][0]["content"]["parts"][0];
    assert_eq!(part["functionCall"]["args"], "{broken");
}

#[test]
fn an_error_is_in_the_shape_of_the_api_and_of_the_kind_of_its_status() {
    let body = |api, status: u16| match render(api, json!({"http": status}), STREAM) {
        ScriptAnswer::Plain { body, .. } => body,
        stream => panic!("not plain: {stream:?}"),
    };
    for api in [Api::Responses, Api::Chat] {
        let kinds = [400, 401, 429, 500].map(|status| body(api, status)["error"]["type"].clone());
        assert_eq!(kinds, ["invalid_request_error", "invalid_request_error", "requests", "server_error"]);
        assert_eq!(body(api, 429)["error"]["code"], "rate_limit_exceeded");
    }
    let statuses = [400, 401, 403, 404, 413, 429, 500, 529];
    let kinds = statuses.map(|status| {
        let body = body(Api::Messages, status);
        assert_eq!(body["type"], "error");
        body["error"]["type"].as_str().map(str::to_owned).expect("a type")
    });
    let wanted = [
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
        "rate_limit_error",
        "api_error",
        "overloaded_error",
    ];
    assert_eq!(kinds, wanted);
    let error = json!({"code": 503, "message": "scripted failure", "status": "UNAVAILABLE"});
    assert_eq!(body(Api::Gemini, 503), json!({ "error": error }));
}

#[test]
fn the_last_message_of_the_user_is_found_in_every_api() {
    let parts =
        json!([{"type": "text", "text": "second"}, {"type": "image"}, {"type": "text", "text": "line"}]);
    let chat = json!({"messages": [
        {"role": "user", "content": "first"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "no", "tool_calls": []},
        {"role": "tool", "tool_call_id": "c", "content": "no"},
    ]});
    assert_eq!(Api::Chat.last_user_text(&chat), "second\nline");

    let messages = json!({"messages": [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": [{"type": "text", "text": "no"}]},
        {"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>\nno\n</system-reminder>"},
            {"type": "text", "text": "second"},
        ]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "no"}]},
            {"type": "text", "text": "<system-reminder>no</system-reminder>"},
        ]},
    ]});
    assert_eq!(Api::Messages.last_user_text(&messages), "second");

    let gemini = json!({"contents": [
        {"role": "user", "parts": [{"text": "first"}]},
        {"role": "user", "parts": [{"text": "second"}, {"inlineData": {}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "no"}}}]},
    ]});
    assert_eq!(Api::Gemini.last_user_text(&gemini), "second");
    for api in ALL {
        assert_eq!(api.last_user_text(&json!({})), "", "{api:?}");
    }
}

#[test]
fn a_request_that_offers_no_tools_is_known_in_every_api() {
    let tool = json!({"type": "function", "name": "f"});
    for api in [Api::Responses, Api::Chat, Api::Messages] {
        assert!(api.offers_tools(&json!({"tools": [tool]})), "{api:?}");
        assert!(!api.offers_tools(&json!({"tools": []})), "{api:?}");
        assert!(!api.offers_tools(&json!({})), "{api:?}");
    }
    assert!(Api::Gemini.offers_tools(&json!({"tools": [{"functionDeclarations": [tool]}]})));
    assert!(!Api::Gemini.offers_tools(&json!({"tools": [{"googleSearch": {}}]})));
}
