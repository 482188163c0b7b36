//! The running waist with a made-up anchor: order, joins, races, faults, recovery.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod approvals;
mod copies;
mod delegations;
mod faults;
mod fickle;
mod folds;
mod imports;
mod keeping;
mod memory;
mod past;
mod recovery;
mod rig;
mod subscriptions;
mod verdicts;
