//! Unfinished requests of clients: how many bytes the hub holds, for whom, and how long a request may take.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`LARGE`], [`SMALL`], [`TINY`] | the hub refuses a longer request: of callers that may send content, of callers that may not, of unknown callers |
//! | [`HELD`](crate::ledger::HELD) | the bytes in total; the hub refuses more, and the client can try again |
//! | [`HELD_OF_DEVICES`](crate::ledger::HELD_OF_DEVICES), [`HELD_OF_ONE`](crate::ledger::HELD_OF_ONE) | the same for all devices together, and for one device; the rest is the owner's |
//! | [`STRANGER_WITHIN`] | the hub refuses a body of an unknown caller that takes longer |
//! | [`PACE`] | a known caller must send this many bytes in this time, or its request ends |
//!
//! The first `UNCOUNTED` bytes of each request do not count, so a short request always finds room.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use futures_util::future::BoxFuture;
use hyper::body::{Frame, SizeHint};
use longshore_model::id::DeviceId;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::auth::{Access, Caller};
use crate::ledger::ByteLedger;
use crate::problem::Problem;

/// The largest request of a caller that may send content. Attachments are inside, in base64.
pub const LARGE: usize = 32 << 20;
/// The largest request of a caller that may only read and decide.
pub const SMALL: usize = 64 << 10;
/// The largest request of an unknown caller.
pub const TINY: usize = 16 << 10;

/// The bytes of each request that do not count.
const UNCOUNTED: usize = 64 << 10;

/// How long a body of an unknown caller may take.
pub const STRANGER_WITHIN: Duration = Duration::from_secs(10);
/// How many bytes must arrive from a known caller, and how fast.
pub const PACE: (usize, Duration) = (32 << 10, Duration::from_secs(10));
/// How long a message of a socket may grow more slowly than that.
pub(crate) const FRAME_WITHIN: Duration = Duration::from_secs(30);

/// The largest input of this caller.
pub(crate) fn limit_of(caller: &Caller) -> usize {
    if caller.may(Access::Act) { LARGE } else { SMALL }
}

/// The bytes of all unfinished inputs.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    ledger: ByteLedger,
}

impl Intake {
    /// Opens an account for one input of a caller.
    pub(crate) fn begin(self: &Arc<Self>, of: Option<DeviceId>) -> Holding {
        Holding { intake: Arc::clone(self), of, seen: 0, counted: 0 }
    }
}

/// The bytes of one input. Dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Holding {
    intake: Arc<Intake>,
    of: Option<DeviceId>,
    seen: usize,
    counted: usize,
}

impl Holding {
    /// Counts more bytes; returns false if there is no room for them.
    fn grow(&mut self, more: usize) -> bool {
        self.seen += more;
        let missing = self.seen.saturating_sub(UNCOUNTED).saturating_sub(self.counted);
        let fits = missing == 0 || self.intake.ledger.take(self.of, missing);
        if fits {
            self.counted += missing;
        }
        fits
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if self.counted > 0 {
            self.intake.ledger.give_back(self.of, self.counted);
        }
    }
}

/// Why a body was cut off, if it was.
pub(crate) type Cut = Arc<OnceLock<Problem>>;

/// A body that ends when its sender is too slow, sends too much, or must leave.
pub(crate) struct PacedBody {
    body: Body,
    limit: usize,
    seen: usize,
    /// The bytes since the deadline was set.
    lately: usize,
    deadline: Pin<Box<Sleep>>,
    /// None for an unknown caller, who gets no more time however much arrives.
    known: Option<(SharedHolding, BoxFuture<'static, Problem>)>,
    cut: Cut,
}

/// The bytes of a body. The hub works on a body longer than it reads it.
pub(crate) type SharedHolding = Arc<Mutex<Holding>>;

impl PacedBody {
    /// The body of an unknown caller.
    pub(crate) fn of_stranger(body: Body, cut: Cut) -> Self {
        let deadline = Box::pin(sleep_until(Instant::now() + STRANGER_WITHIN));
        Self { body, limit: TINY, seen: 0, lately: 0, deadline, known: None, cut }
    }

    /// The body of a caller.
    pub(crate) fn of_caller(body: Body, caller: &Caller, holding: SharedHolding, cut: Cut) -> Self {
        let (limit, caller) = (limit_of(caller), caller.clone());
        let out = Box::pin(async move { caller.put_out().await.into() });
        let deadline = Box::pin(sleep_until(Instant::now() + PACE.1));
        Self { body, limit, seen: 0, lately: 0, deadline, known: Some((holding, out)), cut }
    }

    fn cut_off(&self, problem: Problem) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let error = axum::Error::new(problem.title.clone());
        // The first reason is the reason.
        let _ = self.cut.set(problem);
        Poll::Ready(Some(Err(error)))
    }

    /// Counts bytes; the error says why they are too many.
    fn count(&mut self, more: usize) -> Result<(), Problem> {
        self.seen += more;
        if self.seen > self.limit {
            return Err(Problem::too_large(self.limit));
        }
        let Some((holding, _)) = &mut self.known else { return Ok(()) };
        if !holding.lock().unwrap_or_else(PoisonError::into_inner).grow(more) {
            return Err(Problem::too_much_at_once());
        }
        self.lately += more;
        let (bytes, within) = PACE;
        if self.lately >= bytes {
            self.lately = 0;
            self.deadline.as_mut().reset(Instant::now() + within);
        }
        Ok(())
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some((_, out)) = &mut self.known
            && let Poll::Ready(problem) = out.as_mut().poll(cx)
        {
            return self.cut_off(problem);
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let more = frame.data_ref().map_or(0, Bytes::len);
                match self.count(more) {
                    Ok(()) => Poll::Ready(Some(Ok(frame))),
                    Err(problem) => self.cut_off(problem),
                }
            }
            Poll::Pending if self.deadline.as_mut().poll(cx).is_ready() => self.cut_off(Problem::too_slow()),
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The unfinished messages of a socket. The connection counts what it reads, and the socket takes the account
/// with each message.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    open: Mutex<Option<(Holding, Instant, usize)>>,
    /// How many bytes a caller may still send that has yet to say who it is; none for others.
    strange: Mutex<Option<usize>>,
}

impl Frames {
    /// Takes at most [`TINY`] bytes until it is known who the caller is.
    pub(crate) fn begin_strange(&self) {
        *self.strange.lock().unwrap_or_else(PoisonError::into_inner) = Some(TINY);
    }

    /// Counts for this caller from now on.
    pub(crate) fn begin(&self, intake: &Arc<Intake>, of: Option<DeviceId>) {
        *self.strange.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.open() = Some((intake.begin(of), Instant::now(), 0));
    }

    /// Counts bytes; returns false if there is no room for them.
    pub(crate) fn came(&self, more: usize) -> bool {
        if let Some(left) = &mut *self.strange.lock().unwrap_or_else(PoisonError::into_inner) {
            let fits = more <= *left;
            *left = left.saturating_sub(more);
            return fits;
        }
        let mut open = self.open();
        let Some((holding, since, lately)) = &mut *open else { return true };
        if holding.seen == 0 || *lately + more >= PACE.0 {
            (*since, *lately) = (Instant::now(), 0);
        } else {
            *lately += more;
        }
        holding.grow(more)
    }

    /// Takes the account of a whole message, for as long as the hub works on it.
    pub(crate) fn message(&self) -> Option<Holding> {
        let mut open = self.open();
        let (holding, since, lately) = open.as_mut()?;
        (*since, *lately) = (Instant::now(), 0);
        let next = holding.intake.begin(holding.of);
        Some(std::mem::replace(holding, next))
    }

    /// Whether an unfinished message does not grow.
    pub(crate) fn stall(&self) -> bool {
        let open = self.open();
        open.as_ref().is_some_and(|(holding, since, _)| holding.seen > 0 && since.elapsed() >= FRAME_WITHIN)
    }

    fn open(&self) -> MutexGuard<'_, Option<(Holding, Instant, usize)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_share_and_the_owner_always_has_room() {
        let intake = Arc::new(Intake::default());
        let phones: Vec<_> = (0..9).map(|at| Some(DeviceId::of_words(&[&at.to_string()]))).collect();
        let begun = |of: Option<DeviceId>, bytes: usize| {
            let mut holding = intake.begin(of);
            holding.grow(bytes).then_some(holding)
        };
        let first = [begun(phones[0], LARGE), begun(phones[0], LARGE)];
        assert!(first.iter().all(Option::is_some));
        assert!(begun(phones[0], LARGE).is_none(), "that is the share of one");
        assert!(begun(phones[0], UNCOUNTED).is_some(), "what is short is never refused");
        let second = begun(phones[1], LARGE);
        assert!(second.is_some());
        assert!(phones[2..].iter().all(|phone| begun(*phone, LARGE).is_none()), "that is the share of all");
        let owner = begun(None, LARGE);
        assert!(owner.is_some(), "and the rest is the owner's");
        drop((first, second, owner));
        assert!(intake.ledger.is_empty(), "all is given back");
    }
}
