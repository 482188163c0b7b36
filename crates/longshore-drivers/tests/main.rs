//! The tests of the drivers crate, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod anchor;
mod claude;
mod codex;
mod discover;
mod opencode;
mod replays;
mod rig;
mod transport;
