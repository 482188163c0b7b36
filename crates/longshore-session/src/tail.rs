//! The tail: the newest frames of one session, held in memory for everyone who follows it.
//!
//! A subscriber is a cursor over the tail and, behind it, the log. Nothing is queued per subscriber, so one that does
//! not read costs nothing and holds nobody back: it falls behind, and reads on from the log when it comes back.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::frame::Frame;
use longshore_model::id::Seq;
use tokio::sync::watch;

/// How many bytes of frames a session holds in memory; older ones are read from the log.
const TAIL_BYTES: usize = 512 << 10;

/// Some consecutive frames of a session, shared and not copied.
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
    held: Mutex<Held>,
    head: watch::Sender<Seq>,
}

#[derive(Default)]
struct Held {
    batches: VecDeque<Arc<[Frame]>>,
    bytes: usize,
}

impl Tail {
    pub(crate) fn starting_at(head: Seq) -> Self {
        Self { held: Mutex::default(), head: watch::Sender::new(head) }
    }

    /// Frames that are durable now. Called by the session's actor only, in order.
    pub(crate) fn push(&self, frames: Arc<[Frame]>) {
        let Some(last) = frames.last() else { return };
        let head = last.seq();
        {
            let mut held = self.lock();
            held.bytes += bytes_of(&frames);
            held.batches.push_back(frames);
            while held.bytes > TAIL_BYTES && held.batches.len() > 1 {
                if let Some(oldest) = held.batches.pop_front() {
                    held.bytes -= bytes_of(&oldest);
                }
            }
        }
        self.head.send_replace(head);
    }

    pub(crate) fn head(&self) -> Seq {
        *self.head.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Seq> {
        self.head.subscribe()
    }

    /// The frames right after the cursor, if they are still here: one batch at a time.
    pub(crate) fn after(&self, cursor: Seq) -> Option<Frames> {
        let held = self.lock();
        let first = held.batches.front()?.first()?.seq();
        if first > cursor.next() {
            return None;
        }
        let at = held.batches.partition_point(|batch| batch.last().is_some_and(|last| last.seq() <= cursor));
        Some(Frames::after(Arc::clone(held.batches.get(at)?), cursor))
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes_of(frames: &[Frame]) -> usize {
    frames.iter().map(|frame| frame.json().len() + frame.raw().map_or(0, |raw| raw.len())).sum()
}
