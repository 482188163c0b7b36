//! The data folder, which belongs to one hub at a time.
//!
//! The hub holds the folder itself: the log's own `lock` is a file that somebody may delete, and a second hub would then write
//! into the same log and end the agents of the first.

use std::fs::{File, TryLockError};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Pid;
use tracing::warn;

use super::connect::Running;
use super::exit::Fault;
use crate::config::Places;

/// How often a hub tries to have the folder, since whoever looks whether it is held holds it for a moment.
const TRIES: u32 = 10;
const TRY_EVERY: Duration = Duration::from_millis(30);

/// How a hub that came second says that.
pub(super) const TAKEN: &str = "a hub is already running";

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
            // A hub is not waited for: whoever stops it would find another one in its place.
            Err(TryLockError::WouldBlock) if is_held(places) => break,
            Err(TryLockError::WouldBlock) => tokio::time::sleep(TRY_EVERY).await,
            // Not every network's file system can; there the log's own lock has to do.
            Err(TryLockError::Error(error)) => {
                warn!(%error, "cannot lock the data folder itself");
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

/// The hub that holds the folder, as the system says it: a note can be old, or gone. Not every system says it.
pub(super) fn holder(places: &Places) -> Option<Pid> {
    let pids = holders(&std::fs::read_to_string("/proc/locks").ok()?, places)?;
    // A file system may call itself by another number in its locks; then the note has to say the same.
    let noted = Running::read(places).map(|running| running.pid);
    let found = pids.iter().find(|(pid, is_here)| *is_here || Some(*pid) == noted)?;
    Pid::from_raw(i32::try_from(found.0).ok()?)
}

/// Who holds a folder of this number, and whether it is one of the same file system.
#[cfg(target_os = "linux")]
fn holders(locks: &str, places: &Places) -> Option<Vec<(u32, bool)>> {
    use std::os::linux::fs::MetadataExt;
    let folder = std::fs::metadata(&places.data).ok()?;
    let (number, device) = (folder.st_ino().to_string(), folder.st_dev());
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    let holds = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words[..] else { return None };
        let (there, inode) = place.rsplit_once(':')?;
        (inode == number).then_some((pid.parse().ok()?, there == device))
    };
    Some(locks.lines().filter_map(holds).collect())
}

#[cfg(not(target_os = "linux"))]
fn holders(_: &str, _: &Places) -> Option<Vec<(u32, bool)>> {
    None
}

/// What a hub says that came second.
pub(super) fn is_taken(places: &Places) -> Fault {
    let holder = holder(places).map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    // The note may be that of a hub that was killed.
    let noted = Running::read(places).filter(|running| holder.is_none_or(|pid| pid == running.pid));
    let at = match (noted, holder) {
        (Some(running), _) => format!(", at {} (process {})", running.url, running.pid),
        (None, Some(pid)) => format!(" (process {pid})"),
        (None, None) => String::new(),
    };
    Fault::conflict(format!("{TAKEN}{at}"), "use this hub, or stop it with `longshore down`")
}
