//! The built-in agent: a loop on any model API, with tools of its own.

pub mod tools;
