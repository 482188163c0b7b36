//! OpenCode: recordings of the real one, and tables for what no recording holds.

mod asks;
mod desk;
mod missed;
mod opening;
mod recordings;
mod robustness;
mod turns;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::Capture;

/// The recordings of the real one.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/opencode/opencode-1.18.33");
    let files = folder.read_dir().unwrap();
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 40, "the recordings are gone");
    paths
}

pub(crate) fn read(path: &Path) -> Capture {
    Capture::read(BufReader::new(File::open(path).unwrap())).unwrap()
}
