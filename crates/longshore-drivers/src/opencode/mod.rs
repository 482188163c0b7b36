//! OpenCode: the driver of `opencode serve`, an HTTP server that reports on a stream of events.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | OpenCode's JSON, with its names |
//! | [`translate`] | the driver |
//! | [`spec`] | how Longshore names, finds and starts it |
//! | `offline` | how it runs on a scripted model |
//! | [`import`] | conversations from elsewhere, which OpenCode reads from its database |
//! | [`replay`] | replays a recorded client as a session of ours |

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
pub use spec::OpenCodeSpec;
pub use translate::OpenCode;

/// The name of the agent for clients.
pub const NAME: &str = "opencode";
/// [`NAME`] in the form of events.
pub fn name() -> AgentName {
    Arc::from(NAME)
}

/// What OpenCode can do.
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
