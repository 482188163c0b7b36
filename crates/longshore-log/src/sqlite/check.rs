//! Checks whether the file of a log is sound, according to SQLite and to the checksums of its events. A hub
//! may have the file open.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::data_dir::{has_log, was_used};
use super::{place, sum};

/// How long the check compares events with their checksums, the newest first.
const SUMS_WITHIN: Duration = Duration::from_secs(3);

/// Why a log may not be sound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// The file does not hold what the log wrote.
    #[error("damaged ({0})")]
    Damaged(String),
    /// The folder had a log, and the log is gone or empty.
    #[error("missing or empty, but a hub has used this folder")]
    Lost,
    /// The check cannot read the file, so it knows nothing about it.
    #[error("cannot be read ({0})")]
    OutOfReach(String),
}

/// Checks the log in a folder. Errors are in SQLite's words; a folder that never had a log is sound. Only
/// events have checksums. Damage to the rows of sessions and keys shows only if it damages the database
/// itself.
pub fn quick_check(folder: &Path) -> Result<(), Unsound> {
    if !has_log(folder) {
        return if was_used(folder) { Err(Unsound::Lost) } else { Ok(()) };
    }
    let file = folder.join("log.db");
    // The check writes nothing. But a reader of a write-ahead log needs the log's index, and may have to
    // create it.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&file, flags).map_err(|error| told(&error))?;
    connection.busy_timeout(Duration::from_secs(5)).map_err(|error| told(&error))?;
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(|error| told(&error))?;
    if verdict != "ok" {
        return Err(Unsound::Damaged(verdict));
    }
    compare_sums(&connection)
        .map_err(|error| told(&error))?
        .map_or(Ok(()), |harmed| Err(Unsound::Damaged(harmed)))
}

/// The first damaged event that the check finds in time. A log of an older format has no checksums.
fn compare_sums(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let until = Instant::now() + SUMS_WITHIN;
    let newest_first = "SELECT place, json, sum FROM events WHERE sum IS NOT NULL ORDER BY place DESC";
    let Ok(mut statement) = connection.prepare(newest_first) else { return Ok(None) };
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let written = row.get(2)?;
        let is_whole = row.get_ref(1)?.as_str().is_ok_and(|json| sum::holds(json, written));
        if !is_whole {
            let seq = place::seq(row.get(0)?);
            return Ok(Some(format!("event {seq} of a session is not as it was written")));
        }
        if Instant::now() > until {
            break;
        }
    }
    Ok(None)
}

fn told(error: &rusqlite::Error) -> Unsound {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, PermissionDenied, ReadOnly};
    match error.sqlite_error_code() {
        Some(CannotOpen | DatabaseBusy | DatabaseLocked | PermissionDenied | ReadOnly) => {
            Unsound::OutOfReach(error.to_string())
        }
        _ => Unsound::Damaged(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_log_is_told_from_a_sound_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(quick_check(folder.path()), Ok(()));
        drop(crate::SqliteLog::open(folder.path(), &crate::LogSettings::default()).unwrap());
        assert_eq!(quick_check(folder.path()), Ok(()));
        let file = folder.path().join("log.db");
        let connection = Connection::open(&file).unwrap();
        connection
            .execute_batch(
                "INSERT INTO events (place, at, growth, findable, json, sum) VALUES (1, 0, 0, 0, 'x', 4711)",
            )
            .unwrap();
        let harmed = quick_check(folder.path());
        assert!(matches!(&harmed, Err(Unsound::Damaged(why)) if why.contains("event 1")), "{harmed:?}");
        drop(connection);
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0x5a);
        std::fs::write(&file, bytes).unwrap();
        assert!(quick_check(folder.path()).is_err());
    }

    #[test]
    fn a_log_that_is_lost_is_told_from_one_that_never_was() {
        let folder = tempfile::tempdir().unwrap();
        drop(crate::SqliteLog::open(folder.path(), &crate::LogSettings::default()).unwrap());
        let file = folder.path().join("log.db");
        std::fs::write(&file, "").unwrap();
        assert_eq!(quick_check(folder.path()), Err(Unsound::Lost));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(quick_check(folder.path()), Err(Unsound::Lost));
        assert!(!file.exists(), "a look makes none");
        // As somebody does who wants to start afresh.
        std::fs::remove_file(folder.path().join("log.made")).unwrap();
        assert_eq!(quick_check(folder.path()), Ok(()));
    }
}
