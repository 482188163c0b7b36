//! `longshore react`: the built-in agent, as the hub starts it. It speaks the protocol of `docs/react.md`,
//! not to people.

use std::process::ExitCode;

use anyhow::Result;
use longshore_agent as agent;

/// Runs until the hub hangs up.
pub(super) async fn run() -> Result<ExitCode> {
    agent::run::run().await?;
    Ok(ExitCode::SUCCESS)
}
