//! `longshore down`: stop the hub that runs in the background.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use super::home;
use super::reach::{self, Running};
use super::terminal::{put_line, say};
use crate::config::Places;

/// How long a hub may take to stop its agents and close its log.
const TRIES: usize = 200;

pub(super) async fn run(as_json: bool) -> Result<ExitCode> {
    let places = Places::find()?;
    // Only a hub that answers is stopped: a stale note might name somebody else's process.
    drop(reach::running().await?);
    let running =
        Running::read(&places).context("the hub that answers was not started from this data folder")?;
    let pid = i32::try_from(running.pid).ok().and_then(Pid::from_raw).context("the hub's note is damaged")?;
    kill_process(pid, Signal::TERM).context("cannot stop the hub")?;
    let mut pace = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..TRIES {
        pace.tick().await;
        // The lock is the last thing that it lets go of. It takes its note away when all is done; one that was killed on the way leaves it behind.
        let is_done = !places.running().exists() || test_kill_process(pid).is_err();
        if is_done && !home::is_held(&places) {
            match as_json {
                true => put_line(json!({ "stopped": running.url }))?,
                false => say("the hub has stopped; its sessions sleep")?,
            }
            return Ok(ExitCode::SUCCESS);
        }
    }
    bail!("the hub (process {}) does not stop", running.pid)
}
