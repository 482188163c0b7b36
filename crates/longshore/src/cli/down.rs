//! `longshore down`: stop the hub that runs in the background.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use super::connect::{self, Running};
use super::exit::Fault;
use super::home;
use super::terminal::{put_line, say};
use crate::client::Unreachable;
use crate::config::Places;

/// How long a hub may take to stop its agents and close its log.
const TRIES: usize = 200;

pub(super) async fn run(as_json: bool) -> Result<ExitCode> {
    let places = Places::find()?;
    let noted = Running::read(&places);
    // Whoever holds the folder is its hub. To end a process of one's own takes no token, and whoever has lost it has no other way.
    let holder = connect::named_url().is_none().then(|| home::holder(&places)).flatten();
    let pid = match holder {
        Some(pid) => pid,
        None => answering(&places, noted.as_ref()).await?,
    };
    match kill_process(pid, Signal::TERM) {
        // Another `down` was first, and the hub is gone already.
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error).context("cannot stop the hub"),
    }
    let has_stopped = || match holder {
        // That is the last thing that it lets go of. Another hub may have it at once.
        Some(_) => home::holder(&places) != Some(pid),
        // It takes its note away when all is done; one that was killed on the way leaves it behind.
        None => (!places.running().exists() || test_kill_process(pid).is_err()) && !home::is_held(&places),
    };
    let mut pace = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..TRIES {
        pace.tick().await;
        if has_stopped() {
            let is_its = |running: &Running| process_of(running) == Some(pid);
            match as_json {
                true => put_line(json!({ "stopped": noted.filter(is_its).map(|running| running.url) }))?,
                false => say("the hub has stopped; its sessions are asleep")?,
            }
            return Ok(ExitCode::SUCCESS);
        }
    }
    bail!("the hub (process {0}) does not stop; end it with `kill -9 {0}`", pid.as_raw_nonzero())
}

fn process_of(running: &Running) -> Option<Pid> {
    i32::try_from(running.pid).ok().and_then(Pid::from_raw)
}

/// The hub that the note names, where the system does not say who holds the folder. Only one that answers is stopped: a stale
/// note might name somebody else's process.
async fn answering(places: &Places, noted: Option<&Running>) -> Result<Pid> {
    match (connect::running().await, noted) {
        (Ok(_), Some(running)) => process_of(running).context("the hub's file hub.json is damaged"),
        (_, noted) if home::is_held(places) => Err(nameless(places, noted).into()),
        (Ok(_), None) => bail!(
            "the hub that answers uses another data folder; set LONGSHORE_HOME or LONGSHORE_DATA_DIR to that folder"
        ),
        (Err(error), _) if error.is::<Unreachable>() && connect::named_url().is_none() => {
            Err(Fault::no_hub("no hub runs here", "there is nothing to stop; `longshore up` starts a hub")
                .into())
        }
        (Err(error), _) => Err(error),
    }
}

/// A hub is there, and it is not sure which process it is.
fn nameless(places: &Places, noted: Option<&Running>) -> Fault {
    let what = format!("a hub uses the data folder {}, but its process id is unknown", places.data.display());
    let hint = match noted {
        Some(running) => {
            format!("its file hub.json names the process {0}: check that it is a hub, then end it with `kill {0}`", running.pid)
        }
        None => {
            "`pgrep -fl 'longshore up'` lists the hubs; end the hub of this folder with `kill` and its process id"
                .to_owned()
        }
    };
    Fault::conflict(what, hint)
}
