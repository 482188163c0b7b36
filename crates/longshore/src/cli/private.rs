//! Files that others must not read, because they may contain keys.

use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(super) use longshore_facades::key_file::put;

/// A new file that only its owner can read. One that is there already is emptied, and stays as open as its owner made it.
pub(super) fn create(path: &Path) -> Result<File> {
    OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)
}

/// A file that is written on at its end.
pub(super) fn append(path: &Path) -> Result<File> {
    let no_file = || Error::other("it is not a regular file; move it away");
    // Without that, opening a pipe waits for whoever reads it.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    match OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(no_file()),
        // Nobody reads the pipe.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Err(no_file()),
        Err(error) => Err(error),
    }
}
