//! Anthropic Messages, as a service speaks it.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::MessagesWriter;
