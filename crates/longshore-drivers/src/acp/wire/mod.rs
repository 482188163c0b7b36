//! Their JSON, with their names.
//!
//! ```text
//! -> initialize                 <- its answer: what the agent can do
//! -> session/new                <- its answer, which names the session      (or session/load, /resume, /fork)
//!                               <- session/update {available_commands_update}      sometimes before that answer
//! -> session/set_config_option  <- its answer      (or session/set_mode, session/set_model)
//! -> session/prompt             <- session/update {agent_message_chunk, tool_call, plan, ..}*
//!                               <- session/request_permission {id}   -> its answer
//!                               <- fs/.., terminal/.. {id}           -> its answer
//! -> session/cancel             (no answer)
//!                               <- the answer to session/prompt, which ends the turn
//! ```
//!
//! JSON-RPC 2.0, one object per line. Both sides number their requests, and an id may be anything, so those of theirs
//! are kept as they were written. Unknown fields are skipped, a field that is missing or null reads as empty, and
//! updates are told apart by their tag before anything else of them is read.

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

/// The version of the protocol that we speak.
pub const PROTOCOL_VERSION: u32 = 1;

/// What JSON-RPC calls a method that is not there.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// What JSON-RPC calls parameters that make no sense.
pub const INVALID_PARAMS: i64 = -32602;
/// What JSON-RPC calls everything else.
pub const INTERNAL_ERROR: i64 = -32603;
/// The request was withdrawn.
pub const CANCELLED: i64 = -32800;
/// The error code for a missing login.
pub const AUTH_REQUIRED: i64 = -32000;
/// The thing that is named is not there.
pub const NOT_FOUND: i64 = -32002;

/// The outside of every line, borrowed from it.
#[derive(Debug, Deserialize)]
pub struct Head<'a> {
    /// Empty in answers.
    #[serde(borrow, default)]
    pub method: Cow<'a, str>,
    /// Of a request of theirs, or of ours that this answers, as it was written.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// What a request or a notification is about.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// A good answer.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    /// The error.
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The id of a request of theirs, as it was written: `0`, `"aec468ee"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RpcId(Box<str>);

impl RpcId {
    /// From their line.
    pub fn of(id: &RawValue) -> Self {
        Self(id.get().into())
    }

    /// For our answer.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// Why a request was refused.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RpcError {
    /// One of JSON-RPC's, one of the protocol's, or the status of a model's answer.
    pub code: i64,
    /// For people, mostly.
    #[serde(deserialize_with = "empty")]
    pub message: String,
    /// More.
    #[serde(deserialize_with = "empty")]
    pub data: Value,
}

/// Which session something concerns.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place<'a> {
    /// Its name.
    #[serde(borrow)]
    pub session_id: Cow<'a, str>,
}

/// Null reads as empty.
fn empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
