//! Codex: recordings of the real one, and tables for what no recording holds.

mod approvals;
mod exec;
mod handshake;
mod harness;
mod items;
mod questions;
mod recordings;
mod robustness;
mod turns;

use std::path::PathBuf;

use longshore_drivers::capture::Capture;
use longshore_drivers::codex::{NAME, capabilities, name};

use crate::hearing::{DriverRecordings, recordings_of};

/// The recordings of the real codex, and the few that were written by hand where none is left.
pub(crate) fn recordings() -> Vec<(PathBuf, Capture)> {
    recordings_of(NAME, 50)
}

const HEARD: DriverRecordings = DriverRecordings {
    driver: NAME,
    recordings,
    fragile: &[
        "01_hello",
        "c03_cmd_accept",
        "c12_patch",
        "c16_user",
        "d01_interrupt",
        "f07_cut",
        "g02_mcp",
        "k01",
        "k02",
    ],
    agent: |_| (name(), capabilities()),
};
