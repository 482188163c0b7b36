//! What services make of Chat Completions that no document of theirs tells.

use std::sync::Arc;

use longshore_model::service::ModelApi;
use longshore_models::api::{Event, FailureKind, Stream};
use longshore_models::tool::ToolDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stream_text::{call_delta, calls, delta, finish, read, stream, text};

fn tools() -> Arc<[ToolDefinition]> {
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": { "path": { "type": "string" }, "lines": { "type": "integer" } } }),
        side_by_side: false,
    };
    Arc::from([tool("shell"), tool("read_file")])
}

/// What a service says that was offered tools; the same however its bytes arrive.
fn offered(events: &[Value]) -> Vec<Event<'static>> {
    let all = stream(events);
    let read = |size: usize| {
        let mut stream = Stream::offering(ModelApi::Chat, &tools());
        let mut said = Vec::new();
        for piece in all.as_bytes().chunks(size) {
            stream.feed(piece, |event| said.push(event.into_owned()));
        }
        stream.end(|event| said.push(event.into_owned()));
        said
    };
    let whole = read(1 << 20);
    assert_eq!(read(3), whole);
    whole
}

/// A text, a character a chunk, so that every tag is cut everywhere.
fn spoken(text: &str) -> Vec<Value> {
    let mut events: Vec<Value> = text.chars().map(|c| delta(json!({ "content": c.to_string() }))).collect();
    events.extend([finish("stop"), json!("[DONE]")]);
    events
}

fn thought(events: &[Event<'static>]) -> String {
    let thought = |event: &Event<'static>| match event {
        Event::Reasoning(text) => Some(text.to_string()),
        _ => None,
    };
    events.iter().filter_map(thought).collect()
}

fn kept<'a>(events: &'a [Event<'static>]) -> Vec<&'a Value> {
    let data = |event: &'a Event<'static>| match event {
        Event::ReasoningDone { data, .. } => Some(data),
        _ => None,
    };
    events.iter().filter_map(data).collect()
}

#[test]
fn calls_without_ids_are_told_apart_by_their_names() {
    let one = |call: Value| call_delta(call);
    let same_index = offered(&[
        one(json!({ "index": 0, "function": { "name": "shell", "arguments": "{\"a\"" } })),
        one(json!({ "index": 0, "function": { "arguments": ":1}" } })),
        one(json!({ "index": 0, "function": { "name": "read_file", "arguments": "{\"b\":2}" } })),
        one(json!({ "index": 0, "function": { "name": "read_file", "arguments": "{\"b\":3}" } })),
        finish("tool_calls"),
    ]);
    let expected =
        [(None, "shell", "{\"a\":1}"), (None, "read_file", "{\"b\":2}"), (None, "read_file", "{\"b\":3}")];
    assert_eq!(calls(&same_index), expected);
    let no_index = offered(&[
        one(json!({ "function": { "name": "shell", "arguments": "{\"a\":1}" } })),
        one(json!({ "function": { "name": "read_file", "arguments": "" } })),
        one(json!({ "function": { "arguments": "{\"b\":2}" } })),
        one(json!({ "function": { "arguments": "{\"b\":3}" } })),
        finish("tool_calls"),
    ]);
    assert_eq!(calls(&no_index), expected, "arguments that stand one after the other are several calls");
    let without_arguments = offered(&[
        one(json!({ "index": 0, "function": { "name": "shell" } })),
        one(json!({ "index": 0, "function": { "name": "read_file" } })),
        finish("tool_calls"),
    ]);
    assert_eq!(calls(&without_arguments), [(None, "shell", ""), (None, "read_file", "")]);
}

#[test]
fn a_name_in_pieces_is_joined_and_one_that_is_said_again_is_not() {
    let pieces = offered(&[
        call_delta(json!({ "index": 0, "id": "a", "function": { "name": "she" } })),
        call_delta(json!({ "index": 0, "function": { "name": "ll" } })),
        call_delta(json!({ "index": 0, "function": { "arguments": "{}" } })),
        finish("tool_calls"),
    ]);
    assert_eq!(calls(&pieces), [(Some("a"), "shell", "{}")]);
    let again = offered(&[
        call_delta(json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": "{\"a\"" } })),
        call_delta(json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": ":1}" } })),
        call_delta(json!({ "index": 0, "function": { "name": "shell", "arguments": "" } })),
        finish("tool_calls"),
    ]);
    assert_eq!(calls(&again), [(Some("a"), "shell", "{\"a\":1}")]);
}

#[test]
fn arguments_that_are_encoded_twice_are_what_they_encode() {
    let twice = json!("{\"a\":1}").to_string();
    let events = read(
        ModelApi::Chat,
        &[call_delta(json!({ "index": 0, "function": { "name": "f", "arguments": twice } })), finish("stop")],
    );
    assert_eq!(calls(&events), [(None, "f", "{\"a\":1}")]);
    let text = read(
        ModelApi::Chat,
        &[
            call_delta(json!({ "index": 0, "function": { "name": "f", "arguments": "\"a patch\"" } })),
            finish("stop"),
        ],
    );
    assert_eq!(calls(&text), [(None, "f", "\"a patch\"")], "a text that is no object stays one");
}

#[test]
fn the_call_of_old_is_a_call() {
    let events = read(
        ModelApi::Chat,
        &[
            delta(
                json!({ "role": "assistant", "content": null, "function_call": { "name": "shell", "arguments": "" } }),
            ),
            delta(json!({ "function_call": { "arguments": "{\"a\"" } })),
            delta(json!({ "function_call": { "arguments": ":1}" } })),
            finish("function_call"),
            json!("[DONE]"),
        ],
    );
    assert_eq!(calls(&events), [(None, "shell", "{\"a\":1}")]);
}

#[test]
fn an_end_that_is_a_failure_is_one() {
    for reason in ["error", "insufficient_system_resource"] {
        let last = read(ModelApi::Chat, &[delta(json!({ "content": "x" })), finish(reason)]).pop();
        let Some(Event::Failed(failure)) = last else { panic!("{last:?}") };
        assert_eq!(failure.kind, FailureKind::Unavailable);
        assert!(failure.message.contains(reason), "{}", failure.message);
    }
}

#[test]
fn an_error_within_a_choice_keeps_its_words_and_its_code() {
    let error = json!({ "code": 402, "message": "Insufficient credits" });
    let choice = json!({ "delta": { "content": "Half" }, "finish_reason": "error", "error": error });
    let events = read(ModelApi::Chat, &[json!({ "choices": [choice] })]);
    let Some(Event::Failed(failure)) = events.last() else { panic!("{events:?}") };
    assert_eq!(text(&events), "Half");
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::UsageLimit, "Insufficient credits"));
}

#[test]
fn thoughts_in_tags_are_thoughts_and_go_back_as_they_stood() {
    let events = offered(&spoken("\n<think>\nLet me see.\n</think>\n\nHello <b>you</b>."));
    assert_eq!((thought(&events).as_str(), text(&events).as_str()), ("Let me see.\n", "Hello <b>you</b>."));
    assert_eq!(kept(&events), [&json!({ "content": "\n<think>\nLet me see.\n</think>\n\n" })]);
    let later = offered(&spoken("Write <think> and </think>."));
    assert_eq!((thought(&later).as_str(), text(&later).as_str()), ("", "Write <think> and </think>."));
    let open = offered(&spoken("<think>and so on"));
    assert_eq!((thought(&open).as_str(), text(&open).as_str()), ("and so on", ""));
    let mut apart = vec![delta(json!({ "reasoning_content": "hm" }))];
    apart.extend(spoken("<think>is a tag</think>"));
    assert_eq!(
        text(&offered(&apart)),
        "<think>is a tag</think>",
        "a service that tells them apart hides none"
    );
}

/// What was said, and before it all that turned out to be a thought.
fn aloud<'a>(events: &'a [Event<'static>]) -> (Option<&'a Value>, String) {
    let at = events.iter().position(|event| matches!(event, Event::ThoughtAloud { .. }));
    match at.map(|at| (&events[at], &events[at + 1..])) {
        Some((Event::ThoughtAloud { data }, rest)) => (Some(data), text(rest)),
        _ => (None, text(events)),
    }
}

#[test]
fn a_thought_that_began_in_the_prompt_ends_where_it_says_so() {
    for (thought, blanks, words) in [
        ("Let me see.\n", "\n\n", "Hello."),
        // As DeepSeek does it.
        ("Hm, so `x<y`.", "", "Hello </b>."),
        ("Hm.\n", "\n", "```\n</think>\n```"),
    ] {
        let all = format!("{thought}</think>{blanks}{words}");
        let events = offered(&spoken(&all));
        let kept = json!({ "content": format!("{thought}</think>{blanks}") });
        assert_eq!(aloud(&events), (Some(&kept), words.to_owned()), "{all}");
        assert!(text(&events).starts_with(thought), "it streams as words until its end tells: {all}");
        let mut apart = vec![delta(json!({ "reasoning_content": "hm" }))];
        apart.extend(spoken(&all));
        assert_eq!(aloud(&offered(&apart)), (None, all), "a service that tells them apart hides none");
    }
    for words in
        ["Write <think> and </think>.", "It ends with `</think>`.", "```\na</think>\n```\n", "</thin"]
    {
        assert_eq!(aloud(&offered(&spoken(words))), (None, words.to_owned()));
    }
    let called = "Hm.</think>\n<tool_call>{\"name\":\"shell\",\"arguments\":{}}</tool_call>";
    let events = offered(&spoken(called));
    assert_eq!(calls(&events), [(None, "shell", "{}")]);
    assert_eq!(aloud(&events), (Some(&json!({ "content": "Hm.</think>\n" })), String::new()));
}

#[test]
fn calls_in_tags_are_calls_where_there_is_such_a_tool() {
    let hermes = "I look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n<tool_call>{\"name\":\"shell\",\"arguments\":{}}";
    let events = offered(&spoken(hermes));
    assert_eq!(calls(&events), [(None, "read_file", "{\"path\":\"a\"}"), (None, "shell", "{}")]);
    assert_eq!(text(&events), "I look.\n");
    let qwen = "<tool_call>\n<function=read_file>\n<parameter=path>\n7\n</parameter>\n<parameter=lines>\n7\n</parameter>\n</function>\n</tool_call>";
    let events = offered(&spoken(qwen));
    assert_eq!(calls(&events), [(None, "read_file", "{\"lines\":7,\"path\":\"7\"}")], "a text stays a text");
    for words in [
        "<tool_call>{\"name\":\"no_such_tool\",\"arguments\":{}}</tool_call>",
        "<tool_call>soon</tool_call> and more",
        "Write\n```\n<tool_call>{\"name\":\"shell\",\"arguments\":{}}</tool_call>\n```\nto call.",
        "a < b, <tool",
    ] {
        let events = offered(&spoken(words));
        assert_eq!((calls(&events).len(), text(&events).as_str()), (0, words));
    }
    let mut given = spoken("<tool_call>{\"name\":\"shell\",\"arguments\":{}}</tool_call>");
    given.insert(
        0,
        call_delta(json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": "{}" } })),
    );
    assert_eq!(
        calls(&offered(&given)),
        [(Some("a"), "shell", "{}")],
        "a service that gives calls hides none"
    );
}

proptest! {
    #[test]
    fn no_word_is_lost_whatever_is_said(pieces in prop::collection::vec(
        prop::sample::select(vec!["<think>", "</think>", "<tool_call>", "</tool_call>", "<", "```", "x", " ", "\n", "{\"name\":\"a\"}", "<function=a>", "é"]),
        0..14,
    )) {
        let mut events: Vec<Value> = pieces.iter().map(|piece| delta(json!({ "content": piece }))).collect();
        events.push(finish("stop"));
        let read = offered(&events);
        let said: String = pieces.concat();
        let (thought, words) = aloud(&read);
        let before: String = kept(&read).into_iter().chain(thought).map(|data| data["content"].as_str().unwrap()).collect();
        prop_assert_eq!(format!("{before}{words}"), said);
        prop_assert!(calls(&read).is_empty());
    }
}
