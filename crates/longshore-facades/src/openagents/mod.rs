//! The OpenAgents app: JSON-RPC over a WebSocket, with updates of sessions that resemble ACP before its first version.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | the JSON of the app |
//! | [`dialect`], [`words`], [`size`] | timelines as updates: what is a frame, what is only words, and what is too long |
//! | [`socket`] | a connection, and what it follows |
//! | [`requests`], [`calls`], [`history`] | what the app asks for, and how that is done |
//! | [`drafts`] | sessions before their first prompt |
//! | [`seats`] | what connections follow, for clients whose connection broke |
//! | [`exec_lines`] | a session as lines of `codex exec --json` |

mod calls;
mod dialect;
mod drafts;
mod exec_lines;
mod history;
#[cfg(test)]
mod recorded;
mod requests;
mod seats;
mod size;
mod socket;
mod wire;
mod words;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::facade::{Facade, FacadeListener};

pub(crate) use seats::Seats;

/// For clients with a token.
pub(crate) const FACADE: Facade = Facade {
    name: "openagents",
    private: || Router::new().route("/openagents", get(socket::upgrade)),
    open: Router::new,
    problem: |problem| problem.clone().into_response(),
};

/// For the app itself, which can send no token.
pub(crate) const LISTENER: FacadeListener = FacadeListener {
    name: "openagents",
    port: 9099,
    label: "OpenAgents app",
    service: "_openagents._tcp",
    routes: || Router::new().route("/", get(socket::upgrade)).route("/openagents", get(socket::upgrade)),
};
