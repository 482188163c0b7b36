//! The anchor, with real processes.

mod backpressure;
mod endings;
mod queries;
mod servers;
mod talk;
mod tapes;
