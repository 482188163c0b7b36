//! South of the waist: the table of drivers, the anchor that holds agent processes, and the transports to them.
//!
//! | module | holds |
//! |---|---|
//! | [`spec`] | what a driver says of its agent: name, place, command line, capabilities |
//! | [`table`] | every agent that there is: built in, one line each, and of the settings |
//! | [`codex`] | Codex, through its `app-server` |
//! | [`capture`] | recorded wires: reading, writing, replaying |
//! | [`past`] | conversations that were held elsewhere, in the agents' own records |
//! | [`discover`] | where an agent is installed, and in which version |
//! | [`anchor`] | the tasks that hold agent processes and speak with the hub |
//! | [`transport`] | a child process and its three pipes |

#[deny(clippy::wildcard_enum_match_arm)]
pub mod anchor;
pub mod capture;
mod clock;
pub mod codex;
pub mod discover;
mod git;
pub mod past;
pub mod spec;
pub mod table;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod transport;
mod unified;
