//! Claude Code: recordings of the real one, and tables for what no recording holds.

mod asks;
mod delegations;
mod desk;
mod handshake;
mod items;
mod recordings;
mod robustness;
mod turns;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::Capture;

/// The recordings of the real one.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/claude");
    let mut paths: Vec<PathBuf> = Vec::new();
    for version in folder.read_dir().unwrap() {
        let files = version.unwrap().path().read_dir().unwrap();
        paths.extend(files.map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    assert!(paths.len() > 90, "the recordings are gone");
    paths
}

pub(crate) fn read(path: &Path) -> Capture {
    Capture::read(BufReader::new(File::open(path).unwrap())).unwrap()
}
