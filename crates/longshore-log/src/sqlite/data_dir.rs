//! The data folder, which only its owner can read and only one hub can hold.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::LogError;

/// The file that marks a folder with a log. It is empty.
const MARK: &str = "log.made";

/// A data folder that this process holds. Dropping it lets the next process take the folder.
#[derive(Debug)]
pub(super) struct DataDir {
    /// The database.
    pub(super) file: Arc<Path>,
    lock: File,
}

impl DataDir {
    /// Makes the folder if it is missing, and takes it. An existing folder keeps its mode; our files in it
    /// are for the owner only.
    pub(super) fn take(path: &Path) -> Result<Self, LogError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| LogError::other("making the data folder", named(path, error)))?;
        let lock = lock(path)?;
        let file: Arc<Path> = path.join("log.db").into();
        // A hub that starts afresh without a word would hide the loss.
        if was_used(path) && !has_log(path) {
            return Err(LogError::Lost { path: file.to_path_buf(), mark: path.join(MARK) });
        }
        private(&file).map_err(|error| failed("opening the log", &file, error))?;
        Ok(Self { file, lock })
    }

    /// Marks the log of this folder as complete. From now on, a missing log is an error.
    pub(super) fn mark_used(&self) {
        let Some(folder) = self.file.parent() else { return };
        if was_used(folder) {
            return;
        }
        // Both the mark and the log become durable here, because the mark must not outlive a log that a power
        // failure takes.
        let marked = private(&folder.join(MARK)).and_then(|_| File::open(folder)?.sync_all());
        if let Err(error) = marked {
            tracing::warn!(%error, "cannot note that this folder has a log");
        }
    }
}

impl Drop for DataDir {
    /// Unlocks explicitly. Closing the file would leave the lock to a process that is just being started and
    /// holds a copy of the descriptor until it runs.
    fn drop(&mut self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "data folder not unlocked");
        }
    }
}

/// Whether a hub ever completed a log in a folder. An interrupted first start leaves other files, even an
/// empty log, and loses nothing.
pub(super) fn was_used(folder: &Path) -> bool {
    folder.join(MARK).exists()
}

/// Whether the folder has a log with content, or something else in its place.
pub(super) fn has_log(folder: &Path) -> bool {
    folder.join("log.db").metadata().is_ok_and(|log| !log.is_file() || log.len() > 0)
}

/// Opens a file that only its owner can read, and creates it if it is missing. SQLite gives its other files
/// the mode of the database.
pub(super) fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

/// The error for a file of ours that cannot be opened.
fn failed(doing: &'static str, path: &Path, error: std::io::Error) -> LogError {
    match matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::IsADirectory) {
        true => LogError::NotAFile { path: path.to_owned() },
        false => LogError::other(doing, named(path, error)),
    }
}

fn lock(folder: &Path) -> Result<File, LogError> {
    let path = folder.join("lock");
    let failed = |error| failed("taking the data folder", &path, error);
    let mut file = private(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            // The process id only helps people who meet the lock. The kernel holds the lock itself.
            let told = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
            told.map_err(failed)?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            Err(LogError::Locked { path: folder.to_owned(), holder: pid.trim().parse().ok() })
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn named(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
