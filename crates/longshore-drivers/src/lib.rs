//! South of the waist: the table of drivers, the anchor that holds agent processes, and the transports to them.
//!
//! | module | holds |
//! |---|---|
//! | [`table`] | every driver that there is, one line each |
//! | [`acp`] | every agent that speaks the Agent Client Protocol |
//! | [`codex`] | Codex, through its `app-server` |
//! | [`capture`] | recorded wires: reading, writing, replaying |
//! | [`discover`] | where an agent is installed, and in which version |
//! | [`anchor`] | the tasks that hold agent processes and speak with the hub |
//! | [`transport`] | a child process and its three pipes |
//! | [`work`] | files and commands for agents that leave them to us |

pub mod acp;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod anchor;
pub mod capture;
mod clock;
pub mod codex;
pub mod discover;
mod form;
mod git;
pub mod table;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod transport;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod work;
