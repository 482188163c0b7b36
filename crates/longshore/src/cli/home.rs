//! The data folder, which belongs to one hub at a time.
//!
//! The hub holds the folder itself: the log's own `lock` is a file that somebody may delete, and a second hub would then write
//! into the same log and end the agents of the first.

use std::fs::{File, TryLockError};
use std::time::Duration;

use anyhow::{Context, Result};
use tracing::warn;

use super::exit::Fault;
use super::reach::Running;
use crate::config::Places;

/// How often a hub tries to have the folder, since whoever looks whether it is held holds it for a moment.
const TRIES: u32 = 10;
const TRY_EVERY: Duration = Duration::from_millis(30);

/// Holds the folder as long as this process lives: whoever waits until it is free may open the log then, too.
pub(super) async fn hold(places: &Places) -> Result<()> {
    let folder = File::open(&places.data)
        .with_context(|| format!("cannot open the data folder {}", places.data.display()))?;
    for _ in 0..TRIES {
        match folder.try_lock() {
            Ok(()) => {
                std::mem::forget(folder);
                return Ok(());
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(TRY_EVERY).await,
            // Not every network's file system can; there the log's own lock has to do.
            Err(TryLockError::Error(error)) => {
                warn!(%error, "the data folder itself cannot be held");
                return Ok(());
            }
        }
    }
    Err(is_taken(places).into())
}

/// Whether a hub holds the folder.
pub(super) fn is_held(places: &Places) -> bool {
    File::open(&places.data)
        .is_ok_and(|folder| matches!(folder.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// What a hub says that came second.
pub(super) fn is_taken(places: &Places) -> Fault {
    let at = Running::read(places).map(|running| format!(", at {} (process {})", running.url, running.pid));
    let what = format!("a hub is up already{}", at.unwrap_or_default());
    Fault::conflict(what, "use it as it is, or stop it with `longshore down`")
}
