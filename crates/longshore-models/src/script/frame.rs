//! The rendered output: the content for the wire and its timing, without sockets and clocks.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

/// The facts about a request that rendering needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The number of the answer on this server, from 1. Generated ids contain it.
    pub number: u64,
    /// The requested model. The answer names it as its model.
    pub model: String,
    /// The time of the answer, in seconds since 1970. It is a parameter because rendering reads no clock.
    pub created_at: i64,
    /// The form in which the client wants the answer.
    pub delivery: Delivery,
}

/// The two forms that a client may request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As one body at the end.
    Whole,
    /// As a stream of events.
    Stream {
        /// Whether the stream reports the usage. In Chat Completions, the client chooses this.
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
        /// The frames of the stream. After the last frame, the body ends properly.
        frames: Vec<ScriptFrame>,
    },
    /// A plain HTTP response.
    Plain {
        /// The status code.
        status: StatusCode,
        /// Further headers.
        headers: HeaderMap,
        /// The frames before the body: waits, and perhaps a frame after which no body follows.
        before: Vec<ScriptFrame>,
        /// The body. A string is sent as it is, everything else as JSON.
        body: Value,
    },
}

/// One step of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptFrame {
    /// Send an event.
    Event(SseEvent),
    /// Wait.
    Wait(Duration),
    /// Drop the connection.
    Cut,
    /// Send nothing more until the client leaves.
    Hang,
}

impl ScriptFrame {
    /// The wait after a piece of text, if it has one.
    pub fn pause(wait: Duration) -> Option<Self> {
        (!wait.is_zero()).then_some(ScriptFrame::Wait(wait))
    }

    /// Whether the frame sends something.
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
    /// The event's name, in APIs that name events.
    pub name: Option<String>,
    /// The event's data, on one line.
    pub data: String,
}

impl SseEvent {
    /// An event whose name is the `type` of its JSON.
    pub fn named_by_type(data: &Value) -> Self {
        SseEvent {
            name: data.get("type").and_then(Value::as_str).map(one_line),
            // Compact JSON has no line breaks, so the data is one line.
            data: data.to_string(),
        }
    }

    /// An event without a name.
    pub fn unnamed(data: &Value) -> Self {
        SseEvent { name: None, data: data.to_string() }
    }

    /// The event as text for the wire.
    pub fn encode(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

/// Removes line breaks from a name. The type of a raw event may be any text, and a line break would forge another
/// event.
fn one_line(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '\n' | '\r')).collect()
}
