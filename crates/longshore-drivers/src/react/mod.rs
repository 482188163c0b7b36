//! The agent that is built in: a ReAct loop on any model API, in a process of its own.

pub mod tools;
