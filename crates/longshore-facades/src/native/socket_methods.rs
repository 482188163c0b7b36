//! The methods that only the socket has: they follow sessions. All other methods are calls of the table.

use longshore_model::id::{Seq, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answers::Nothing;
use super::call::{Call, Signature, unreadable};
use super::calls;
use super::params::{NoParams, SessionParams};
use crate::kernel::rpc::RpcRequest;
use crate::problem::Problem;

/// A method that only a socket has.
pub struct SocketMethod {
    /// The name of the method.
    pub name: &'static str,
    /// The summary, in one line.
    pub summary: &'static str,
    /// The types of the parameters and of the answer.
    pub signature: Signature,
    read: fn(&RpcRequest) -> Result<SocketCall, String>,
}

/// What a request wants from the socket.
pub(super) enum SocketCall {
    Subscribe(SubscribeParams),
    Unsubscribe(SessionParams),
    Watch(bool),
    Ping,
    Table(&'static Call),
}

/// A subscription to a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SubscribeParams {
    /// The session.
    pub(super) session: SessionId,
    /// Only events after this seq. Default: all events.
    #[serde(default)]
    pub(super) after: Seq,
    /// Whether to send the agents' own frames in `rawEvent`.
    #[serde(default)]
    pub(super) raw: bool,
}

/// The socket follows a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Subscribed {
    pub(super) session: SessionId,
    pub(super) after: Seq,
}

/// The socket no longer follows a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Unsubscribed {
    pub(super) session: SessionId,
    /// Whether the socket followed the session.
    pub(super) subscribed: bool,
}

/// Whether the socket gets the rows of sessions as they change.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Watching {
    pub(super) watching: bool,
}

/// The methods that only a socket has.
pub fn socket_methods() -> [SocketMethod; 5] {
    let of = |name, summary, signature, read| SocketMethod { name, summary, signature, read };
    [
        of("subscribe", "Follow a session", Signature::of::<SubscribeParams, Subscribed>(), |request| {
            request.input().read().map(SocketCall::Subscribe)
        }),
        of(
            "unsubscribe",
            "Stop following a session",
            Signature::of::<SessionParams, Unsubscribed>(),
            |request| request.input().read().map(SocketCall::Unsubscribe),
        ),
        of(
            "watch",
            "Get a notification when the row of a session changes",
            Signature::of::<NoParams, Watching>(),
            |request| request.input().read().map(|NoParams {}| SocketCall::Watch(true)),
        ),
        of("unwatch", "Stop these notifications", Signature::of::<NoParams, Watching>(), |request| {
            request.input().read().map(|NoParams {}| SocketCall::Watch(false))
        }),
        of("ping", "Check that the hub answers", Signature::of::<NoParams, Nothing>(), |request| {
            request.input().read().map(|NoParams {}| SocketCall::Ping)
        }),
    ]
}

/// Finds the method of a request, without running it.
pub(super) fn find(request: &RpcRequest) -> Result<SocketCall, Problem> {
    let name = request.method.as_str();
    match socket_methods().into_iter().find(|method| method.name == name) {
        Some(method) => (method.read)(request).map_err(|fault| unreadable(name, &fault)),
        None => calls::named(name).map(SocketCall::Table).ok_or_else(|| Problem::no_method(name)),
    }
}
