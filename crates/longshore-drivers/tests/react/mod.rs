//! The built-in agent: its APIs, its history, its loop, its driver.

mod anything;
mod bodies;
mod chats;
mod cuts;
mod desk;
mod driver;
mod histories;
mod order;
mod own;
mod streams;
mod thoughts;
mod turns;
