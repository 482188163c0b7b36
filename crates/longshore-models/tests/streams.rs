//! What services stream, as they stream it, and what it becomes: whole, in any pieces, and cut anywhere.

use longshore_model::service::ModelApi;
use longshore_model::usage::Usage;
use longshore_models::api::{Event, FailureKind, Finish, Stream};
use serde_json::{Value, json};

use crate::stream_text::{
    begin, call_delta, calls, delta, finish, item, read, read_pieces, stop, stream, text, whole,
};

const DONE: Finish = Finish::Done;

#[test]
fn an_answer_without_an_end_fails_whatever_it_says() {
    let chat = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let much = "x".repeat(1 << 20);
    let call = json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": much } });
    for delta in
        [json!({ "content": much }), json!({ "reasoning_content": much }), json!({ "tool_calls": [call] })]
    {
        let (piece, mut stream, mut last) = (stream(&[chat(delta)]), Stream::new(ModelApi::Chat), None);
        for _ in 0..100 {
            stream.feed(piece.as_bytes(), |event| last = Some(event.into_owned()));
            if stream.is_over() {
                break;
            }
        }
        let Some(Event::Failed(failure)) = last else { panic!("{:?}", last.map(|_| "something else")) };
        assert_eq!(failure.kind, FailureKind::Garbled);
        assert_eq!(failure.message, "the model's service said more than 64 MiB in one answer");
    }
}

#[test]
fn chat_puts_calls_together_by_their_index() {
    let events = read(
        ModelApi::Chat,
        &[
            delta(json!({ "role": "assistant", "content": "" })),
            delta(json!({ "content": "Let me \"see\".\n" })),
            call_delta(
                json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "shell", "arguments": "" } }),
            ),
            call_delta(
                json!({ "index": 1, "id": "b", "type": "function", "function": { "name": "read_file", "arguments": "{\"pa" } }),
            ),
            call_delta(json!({ "index": 0, "function": { "arguments": "{\"x\"" } })),
            call_delta(json!({ "index": 1, "function": { "arguments": "th\":1}" } })),
            call_delta(json!({ "index": 0, "function": { "arguments": ":2}" } })),
            finish("tool_calls"),
            json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 3,
                "prompt_tokens_details": { "cached_tokens": 2 } } }),
            json!("[DONE]"),
        ],
    );
    assert_eq!(text(&events), "Let me \"see\".\n");
    assert_eq!(calls(&events), [(Some("a"), "shell", "{\"x\":2}"), (Some("b"), "read_file", "{\"path\":1}")]);
    let usage = Usage { input: Some(7), cached_input: Some(2), output: Some(3), ..Usage::default() };
    assert_eq!(events[events.len() - 2..], [Event::Usage(usage), Event::Ended(DONE)]);
}

#[test]
fn chat_takes_what_backends_make_of_it() {
    // Arguments whole and as an object, no ids, `stop` with calls, no [DONE], no usage.
    let whole = read(
        ModelApi::Chat,
        &[
            call_delta(json!({ "index": 0, "function": { "name": "one", "arguments": "{\"n\":1}" } })),
            call_delta(
                json!({ "index": 1, "id": "", "function": { "name": "two", "arguments": { "n": 2 } } }),
            ),
            finish("stop"),
        ],
    );
    assert_eq!(calls(&whole), [(None, "one", "{\"n\":1}"), (None, "two", "{\"n\":2}")]);
    assert_eq!(whole.last(), Some(&Event::Ended(DONE)));

    // Every call has the index 0, and its own id.
    let zero = read(
        ModelApi::Chat,
        &[
            call_delta(json!({ "index": 0, "id": "a", "function": { "name": "one", "arguments": "{}" } })),
            call_delta(json!({ "index": 0, "id": "b", "function": { "name": "two", "arguments": "{}" } })),
            finish("tool_calls"),
            json!("[DONE]"),
        ],
    );
    assert_eq!(calls(&zero), [(Some("a"), "one", "{}"), (Some("b"), "two", "{}")]);

    // No index at all; the id is said again with every piece.
    let none = read(
        ModelApi::Chat,
        &[
            call_delta(json!({ "id": "a", "function": { "name": "one", "arguments": "{\"a\"" } })),
            call_delta(json!({ "id": "a", "function": { "arguments": ":1}" } })),
            call_delta(json!({ "id": "b", "function": { "name": "two", "arguments": "{}" } })),
            finish("tool_calls"),
        ],
    );
    assert_eq!(calls(&none), [(Some("a"), "one", "{\"a\":1}"), (Some("b"), "two", "{}")]);

    // Content in parts, thoughts under both names, and nothing but [DONE] at the end.
    let parts = read(
        ModelApi::Chat,
        &[
            delta(json!({ "reasoning": "hm", "reasoning_content": "hm" })),
            delta(json!({ "content": [{ "type": "text", "text": "Yes" }], "reasoning": null })),
            json!("[DONE]"),
        ],
    );
    let data = json!({ "reasoning": "hm", "reasoning_content": "hm" });
    let thought = Event::ReasoningDone { text: String::new(), data };
    assert_eq!(
        parts,
        [Event::Reasoning("hm".into()), thought, Event::Text("Yes".into()), Event::Ended(DONE)],
        "shown once, and given back as it came"
    );
}

#[test]
fn chat_says_why_an_answer_ended() {
    let ends = |events: &[Value]| read(ModelApi::Chat, events).pop().unwrap();
    assert_eq!(
        ends(&[delta(json!({ "content": "x" })), finish("length"), json!("[DONE]")]),
        Event::Ended(Finish::Length)
    );
    assert_eq!(ends(&[finish("content_filter"), json!("[DONE]")]), Event::Ended(Finish::Filtered));
    let failed = |event: Event<'_>| match event {
        Event::Failed(failure) => failure.kind,
        other => panic!("instead of a failure: {other:?}"),
    };
    assert_eq!(failed(ends(&[delta(json!({ "content": "x" }))])), FailureKind::Cut);
    assert_eq!(failed(ends(&[json!("no json")])), FailureKind::Garbled);
    let error = json!({ "error": { "message": "slow down", "code": "rate_limit_exceeded" } });
    assert_eq!(failed(ends(&[error])), FailureKind::RateLimited);
}

#[test]
fn responses_gives_every_item_as_soon_as_it_is_done() {
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "xyz", "status": "completed",
        "summary": [{ "type": "summary_text", "text": "Thinking" }] });
    let events = read(
        ModelApi::Responses,
        &[
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.reasoning_summary_text.delta", "delta": "Think" }),
            item(reasoning),
            json!({ "type": "response.output_text.delta", "delta": "He" }),
            json!({ "type": "response.output_text.delta", "delta": "y" }),
            item(
                json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hey" }] }),
            ),
            item(json!({ "type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}" })),
            item(
                json!({ "type": "function_call", "call_id": "c2", "name": "shell", "arguments": "{\"a\":1}" }),
            ),
            item(json!({ "type": "web_search_call", "id": "w" })),
            json!({ "type": "response.completed", "response": { "usage": {
                "input_tokens": 5, "output_tokens": 6, "output_tokens_details": { "reasoning_tokens": 4 } } } }),
        ],
    );
    let kept = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "xyz",
        "summary": [{ "type": "summary_text", "text": "Thinking" }] });
    let call = |id: &str, arguments: &str| Event::Call {
        id: Some(id.to_owned()),
        name: "shell".to_owned(),
        arguments: arguments.to_owned(),
    };
    let usage = Usage { input: Some(5), output: Some(6), reasoning: Some(4), ..Usage::default() };
    assert_eq!(
        events,
        [
            Event::Reasoning("Think".into()),
            Event::ReasoningDone { text: "Thinking".to_owned(), data: kept },
            Event::Text("He".into()),
            Event::Text("y".into()),
            Event::TextDone("Hey".into()),
            call("c1", "{}"),
            call("c2", "{\"a\":1}"),
            Event::Usage(usage),
            Event::Ended(DONE),
        ]
    );
}

#[test]
fn responses_that_fail_or_are_cut_say_so() {
    let last = |events: &[Value]| match read(ModelApi::Responses, events).pop().unwrap() {
        Event::Failed(failure) => Err((failure.kind, failure.message)),
        Event::Ended(finish) => Ok(finish),
        other => panic!("no end: {other:?}"),
    };
    let failed = json!({ "type": "response.failed", "response": { "error":
        { "code": "context_length_exceeded", "message": "too much" } } });
    assert_eq!(last(&[failed]), Err((FailureKind::TooLong, "too much".to_owned())));
    let incomplete = |reason: &str| json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": reason } } });
    assert_eq!(last(&[incomplete("max_output_tokens")]), Ok(Finish::Length));
    assert_eq!(last(&[incomplete("content_filter")]), Ok(Finish::Filtered));
    let error = json!({ "type": "error", "code": "server_error", "message": "oops" });
    assert_eq!(last(&[error]), Err((FailureKind::Unavailable, "oops".to_owned())));
    let cut = last(&[json!({ "type": "response.output_text.delta", "delta": "He" })]);
    assert!(matches!(cut, Err((FailureKind::Cut, _))), "{cut:?}");
}

fn grow(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

#[test]
fn messages_puts_blocks_together() {
    let events = read(
        ModelApi::Messages,
        &[
            json!({ "type": "message_start", "message": { "usage": {
                "input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 1 } } }),
            begin(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
            grow(0, json!({ "type": "thinking_delta", "thinking": "Let me" })),
            grow(0, json!({ "type": "signature_delta", "signature": "sig" })),
            stop(0),
            json!({ "type": "ping" }),
            begin(1, json!({ "type": "text", "text": "" })),
            grow(1, json!({ "type": "text_delta", "text": "Hi" })),
            stop(1),
            begin(2, json!({ "type": "tool_use", "id": "t1", "name": "shell", "input": {} })),
            grow(2, json!({ "type": "input_json_delta", "partial_json": "{\"a\"" })),
            begin(3, json!({ "type": "tool_use", "id": "t2", "name": "list_dir", "input": { "path": "." } })),
            grow(2, json!({ "type": "input_json_delta", "partial_json": ":1}" })),
            stop(2),
            stop(3),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
            json!({ "type": "message_stop" }),
        ],
    );
    let data = json!({ "type": "thinking", "thinking": "Let me", "signature": "sig" });
    let usage = Usage { input: Some(15), cached_input: Some(4), output: Some(9), ..Usage::default() };
    assert_eq!(
        events,
        [
            Event::Reasoning("Let me".into()),
            Event::ReasoningDone { text: "Let me".to_owned(), data },
            Event::Text("Hi".into()),
            Event::TextDone("Hi".into()),
            Event::Call {
                id: Some("t1".to_owned()),
                name: "shell".to_owned(),
                arguments: "{\"a\":1}".to_owned()
            },
            Event::Call {
                id: Some("t2".to_owned()),
                name: "list_dir".to_owned(),
                arguments: "{\"path\":\".\"}".to_owned()
            },
            Event::Usage(usage),
            Event::Ended(DONE),
        ]
    );
}

#[test]
fn messages_that_fail_or_are_cut_say_so() {
    let last = |events: &[Value]| match read(ModelApi::Messages, events).pop().unwrap() {
        Event::Failed(failure) => Err(failure.kind),
        Event::Ended(finish) => Ok(finish),
        other => panic!("no end: {other:?}"),
    };
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "later" } });
    assert_eq!(last(&[error]), Err(FailureKind::Unavailable));
    let ended = |reason: &str| json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
    assert_eq!(last(&[ended("max_tokens"), json!({ "type": "message_stop" })]), Ok(Finish::Length));
    assert_eq!(last(&[ended("refusal")]), Ok(Finish::Filtered), "it had said why before it stopped");
    let cut = begin(0, json!({ "type": "tool_use", "id": "t", "name": "shell", "input": {} }));
    let arguments = grow(0, json!({ "type": "input_json_delta", "partial_json": "{\"comm" }));
    let events = read(ModelApi::Messages, &[cut, arguments]);
    assert!(calls(&events).is_empty(), "half a call is no call");
    assert!(matches!(events.last(), Some(Event::Failed(failure)) if failure.kind == FailureKind::Cut));
}

#[test]
fn an_answer_in_one_body_says_the_same_in_every_api() {
    let chat = json!({ "object": "chat.completion", "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "Hi", "reasoning_content": "hm",
        "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "shell", "arguments": "{}" } }] } }],
        "usage": { "prompt_tokens": 5, "completion_tokens": 6 } });
    let responses = json!({ "object": "response", "status": "completed", "error": null, "output": [
        { "type": "reasoning", "id": "rs", "summary": [{ "type": "summary_text", "text": "hm" }] },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi" }] },
        { "type": "function_call", "call_id": "a", "name": "shell", "arguments": "{}" },
    ], "usage": { "input_tokens": 5, "output_tokens": 6 } });
    let messages = json!({ "type": "message", "role": "assistant", "content": [
        { "type": "thinking", "thinking": "hm", "signature": "sig" },
        { "type": "text", "text": "Hi" },
        { "type": "tool_use", "id": "a", "name": "shell", "input": {} },
    ], "stop_reason": "tool_use", "usage": { "input_tokens": 5, "output_tokens": 6 } });
    for (api, body) in
        [(ModelApi::Chat, chat), (ModelApi::Responses, responses), (ModelApi::Messages, messages)]
    {
        let events = whole(api, &body);
        assert_eq!(calls(&events), [(Some("a"), "shell", "{}")], "{api:?}");
        let said = events.iter().any(|event| match event {
            Event::Text(text) | Event::TextDone(text) => text == "Hi",
            _ => false,
        });
        assert!(said, "{events:?}");
        let thought = events.iter().find_map(|event| match event {
            Event::ReasoningDone { data, .. } => Some(data.to_string()),
            _ => None,
        });
        assert!(thought.is_some_and(|data| data.contains("hm")), "{events:?}");
        let usage = Usage { input: Some(5), output: Some(6), ..Usage::default() };
        assert!(events.contains(&Event::Usage(usage)), "{events:?}");
        assert_eq!(events.last(), Some(&Event::Ended(DONE)));
    }
    let incomplete = json!({ "object": "response", "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" }, "output": [] });
    assert_eq!(whole(ModelApi::Responses, &incomplete).pop(), Some(Event::Ended(Finish::Length)));
    for api in [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages] {
        for body in [
            json!({ "error": { "code": 402, "message": "pay" } }),
            json!({ "object": "error", "code": 402, "message": "pay" }),
        ] {
            let Some(Event::Failed(failure)) = whole(api, &body).pop() else { panic!("{api:?} {body}") };
            assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::UsageLimit, "pay"), "{api:?}");
        }
    }
}

#[test]
fn what_only_the_end_of_a_response_tells_is_told() {
    let call = |id: &str| json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "shell", "arguments": "{}" });
    let output = json!([{ "type": "message", "content": [{ "type": "output_text", "text": "Hey" }] }, call("a"), call("b")]);
    let completed = json!({ "type": "response.completed", "response": { "output": output } });
    let all = read(ModelApi::Responses, std::slice::from_ref(&completed));
    assert_eq!(calls(&all), [(Some("a"), "shell", "{}"), (Some("b"), "shell", "{}")]);
    assert_eq!(all[0], Event::TextDone("Hey".into()));
    let once = read(ModelApi::Responses, &[item(call("a")), completed.clone()]);
    assert_eq!(
        calls(&once),
        [(Some("a"), "shell", "{}"), (Some("b"), "shell", "{}")],
        "what was done is not done again"
    );
    let doubled = read(ModelApi::Responses, &[item(call("a")), item(call("a")), completed]);
    assert_eq!(calls(&doubled).len(), 2, "{doubled:?}");
}

#[test]
fn parts_of_a_thought_are_held_apart() {
    let summary = |index: u64, text: &str| json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": index, "delta": text });
    let raw = json!({ "type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "raw" });
    let done = json!({ "type": "reasoning", "id": "rs", "summary": [{ "text": "thinking" }, { "text": "it over" }] });
    let other = json!({ "type": "response.reasoning_summary_text.delta", "output_index": 1, "summary_index": 0, "delta": "next" });
    let events = read(
        ModelApi::Responses,
        &[summary(0, "think"), summary(0, "ing"), summary(1, "it over"), raw, item(done), other],
    );
    let pieces: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Reasoning(text) => Some(&**text),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, ["think", "ing", "\n\n", "it over", "\n\n", "raw", "next"]);
}

#[test]
fn an_error_in_the_middle_keeps_its_words_in_every_api() {
    let failed = |api, text: &str| match read_pieces(api, [text.as_bytes()]).pop() {
        Some(Event::Failed(failure)) => (failure.kind, failure.message),
        other => panic!("{api:?} {text}: {other:?}"),
    };
    for api in [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages] {
        for (data, kind) in [
            (r#"{"error":"CUDA out of memory"}"#, FailureKind::Unavailable),
            (r#"{"object":"error","message":"CUDA out of memory","code":400}"#, FailureKind::Refused),
            (r#"{"message":"CUDA out of memory"}"#, FailureKind::Unavailable),
            ("CUDA out of memory", FailureKind::Unavailable),
        ] {
            let (told, words) = failed(api, &format!("event: error\ndata: {data}\n\n"));
            assert_eq!((told, words.as_str()), (kind, "CUDA out of memory"), "{api:?} {data}");
            if data.starts_with('{') {
                let (told, words) = failed(api, &format!("data: {data}\n\n"));
                assert_eq!((told, words.as_str()), (kind, "CUDA out of memory"), "{api:?} {data}, unnamed");
            }
        }
    }
}

#[test]
fn a_byte_order_mark_and_lone_carriage_returns_are_understood() {
    let events = [delta(json!({ "content": "x" })), finish("stop"), json!("[DONE]")];
    let plain = stream(&events);
    let expected = read_pieces(ModelApi::Chat, [plain.as_bytes()]);
    assert_eq!(text(&expected), "x");
    for told in [format!("\u{feff}{plain}"), plain.replace('\n', "\r"), plain.replace('\n', "\r\n")] {
        for size in [1, 2, 5, 4_096] {
            assert_eq!(read_pieces(ModelApi::Chat, told.as_bytes().chunks(size)), expected, "{told:?}");
        }
    }
    let marked = "\u{feff}{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}";
    assert_eq!(text(&read_pieces(ModelApi::Chat, marked.as_bytes().chunks(1))), "x");
}

#[test]
fn a_window_that_is_full_and_a_pause_are_told_apart_from_an_end() {
    let ended = |reason: &str| json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
    let last =
        |reason: &str| read(ModelApi::Messages, &[ended(reason), json!({ "type": "message_stop" })]).pop();
    assert_eq!(last("model_context_window_exceeded"), Some(Event::Ended(Finish::Full)));
    assert_eq!(last("pause_turn"), Some(Event::Ended(Finish::Paused)));
}

#[test]
fn nothing_that_is_streamed_makes_them_panic_or_go_on_for_ever() {
    let texts = [
        stream(&[delta(json!({ "content": "x" })), finish("stop"), json!("[DONE]")]),
        stream(&[item(json!({ "type": "function_call", "name": "a", "arguments": "{}" }))]),
        stream(&[begin(0, json!({ "type": "text", "text": "ü" })), stop(0)]),
        "data: {\"type\":7}\n\ndata: null\n\ndata: []\n\ndata: \"x\"\n\n".to_owned(),
    ];
    for api in [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages] {
        for text in &texts {
            for cut in 0..text.len() {
                let events = read_pieces(api, [&text.as_bytes()[..cut]]);
                let ends = events.iter().filter(|event| matches!(event, Event::Ended(_) | Event::Failed(_)));
                assert_eq!(ends.count(), 1, "{api:?} cut at {cut}: {events:?}");
                let mut mangled = text.clone().into_bytes();
                mangled[cut] = mangled[cut].wrapping_add(1);
                read_pieces(api, [&mangled[..]]);
            }
        }
    }
}

#[test]
fn a_list_of_errors_in_the_place_of_an_answer_is_read() {
    let error = json!({ "code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED" });
    for api in [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages] {
        let events = whole(api, &json!([{ "error": error }]));
        let [Event::Failed(failure)] = events.as_slice() else { panic!("{api:?}: {events:?}") };
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::RateLimited, "slow down"));
    }
}
