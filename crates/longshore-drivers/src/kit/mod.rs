//! The tools of every driver. A new driver needs nothing else of this crate except its line in the table of
//! agents.
//!
//! | module | holds |
//! |---|---|
//! | `scribe` | a driver's input, its time, and its output, in one argument |
//! | `pending` | the driver's requests that have no answer yet |
//! | `phase` | the state of the handshake with the process |
//! | [`diff`], `edits` | unified diffs, and diffs of changes that an agent reports in pieces |
//! | [`contents`] | pictures and links in tool results |
//! | [`schema_form`] | questions that come as a JSON schema |
//! | `wire_error` | a line that the driver cannot read |

pub mod contents;
pub mod diff;
pub(crate) mod edits;
mod pending;
mod phase;
pub mod schema_form;
mod scribe;
mod wire_error;

pub(crate) use pending::{Call, Pending, PendingCall};
pub(crate) use phase::Phase;
pub(crate) use scribe::Scribe;
pub(crate) use wire_error::WireError;
