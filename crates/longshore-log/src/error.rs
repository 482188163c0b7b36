//! What can go wrong with a log, one variant per thing that a caller can do about it.

use std::path::PathBuf;

use longshore_model::id::{Seq, SessionId};

/// Why the log did not do as asked. Every message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A newer program wrote it; this one would misread it.
    #[error(
        "a newer Longshore wrote the log at {path} (format {found}; this version knows {known}): \
         update Longshore, or use another data folder"
    )]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The format that it has.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },

    /// What is on disk is not what was written.
    #[error(
        "the log at {path} is damaged ({detail}): stop Longshore, copy the folder, and save the readable part \
         with `sqlite3 {path} .recover`, or use another data folder"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// How it shows.
        detail: String,
    },

    /// There was a log here, and it is gone or empty.
    #[error(
        "the log at {path} is missing or empty, but a hub has used this folder: restore it from a backup; to start \
         with an empty log, remove {mark}"
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// What tells that the folder was used.
        mark: PathBuf,
    },

    /// Something else stands in the place of a file of ours.
    #[error("{path} is not a regular file: move it away, and start the hub again")]
    NotAFile {
        /// Where.
        path: PathBuf,
    },

    /// No room. What was acknowledged before is safe; what was refused can be appended again.
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
        /// The seq that would have continued it.
        expected: Seq,
        /// The seq that came.
        found: Seq,
    },

    /// Another process has the data folder.
    #[error("{path} is in use by another process{}: stop it, or use another data folder", pid(.holder))]
    Locked {
        /// The folder or file.
        path: PathBuf,
        /// Its process, where it is known.
        holder: Option<u32>,
    },

    /// The cursor of a list is not one that we gave.
    #[error("`{cursor}` is not a cursor of this list: start with the first page")]
    BadCursor {
        /// What was given.
        cursor: String,
    },

    /// None of these.
    #[error("{doing} failed ({source}): try again; if it fails again, restart Longshore")]
    Other {
        /// What was being done.
        doing: &'static str,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl LogError {
    pub(crate) fn other(
        doing: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        LogError::Other { doing, source: source.into() }
    }
}

fn pid(holder: &Option<u32>) -> String {
    holder.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
