//! The gateway: the APIs of models, served on top of a service that speaks only one of them.
//!
//! A client's request becomes a neutral one, which is asked of the service in its own API; the neutral events of its
//! answer become events of the client's API. The halves that speak with the service are in [`crate::api`], which the
//! built-in agent uses too; the halves that speak with the client are here.
//!
//! ```text
//! client ── chat, responses, messages: read ──> ModelRequest ── api::body_with ──> service
//!    ^                                                                                │
//!    └──── chat, responses, messages: write <── GatewayAnswer <── api::Stream <───────┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `model_request` | what a client asks, in neutral words |
//! | `conversation` | what was said so far, put in an order that every API takes |
//! | `tools` | the client's tools under names that every API takes, and back |
//! | `answer` | neutral events as begun, grown and ended things, for whoever writes them |
//! | `chat`, `responses`, `messages` | one API each: its requests, its answers |
//! | `openai` | what both APIs of OpenAI say alike |
//! | `sealed` | thoughts of one service on their way through the API of another |
//! | `refusal` | what went wrong, in the words of each API |
//! | `upstream` | the service over HTTP |
//! | `server` | the routes |
//!
//! All but the last two are pure. Nothing is queued: a piece of the answer is read when the client has taken the one
//! before, and a client that leaves takes the request to the service with it.

mod answer;
mod chat;
mod conversation;
mod messages;
mod model_request;
mod openai;
mod refusal;
mod responses;
mod sealed;
mod server;
mod tools;
mod upstream;

pub use answer::{Exchange, GatewayAnswer};
pub use model_request::{ModelRequest, Unreadable, read};
pub use sealed::Service;
pub use server::Gateway;
pub use upstream::GatewayError;
