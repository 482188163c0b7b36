//! The native facade on real sockets, over a hub whose agent is the test.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod asks;
mod callbacks;
mod docs;
mod doors;
mod events;
mod finding;
mod flood;
mod hostile;
mod http;
mod prompts;
mod rig;
mod rpc;
mod sessions;
mod socket;
mod subscriptions;
