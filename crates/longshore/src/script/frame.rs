//! What goes over the wire and when: the result of rendering, free of sockets and clocks.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

/// What rendering must know about the request that is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The number of the answer on this server, from 1; made-up ids are made from it.
    pub number: u64,
    /// The model that was asked for, which the answer claims to be.
    pub model: String,
    /// When the answer was made, in seconds of the Unix epoch. Passed in, because rendering reads no clock.
    pub created_at: i64,
}

/// A rendered answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A stream of server-sent events.
    Stream {
        /// Further headers.
        headers: HeaderMap,
        /// What happens on the stream. After the last frame the body ends properly.
        frames: Vec<Frame>,
    },
    /// A plain HTTP response.
    Plain {
        /// The status code.
        status: StatusCode,
        /// Further headers.
        headers: HeaderMap,
        /// A string is sent as it is, everything else as JSON.
        body: Value,
    },
}

/// One thing that happens on a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// An event is sent.
    Event(SseEvent),
    /// Nothing is sent for a while.
    Wait(Duration),
    /// The connection is dropped.
    Cut,
    /// Nothing more is sent until the client leaves.
    Hang,
}

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name, in APIs that name their events.
    pub name: Option<String>,
    /// Its data, on one line.
    pub data: String,
}

impl SseEvent {
    /// An event that is named by the `type` of its JSON.
    pub fn named_by_type(data: &Value) -> Self {
        SseEvent {
            name: data.get("type").and_then(Value::as_str).map(one_line),
            // Compact JSON has no line breaks, so it is always one line of data.
            data: data.to_string(),
        }
    }

    /// The event as it stands on the wire.
    pub fn encode(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

/// A raw event may carry any text as its type; a line break in it would forge another event.
fn one_line(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '\n' | '\r')).collect()
}
