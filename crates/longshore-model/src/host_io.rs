//! Requests of a driver for files and processes, which a driver cannot touch itself.
//!
//! Some agents leave reading, writing and running to their client. The driver turns such a request of the
//! agent into a [`HostRequest`]. The anchor carries it out, inside the work tree only, and returns a
//! [`HostReply`] or a [`HostFault`].

use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// The id of a request; each driver counts its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostRequestId(pub u64);

/// A request to the anchor.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRequest {
    /// The id of the request.
    pub id: HostRequestId,
    /// The session. Terminals belong to it.
    pub session: SessionId,
    /// The work tree. The request must not leave it.
    pub root: String,
    /// What to do.
    pub job: Job,
}

/// What the anchor does.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Read a text file.
    Read {
        /// The path of the file.
        path: String,
        /// The first line, from 1.
        line: Option<u64>,
        /// How many lines.
        limit: Option<u64>,
    },
    /// Read a text file that the agent wants to change, so that the person who approves the change sees the
    /// real lines.
    Look {
        /// The path of the file.
        path: String,
    },
    /// Write a text file, and create its folders.
    Write {
        /// The path of the file.
        path: String,
        /// The whole content.
        content: String,
    },
    /// Run a command in its own terminal.
    Run {
        /// A program, or a shell line if there are no arguments.
        command: String,
        /// The arguments.
        arguments: Vec<String>,
        /// Additional environment variables.
        env: Vec<(String, String)>,
        /// The folder; none for the work tree.
        cwd: Option<String>,
        /// How many bytes of the output to keep: the last ones.
        keep: Option<u64>,
    },
    /// Return the output of a command so far.
    Output {
        /// The terminal.
        terminal: String,
    },
    /// Wait until a command ends.
    Wait {
        /// The terminal.
        terminal: String,
    },
    /// End a command; its output stays.
    Kill {
        /// The terminal.
        terminal: String,
    },
    /// Forget a terminal. Its command ends if it still runs.
    Release {
        /// The terminal.
        terminal: String,
    },
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostReply {
    /// The content of the file.
    Read(String),
    /// The anchor has written the file.
    Written,
    /// The command runs.
    Running {
        /// The name of its terminal.
        terminal: String,
    },
    /// The output of the command.
    Output {
        /// The end of the output.
        text: String,
        /// Whether the beginning of the output is left out.
        truncated: bool,
        /// How the command ended, if it has.
        exit: Option<Exit>,
    },
    /// The command has ended.
    Ended(Exit),
    /// The anchor has told the command to end.
    Killed,
    /// The anchor has forgotten the terminal.
    Released,
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it: `SIGKILL`.
    pub signal: Option<String>,
}

/// Why the anchor did not carry out a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum HostFault {
    /// The request would leave the work tree.
    #[error("{0} is outside of the work tree; name a file inside of it")]
    Outside(String),
    /// The file does not exist.
    #[error("{0} does not exist")]
    Missing(String),
    /// The file is not a text file, or is too long.
    #[error("{path} {fault}")]
    Unfit {
        /// The path of the file.
        path: String,
        /// What is wrong with the file.
        fault: String,
    },
    /// The session has no such terminal.
    #[error("no terminal is called {0}")]
    NoTerminal(String),
    /// Too many requests are under way.
    #[error("{0}")]
    Busy(String),
    /// The operating system refused.
    #[error("{0}")]
    Failed(String),
}
