//! The built-in agent: its APIs, its history, its loop, its driver.

mod bodies;
mod histories;
mod streams;
