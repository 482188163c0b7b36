//! The tests of the drivers crate, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod anchor;
mod codex;
mod discover;
mod past;
mod rig;
mod transport;
