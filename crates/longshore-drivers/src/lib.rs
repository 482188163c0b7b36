//! South of the waist: the table of drivers, the anchor that holds agent processes, and the transports to them.
//!
//! | module | holds |
//! |---|---|
//! | [`kit`] | the tools of every driver: its scribe, its pending requests, diffs |
//! | [`spec`] | the description of an agent: name, path, command line, capabilities |
//! | [`table`] | all agents: the built-in agents, one line each, and the agents of the settings |
//! | [`acp`] | every agent that speaks the Agent Client Protocol |
//! | [`codex`] | Codex, through its `app-server` |
//! | [`claude`] | Claude Code, through its stream-json |
//! | [`opencode`] | OpenCode, through its server |
//! | [`react`] | the built-in agent: a loop on any model API |
//! | [`capture`] | recorded wires: reading, writing, replaying |
//! | [`import`] | conversations from elsewhere, in the agents' own records |
//! | [`offline`] | what each agent needs to run on a scripted model |
//! | [`discover`] | where an agent is installed, and in which version |
//! | [`anchor`] | the tasks that hold agent processes and exchange messages with the hub |
//! | [`leash`] | the end of all started processes, also of processes that try to escape |
//! | [`transport`] | a child process and its three pipes |
//! | [`host_io`] | files and commands for agents that leave them to their client |
//! | [`account`] | whether a person is logged in to an agent |
//! | [`argv`] | command lines that agents send word by word, as a person would type them |
//! | `folders` | the folders of this machine, for a person who looks for a work tree |
//! | [`keyless`] | programs that the hub runs for itself, beside agents that could look at them |
//! | [`git_remote`] | the address of a git remote, fit to be shown |
//! | `npm` | the facts that npm has about a program that it installed |
//! | [`clock`] | the one place that reads the wall clock |

pub mod account;
pub mod acp;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod anchor;
pub mod argv;
pub mod capture;
pub mod claude;
pub mod clock;
pub mod codex;
pub mod discover;
mod folders;
pub mod git_remote;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod host_io;
pub mod import;
pub mod keyless;
pub mod kit;
pub mod leash;
mod npm;
pub mod offline;
pub mod opencode;
pub mod react;
pub mod spec;
pub mod table;
#[deny(clippy::wildcard_enum_match_arm)]
pub mod transport;
