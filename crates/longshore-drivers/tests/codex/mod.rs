//! Codex: recordings of the real one, and tables for what no recording holds.

mod recordings;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::Capture;

/// The recordings of the real codex.
pub fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/codex/codex-0.166.0");
    let mut paths: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 50, "the recordings are gone");
    paths
}

pub fn read(path: &Path) -> Capture {
    Capture::read(BufReader::new(File::open(path).unwrap())).unwrap()
}
