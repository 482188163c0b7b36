//! The integration tests of the program, as one binary: one link, one run.

// A test that meets what it did not expect should stop right there.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod suite;
