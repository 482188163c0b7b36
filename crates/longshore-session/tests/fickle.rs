//! A journal with faults, around a journal without faults: it behaves as a remote journal can.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use longshore_log::story::sample::{Talk, append, end};
use longshore_log::{
    Batch, CompactionReport, Feed, FeedCursor, Journal, LogError, LogFuture, Mark, MemoryLog, SessionHead,
    SessionWatch, Stores, WithRaw,
};
use longshore_model::event::Body;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;
use tokio::sync::Notify;
use uuid::Uuid;

/// What happens to an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The journal writes the batch, but the answer is lost.
    AckLost,
    /// The batch is lost on its way.
    Lost,
    /// The batch is late: it arrives after the hub gave up waiting, and before the hub's repetition.
    LateBefore,
    /// The batch is late: it arrives after the hub's repetition.
    LateAfter,
    /// Another hub writes to the session just before.
    Fenced,
}

/// A journal that can be full, slow and uncertain.
#[derive(Default)]
pub(crate) struct Fickle {
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) full: AtomicBool,
    pub(crate) held: AtomicBool,
    pub(crate) go: Notify,
    /// The faults of the next appends.
    pub(crate) plan: Mutex<VecDeque<Fault>>,
    /// Whether the journal acknowledges no append.
    pub(crate) silent: AtomicBool,
    /// Whether it becomes so once the plan is carried out.
    pub(crate) silent_after_plan: AtomicBool,
    late: Mutex<Option<(Batch, Mark, Uuid, Fault)>>,
}

impl Fickle {
    pub(crate) fn stores(self: &Arc<Self>) -> Stores {
        Stores { journal: self.clone(), catalog: self.log.clone(), keyring: self.log.clone() }
    }

    pub(crate) fn will(&self, fault: Fault) {
        self.plan.lock().unwrap().push_back(fault);
    }

    /// Renames the session as another hub.
    pub(crate) async fn continue_elsewhere(&self, session: SessionId) {
        let seq = end(&*self.log, session).await;
        let mut talk = Talk { session, seq, turn: None, clock: 0 };
        let renamed = talk.say(Body::TitleChanged, None, "renamed elsewhere", None);
        append(&*self.log, talk.batch(vec![renamed])).await.unwrap();
    }

    /// Lets late batches arrive.
    async fn arrive(&self, when: Fault) {
        let due = self.late.lock().unwrap().take_if(|(.., fault)| *fault == when);
        if let Some((batch, after, nonce, _)) = due {
            // Nobody waits for this answer any more.
            let _ = self.log.append(batch, after, nonce).await;
        }
    }

    async fn write(&self, batch: Batch, after: Mark, nonce: Uuid) -> Result<Mark, LogError> {
        let unknown =
            || LogError::Unknown { session: batch.session, detail: "the journal does not answer".into() };
        if self.full.load(Ordering::SeqCst) {
            return Err(LogError::Full { path: "log.db".into() });
        }
        if self.silent.load(Ordering::SeqCst) {
            return Err(unknown());
        }
        if self.held.load(Ordering::SeqCst) {
            self.go.notified().await;
        }
        self.arrive(Fault::LateBefore).await;
        let fault = self.plan.lock().unwrap().pop_front();
        if fault.is_some() && self.silent_after_plan.load(Ordering::SeqCst) {
            self.silent.store(true, Ordering::SeqCst);
        }
        match fault {
            Some(Fault::AckLost) => {
                let _ = self.log.append(batch.clone(), after, nonce).await;
                return Err(unknown());
            }
            Some(Fault::Lost) => return Err(unknown()),
            Some(late @ (Fault::LateBefore | Fault::LateAfter)) => {
                let error = unknown();
                *self.late.lock().unwrap() = Some((batch, after, nonce, late));
                return Err(error);
            }
            Some(Fault::Fenced) => self.continue_elsewhere(batch.session).await,
            None => {}
        }
        let done = self.log.append(batch, after, nonce).await;
        self.arrive(Fault::LateAfter).await;
        done
    }
}

impl Journal for Fickle {
    fn append(&self, batch: Batch, after: Mark, nonce: Uuid) -> LogFuture<'_, Mark> {
        Box::pin(self.write(batch, after, nonce))
    }
    fn head(&self, session: SessionId) -> LogFuture<'_, SessionHead> {
        self.log.head(session)
    }
    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>> {
        self.log.read(session, after, limit, raw)
    }
    fn follow(&self, from: FeedCursor, raw: WithRaw) -> Result<Box<dyn Feed>, LogError> {
        self.log.follow(from, raw)
    }
    fn watch(&self, session: SessionId) -> SessionWatch {
        Journal::watch(&*self.log, session)
    }
    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, CompactionReport> {
        self.log.compact(ended_before)
    }
    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64> {
        self.log.forget(updated_before)
    }
    fn erase(&self, session: SessionId) -> LogFuture<'_, bool> {
        self.log.erase(session)
    }
}
