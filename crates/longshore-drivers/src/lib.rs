//! South of the waist: the table of drivers, the anchor that holds agent processes, and the transports to them.
//!
//! | module | holds |
//! |---|---|
//! | [`table`] | every driver that there is, one line each |
//! | [`codex`] | Codex, through its `app-server` |
//! | [`claude`] | Claude Code, through its stream-json |
//! | [`capture`] | recorded wires: reading, writing, replaying |
//! | [`discover`] | where an agent is installed, and in which version |
//! | [`anchor`] | the tasks that hold agent processes and speak with the hub |
//! | [`transport`] | a child process and its three pipes |

#[deny(clippy::wildcard_enum_match_arm)]
pub mod anchor;
pub mod capture;
pub mod claude;
mod clock;
pub mod codex;
pub mod discover;
mod git;
pub mod table;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod transport;
mod unified;
