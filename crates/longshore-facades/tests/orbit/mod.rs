//! Codex Pocket over real sockets.

mod access;
mod history;
pub(crate) mod pocket;
mod pushes;
mod screen;
mod turns;
