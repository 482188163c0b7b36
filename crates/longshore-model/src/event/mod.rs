//! The event: an immutable fact with a seq.
//!
//! An event's JSON is public contract. A client that does not know a [`Body`] draws the event from `category`
//! and `text`; other clients read `type` and `payload`.

mod body;
mod kind;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::id::{EventId, ItemId, Seq, SessionId, TurnId};
use crate::time::Timestamp;

pub use body::{Body, MessagePhase, NoticeLevel, RawFault};
pub use kind::{Category, Growth, Kind};

/// The name of an agent, for example `codex`. The public contract calls it the provider.
pub type AgentName = Arc<str>;

/// A frame of an agent's wire, unchanged.
pub type Raw = Arc<str>;

/// Who did something: `owner`, the label of a device, `hub`, `delegation`.
pub type Author = String;

/// The hub itself, which decides if no person can.
pub const BY_HUB: &str = "hub";
/// An agent that delegated work to the session and talks to it.
pub const BY_DELEGATION: &str = "delegation";

/// One immutable fact of one session.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The event's place in the session.
    pub seq: Seq,
    /// The session.
    #[serde(rename = "sessionId")]
    pub session: SessionId,
    /// The agent of the session.
    #[serde(rename = "provider")]
    pub agent: AgentName,
    /// When the hub received the event.
    #[serde(rename = "timestamp")]
    pub at: Timestamp,
    /// The turn.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// The item.
    #[serde(default)]
    pub item: Option<ItemId>,
    /// The event that it answers or brings to its end, where that one is known.
    #[serde(default, rename = "parentEventId")]
    pub parent: Option<EventId>,
    /// The text for people: a message, a delta of it, a reason, an output.
    #[serde(default)]
    pub text: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

impl Event {
    /// The id of the event.
    pub fn id(&self) -> EventId {
        EventId::of(self.session, self.seq, self.at)
    }

    /// The text; empty if there is none.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// The public JSON of an [`Event`]: the fields of the contract in their order.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Event")]
pub struct EventJson<'a> {
    /// The event's place in the session: dense, from 1.
    seq: Seq,
    /// The id of the event.
    event_id: EventId,
    /// The session.
    session_id: SessionId,
    /// The agent of the session.
    provider: &'a str,
    /// One of ten categories, for clients that know no types.
    category: Category,
    /// When the hub received the event, in RFC 3339.
    timestamp: Timestamp,
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
    /// The item.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemId>,
    /// The event that it answers or brings to its end, where that one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_event_id: Option<EventId>,
    /// The text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// `type` and `payload`.
    #[serde(flatten)]
    body: &'a Body,
    /// The agent's own frame, if the client asked for it.
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

/// An event without a seq: a driver reports what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// The text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What happened.
    pub body: Body,
    /// The agent's frame from which the draft came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

impl Draft {
    /// A draft with only a body.
    pub fn new(body: Body) -> Self {
        Self { turn: None, item: None, text: None, body, raw: None }
    }

    /// Adds the turn.
    #[must_use]
    pub fn turn(mut self, turn: impl Into<Option<TurnId>>) -> Self {
        self.turn = turn.into();
        self
    }

    /// Adds the item.
    #[must_use]
    pub fn item(mut self, item: impl Into<Option<ItemId>>) -> Self {
        self.item = item.into();
        self
    }

    /// Adds the text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Adds the agent's frame.
    #[must_use]
    pub fn raw(mut self, raw: impl Into<Option<Raw>>) -> Self {
        self.raw = raw.into();
        self
    }
}
