//! OpenAI Chat Completions, as OpenAI and everybody who says to be compatible speaks it.
//!
//! | module | holds |
//! |---|---|
//! | `write` | the body of a request |
//! | `read` | the stream of an answer |
//! | `calls` | calls that are put together over many chunks |
//! | `thought` | thoughts, with all that their service wants to have back |
//! | `words` | words in which a model of one's own hides thoughts and calls |

mod calls;
mod read;
mod thought;
mod words;
mod write;

pub(super) use read::ChatReader;
pub(super) use thought::{fill_signatures, fill_thoughts};
pub(super) use write::body;
