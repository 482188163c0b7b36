//! Limits how often something may happen within a minute: per address, in total, or both.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::berth::party_address;

/// How long a count lasts.
const WINDOW: Duration = Duration::from_secs(60);
/// The most addresses to remember. Further addresses share the rest of the total.
const ADDRESSES: usize = 4_096;

/// The count of one minute.
#[derive(Clone, Copy, Debug)]
struct Count {
    since: Instant,
    times: u32,
}

impl Count {
    fn new() -> Self {
        Self { since: Instant::now(), times: 0 }
    }

    /// How long to wait if the count has reached the limit.
    fn must_wait(self, most: u32) -> Option<Duration> {
        let left = WINDOW.checked_sub(self.since.elapsed()).filter(|left| !left.is_zero())?;
        (self.times >= most).then_some(left)
    }

    fn add(&mut self) {
        if self.since.elapsed() >= WINDOW {
            *self = Self::new();
        }
        self.times += 1;
    }
}

/// Delays callers that try too often.
#[derive(Debug)]
pub(crate) struct Throttle {
    per_address: u32,
    overall: u32,
    counts: Mutex<(Count, HashMap<IpAddr, Count>)>,
}

impl Throttle {
    /// A limit per minute and address, and a limit per minute in total.
    pub(crate) fn new(per_address: u32, overall: u32) -> Self {
        Self { per_address, overall, counts: Mutex::new((Count::new(), HashMap::new())) }
    }

    /// How long this address must wait before its next try.
    pub(crate) fn must_wait(&self, from: Option<IpAddr>) -> Option<Duration> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, addresses) = &*counts;
        let one = from.and_then(|from| addresses.get(&party_address(from)));
        one.and_then(|one| one.must_wait(self.per_address)).or_else(|| all.must_wait(self.overall))
    }

    /// Counts a try.
    pub(crate) fn count(&self, from: Option<IpAddr>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, addresses) = &mut *counts;
        all.add();
        let Some(from) = from.map(party_address) else { return };
        if addresses.len() >= ADDRESSES {
            addresses.retain(|_, count| count.since.elapsed() < WINDOW);
        }
        if addresses.len() < ADDRESSES || addresses.contains_key(&from) {
            addresses.entry(from).or_insert_with(Count::new).add();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_tries_too_often_waits_and_others_do_not_until_all_do() {
        let throttle = Throttle::new(3, 5);
        let (guesser, other) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        for _ in 0..3 {
            assert_eq!(throttle.must_wait(guesser), None);
            throttle.count(guesser);
        }
        assert!(throttle.must_wait(guesser).is_some());
        assert_eq!(throttle.must_wait(other), None);
        throttle.count(other);
        throttle.count(None);
        assert!(throttle.must_wait(other).is_some(), "all together were too many");
        tokio::time::advance(WINDOW).await;
        assert_eq!((throttle.must_wait(guesser), throttle.must_wait(other)), (None, None));
    }
}
