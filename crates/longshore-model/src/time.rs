//! A point in time in UTC, to the microsecond. The model never reads a clock; the caller passes the time.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since 1970; RFC 3339 in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, JsonSchema)]
#[schemars(with = "String")]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time from its microseconds since 1970.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// The time some milliseconds later.
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis.saturating_mul(1_000)))
    }

    /// The milliseconds since `earlier`; 0 if `earlier` is in the future.
    pub fn millis_since(self, earlier: Timestamp) -> u64 {
        ((self.0 - earlier.0).max(0) / 1_000) as u64
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_microsecond(self.0).unwrap_or_default();
        write!(f, "{moment:.6}")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|moment| Self(moment.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let at = Timestamp::from_micros(1_794_768_302_468_123);
        assert_eq!(at.to_string(), "2026-11-15T18:45:02.468123Z");
        assert_eq!(at.to_string().parse::<Timestamp>().unwrap(), at);
    }
}
