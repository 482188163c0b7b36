//! ACP: recordings of five real agents, and tables for what no recording holds.

mod desk;
mod handshake;
mod permissions;
mod recordings;
mod robustness;
mod settings;
mod tools;
mod turns;
mod works;

use std::path::PathBuf;

use crate::hearing::recordings_of;

/// The recordings of the real agents.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let paths = recordings_of("acp");
    assert!(paths.len() > 130, "the recordings are gone");
    paths
}
