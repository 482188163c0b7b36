//! South of the waist: the table of drivers, the anchor that holds agent processes, and the transports to them.
//!
//! | module | holds |
//! |---|---|
//! | [`spec`] | what a driver says of its agent: name, place, command line, capabilities |
//! | [`table`] | every agent that there is: built in, one line each, and of the settings |
//! | [`acp`] | every agent that speaks the Agent Client Protocol |
//! | [`codex`] | Codex, through its `app-server` |
//! | [`claude`] | Claude Code, through its stream-json |
//! | [`opencode`] | OpenCode, through its server |
//! | [`react`] | the agent that is built in: a loop on any model API |
//! | [`capture`] | recorded wires: reading, writing, replaying |
//! | [`import`] | conversations that were held elsewhere, in the agents' own records |
//! | [`offline`] | what each agent needs to run on a scripted model |
//! | [`discover`] | where an agent is installed, and in which version |
//! | [`anchor`] | the tasks that hold agent processes and speak with the hub |
//! | [`leash`] | the end of all that is started, whatever it does to get away |
//! | [`transport`] | a child process and its three pipes |
//! | [`work`] | files and commands for agents that leave them to us |

pub mod account;
pub mod acp;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod anchor;
pub mod argv;
pub mod capture;
pub mod claude;
pub mod clock;
pub mod codex;
pub mod contents;
pub mod diff;
pub mod discover;
mod edits;
mod folders;
pub mod git_remote;
pub mod import;
pub mod keyless;
pub mod leash;
mod npm;
pub mod offline;
pub mod opencode;
mod phase;
pub mod react;
pub mod schema_form;
pub mod spec;
pub mod table;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod transport;
mod wire_error;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod work;
