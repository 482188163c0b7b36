//! The error of a driver for a line that it cannot read.

/// A line that does not have the shape that its type or method promises.
pub(crate) type WireError = serde_json::Error;
