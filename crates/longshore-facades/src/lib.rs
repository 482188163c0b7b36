//! North of the waist: who may come in, and the protocols that clients speak.
//!
//! A facade is a projection: it turns events into frames of its protocol and frames into commands. It knows the
//! [`longshore_session::Hub`] and nothing of agents.
//!
//! | module | holds |
//! |---|---|
//! | [`serve`](mod@serve) | connections: how many, and how long each may take |
//! | [`router`] | all routes, and what every request passes first |
//! | [`auth`], [`guard`] | the token; which `Host` and `Origin` are let in |
//! | [`problem`] | errors as `application/problem+json` with stable codes |
//! | [`native`] | our own protocol: HTTP, server-sent events, a JSON-RPC socket |
//! | [`callback`] | the door for programs of agents that call back |
//! | [`metrics`] | Prometheus |

pub mod auth;
pub mod callback;
pub mod guard;
pub mod metrics;
pub mod native;
pub mod problem;
pub mod router;
pub mod serve;

mod stall;

pub use router::App;
pub use serve::serve;
