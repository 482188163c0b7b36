//! What all facades share, so that a facade is a wire, a dialect and a few routes.
//!
//! | module | holds |
//! |---|---|
//! | [`link`] | one WebSocket: its loop and its bounds. A [`Protocol`] says what the client gets |
//! | [`attach`] | the folded history and the live events of a session, joined at one seq |
//! | [`ask`] | approvals and questions under the ids of foreign protocols |
//! | [`rpc`] | JSON-RPC: requests, responses, errors |
//! | [`uploads`] | files that clients send before the prompt to which they belong |
//! | [`redact`] | hides secrets in texts for people who look for a fault |
//! | [`diary`] | what happened at the doors since the start |
//!
//! The way of an event: [`link`] takes the next frames of a subscription, a facade folds them with its [`Follower`], its
//! dialect translates each change of an item, and the link sends what comes of it. The way back: the link gives a message
//! to the protocol, which returns [`Step`]s: send this, follow that session, do this call of the [`Gate`](crate::gate::Gate).

pub(crate) mod ask;
pub(crate) mod attach;
pub(crate) mod diary;
pub(crate) mod link;
pub(crate) mod redact;
pub(crate) mod rpc;
pub(crate) mod uploads;

pub(crate) use attach::{Attached, Follower};
pub(crate) use link::{ClientMessage, LinkState, Protocol, RowChange, Step, Steps};
