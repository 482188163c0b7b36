//! Codex Pocket: the server of its web UI, for every agent.
//!
//! A thread is a session, under the same id. What the client gets is a projection of the log: there is no state but
//! what a connection follows.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | their messages |
//! | [`dialect`], [`items`], [`asks`], [`diffs`], [`threads`], [`settings`] | the projection, without any IO |
//! | [`socket`], [`control`] | one connection, and the messages about it |
//! | [`requests`], [`calls`], [`replies`], [`attachments`] | what a client asks, and what it answers |
//! | [`records`], [`routes`], [`import`] | a thread over HTTP: events, search, export, import, archive |
//! | [`http`] | the other routes: pairing, administration, files, custom agents |
//! | [`faults`] | errors in the words of the protocol |

mod asks;
mod attachments;
mod calls;
mod control;
mod dialect;
mod diffs;
mod faults;
pub(crate) mod http;
mod import;
mod items;
mod records;
mod replies;
mod requests;
mod routes;
mod settings;
mod socket;
mod threads;
mod wire;

use crate::facade::Facade;

/// The entry of the table of facades.
pub(crate) const FACADE: Facade =
    Facade { name: "orbit", private: routes::private, open: routes::open, problem: http::in_its_form };

#[cfg(test)]
mod recorded;
#[cfg(test)]
#[path = "../../tests/orbit/screen.rs"]
mod screen;
