//! OpenCode: recordings of the real one, and tables for what no recording holds.

mod approvals;
mod handshake;
mod harness;
mod missed;
mod recordings;
mod robustness;
mod stops;
mod turns;

use std::path::PathBuf;

use longshore_drivers::capture::Capture;
use longshore_drivers::opencode::{NAME, capabilities, name};

use crate::hearing::{DriverRecordings, recordings_of};

/// The recordings of the real one.
pub(crate) fn recordings() -> Vec<(PathBuf, Capture)> {
    recordings_of(NAME, 40)
}

const HEARD: DriverRecordings = DriverRecordings {
    driver: NAME,
    recordings,
    fragile: &["04_", "05b", "07_", "08b", "09_", "10_", "11_", "11b", "12b", "18_", "27_"],
    agent: |_| (name(), capabilities()),
};
