//! The anchor, with real processes.

mod backpressure;
mod callers;
mod endings;
mod queries;
mod servers;
mod stops;
mod talk;
mod tapes;
mod turns;
