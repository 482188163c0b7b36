//! The tail: the newest frames of one session, in memory for all followers.
//!
//! A subscriber is a cursor over the tail and, behind it, the log. There is no queue per subscriber, so a
//! subscriber that does not read costs nothing and delays nobody: it falls behind, and later continues from
//! the log.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::frame::Frame;
use longshore_model::id::Seq;
use tokio::sync::watch;

/// The most bytes of frames that a session holds in memory. Readers get older frames from the log.
const TAIL_BYTES: usize = 512 << 10;

/// Consecutive frames of a session, shared and not copied.
#[derive(Clone, Debug)]
pub struct Frames {
    batch: Arc<[Frame]>,
    from: usize,
}

impl Frames {
    pub(crate) fn after(batch: Arc<[Frame]>, cursor: Seq) -> Self {
        let from = batch.partition_point(|frame| frame.seq() <= cursor);
        Self { batch, from }
    }
}

impl Deref for Frames {
    type Target = [Frame];
    fn deref(&self) -> &[Frame] {
        &self.batch[self.from..]
    }
}

pub(crate) struct Tail {
    recent: Mutex<RecentFrames>,
    head: watch::Sender<Seq>,
    erased: AtomicBool,
}

#[derive(Default)]
struct RecentFrames {
    batches: VecDeque<Arc<[Frame]>>,
    bytes: usize,
}

impl Tail {
    pub(crate) fn starting_at(head: Seq) -> Self {
        Self { recent: Mutex::default(), head: watch::Sender::new(head), erased: AtomicBool::new(false) }
    }

    /// Adds frames that are durable now. Only the session's actor calls this, in order.
    pub(crate) fn push(&self, frames: Arc<[Frame]>) {
        let Some(last) = frames.last() else { return };
        let head = last.seq();
        {
            let mut recent = self.lock();
            if self.head.receiver_count() == 0 {
                // Nobody follows: whoever comes later reads from the log.
                *recent = RecentFrames::default();
            }
            recent.bytes += bytes_of(&frames);
            recent.batches.push_back(frames);
            while recent.bytes > TAIL_BYTES && recent.batches.len() > 1 {
                if let Some(oldest) = recent.batches.pop_front() {
                    recent.bytes -= bytes_of(&oldest);
                }
            }
        }
        self.head.send_replace(head);
    }

    /// Somebody else continued the session: followers read from the log what this hub did not record.
    pub(crate) fn reread_to(&self, head: Seq) {
        if head > self.head() {
            *self.lock() = RecentFrames::default();
            self.head.send_replace(head);
        }
    }

    /// Tells all followers that the session was erased.
    pub(crate) fn erase(&self) {
        self.erased.store(true, Ordering::Release);
        *self.lock() = RecentFrames::default();
        self.head.send_modify(|_| {});
    }

    pub(crate) fn is_erased(&self) -> bool {
        self.erased.load(Ordering::Acquire)
    }

    pub(crate) fn head(&self) -> Seq {
        *self.head.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Seq> {
        self.head.subscribe()
    }

    /// The frames right after the cursor, one batch at a time, if the tail still has them.
    pub(crate) fn after(&self, cursor: Seq) -> Option<Frames> {
        let recent = self.lock();
        let first = recent.batches.front()?.first()?.seq();
        if first > cursor.next() {
            return None;
        }
        let at =
            recent.batches.partition_point(|batch| batch.last().is_some_and(|last| last.seq() <= cursor));
        Some(Frames::after(Arc::clone(recent.batches.get(at)?), cursor))
    }

    fn lock(&self) -> MutexGuard<'_, RecentFrames> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes_of(frames: &[Frame]) -> usize {
    frames.iter().map(|frame| frame.json().len() + frame.raw().map_or(0, |raw| raw.len())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(seq: u64, bytes: usize) -> Frame {
        Frame::stored(Seq(seq), "x".repeat(bytes), None)
    }

    #[test]
    fn it_holds_the_newest_and_no_more_than_it_may() {
        let tail = Tail::starting_at(Seq(0));
        let _follower = tail.watch();
        for seq in 1..=100 {
            tail.push(Arc::from([frame(seq, TAIL_BYTES / 10)]));
            assert!(tail.lock().bytes <= TAIL_BYTES);
        }
        assert_eq!(tail.head(), Seq(100));
        assert!(tail.after(Seq(50)).is_none(), "what is gone is read from the log");
        let first = tail.after(Seq(95)).unwrap();
        assert_eq!(first.first().map(Frame::seq), Some(Seq(96)));
        // One batch larger than everything is held all the same: somebody is about to ask for it.
        tail.push(Arc::from([frame(101, TAIL_BYTES * 2)]));
        assert_eq!(tail.after(Seq(100)).unwrap().len(), 1);
        assert!(tail.after(Seq(99)).is_none());
    }

    #[test]
    fn it_holds_little_when_nobody_follows() {
        let tail = Tail::starting_at(Seq(0));
        for seq in 1..=100 {
            tail.push(Arc::from([frame(seq, 1_000)]));
        }
        assert_eq!(tail.lock().bytes, 1_000);
        assert_eq!(tail.after(Seq(99)).unwrap().len(), 1);
        assert!(tail.after(Seq(98)).is_none());
    }

    #[test]
    fn a_cursor_in_the_middle_of_a_batch_gets_the_rest_of_it() {
        let tail = Tail::starting_at(Seq(10));
        let _follower = tail.watch();
        tail.push((11..=20).map(|seq| frame(seq, 1)).collect());
        tail.push((21..=30).map(|seq| frame(seq, 1)).collect());
        let seqs =
            |after| tail.after(Seq(after)).map(|frames| frames.iter().map(|frame| frame.seq().0).collect());
        assert_eq!(seqs(10), Some((11..=20).collect::<Vec<_>>()));
        assert_eq!(seqs(17), Some((18..=20).collect::<Vec<_>>()));
        assert_eq!(seqs(20), Some((21..=30).collect::<Vec<_>>()));
        assert_eq!(seqs(30), None);
        assert_eq!(seqs(9), None, "event 10 is not here");
    }
}
