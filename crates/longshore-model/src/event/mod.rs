//! The event: an immutable fact with a seq, and the closed set of things that can be a fact.
//!
//! An event's JSON is public contract. A client that knows nothing of a [`Body`] still draws it from `category`
//! and `text`; a client that knows more reads `type` and `payload`.

mod body;
mod kind;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::id::{EventId, ItemId, Seq, SessionId, TurnId};
use crate::time::Timestamp;

pub use body::{Body, MessagePhase, NoticeLevel, RawFault};
pub use kind::{Category, Growth, Kind};

/// The name of an agent, as in `codex`: what the public contract calls the provider.
pub type AgentName = Arc<str>;

/// A frame of an agent's wire, as it came.
pub type Raw = Arc<str>;

/// Who did something: `owner`, the label of a device, `hub`, `delegation`.
pub type Author = String;

/// The hub itself, which answers for a person where nobody else can.
pub const BY_HUB: &str = "hub";
/// An agent that handed work to another session, which speaks to it.
pub const BY_DELEGATION: &str = "delegation";

/// One immutable fact of one session.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its place in the session.
    pub seq: Seq,
    /// The session it is a fact of.
    #[serde(rename = "sessionId")]
    pub session: SessionId,
    /// The agent of that session.
    #[serde(rename = "provider")]
    pub agent: AgentName,
    /// When the hub learned of it.
    #[serde(rename = "timestamp")]
    pub at: Timestamp,
    /// The turn it belongs to.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// The item it tells of.
    #[serde(default)]
    pub item: Option<ItemId>,
    /// The event that it follows from, where that is another than the one before.
    #[serde(default, rename = "parentEventId")]
    pub parent: Option<EventId>,
    /// What a person would read of it: the text itself, a delta of it, a reason, an output.
    #[serde(default)]
    pub text: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

impl Event {
    /// The name of this event in one word.
    pub fn id(&self) -> EventId {
        EventId::of(self.session, self.seq, self.at)
    }

    /// The text, empty when there is none.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// The public JSON of an [`Event`]: the fields of the contract in their order.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Event")]
pub struct EventJson<'a> {
    /// Its place in the session: dense, from 1.
    seq: Seq,
    /// Its name.
    event_id: EventId,
    /// The session it is a fact of.
    session_id: SessionId,
    /// The agent of that session.
    provider: &'a str,
    /// One of ten, for clients that know no types.
    category: Category,
    /// When the hub learned of it, RFC 3339.
    timestamp: Timestamp,
    /// The turn it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
    /// The item it tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemId>,
    /// The event that it follows from, where that is another than the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_event_id: Option<EventId>,
    /// What a person would read of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// `type` and `payload`.
    #[serde(flatten)]
    body: &'a Body,
    /// The agent's own frame, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_event: Option<serde_json::Value>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EventJson {
            seq: self.seq,
            event_id: self.id(),
            session_id: self.session,
            provider: &self.agent,
            category: self.body.category(),
            timestamp: self.at,
            turn: self.turn,
            item: self.item,
            parent_event_id: self.parent,
            text: self.text.as_deref(),
            body: &self.body,
            raw_event: None,
        }
        .serialize(serializer)
    }
}

/// An event that has no seq yet: what a driver says happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The item it tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// What a person would read of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What happened.
    pub body: Body,
    /// The frame that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

impl Draft {
    /// A draft of nothing but its body.
    pub fn new(body: Body) -> Self {
        Self { turn: None, item: None, text: None, body, raw: None }
    }

    /// With its turn.
    #[must_use]
    pub fn turn(mut self, turn: impl Into<Option<TurnId>>) -> Self {
        self.turn = turn.into();
        self
    }

    /// With its item.
    #[must_use]
    pub fn item(mut self, item: impl Into<Option<ItemId>>) -> Self {
        self.item = item.into();
        self
    }

    /// With its text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// With the frame that said so.
    #[must_use]
    pub fn raw(mut self, raw: impl Into<Option<Raw>>) -> Self {
        self.raw = raw.into();
        self
    }
}
