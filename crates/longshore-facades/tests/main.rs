//! The native facade on real sockets, over a hub whose agent is the test.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod access;
mod asks;
mod callbacks;
mod chunks;
mod contract;
mod devices;
mod docs;
mod doors;
mod events;
mod finding;
mod flood;
mod full_disk;
mod hostile;
mod http;
mod intruders;
mod keeping;
mod mobile;
mod openagents;
mod orbit;
mod orbit_http;
mod prompts;
mod push;
mod rig;
mod rpc;
mod secure;
mod sessions;
mod socket;
mod subscriptions;
mod together;
#[path = "../../longshore-model/tests/typescript.rs"]
mod typescript;
mod walk;
