//! The running waist: one task per session, and the [`Hub`] that facades hold.
//!
//! ```text
//!   facade --command--> actor: machine, then log, then tail --frames--> subscription --> facade
//!   anchor --said------>   |
//!                          +--effects--> anchor
//! ```
//!
//! The order is the promise: an event is durable before anyone sees it, and before the agent hears of it.

mod actor;
mod agent_memory;
mod anchor_queries;
mod changes;
mod children;
mod counters;
mod customs;
mod delegation;
mod devices;
mod effects;
mod erase;
mod error;
mod fork;
mod hub;
mod import;
mod inbox;
mod inner;
mod keyed;
mod message;
mod notes;
mod opening;
mod past;
mod record;
mod recovery;
mod registry;
mod subscription;
mod tail;
mod timeline_cache;
mod transcript;
mod work_tree;

pub use changes::Change;
pub use counters::Counters;
pub use error::HubError;
pub use hub::Hub;
pub use import::ImportRequest;
pub use inbox::{Inbox, ResumedAll};
pub use longshore_log::{Hit, LogError, PAGE_BYTES, SessionFilter, SessionPage, Stats, WithRaw};
pub use longshore_model::anchor::Machine;
pub use opening::{NAME_BYTES, OpenRequest, PATH_BYTES};
pub use past::{HandBack, ImportedPast};
pub use subscription::Subscription;
pub use tail::Frames;
pub use work_tree::RunRequest;
