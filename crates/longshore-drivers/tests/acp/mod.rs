//! ACP: recordings of five real agents, and tables for what no recording holds.

mod approvals;
mod handshake;
mod harness;
mod host_requests;
mod recordings;
mod robustness;
mod settings;
mod tools;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;

use longshore_drivers::acp::NAME;
use longshore_drivers::acp::replay::recorded_row;
use longshore_drivers::capture::Capture;

use crate::hearing::{DriverRecordings, recordings_of};

/// The recordings of the real agents.
pub(crate) fn recordings() -> Vec<(PathBuf, Capture)> {
    recordings_of(NAME, 130)
}

const HEARD: DriverRecordings = DriverRecordings {
    driver: NAME,
    recordings,
    fragile: &[
        "gemini-edit.",
        "gemini-load-later.",
        "copilot-tool-allow.",
        "copilot-mode.",
        "codex-tool-allow.",
        "codex_untrusted-edit.",
        "claude-terminal.",
        "claude-plan.",
        "opencode-edit.",
        "opencode-perm-hang-cancel.",
    ],
    agent: |capture| {
        let row = recorded_row(&capture.agent);
        (Arc::from(row.name.as_ref()), row.capabilities())
    },
};
