//! North of the waist: who may connect, and the protocols that clients speak.
//!
//! A facade is a projection: it turns events into frames of its protocol, and frames into commands. It knows the
//! [`longshore_session::Hub`] and no agent.
//!
//! | module | holds |
//! |---|---|
//! | [`serve`](mod@serve), [`berth`] | connections: how many, whose, and how long each may take |
//! | [`intake`] | unfinished requests: how many bytes, and how long each may take |
//! | [`outgo`], [`ledger`] | answers and events on their way: how many bytes, and who waits |
//! | [`router`] | all routes, and the checks of every request |
//! | [`auth`], [`guard`] | who may connect and what each caller may do; which `Host` and `Origin` are allowed |
//! | [`gate`] | the one way to the hub: the hub as one caller may use it |
//! | [`pair`] | how a new device gets a token |
//! | [`push`] | pushes to devices that show none of our pages |
//! | [`tls`] | a certificate of the user, or of the hub's own authority |
//! | [`key_file`] | the files of the hub's own keys |
//! | [`web`] | the web app, which is part of the program |
//! | [`problem`] | errors as `application/problem+json` with stable codes |
//! | `kernel` | what all facades share: the socket, attaching to a session, asks under foreign ids |
//! | [`native`] | our own protocol: HTTP, server-sent events, a JSON-RPC socket |
//! | [`facade`] | the table of client protocols that others wrote |
//! | `orbit` | the server of Codex Pocket |
//! | [`callback`] | the route for programs of agents that call back |
//! | [`metrics`] | Prometheus |

pub mod auth;
pub mod berth;
pub mod callback;
pub mod facade;
pub mod gate;
pub mod guard;
pub mod intake;
pub mod key_file;
pub mod ledger;
pub mod metrics;
pub mod native;
pub mod outgo;
pub mod pair;
pub mod problem;
pub mod push;
pub mod router;
pub mod serve;
pub mod tls;
pub mod web;

mod again;
mod kernel;
mod orbit;
mod presence;
mod stall;

pub use router::{App, Setup, SetupError};
pub use serve::{serve, serve_callbacks};
