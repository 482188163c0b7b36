//! The tests of the wire of model APIs, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bodies;
mod chats;
mod gateway_thoughts;
mod gateway_words;
mod script;
mod script_apis;
mod stream_text;
mod streams;
