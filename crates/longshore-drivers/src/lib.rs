//! South of the waist: the drivers, and the captures that they are tested with.

pub mod capture;
pub mod codex;
