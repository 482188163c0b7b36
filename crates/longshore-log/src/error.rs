//! The errors of a log, one variant per action that a caller can take.

use std::path::PathBuf;

use longshore_model::id::{Seq, SessionId};

/// Why the log refused a request. Every message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A newer program wrote the log. This program would misread it.
    #[error(
        "a newer Longshore wrote the log at {path} (format {found}; this version knows {known}): \
         update Longshore, or use another data folder"
    )]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },

    /// The file does not hold what the log wrote.
    #[error(
        "the log at {path} is damaged ({detail}): stop Longshore, copy the folder, and save the readable part \
         with `sqlite3 {path} .recover`, or use another data folder"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What shows the damage.
        detail: String,
    },

    /// The folder had a log, and the log is gone or empty.
    #[error(
        "the log at {path} is missing or empty, but a hub has used this folder: restore it from a backup; to start \
         with an empty log, remove {mark}"
    )]
    Lost {
        /// The file that shows that the folder had a log.
        path: PathBuf,
        /// The file that shows that the folder was used.
        mark: PathBuf,
    },

    /// Something else is in the place of one of our files.
    #[error("{path} is not a regular file: move it away, and start the hub again")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },

    /// The disk is full. Acknowledged events are safe; the caller can append a refused batch again.
    #[error(
        "the disk is full, so the hub cannot write the log at {path}: free some space and try again; no \
         acknowledged event is lost"
    )]
    Full {
        /// The file.
        path: PathBuf,
    },

    /// The events do not continue the session.
    #[error(
        "session {session} continues with event {expected}, not {found}: read its head and append the events after it"
    )]
    Gap {
        /// The session.
        session: SessionId,
        /// The seq that would continue the session.
        expected: Seq,
        /// The seq of the batch.
        found: Seq,
    },

    /// Another writer continued the session first. The log wrote nothing.
    #[error("another hub continued session {session} first, and this was not recorded: try again")]
    Fenced {
        /// The session.
        session: SessionId,
    },

    /// Nobody knows whether the log wrote the batch.
    #[error(
        "nobody knows yet whether the log took the last events of session {session} ({detail}): try again"
    )]
    Unknown {
        /// The session.
        session: SessionId,
        /// Why nobody knows.
        detail: String,
    },

    /// Another process uses the data folder.
    #[error("{path} is in use by another process{}: stop it, or use another data folder", pid(.holder))]
    Locked {
        /// The folder or file.
        path: PathBuf,
        /// The id of that process, if it is known.
        holder: Option<u32>,
    },

    /// The log did not issue this cursor.
    #[error("`{cursor}` is not a cursor of this list: start with the first page")]
    BadCursor {
        /// The cursor.
        cursor: String,
    },

    /// Another error.
    #[error("{doing} failed ({source}): try again; if it fails again, restart Longshore")]
    Other {
        /// What the log was doing.
        doing: &'static str,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl LogError {
    /// Makes an error for which no other variant fits.
    pub fn other(doing: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        LogError::Other { doing, source: source.into() }
    }
}

fn pid(holder: &Option<u32>) -> String {
    holder.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
