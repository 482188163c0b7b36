//! Turns SQLite's errors into errors on which a caller can act.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::LogError;

/// An error, before its file and its action are known.
#[derive(Debug)]
pub(super) enum SqliteError {
    Sqlite(rusqlite::Error),
    /// The stored data is not what the log wrote.
    Damaged(String),
    Log(LogError),
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        SqliteError::Sqlite(error)
    }
}

impl From<LogError> for SqliteError {
    fn from(error: LogError) -> Self {
        SqliteError::Log(error)
    }
}

impl From<serde_json::Error> for SqliteError {
    fn from(error: serde_json::Error) -> Self {
        SqliteError::Damaged(error.to_string())
    }
}

impl SqliteError {
    /// Adds the file and the action.
    pub(super) fn at(self, file: &Path, doing: &'static str) -> LogError {
        let path = || file.to_owned();
        match self {
            SqliteError::Log(error) => error,
            SqliteError::Damaged(detail) => LogError::Corrupt { path: path(), detail },
            SqliteError::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                    LogError::Corrupt { path: path(), detail: error.to_string() }
                }
                Some(ErrorCode::DiskFull) => LogError::Full { path: path() },
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    LogError::Locked { path: path(), holder: None }
                }
                Some(_) | None => LogError::other(doing, error),
            },
        }
    }
}
