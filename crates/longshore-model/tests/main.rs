//! The model, held to its promises: the machine, the folds, the public contract.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod bounds;
mod contract;
mod describe;
mod elsewhere;
mod folds;
mod handing;
mod holding;
mod machine;
mod parents;
mod remembered;
mod stage;
mod typescript;
mod vectors;
