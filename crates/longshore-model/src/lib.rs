//! The waist of Longshore: what agents say and clients see, and the machine between them.
//!
//! Pure: nothing in this crate awaits, reads a clock or opens a file.
//!
//! | module | holds |
//! |---|---|
//! | [`id`], [`time`] | names and moments, and the [`id::Context`] that a machine is called with |
//! | [`event`] | the event, its closed [`event::Body`], its public JSON |
//! | [`item`], [`approval`], [`lifecycle`], [`usage`], [`capability`] | what bodies are made of |
//! | [`mcp`] | MCP servers, which give tools to an agent |
//! | [`service`] | a model service: its API, its address |
//! | [`device`] | paired clients, and what each may do |
//! | [`command`] | commands of clients, commands to agents, refusals |
//! | [`session`] | the machine: input in, events and effects out; its state is the fold of its events |
//! | [`info`] | a session in one row of a list |
//! | [`timeline`] | the fold that clients draw |
//! | [`recent`] | the newest of many |
//! | [`frame`] | an event encoded once |
//! | [`delegation`] | work that one session gives to another |
//! | [`driver`], [`host_io`], [`anchor`], [`callback`] | the contract with the south |

#![deny(clippy::wildcard_enum_match_arm)]

pub mod anchor;
pub mod approval;
pub mod callback;
pub mod capability;
pub mod command;
pub mod delegation;
pub mod describe;
pub mod device;
pub mod driver;
pub mod event;
pub mod frame;
pub mod host_io;
pub mod id;
pub mod info;
pub mod item;
pub mod lifecycle;
pub mod mcp;
pub mod recent;
pub mod service;
pub mod session;
pub mod time;
pub mod timeline;
pub mod usage;
