//! Codex: recordings of the real one, and tables for what no recording holds.

mod approvals;
mod desk;
mod exec;
mod handshake;
mod items;
mod questions;
mod recordings;
mod robustness;
mod turns;

use std::path::PathBuf;

pub(crate) use crate::hearing::read;
use crate::hearing::recordings_of;

/// The recordings of the real codex, and the few that were written by hand where none is left.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let paths = recordings_of("codex");
    assert!(paths.len() > 50, "the recordings are gone");
    paths
}
