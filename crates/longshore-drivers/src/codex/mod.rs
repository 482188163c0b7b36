//! Codex: the driver of `codex app-server`, with JSON lines over stdio, and in [`exec`] the driver of `codex
//! exec`.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | Codex's JSON, with its names |
//! | [`translate`] | the driver |
//! | [`spec`] | how Longshore names, finds and starts it |
//! | `offline` | how it runs on a scripted model |
//! | [`import`] | conversations from elsewhere, read from its rollouts |
//! | [`replay`] | replays a recorded client as a session of ours |

pub mod exec;
pub mod import;
pub(crate) mod offline;
pub mod replay;
pub mod spec;
pub mod translate;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_model::capability::{Capabilities, Mode};
use longshore_model::event::AgentName;

pub use offline::CALLS;
pub use spec::CodexSpec;
pub use translate::Codex;

/// The name of the agent for clients.
pub const NAME: &str = "codex";
/// [`NAME`] in the form of events.
pub fn name() -> AgentName {
    Arc::from(NAME)
}

/// What Codex can do.
pub fn capabilities() -> Capabilities {
    Capabilities {
        list_sessions: true,
        open_session: true,
        send_prompt: true,
        streaming: true,
        attachments: true,
        approvals: true,
        multi_turn: true,
        filtering: false,
        pagination: true,
        interrupt: true,
        steer: true,
        fork: true,
        modes: vec![Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full],
        models: true,
        effort: true,
        memory_in_log: false,
        own_record: true,
        custom: BTreeMap::new(),
    }
}
