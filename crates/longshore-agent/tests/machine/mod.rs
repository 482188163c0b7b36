//! The loop, and what it remembers.

mod anything;
mod cuts;
mod desk;
mod histories;
mod order;
mod own;
mod thoughts;
mod turns;
