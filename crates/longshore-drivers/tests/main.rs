//! The tests of the drivers crate, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod acp;
mod anchor;
mod claude;
mod codex;
mod desk;
mod discover;
mod hearing;
mod opencode;
mod past;
mod react;
mod rig;
mod transport;
mod work;
