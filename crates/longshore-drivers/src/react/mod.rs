//! The built-in agent: a ReAct loop on any model API, with tools of its own and delegation to all other agents.
//!
//! It is a process like every other agent: this program, started as `longshore react`. What kills it, kills its own
//! session only; what it remembers is what it has said, and is given back to it from the log.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | its lines: the words of the waist |
//! | [`translate`] | the driver, on the hub's side of the pipe; the rest is on the agent's side |
//! | `spec` | how it is found and started |
//! | `offline` | how it runs on a scripted model |
//! | [`replay`] | its recorded lines once more |
//! | [`settings`] | which model, where, and how much of it |
//! | [`history`] | the conversation, a fold of its lines |
//! | [`api`] | three APIs of models, pure |
//! | [`machine`] | the loop, pure |
//! | [`tools`] | what it can do |
//! | [`run`] | the process: pipes, HTTP, tasks, the clock |

pub mod api;
pub mod history;
pub mod machine;
mod offline;
pub mod replay;
pub mod run;
pub mod settings;
mod spec;
pub mod tools;
pub mod translate;
pub mod wire;

use std::collections::BTreeMap;

use longshore_model::capability::{Capabilities, Mode};

pub use offline::CALLS;
pub use spec::Spec;
pub use translate::React;

/// What clients call it.
pub const NAME: &str = "react";
/// Its name for people.
pub const TITLE: &str = "Built-in agent";
/// The verb of this program that it is.
pub const VERB: &str = "react";
/// How it is set up.
pub const SET_UP: &str =
    "say base_url and model under [agents.react] in config.toml; docs/react.md tells how";

/// What it can do.
pub fn capabilities() -> Capabilities {
    Capabilities {
        list_sessions: false,
        open_session: true,
        send_prompt: true,
        streaming: true,
        attachments: true,
        approvals: true,
        multi_turn: true,
        filtering: false,
        pagination: false,
        interrupt: true,
        steer: true,
        fork: true,
        modes: vec![Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full],
        models: true,
        effort: true,
        memory_in_log: true,
        own_record: false,
        custom: BTreeMap::new(),
    }
}
