//! What passes between an agent's program that called us back and whoever holds its process.
//!
//! Most programs are spoken with over their pipes. Some connect to an address that they are given instead. Whoever serves
//! that address knows nothing of agents, and whoever holds the process serves nothing: between them there are these
//! words, which can cross a socket like those of [`crate::anchor`].

use serde::{Deserialize, Serialize};

/// To the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum ToProgram {
    /// Lines, each with its line feed, in one message.
    Lines {
        /// Their place among all that the program is told, from 1. When they are known to have arrived, the number is said
        /// back.
        number: u64,
        /// The lines.
        text: String,
    },
    /// It has been told everything: end the connection.
    Close {
        /// The close code, which may tell the program not to come back.
        code: u16,
        /// Why, for people.
        reason: String,
    },
}

/// From the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum FromProgram {
    /// A message: one line or several.
    Lines {
        /// The lines, as they came.
        text: String,
    },
    /// A message that was longer than one may be; none of it was kept.
    TooLong,
}
