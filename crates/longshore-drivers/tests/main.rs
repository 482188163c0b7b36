//! The tests of the drivers crate, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod acp;
mod anchor;
mod claude;
mod codex;
mod discover;
mod harness;
mod hearing;
mod host_io;
mod import;
mod opencode;
mod react;
mod rig;
mod transport;
