//! The program `longshore`: its verbs, and the parts of them that tests want too.
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | the command line, one verb per file |
//! | [`config`] | where things are and how they are set |
//! | [`client`], [`wire`], `proof` | a client of a hub's socket, the way to it, and how it is known to be ours |
//! | [`demo`] | what `longshore demo` plays, where, and its recording |
//! | [`gateway`] | the APIs of models on top of a service that speaks one of them |
//! | [`owner_token`] | the token that the environment names, which nobody inherits |
//! | [`render`] | sessions on a terminal |
//! | [`scenario`] | what every agent is tried with, and what each was seen to do |
//! | [`script`] | the scripted model |

pub mod cli;
pub mod client;
pub mod config;
pub mod demo;
pub mod gateway;
pub mod owner_token;
pub mod render;
pub mod scenario;
pub mod script;
pub mod wire;

mod proof;
