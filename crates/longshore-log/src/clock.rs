//! The clock, by which keys expire.

use longshore_model::time::Timestamp;

/// Returns the current time. Nothing else in this crate reads the clock.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
