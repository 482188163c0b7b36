//! Our own protocol: everything the hub can do, over HTTP, as server-sent events, and on a JSON-RPC socket.
//!
//! `call` holds what can be asked and what it comes to, once; `http` and `socket` are two ways to ask.

mod account;
mod call;
mod check;
mod events;
mod http;
mod openapi;
pub mod params;
mod rpc;
mod socket;
mod socket_calls;

pub(crate) use account::me;
pub use http::routes;
pub use openapi::document as openapi;
pub(crate) use params::ByName;
