//! The stories that every backend must pass: one per trait. A backend in another crate runs them in its
//! tests, with the feature `story`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::{SessionFilter, Stores};

mod catalog;
mod compaction;
mod fence;
mod journal;
mod keyring;
mod listing;
mod rebuild;
mod search;

pub mod sample;

pub use catalog::catalog;
pub use journal::journal;
pub use keyring::keyring;

/// Opens the same stores again. A backend without a file returns them unchanged.
pub type Reopen<'a> = &'a dyn Fn(Stores) -> Stores;

fn everything() -> SessionFilter {
    SessionFilter { limit: usize::MAX, ..SessionFilter::default() }
}
