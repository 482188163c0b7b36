//! The log, tested through its trait: one story for every backend, and what only a file on a disk can suffer.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crash;
mod disk;
mod story;
mod together;
