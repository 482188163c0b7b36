//! The bounds of one session: what it holds, and what it remembers of things that are over. `ARCHITECTURE.md`
//! says what happens at each bound.

/// The most waiting prompts.
pub const QUEUE_LIMIT: usize = 100;
/// The most bytes of all waiting prompts together. A single prompt may be larger.
pub const QUEUE_BYTES: usize = 16 << 20;
/// The most bytes that the session holds of one growing item, in case the agent never finishes it.
pub(super) const OPEN_TEXT_LIMIT: usize = 8 << 20;
/// The most bytes that the session holds of all growing items together.
pub const OPEN_TEXTS_LIMIT: usize = 32 << 20;
/// The most bytes of one call's output that the log records while the call runs, counted as the log writes
/// them.
pub const TOOL_OUTPUT_LIMIT: usize = 16 << 20;
/// The most open items. Beyond this limit, the session ends the oldest one.
pub const OPEN_ITEMS_LIMIT: usize = 1_000;
/// The most child sessions at work. Beyond this limit, the session ends the delegation that began first.
pub const DELEGATIONS_LIMIT: usize = 1_000;
/// How many ended items the session remembers. If the agent mentions an older item, that item begins anew.
pub const ENDED_ITEMS_LIMIT: usize = 4_096;
/// How many keys of prompts the session remembers, and how many bytes of keys. The oldest are dropped; a
/// prompt with a dropped key is a new prompt.
pub const KEYS_LIMIT: usize = 1_000;
pub(super) const KEYS_BYTES: usize = 1 << 20;
/// How many ended approvals the session remembers with their outcome, and how many bytes of outcomes; the
/// same for questions. The log has the outcome of older ones: see
/// [`Refusal::of_ended`](crate::command::Refusal::of_ended).
pub const RESOLUTIONS_LIMIT: usize = 1_000;
pub(super) const RESOLUTIONS_BYTES: usize = 4 << 20;
/// How many prompts from here the session remembers, to tell them apart from prompts in the agent's own
/// record.
pub const PROMPTS_HERE_LIMIT: usize = 1_000;
