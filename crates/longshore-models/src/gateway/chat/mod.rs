//! OpenAI Chat Completions, from the service's side.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::ChatWriter;
