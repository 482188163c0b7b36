//! Whether the file of a log is sound, as SQLite sees it. A hub may have it open.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Looks through the log in a folder. What is wrong with it is told in SQLite's words; a folder without one is sound.
pub fn quick_check(folder: &Path) -> Result<(), String> {
    let file = folder.join("log.db");
    if !file.exists() {
        return Ok(());
    }
    // Nothing is written, but a reader of a write-ahead log needs its index, which it may have to make.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |error: rusqlite::Error| error.to_string();
    let connection = Connection::open_with_flags(&file, flags).map_err(told)?;
    connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(told)?;
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(told)?;
    if verdict == "ok" { Ok(()) } else { Err(verdict) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_log_is_told_from_a_sound_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(quick_check(folder.path()), Ok(()));
        drop(crate::SqliteLog::open(folder.path(), &crate::Settings::default()).unwrap());
        assert_eq!(quick_check(folder.path()), Ok(()));
        let file = folder.path().join("log.db");
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0x5a);
        std::fs::write(&file, bytes).unwrap();
        assert!(quick_check(folder.path()).is_err());
    }
}
