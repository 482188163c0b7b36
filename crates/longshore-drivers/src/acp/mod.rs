//! ACP: the driver of every agent that speaks the Agent Client Protocol, version 1, over stdio.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@rows`] | the agents that are known, and how each differs |
//! | [`wire`] | their JSON with their names |
//! | [`translate`] | the driver |
//! | `offline` | how the known ones run on a scripted model |
//! | [`replay`] | what a recorded client of theirs would have been in our words |
//!
//! Capabilities are asked for before an agent runs, so they are those of its row. What the agent says of itself in
//! `initialize` and when it opens a session is kept as it came, and decides: what it turns out not to offer is refused
//! with a reason (a fork, a list, an attachment) or stood in for (a mode).

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

/// What captures call this driver.
pub const NAME: &str = "acp";
