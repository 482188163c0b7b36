//! OpenCode: recordings of the real one, and tables for what no recording holds.

mod asks;
mod desk;
mod missed;
mod opening;
mod recordings;
mod robustness;
mod turns;

use std::path::PathBuf;

use crate::hearing::recordings_of;

/// The recordings of the real one.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let paths = recordings_of("opencode");
    assert!(paths.len() > 40, "the recordings are gone");
    paths
}
