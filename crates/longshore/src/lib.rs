//! The program `longshore`: its verbs, and the parts of them that tests want too.
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | the command line, one verb per file |
//! | [`config`] | where things are and how they are set |
//! | [`client`], [`dial`], `proof` | a client of a hub's socket, the way to it, and how it is known to be ours |
//! | [`demo`] | what `longshore demo` plays, where, and its recording |
//! | [`owner_token`] | what a token is, and the one that the environment names, which nobody inherits |
//! | [`render`] | sessions on a terminal |
//! | [`scenario`] | what every agent is tried with, and what each was seen to do |
//! | `small_file` | how the small files of the data folder are read, whatever stands in their place |

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
