//! The native protocol: everything that the hub can do, over HTTP, as server-sent events, and on a JSON-RPC
//! socket.
//!
//! `calls` lists each call once. `http` and `socket` serve the calls; `openapi` describes them.

pub mod answers;
mod call;
mod calls;
mod check;
mod events;
mod http;
mod input;
mod openapi;
pub mod params;
mod socket;
mod socket_methods;

pub use call::{Call, Signature, Verb};
pub use calls::calls;
pub(crate) use calls::{access_of, me, revoke_device};
pub use http::routes;
pub(crate) use input::{ByName, CallInput};
pub use openapi::document as openapi;
pub use socket_methods::{SocketMethod, socket_methods};
