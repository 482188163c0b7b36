//! The built-in agent: a ReAct loop on any model API, with tools of its own and delegation to all other agents.
//!
//! It is a process like every other agent: this program, started as `longshore react`. If the process dies, only its
//! own session is harmed. The agent's memory is the lines that it wrote to the hub; the hub returns them from the log.
//! Its driver is `longshore_drivers::react`; the lines between both are in `longshore_drivers::react::wire`.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | the process: pipes, HTTP, tasks, the clock |
//! | [`machine`] | the loop, pure |
//! | [`memory`] | the memory of an agent that starts again |
//! | [`tools`] | the tools |
//! | `sandbox` | the sandbox that commands run in |
//! | [`git`] | git that runs no program of the repository |

pub mod git;
pub mod machine;
pub mod memory;
pub mod run;
mod sandbox;
pub mod tools;

/// A line of the agent, with the history items that the agent remembers.
pub type AgentLine = longshore_drivers::react::wire::AgentLine<longshore_models::history::HistoryItem>;
