//! Codex Pocket over real sockets.

mod access;
mod history;
mod pocket;
mod screen;
mod turns;
