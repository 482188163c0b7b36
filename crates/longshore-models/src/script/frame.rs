//! The rendered output: what goes over the wire and when, free of sockets and clocks.

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
    /// How the client wants the answer.
    pub delivery: Delivery,
}

/// The two ways in which a client may ask for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As one body at the end.
    Whole,
    /// As a stream of events.
    Stream {
        /// Whether the stream tells its tokens; in Chat Completions that is the client's choice.
        usage: bool,
    },
}

/// A rendered answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptAnswer {
    /// A stream of server-sent events.
    Stream {
        /// Further headers.
        headers: HeaderMap,
        /// What happens on the stream. After the last frame the body ends properly.
        frames: Vec<ScriptFrame>,
    },
    /// A plain HTTP response.
    Plain {
        /// The status code.
        status: StatusCode,
        /// Further headers.
        headers: HeaderMap,
        /// What happens before the body comes: waits, and perhaps something after which it never comes.
        before: Vec<ScriptFrame>,
        /// A string is sent as it is, everything else as JSON.
        body: Value,
    },
}

/// One thing that happens on a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptFrame {
    /// An event is sent.
    Event(SseEvent),
    /// Nothing is sent for a while.
    Wait(Duration),
    /// The connection is dropped.
    Cut,
    /// Nothing more is sent until the client leaves.
    Hang,
}

impl ScriptFrame {
    /// The wait after a piece of text, if there is one.
    pub fn pause(wait: Duration) -> Option<Self> {
        (!wait.is_zero()).then_some(ScriptFrame::Wait(wait))
    }

    /// Whether something is sent.
    pub fn is_event(&self) -> bool {
        match self {
            ScriptFrame::Event(_) => true,
            ScriptFrame::Wait(_) | ScriptFrame::Cut | ScriptFrame::Hang => false,
        }
    }
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

    /// An event without a name.
    pub fn unnamed(data: &Value) -> Self {
        SseEvent { name: None, data: data.to_string() }
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
