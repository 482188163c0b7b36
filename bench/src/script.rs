//! The prompt that scripts a turn: `bench deltas=20000 rate=0 bytes=20`.

use std::fmt;

/// The largest number in a script, so that a mistake does not fill a disk.
const MOST: u64 = 10_000_000;

/// The script of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaScript {
    /// The number of deltas.
    pub deltas: u64,
    /// The number of deltas per second. 0 means as fast as the pipe takes them.
    pub rate: u64,
    /// The number of bytes of each delta after its marker.
    pub bytes: usize,
}

impl DeltaScript {
    /// The script in a prompt. Returns none if the prompt is no script.
    pub fn parse(prompt: &str) -> Option<Self> {
        let mut words = prompt.split_whitespace();
        if words.next()? != "bench" {
            return None;
        }
        let mut script = Self { deltas: 1, rate: 0, bytes: 20 };
        for word in words {
            let (key, value) = word.split_once('=')?;
            let value: u64 = value.parse().ok().filter(|value| *value <= MOST)?;
            match key {
                "deltas" => script.deltas = value,
                "rate" => script.rate = value,
                "bytes" => script.bytes = usize::try_from(value).ok()?,
                _ => return None,
            }
        }
        Some(script)
    }
}

impl fmt::Display for DeltaScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deltas, rate, bytes } = self;
        write!(f, "bench deltas={deltas} rate={rate} bytes={bytes}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_as_it_is_written_and_nothing_else_is_one() {
        let script = DeltaScript { deltas: 2_000, rate: 200, bytes: 20 };
        assert_eq!(DeltaScript::parse(&script.to_string()), Some(script));
        for other in ["", "hello", "bench deltas", "bench deltas=x", "bench deltas=99999999999", "bench no=1"]
        {
            assert_eq!(DeltaScript::parse(other), None, "{other}");
        }
    }
}
