//! The tape: where a wire is written down while it is spoken over.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::{Direction, Entry};

/// Takes down what is said. Clones write on the same one.
#[derive(Clone)]
pub struct Tape {
    began: Instant,
    sink: Arc<Mutex<dyn FnMut(Entry) + Send>>,
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape").field("began", &self.began).finish_non_exhaustive()
    }
}

impl Tape {
    /// One that begins now and hands each entry on. Nothing is heard from an agent while it does.
    pub fn new(sink: impl FnMut(Entry) + Send + 'static) -> Self {
        Self { began: Instant::now(), sink: Arc::new(Mutex::new(sink)) }
    }

    /// What was said, to the letter.
    pub fn note(&self, dir: Direction, said: &str) {
        let t = (self.began.elapsed().as_secs_f64() * 10_000.0).round() / 10_000.0;
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink(Entry::said(t, dir, said));
    }
}
