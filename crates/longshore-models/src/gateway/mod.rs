//! The gateway: the APIs of models, served on top of a service that speaks only one of them.
//!
//! A client's request becomes a neutral request, which goes to the service in the service's API. The neutral events of
//! the answer become events of the client's API. The code for the service is in [`crate::api`], which the built-in
//! agent uses too; the code for the client is here.
//!
//! ```text
//! client ── chat, responses, messages: read ──> ModelRequest ── api::body_with ──> service
//!    ^                                                                                │
//!    └──── chat, responses, messages: write <── GatewayAnswer <── api::Stream <───────┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `model_request` | a client's request in neutral form |
//! | `conversation` | the conversation, in an order that every API accepts |
//! | `tools` | the client's tools under names that every API accepts, and back |
//! | `answer` | neutral events in a strict order, for the writers of each API |
//! | `chat`, `responses`, `messages` | one API each: its requests, its answers |
//! | `openai` | the parts that both OpenAI APIs share |
//! | `sealed` | carries thoughts of one service through the API of another |
//! | `refusal` | errors in the form of each API |
//! | `upstream` | the service over HTTP |
//! | `server` | the routes |
//!
//! All but the last two are pure. There is no queue: the gateway reads a piece of the answer when the client has taken
//! the previous one. When a client leaves, the gateway cancels the request to the service.

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
