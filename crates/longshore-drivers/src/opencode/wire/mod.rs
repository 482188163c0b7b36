//! OpenCode's JSON, with its names. Fields that the driver does not read are left out.
//!
//! The flow of a conversation:
//!
//! ```text
//! POST /session {permission}            -> the session, ses_1
//! POST /session/ses_1/prompt_async      -> 204; all else comes as events:
//!   session.status busy
//!   message.updated user, message.part.updated text        the driver's prompt
//!   message.updated assistant                              one message for each step of the model
//!     message.part.updated text ""; message.part.delta ..; message.part.updated the whole text
//!     message.part.updated tool pending, running, completed or error
//!       permission.asked                -> POST /permission/per_1/reply
//!       question.asked                  -> POST /question/que_1/reply or reject
//!   message.updated assistant, completed
//!   session.status idle, session.idle                      after an abort, twice
//! ```
//!
//! On `/event`, an event has no wrapper. On `/global/event`, it is in a `payload`, beside its directory.

mod messages;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use messages::{Diff, Info, Part, State, Tokens};

/// The fields that all events have.
#[derive(Debug, Default, Deserialize)]
#[allow(missing_docs)]
pub struct Head<'a> {
    #[serde(default, borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(default, borrow)]
    pub properties: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub payload: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub directory: Option<Cow<'a, str>>,
}

/// The session of an event.
#[derive(Debug, Default, Deserialize)]
#[allow(missing_docs)]
pub struct Place<'a> {
    #[serde(default, borrow, rename = "sessionID")]
    pub session_id: Cow<'a, str>,
}

/// `message.part.delta`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Delta<'a> {
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Cow<'a, str>,
    #[serde(default, borrow, rename = "messageID")]
    pub message_id: Cow<'a, str>,
    #[serde(borrow, rename = "partID")]
    pub part_id: Cow<'a, str>,
    #[serde(default, borrow)]
    pub field: Cow<'a, str>,
    #[serde(borrow)]
    pub delta: Cow<'a, str>,
}

/// `message.updated`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct MessageUpdated {
    pub info: Info,
}

/// `message.part.updated`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct PartUpdated {
    pub part: Part,
}

/// A message with its parts, as `GET /session/{id}/message` lists them.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Message {
    pub info: Info,
    #[serde(default)]
    pub parts: Vec<Part>,
}

/// A listed message, reduced to its id and its times.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct MessageHead {
    pub info: InfoHead,
}

/// The fields of a [`MessageHead`].
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct InfoHead {
    pub id: String,
    #[serde(default)]
    pub role: String,
    #[serde(default)]
    pub time: Times,
}

/// `session.created`, `session.updated`, `session.deleted`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct SessionTold {
    pub info: Session,
}

/// A conversation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Session {
    pub id: String,
    #[serde(default, rename = "parentID")]
    pub parent_id: Option<String>,
    #[serde(default)]
    pub directory: Option<String>,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub model: Option<Model>,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub tokens: Option<Tokens>,
    #[serde(default)]
    pub time: Times,
}

/// A model, in the form that a session uses.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Model {
    #[serde(default, alias = "modelID")]
    pub id: String,
    #[serde(default, rename = "providerID")]
    pub provider_id: String,
}

/// Points in time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Times {
    pub created: Option<f64>,
    pub updated: Option<f64>,
    pub completed: Option<f64>,
    pub start: Option<f64>,
    pub end: Option<f64>,
}

/// `session.status`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct StatusTold {
    pub status: Status,
}

/// The state of a session.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Status {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub attempt: Option<u64>,
    #[serde(default)]
    pub message: Option<String>,
}

/// `session.error`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct ErrorTold {
    pub error: Error,
}

/// An error of OpenCode.
#[derive(Clone, Debug, Default, Deserialize)]
#[allow(missing_docs)]
pub struct Error {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub data: Value,
}

/// `permission.asked`, and an entry of `GET /permission`.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Permission {
    pub id: String,
    #[serde(rename = "sessionID")]
    pub session_id: String,
    #[serde(default)]
    pub permission: String,
    #[serde(default)]
    pub patterns: Vec<String>,
    #[serde(default)]
    pub metadata: Value,
    #[serde(default)]
    pub always: Vec<String>,
    #[serde(default)]
    pub tool: Option<ToolPlace>,
}

/// The tool call that a request concerns.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct ToolPlace {
    #[serde(default, rename = "messageID")]
    pub message_id: String,
    #[serde(default, rename = "callID")]
    pub call_id: String,
}

/// `permission.replied`, `question.replied`, `question.rejected`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Replied {
    #[serde(rename = "requestID")]
    pub request_id: String,
    #[serde(default)]
    pub reply: Option<String>,
}

/// `question.asked`, and an entry of `GET /question`.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct OpenCodeQuestion {
    pub id: String,
    #[serde(rename = "sessionID")]
    pub session_id: String,
    #[serde(default)]
    pub questions: Vec<Question>,
}

/// One question of a request.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Question {
    #[serde(default)]
    pub question: String,
    #[serde(default)]
    pub header: String,
    #[serde(default)]
    pub options: Vec<Choice>,
    #[serde(default)]
    pub multiple: bool,
    /// Whether the person may type another answer. Missing means yes.
    #[serde(default)]
    pub custom: Option<bool>,
}

/// One offered answer.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Choice {
    #[serde(default)]
    pub label: String,
    #[serde(default)]
    pub description: String,
}

/// `todo.updated`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Todos {
    #[serde(default)]
    pub todos: Vec<Todo>,
}

/// One step of a plan.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Todo {
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub status: String,
}

/// An entry of `GET /command`.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Command {
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
}

/// `GET /config/providers`
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Providers {
    #[serde(default)]
    pub providers: Vec<Provider>,
    #[serde(default)]
    pub default: BTreeMap<String, String>,
}

/// A provider of models.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Provider {
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub models: BTreeMap<String, ProvidedModel>,
}

/// A model, in the form that its provider uses.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct ProvidedModel {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub limit: Value,
    /// Variants of the model with other settings. Their names are words for the effort. An object, if there
    /// are any.
    #[serde(default)]
    pub variants: Value,
}
