//! Counts the deltas of one turn. It is an error if a delta is missing, comes twice, or is out of order.

use std::cmp::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use longshore_bench::marker::Marker;

/// The result of one turn.
#[derive(Debug)]
pub(crate) struct Seen {
    /// For each delta, the time from the agent's write to the client's read, in nanoseconds.
    pub(crate) latencies: Vec<u64>,
    /// The time from the write of the first delta to the read of the last.
    pub(crate) took: Duration,
    /// The number of events of any kind.
    pub(crate) events: u64,
}

/// The result of a turn so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    latencies: Vec<u64>,
    first_written: u64,
    last_read: u64,
}

impl Tally {
    /// Counts a delta that the client read at the time `read`.
    pub(crate) fn take(&mut self, Marker { index, written }: Marker, read: u64) -> Result<()> {
        let due = self.latencies.len() as u64;
        match index.cmp(&due) {
            Ordering::Less => bail!("delta {index} came again; {due} was due"),
            Ordering::Greater => bail!("delta {due} is lost; {index} came instead"),
            Ordering::Equal => {}
        }
        if index == 0 {
            self.first_written = written;
        }
        self.last_read = read;
        self.latencies.push(read.saturating_sub(written));
        Ok(())
    }

    /// Ends the turn, which must have had `deltas` deltas.
    pub(crate) fn end(self, deltas: u64) -> Result<Seen> {
        let seen = self.latencies.len() as u64;
        if seen != deltas {
            bail!("the turn ended after {seen} of {deltas} deltas: the others are lost");
        }
        let took = Duration::from_nanos(self.last_read.saturating_sub(self.first_written));
        Ok(Seen { latencies: self.latencies, took, events: self.events })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(indices: &[u64]) -> Result<Seen> {
        let mut tally = Tally::default();
        for (at, index) in (0..).zip(indices) {
            tally.take(Marker { index: *index, written: 100 * at }, 100 * at + 7)?;
        }
        tally.end(3)
    }

    #[test]
    fn a_whole_turn_is_measured() {
        let seen = tally(&[0, 1, 2]).unwrap();
        assert_eq!((seen.latencies, seen.took), (vec![7, 7, 7], Duration::from_nanos(207)));
    }

    #[test]
    fn whatever_is_lost_doubled_or_scrambled_is_an_error() {
        for (indices, fault) in [
            (&[0, 1][..], "after 2 of 3"),
            (&[0, 2], "delta 1 is lost"),
            (&[0, 0, 1, 2], "delta 0 came again"),
            (&[1, 0, 2], "delta 0 is lost"),
            (&[0, 1, 2, 2], "delta 2 came again"),
            (&[0, 1, 2, 3], "after 4 of 3"),
        ] {
            let error = tally(indices).unwrap_err().to_string();
            assert!(error.contains(fault), "{indices:?}: {error}");
        }
    }
}
