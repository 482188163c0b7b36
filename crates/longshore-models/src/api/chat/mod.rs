//! OpenAI Chat Completions, as OpenAI and all compatible services speak it.
//!
//! | module | holds |
//! |---|---|
//! | `write` | the body of a request |
//! | `read` | the stream of an answer |
//! | `calls` | calls, assembled from many chunks |
//! | `thought` | thoughts, with the data that their service wants back |
//! | `words` | thoughts and calls in the text of a local model |

mod calls;
mod chat_text;
mod read;
mod thought;
mod write;

pub(super) use read::ChatReader;
pub(super) use thought::{fill_signatures, fill_thoughts};
pub(super) use write::body;
