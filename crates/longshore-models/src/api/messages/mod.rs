//! Anthropic Messages: turns of two speakers, each made of blocks. A thought is signed, and goes back unchanged.
//!
//! | module | holds |
//! |---|---|
//! | `write` | the body of a request |
//! | `effort` | how hard the model thinks, in the form of its generation |
//! | `read` | the stream of an answer |

mod effort;
mod read;
mod write;

pub(super) use effort::tell as tell_effort;
pub(super) use read::MessagesReader;
pub(super) use write::body;
