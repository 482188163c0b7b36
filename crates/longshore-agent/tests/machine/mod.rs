//! The loop, and what it remembers.

mod anything;
mod cuts;
mod harness;
mod histories;
mod order;
mod session_tools;
mod thoughts;
mod turns;
