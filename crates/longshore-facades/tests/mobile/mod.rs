//! The app mobile-agent, over real sockets: what it sends, what it gets, and what it shows of that.

pub(crate) mod app;
mod asks;
mod entering;
mod harm;
mod phone;
mod repositories;
mod returning;
mod talking;
