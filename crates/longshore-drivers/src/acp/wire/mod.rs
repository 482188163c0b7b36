//! The JSON of the protocol, with its names.
//!
//! ```text
//! -> initialize                 <- response with the capabilities of the agent
//! -> session/new                <- response with the id of the session      (or session/load, /resume, /fork)
//!                               <- session/update {available_commands_update}      sometimes before that response
//! -> session/set_config_option  <- response        (or session/set_mode, session/set_model)
//! -> session/prompt             <- session/update {agent_message_chunk, tool_call, plan, ..}*
//!                               <- session/request_permission {id}   -> response
//!                               <- fs/.., terminal/.. {id}           -> response
//! -> session/cancel             (no response)
//!                               <- response to session/prompt, which ends the turn
//! ```
//!
//! JSON-RPC 2.0, one object per line. Both sides number their requests. An id may be any JSON value, so the
//! driver keeps the agent's ids as they were written. The driver skips unknown fields, and reads a missing or
//! null field as empty. It reads the tag of an update before the rest of the update.

mod answers;
mod asked;
mod updates;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use answers::*;
pub use asked::*;
pub use updates::*;

/// The version of the protocol that the driver uses.
pub const PROTOCOL_VERSION: u32 = 1;

/// JSON-RPC's code for an unknown method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC's code for invalid parameters.
pub const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC's code for any other error.
pub const INTERNAL_ERROR: i64 = -32603;
/// The request was withdrawn.
pub const CANCELLED: i64 = -32800;
/// The error code for a missing login.
pub const AUTH_REQUIRED: i64 = -32000;
/// The requested thing does not exist.
pub const NOT_FOUND: i64 = -32002;

/// The outer fields of every line, borrowed from the line.
#[derive(Debug, Deserialize)]
pub struct Head<'a> {
    /// Empty in a response.
    #[serde(borrow, default)]
    pub method: Cow<'a, str>,
    /// The id of the agent's request, or of the driver's request that this line answers. It is kept as it was
    /// written.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// The parameters of a request or a notification.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// The result in a successful response.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    /// The error in a response.
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The id of an agent's request, as it was written: `0`, `"aec468ee"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RpcId(Box<str>);

impl RpcId {
    /// Takes the id from the agent's line.
    pub fn of(id: &RawValue) -> Self {
        Self(id.get().into())
    }

    /// The id as JSON, for the driver's response.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// Why a request was refused.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RpcError {
    /// A code of JSON-RPC, a code of the protocol, or the HTTP status of a model's answer.
    pub code: i64,
    /// The text, mostly for people.
    #[serde(deserialize_with = "empty")]
    pub message: String,
    /// Additional data.
    #[serde(deserialize_with = "empty")]
    pub data: Value,
}

/// The session of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place<'a> {
    /// The id of the session.
    #[serde(borrow)]
    pub session_id: Cow<'a, str>,
}

/// Reads null as empty.
fn empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
