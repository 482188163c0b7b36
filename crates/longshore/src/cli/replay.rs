//! `longshore replay`: the events that a recorded wire becomes.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

/// Show the events that a recorded wire becomes.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The capture
    file: PathBuf,
}

impl Replay {
    pub(super) fn run(self, _as_json: bool) -> Result<ExitCode> {
        anyhow::bail!("{}", self.file.display())
    }
}
