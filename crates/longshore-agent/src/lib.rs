//! The built-in agent: a ReAct loop on any model API, with tools of its own and delegation to all other agents.
//!
//! It is a process like every other agent: this program, started as `longshore react`. What kills the process harms its own
//! session only. The agent remembers what it wrote to the hub, and the hub gives it back from the log. Its driver is
//! `longshore_drivers::react`; the lines between both are in `longshore_drivers::react::wire`.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | the process: pipes, HTTP, tasks, the clock |
//! | [`machine`] | the loop, pure |
//! | [`memory`] | what an agent that starts anew remembers |
//! | [`tools`] | what it can do |
//! | `sandbox` | the walls that commands run in |
//! | [`git`] | git that runs no program of the repository |

pub mod git;
pub mod machine;
pub mod memory;
pub mod run;
mod sandbox;
pub mod tools;

/// A line of the agent, with what it remembers.
pub type AgentLine = longshore_drivers::react::wire::AgentLine<longshore_models::history::HistoryItem>;
