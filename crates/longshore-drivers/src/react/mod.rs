//! The driver of the built-in agent. The agent itself is the crate `longshore-agent`: this program, started as
//! `longshore react`, a process like every other agent.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | its lines, as types of the model |
//! | [`translate`] | the driver |
//! | `spec` | how Longshore finds and starts it |
//! | `offline` | how it runs on a scripted model |
//! | [`replay`] | replays its recorded lines |
//! | [`settings`] | its model, the address of the model, and its limits |

mod offline;
pub mod replay;
pub mod settings;
mod spec;
pub mod translate;
pub mod wire;

use std::collections::BTreeMap;

use longshore_model::capability::{Capabilities, Mode};

pub use offline::CALLS;
pub use spec::ReactSpec;
pub use translate::React;

/// The name of the agent for clients.
pub const NAME: &str = "react";
/// Its name for people.
pub const TITLE: &str = "Built-in agent";
/// The verb of this program that runs the agent.
pub const VERB: &str = "react";
/// How a person sets the agent up.
pub const SET_UP: &str =
    "say base_url and model under [agents.react] in config.toml; docs/react.md tells how";

/// What the built-in agent can do.
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
