//! The database: how a connection is set up, and how an old format becomes the newest one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::data_dir::private;
use super::sqlite_error::SqliteError;
use super::{Durability, LogSettings};
use crate::LogError;

/// One migration per format; the number of a format is its number of migrations. A released migration never
/// changes.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_devices.sql"),
    include_str!("migrations/0003_cut_erased_sums.sql"),
    include_str!("migrations/0004_feed_and_keys.sql"),
];

/// "LONG": tells our file from other databases.
const APPLICATION_ID: i64 = 0x4C4F_4E47;

/// Opens the database for writing and migrates it to this program's format.
pub(super) fn open(file: &Path, settings: &LogSettings) -> Result<Connection, LogError> {
    let opened = || -> Result<Connection, SqliteError> {
        let mut connection = connect(file)?;
        // First of all: a file that is not ours, or newer than this program, stays as it is.
        check(&connection, file, STEPS)?;
        set_up_writing(&connection, settings)?;
        migrate(&mut connection, file, STEPS)?;
        Ok(connection)
    };
    opened().map_err(|fault| fault.at(file, "opening the log"))
}

/// Opens a second writing connection, for checkpoints.
pub(super) fn open_beside(file: &Path, settings: &LogSettings) -> Result<Connection, SqliteError> {
    let connection = connect(file)?;
    set_up_writing(&connection, settings)?;
    Ok(connection)
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// Opens a read-only connection.
pub(super) fn open_reading(file: &Path) -> Result<Connection, SqliteError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

fn set_up_writing(connection: &Connection, settings: &LogSettings) -> Result<(), SqliteError> {
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(
        None,
        "synchronous",
        match settings.durability {
            Durability::Full => "full",
            Durability::Normal => "normal",
        },
    )?;
    // The checkpoint thread does all checkpoints, off the commit path.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update_and_check(
        None,
        "journal_size_limit",
        super::checkpoint::WAL_LIMIT as i64,
        |_| Ok(()),
    )?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "cache_size", -4_096)?;
    // SQLite overwrites the old content of a row in its page, because it writes the page anyway.
    connection.pragma_update(None, "secure_delete", "fast")?;
    connection.set_prepared_statement_cache_capacity(64);
    if let Some(bytes) = settings.max_bytes {
        let page: u64 = number(connection, "page_size")?.max(1) as u64;
        connection
            .pragma_update_and_check(None, "max_page_count", (bytes / page).max(1) as i64, |_| Ok(()))?;
    }
    Ok(())
}

/// The value of a numeric pragma.
pub(super) fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

/// The format of the database. Refuses a database that this program must not touch.
fn check(connection: &Connection, file: &Path, steps: &[&str]) -> Result<i64, SqliteError> {
    let (found, known) = (number(connection, "user_version")?, steps.len() as i64);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 && number(connection, "application_id")? != APPLICATION_ID {
        return Err(SqliteError::Damaged("it is a database of another program".into()));
    }
    if found > known {
        return Err(LogError::NewerVersion { path: file.into(), found, known }.into());
    }
    Ok(found)
}

fn migrate(connection: &mut Connection, file: &Path, steps: &[&str]) -> Result<(), SqliteError> {
    let (found, known) = (check(connection, file, steps)?, steps.len() as i64);
    if found == known {
        return Ok(());
    }
    if found > 0 {
        back_up(connection, file, found)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in steps.iter().skip(found as usize) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    // A log that was created just now needs no message.
    if found > 0 {
        tracing::info!(from = found, to = known, "log format brought up to date");
    }
    Ok(())
}

/// Copies the old format beside the database. The copy stays until somebody erases a session, or until
/// retention deletes it.
fn back_up(connection: &Connection, file: &Path, found: i64) -> Result<(), SqliteError> {
    let copy = copy_of(file, found);
    let failed = |error: std::io::Error| LogError::other("backing up the log", error);
    match std::fs::remove_file(&copy) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error).into()),
        Ok(()) | Err(_) => {}
    }
    private(&copy).map_err(failed)?;
    connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    tracing::info!(copy = %copy.display(), "log backed up");
    Ok(())
}

/// Deletes the copies of old formats, because they contain the log of that time; with a time, only the copies
/// made before it.
pub(super) fn drop_copies(file: &Path, made_before: Option<SystemTime>) -> std::io::Result<()> {
    for format in 1..STEPS.len() {
        let copy = copy_of(file, format as i64);
        let made = match std::fs::metadata(&copy) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            found => found?.modified()?,
        };
        if made_before.is_none_or(|moment| made < moment) {
            std::fs::remove_file(&copy)?;
            tracing::info!(copy = %copy.display(), "copy of an older log deleted");
        }
    }
    Ok(())
}

/// `log.db.format-1`
fn copy_of(file: &Path, format: i64) -> PathBuf {
    file.with_extension(format!("db.format-{format}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_step_keeps_a_copy_of_what_was_and_runs_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.db");
        let mut connection = Connection::open(&file).unwrap();
        migrate(&mut connection, &file, STEPS).unwrap();
        connection
            .execute("INSERT INTO events (place, at, growth, findable, json) VALUES (1, 2, 0, 0, '{}')", [])
            .unwrap();

        let steps: Vec<&str> =
            STEPS.iter().copied().chain(["UPDATE events SET at = at + 40; CREATE TABLE more (x);"]).collect();
        migrate(&mut connection, &file, &steps).unwrap();
        migrate(&mut connection, &file, &steps).unwrap();

        let at = |connection: &Connection| -> i64 {
            connection.query_row("SELECT at FROM events", [], |row| row.get(0)).unwrap()
        };
        assert_eq!(at(&connection), 42);
        let copy = folder.path().join(format!("log.db.format-{}", STEPS.len()));
        let copy = Connection::open(copy).unwrap();
        assert_eq!((at(&copy), number(&copy, "user_version").unwrap()), (2, STEPS.len() as i64));
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.db");
        let mut connection = Connection::open(&file).unwrap();
        migrate(&mut connection, &file, STEPS).unwrap();
        let steps: Vec<&str> =
            STEPS.iter().copied().chain(["CREATE TABLE more (x); CREATE TABLE more (x);"]).collect();
        assert!(matches!(migrate(&mut connection, &file, &steps), Err(SqliteError::Sqlite(_))));
        assert_eq!(number(&connection, "user_version").unwrap(), STEPS.len() as i64);
        assert!(connection.prepare("SELECT x FROM more").is_err());
    }
}
