//! The chunks protocol of Potpie: a conversation over plain HTTP, whose answers are streams of JSON objects.
//!
//! A conversation is a session, under the same id. A client's `session_id` is the key of its prompt, so the hub keeps no
//! table of runs: what a name stands for is in the log, also after a restart. See `docs/chunks.md`.

mod calls;
mod citations;
mod flow;
mod form;
mod framing;
mod history;
mod routes;
mod stream;
mod tools;
mod turn;
mod wire;
mod words;

#[cfg(test)]
#[path = "../../../longshore-model/tests/stage.rs"]
#[allow(dead_code)]
mod stage;
#[cfg(test)]
mod tests;

use axum::Router;

use crate::facade::Facade;

pub(crate) use routes::LOOKS;

/// The chunks protocol.
pub(crate) const FACADE: Facade =
    Facade { name: "chunks", private: routes::routes, open: Router::new, problem: calls::in_own_form };
