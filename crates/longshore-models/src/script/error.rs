//! Errors of a script. Every message names the place and what to write instead.

use std::path::PathBuf;

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file could not be read.
    #[error("cannot read the script {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The text is not JSON.
    #[error("the script is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON is not a script.
    #[error("the script: {0}")]
    Script(ScriptFault),
    /// A step is wrong.
    #[error("step {step}: {fault}")]
    Step {
        /// Its number, from 1.
        step: usize,
        /// What is wrong.
        fault: ScriptFault,
    },
    /// An action of a step is wrong.
    #[error("step {step}, action {action}: {fault}")]
    Action {
        /// The number of the step, from 1.
        step: usize,
        /// The number of the action within it, from 1.
        action: usize,
        /// What is wrong.
        fault: ScriptFault,
    },
}

/// What is wrong at one place of a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptFault {
    /// Something else stands where an object or list belongs.
    #[error("{what} must be {wanted}, not {found}")]
    Shape {
        /// What stands there.
        what: String,
        /// What belongs there.
        wanted: &'static str,
        /// The kind of JSON that was found.
        found: &'static str,
    },
    /// A key that nothing reads: a misspelling would otherwise be a silent default.
    #[error("{key:?} is not known here; known are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that may stand there.
        known: String,
    },
    /// Nothing says what kind of thing this is.
    #[error("nothing says what to do; write one of {known}")]
    NoKind {
        /// The keys that would say it.
        known: String,
    },
    /// Two keys that exclude each other.
    #[error("{first:?} and {second:?} exclude each other")]
    Clash {
        /// One key.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A key that must be there.
    #[error("{key:?} is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// An action after the end of the stream.
    #[error("never plays, because the action before it ends the stream")]
    AfterTheEnd,
    /// A header that HTTP does not allow, or that would contradict how the server frames the body.
    #[error("the header {name:?} is not legal in HTTP, or is one that the server must set itself")]
    Header {
        /// Its name.
        name: String,
    },
}
