//! Codex Pocket over real sockets.

mod access;
mod history;
pub(crate) mod pocket;
mod pushes;
pub(crate) mod screen;
mod turns;
