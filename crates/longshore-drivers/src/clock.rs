//! The one place of this crate that reads the wall clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longshore_model::time::Timestamp;

/// The time, in UTC.
#[allow(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// How long it is from now until `moment`. Zero if it has passed.
pub fn until(moment: Timestamp) -> Duration {
    let micros = moment.micros().saturating_sub(now().micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
