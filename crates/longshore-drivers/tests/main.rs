//! The tests of the drivers, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod codex;
