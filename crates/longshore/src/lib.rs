//! The program `longshore`: its verbs, and the parts that tests need too.
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | the command line, one verb per file |
//! | [`config`] | paths and settings |
//! | [`client`], [`dial`], `proof` | a client of a hub's socket, the connection, and the proof that the hub is ours |
//! | [`demo`] | what `longshore demo` plays, where, and its recording |
//! | [`owner_token`] | the rules of a token, and the token of the environment, which no child process inherits |
//! | [`render`] | sessions on a terminal |
//! | [`scenario`] | the scenarios for every agent, and each agent's recorded behaviour |
//! | `small_file` | reads the small files of the data folder, whatever is in their place |

pub mod cli;
pub mod client;
pub mod config;
pub mod demo;
pub mod dial;
pub mod owner_token;
pub mod render;
pub mod scenario;

mod proof;
mod small_file;
