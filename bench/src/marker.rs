//! The marker at the beginning of every delta: the delta's number, and the time at which the agent wrote it.
//!
//! A client finds the marker in a frame of any protocol, so it can check loss, order and latency without parsing the
//! frame.

use std::fmt;

const OPEN: &str = "<#";

/// The marker of one delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The number of the delta in its turn, from 0.
    pub index: u64,
    /// The time of the write, in nanoseconds since 1970.
    pub written: u64,
}

impl Marker {
    /// The first marker in a text.
    pub fn find(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once(OPEN)?;
        let (marker, _) = rest.split_once('>')?;
        let (index, written) = marker.split_once('@')?;
        Some(Self { index: index.parse().ok()?, written: written.parse().ok()? })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPEN}{}@{}>", self.index, self.written)
    }
}

/// Nanoseconds since 1970. Agent and client share this clock.
#[allow(clippy::disallowed_methods, reason = "the one place that reads it")]
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_found_in_any_frame() {
        let marker = Marker { index: 12, written: 1_794_768_302_468_123_456 };
        assert_eq!(Marker::find(&format!("{{\"text\":\"{marker}xx\"}}")), Some(marker));
        for none in ["", "<#", "<#1@2", "<#1>", "<#a@1>", "{}"] {
            assert_eq!(Marker::find(none), None, "{none}");
        }
    }
}
