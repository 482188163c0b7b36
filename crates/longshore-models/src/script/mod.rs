//! A scripted model: a server that speaks a model's API and plays a script instead of thinking.
//!
//! Real agents run against it without an account. Each behaviour of a model that is hard to get on demand (a stream cut
//! in the middle of a word, a 429, two tool calls at once) is a line in a file. `docs/model-script.md` describes the
//! format of that file.
//!
//! ```text
//! file ── parse ──> Script (steps of actions, the same for every API)
//!                      │
//! request ── Api ──> ScriptPlayer (which step answers this request?)
//!                      │
//!                   Api::render ──> ScriptAnswer (events and waits)  pure, up to here
//!                      │
//!              routes, stream, server ──> the socket                all of the IO
//! ```
//!
//! Actions do not depend on an API. An API is one file that renders actions into its events and its whole answers
//! (`responses.rs`, `chat.rs`, `messages.rs`, `gemini.rs`), its arms in [`Api`] and a route.

mod api;
mod chat;
mod chunks;
mod demand;
mod error;
mod failure;
mod fields;
mod frame;
mod gemini;
mod messages;
mod model;
mod offered_tools;
mod parse;
mod parse_action;
mod plain;
mod player;
mod record;
mod request;
mod responses;
mod routes;
mod server;
mod steering;
mod step;
mod stream;

pub use api::Api;
pub use chunks::{Chunks, Cutting};
pub use demand::Demand;
pub use error::{ScriptError, ScriptFault};
pub use frame::{Delivery, Exchange, ScriptAnswer, ScriptFrame, SseEvent};
pub use model::Model;
pub use player::{EXHAUSTED, LeftStep, ScriptPlayer, StepChoice};
pub use record::{Outcome, RequestEntry, Requests};
pub(crate) use server::refuse_browsers;
pub use server::{BODY_LIMIT, serve};
pub use step::{
    Action, CustomCall, FunctionCall, Reason, Repeat, RequestCue, Say, Script, ScriptRefusal, ScriptStep,
    ScriptUsage, StepAnswer, When,
};
