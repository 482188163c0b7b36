//! ACP: the driver of every agent that speaks the Agent Client Protocol, version 1, over stdio.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@rows`] | the known agents, and how each differs |
//! | [`wire`] | the protocol's JSON, with its names |
//! | [`translate`] | the driver |
//! | `offline` | how the known agents run on a scripted model |
//! | [`replay`] | replays a recorded client as a session of ours |
//!
//! The hub needs capabilities before an agent runs, so they come from the agent's row. The driver keeps the
//! agent's answers to `initialize` and to the opening of a session unchanged. These answers decide. If the
//! agent does not offer something, the driver refuses it with a reason (a fork, a list, an attachment) or
//! replaces it (a mode).

mod native;
mod offline;
pub mod replay;
pub mod rows;
mod spec;
pub mod translate;
pub mod wire;

pub use offline::{COPILOT_CALLS, GEMINI_CALLS};
pub use rows::{AcpRow, row, rows};
pub use spec::AcpSpec;
pub use translate::Acp;

/// The name of this driver in captures.
pub const NAME: &str = "acp";
