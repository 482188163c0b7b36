//! Messages between the hub and the anchor about an agent's program that connects to the hub.
//!
//! The anchor talks to most programs over their pipes. Some programs connect to an address that they get
//! instead. The hub serves that address and knows nothing of agents. The anchor holds the process and serves
//! nothing. These types can cross a socket between the two, like the types of [`crate::anchor`].

use serde::{Deserialize, Serialize};

/// Messages to the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum ToProgram {
    /// Lines, each with its line feed, sent as one message.
    Lines {
        /// The number of the first line among all lines to the program, from 1. The hub returns the number
        /// when the lines have arrived.
        number: u64,
        /// The lines.
        text: String,
    },
    /// The program has everything: end the connection.
    Close {
        /// The close code. It can tell the program not to reconnect.
        code: u16,
        /// The reason, for people.
        reason: String,
    },
}

/// Messages from the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum FromProgram {
    /// A message of one or several lines.
    Lines {
        /// The lines, unchanged.
        text: String,
    },
    /// A message over the limit. The hub kept none of it.
    TooLong,
}
