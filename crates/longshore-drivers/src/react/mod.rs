//! The built-in agent: a loop on any model API, with tools of its own.

pub mod api;
pub mod history;
pub mod machine;
pub mod settings;
pub mod tools;
pub mod wire;
