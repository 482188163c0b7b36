//! The wire of model APIs: Chat Completions, Responses and Messages, read and written, pure where possible.
//!
//! | module | holds |
//! |---|---|
//! | [`api`] | a neutral request as the body of each API; each API's stream as neutral events |
//! | [`history`] | a conversation with a model, the same for every API |
//! | [`tool`] | a tool that a model may call |
//! | [`http`] | the HTTP client for all services that get keys |
//! | [`loopback`] | serving on loopback |
//! | [`gateway`] | the APIs of models on top of a service that speaks one of them |
//! | [`script`] | the scripted model: a server that plays a script instead of thinking |

pub mod api;
pub mod gateway;
pub mod history;
pub mod http;
pub mod loopback;
pub mod script;
pub mod tool;
