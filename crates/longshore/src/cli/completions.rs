//! `longshore completions`: completions for a shell.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;

/// Print completions for a shell.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<ExitCode> {
        clap_complete::generate(self.shell, &mut Cli::command(), "longshore", &mut std::io::stdout());
        Ok(ExitCode::SUCCESS)
    }
}
