//! Codex: recordings of the real one, and tables for what no recording holds.

mod approvals;
mod desk;
mod handshake;
mod items;
mod questions;
mod recordings;
mod robustness;
mod turns;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::Capture;

/// The recordings of the real codex, and the few that were written by hand where none is left.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/codex");
    let mut paths: Vec<PathBuf> = Vec::new();
    for version in ["codex-0.166.0", "by-hand"] {
        let files = folder.join(version).read_dir().unwrap();
        paths.extend(files.map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    assert!(paths.len() > 50, "the recordings are gone");
    paths
}

pub(crate) fn read(path: &Path) -> Capture {
    Capture::read(BufReader::new(File::open(path).unwrap())).unwrap()
}
