//! Claude Code: recordings of the real one, and tables for what no recording holds.

mod approvals;
mod delegations;
mod handshake;
mod harness;
mod items;
mod recordings;
mod robustness;
mod turns;

use std::path::PathBuf;

use longshore_drivers::capture::Capture;
use longshore_drivers::claude::{NAME, capabilities, name};

use crate::hearing::{DriverRecordings, recordings_of};

/// The recordings of the real one.
pub(crate) fn recordings() -> Vec<(PathBuf, Capture)> {
    recordings_of(NAME, 90)
}

const HEARD: DriverRecordings = DriverRecordings {
    driver: NAME,
    recordings,
    fragile: &["01_", "05_", "08_", "10_", "12c", "12d", "13c", "14_", "16c", "18d", "36_", "43b"],
    agent: |_| (name(), capabilities()),
};
