//! The parts of the `longshore` program that have a life outside its command line.
//!
//! The binary in `main.rs` is verbs; what a verb does that a test or another verb wants too stands here.

pub mod render;
