//! Errors of a script. Every message names the place and what to write instead.

use std::path::PathBuf;

/// A script that the server cannot play.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file could not be read.
    #[error("cannot read the script {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
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
        /// The number of the step, from 1.
        step: usize,
        /// The fault.
        fault: ScriptFault,
    },
    /// An action of a step is wrong.
    #[error("step {step}, action {action}: {fault}")]
    Action {
        /// The number of the step, from 1.
        step: usize,
        /// The number of the action in the step, from 1.
        action: usize,
        /// The fault.
        fault: ScriptFault,
    },
}

/// A fault at one place of a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptFault {
    /// A value has the wrong type or is out of its range.
    #[error("{what} must be {wanted}, not {found}")]
    Shape {
        /// The name of the value.
        what: String,
        /// The expected kind of value.
        wanted: &'static str,
        /// The kind of JSON that was found.
        found: &'static str,
    },
    /// An unknown key. Without this error, a misspelled key would silently have no effect.
    #[error("{key:?} is not known here; known are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that are allowed there.
        known: String,
    },
    /// No key names the kind of an answer or an action.
    #[error("nothing says what to do; write one of {known}")]
    NoKind {
        /// The keys that name a kind.
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
    /// A required key is missing.
    #[error("{key:?} is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// An action after the end of the stream.
    #[error("never plays, because the action before it ends the stream")]
    AfterTheEnd,
    /// A header that HTTP does not allow, or that the server must set itself.
    #[error("the header {name:?} is not legal in HTTP, or is one that the server must set itself")]
    Header {
        /// The header's name.
        name: String,
    },
}
