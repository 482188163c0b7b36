//! Recordings of real agents, replayed again and again.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longshore_drivers::capture::{self, Capture, Direction};

use crate::cpu::Cpu;

/// The folder of the recordings.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/longshore-drivers/captures")
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in folder.read_dir().with_context(|| format!("no folder {}", folder.display()))? {
            let path = entry?.path();
            match path.is_dir() {
                true => left.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// How many lines of agents are translated per second, by driver. This includes the time of the player, which turns the
/// recorded client's actions into actions of Longshore.
pub(crate) fn replay(seconds: f64) -> Result<Vec<(&'static str, f64)>> {
    ["codex", "claude", "acp", "opencode"]
        .into_iter()
        .map(|driver| Ok((driver, rate(driver, seconds)?)))
        .collect()
}

fn rate(driver: &str, seconds: f64) -> Result<f64> {
    let read = |path: &PathBuf| Ok(Capture::read(BufReader::new(File::open(path)?))?);
    let captures: Vec<Capture> = files(&folder().join(driver))?.iter().map(read).collect::<Result<_>>()?;
    let lines =
        |capture: &Capture| capture.entries.iter().filter(|entry| entry.dir == Direction::FromAgent).count();
    let all: usize = captures.iter().map(lines).sum();
    let (cpu, mut heard) = (Cpu::of_thread(), 0);
    while cpu.seconds() < seconds {
        for capture in &captures {
            std::hint::black_box(capture::replay(capture)?);
        }
        heard += all;
    }
    Ok(heard as f64 / cpu.seconds())
}
