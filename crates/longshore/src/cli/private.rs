//! Files that others must not read: what they hold may have keys in it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A new file that only its owner can read. One that is there already is emptied, and stays as open as its owner made it.
pub(super) fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)
}
