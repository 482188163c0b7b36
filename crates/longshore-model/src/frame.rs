//! A frame: an event and its JSON, encoded once, shared by the log and by all clients.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::event::{Event, Raw};
use crate::id::Seq;

/// How many bytes the JSON of most events takes besides its text.
const BESIDE_TEXT: usize = 384;

/// An event as the log stores it and clients get it. A client reads, byte for byte, what the log holds.
#[derive(Clone, Debug)]
pub struct Frame {
    seq: Seq,
    json: Arc<str>,
    raw: Option<Raw>,
    event: OnceLock<Arc<Event>>,
}

impl Frame {
    /// Encodes an event.
    pub fn encode(event: Event, raw: Option<Raw>) -> Result<Self, serde_json::Error> {
        // Room for all of it at once: growing step by step would copy it as often.
        let mut json = Vec::with_capacity(BESIDE_TEXT + event.text().len());
        serde_json::to_writer(&mut json, &event)?;
        let json = String::from_utf8(json).map_err(serde::ser::Error::custom)?;
        Ok(Self { seq: event.seq, json: json.into(), raw, event: OnceLock::from(Arc::new(event)) })
    }

    /// A frame from stored JSON.
    pub fn stored(seq: Seq, json: impl Into<Arc<str>>, raw: Option<Raw>) -> Self {
        Self { seq, json: json.into(), raw, event: OnceLock::new() }
    }

    /// The place of the event in its session.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The public JSON, without the raw frame.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The agent's own frame, if there was one.
    pub fn raw(&self) -> Option<&Raw> {
        self.raw.as_ref()
    }

    /// The public JSON on one line, with or without the agent's own frame. An agent's own frame may contain line
    /// breaks. They mean nothing, because they are outside of strings: a JSON string cannot contain a line break.
    pub fn line(&self, with_raw: bool) -> Cow<'_, str> {
        if !with_raw {
            return self.json().into();
        }
        let json = self.json_with_raw();
        if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ").into() } else { json.into() }
    }

    /// The event. A frame from the log decodes it on first use.
    pub fn event(&self) -> Result<&Arc<Event>, serde_json::Error> {
        if let Some(event) = self.event.get() {
            return Ok(event);
        }
        let event = Arc::new(serde_json::from_str::<Event>(&self.json)?);
        Ok(self.event.get_or_init(|| event))
    }

    /// The public JSON with the agent's own frame in `rawEvent`: as JSON if it is JSON, otherwise as a
    /// string.
    pub fn json_with_raw(&self) -> String {
        let Some(raw) = &self.raw else { return self.json.to_string() };
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok();
        let quoted;
        let raw = if is_json {
            &**raw
        } else {
            quoted = serde_json::Value::from(&**raw).to_string();
            &quoted
        };
        let open = self.json.strip_suffix('}').unwrap_or(&self.json);
        format!("{open},\"rawEvent\":{raw}}}")
    }
}
