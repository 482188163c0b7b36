//! Work: what a driver wants done with files and processes, which it cannot touch itself.
//!
//! Some agents leave reading, writing and running to whoever drives them. Their driver turns such a wish into a
//! [`Work`]; whoever runs the driver does it, inside the work tree only, and hands back a [`Done`] or why not.

use crate::id::SessionId;

/// The name of a work: the driver counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkId(pub u64);

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Its name.
    pub id: WorkId,
    /// The session that it is done for; terminals are its own.
    pub session: SessionId,
    /// The work tree, which it must not leave.
    pub root: String,
    /// What.
    pub job: Job,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Read a text file.
    Read {
        /// Which one.
        path: String,
        /// The first line wanted, from 1.
        line: Option<u64>,
        /// How many lines.
        limit: Option<u64>,
    },
    /// Look at a text file that the agent wants to change, so that whoever is to allow it sees the change as it will be.
    Look {
        /// Which one.
        path: String,
    },
    /// Write a text file, with the folders that it needs.
    Write {
        /// Which one.
        path: String,
        /// All of it.
        content: String,
    },
    /// Run a command in a terminal of its own.
    Run {
        /// A program, or a line for the shell when there are no arguments.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// What its environment has beyond ours.
        env: Vec<(String, String)>,
        /// Where; the work tree when there is none.
        cwd: Option<String>,
        /// How many bytes of its output are kept: the last ones.
        keep: Option<u64>,
    },
    /// What did a command say so far?
    Output {
        /// In which terminal.
        terminal: String,
    },
    /// Wait until a command has ended.
    Wait {
        /// In which terminal.
        terminal: String,
    },
    /// End a command; what it said stays.
    Kill {
        /// In which terminal.
        terminal: String,
    },
    /// Forget a terminal; its command ends, if it still runs.
    Release {
        /// Which terminal.
        terminal: String,
    },
}

/// What came of a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The file holds this.
    Read(String),
    /// The file is written.
    Written,
    /// The command runs in this terminal.
    Running {
        /// Its name.
        terminal: String,
    },
    /// The command said this.
    Output {
        /// The end of what it said.
        text: String,
        /// Whether the beginning is left out.
        truncated: bool,
        /// How it ended, if it has.
        exit: Option<Exit>,
    },
    /// The command has ended.
    Ended(Exit),
    /// The command was told to end.
    Killed,
    /// The terminal is forgotten.
    Released,
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it: `SIGKILL`.
    pub signal: Option<String>,
}

/// Why a work was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkFault {
    /// It would leave the work tree.
    #[error("{0} is outside of the work tree; name a file inside of it")]
    Outside(String),
    /// There is no such file.
    #[error("{0} does not exist")]
    Missing(String),
    /// It is no text file, or too long for one.
    #[error("{path} {fault}")]
    Unfit {
        /// Which file.
        path: String,
        /// What is wrong with it.
        fault: String,
    },
    /// The session has no such terminal.
    #[error("no terminal is called {0}")]
    NoTerminal(String),
    /// Too much is going on already.
    #[error("{0}")]
    Busy(String),
    /// The system said no.
    #[error("{0}")]
    Failed(String),
}
