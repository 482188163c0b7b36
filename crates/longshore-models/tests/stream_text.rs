//! What services stream, as text, and what is read of it.

use longshore_model::service::ModelApi;
use longshore_models::api::{Event, Stream};
use serde_json::{Value, json};

/// The stream that these events make: comments and all.
pub(crate) fn stream(events: &[Value]) -> String {
    let mut text = ": keep-alive\n\n".to_owned();
    for event in events {
        match event {
            Value::String(data) => text.push_str(&format!("data: {data}\n\n")),
            other => {
                let name = other["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
                text.push_str(&format!("{name}data: {other}\n\n"));
            }
        }
    }
    text
}

pub(crate) fn read_pieces<'a>(
    api: ModelApi,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Event<'static>> {
    let mut stream = Stream::new(api);
    let mut all = Vec::new();
    for piece in pieces {
        stream.feed(piece, |event| all.push(event.into_owned()));
    }
    stream.end(|event| all.push(event.into_owned()));
    assert!(stream.is_over());
    all
}

/// What one body says, which services send that do not stream.
pub(crate) fn whole(api: ModelApi, body: &Value) -> Vec<Event<'static>> {
    let text = serde_json::to_string_pretty(body).unwrap();
    let all = read_pieces(api, [text.as_bytes()]);
    assert_eq!(read_pieces(api, text.as_bytes().chunks(3)), all);
    let waited = format!("\n\n  \r\n{text}\n");
    assert_eq!(read_pieces(api, [waited.as_bytes()]), all, "empty lines only say that somebody is there");
    all
}

/// What a stream says; the same however its bytes arrive.
pub(crate) fn read(api: ModelApi, events: &[Value]) -> Vec<Event<'static>> {
    let text = stream(events);
    let whole = read_pieces(api, [text.as_bytes()]);
    for size in [1, 2, 3, 7, 64] {
        assert_eq!(read_pieces(api, text.as_bytes().chunks(size)), whole, "in pieces of {size}");
    }
    whole
}

pub(crate) fn calls<'a>(events: &'a [Event<'static>]) -> Vec<(Option<&'a str>, &'a str, &'a str)> {
    let call = |event: &'a Event<'static>| match event {
        Event::Call { id, name, arguments } => Some((id.as_deref(), name.as_str(), arguments.as_str())),
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

pub(crate) fn text(events: &[Event<'static>]) -> String {
    let text = |event: &Event<'static>| match event {
        Event::Text(text) => Some(text.to_string()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

pub(crate) fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

pub(crate) fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

pub(crate) fn call_delta(call: Value) -> Value {
    delta(json!({ "tool_calls": [call] }))
}

pub(crate) fn item(item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": 0, "item": item })
}

pub(crate) fn begin(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

pub(crate) fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}
