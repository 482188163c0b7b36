//! `longshore completions`: completions for a shell.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use super::terminal::put;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "For bash: source <(longshore completions bash)")]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "longshore", &mut script);
        put(String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
