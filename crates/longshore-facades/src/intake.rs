//! What clients have begun to say and not ended: how much of it is held, for whom, and how long it may take.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`LARGE`], [`SMALL`], [`TINY`] | what is longer is refused: of who may send content, of who may not, of who is not known |
//! | [`HELD`] | held in all; what would be more is refused, and can be tried again |
//! | [`HELD_OF_DEVICES`], [`HELD_OF_ONE`] | the same for all devices together, and for one: the rest is the owner's |
//! | [`STRANGER_WITHIN`] | a body of who is not known that takes longer is refused |
//! | [`PACE`] | whoever is known brings so many bytes in so long, or ends |
//!
//! The first `UNCOUNTED` bytes of each are not counted: what is short always finds room.

use std::collections::HashMap;
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
use crate::problem::Problem;

/// How large a request may be of who may send content. Attachments come inside, in base64.
pub const LARGE: usize = 32 << 20;
/// How large one may be of who may only look and decide.
pub const SMALL: usize = 64 << 10;
/// How large one may be of somebody whom nobody knows yet.
pub const TINY: usize = 16 << 10;

/// How much of what clients say is held at once.
pub const HELD: usize = 160 << 20;
/// How much of it may be of devices.
pub const HELD_OF_DEVICES: usize = 112 << 20;
/// How much of it may be of one device.
pub const HELD_OF_ONE: usize = 64 << 20;
/// How much of each is not counted.
const UNCOUNTED: usize = 64 << 10;

/// How long a body of who is not known may take.
pub const STRANGER_WITHIN: Duration = Duration::from_secs(10);
/// How much must come in how long of who is known.
pub const PACE: (usize, Duration) = (32 << 10, Duration::from_secs(10));
/// How long a frame of a socket may gain less than that.
pub(crate) const FRAME_WITHIN: Duration = Duration::from_secs(30);

/// How large an input of this caller may be.
pub(crate) fn limit_of(caller: &Caller) -> usize {
    if caller.may(Access::Act) { LARGE } else { SMALL }
}

/// What is held of all clients; of the owner under none.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    held: Mutex<HashMap<Option<DeviceId>, usize>>,
}

impl Intake {
    /// An account for one input of a caller.
    pub(crate) fn begin(self: &Arc<Self>, of: Option<DeviceId>) -> Holding {
        Holding { intake: Arc::clone(self), of, seen: 0, counted: 0 }
    }

    fn take(&self, of: Option<DeviceId>, more: usize) -> bool {
        let mut held = self.held();
        let all: usize = held.values().sum();
        let owners = held.get(&None).copied().unwrap_or_default();
        let own = held.get(&of).copied().unwrap_or_default();
        let fits = match of {
            None => all + more <= HELD,
            Some(_) => {
                own + more <= HELD_OF_ONE && all - owners + more <= HELD_OF_DEVICES && all + more <= HELD
            }
        };
        if fits {
            *held.entry(of).or_default() += more;
        }
        fits
    }

    fn give_back(&self, of: Option<DeviceId>, bytes: usize) {
        let mut held = self.held();
        if let Some(own) = held.get_mut(&of) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.remove(&of);
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Option<DeviceId>, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is held of one input. It is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Holding {
    intake: Arc<Intake>,
    of: Option<DeviceId>,
    seen: usize,
    counted: usize,
}

impl Holding {
    /// More of it came; false when there is no room for that.
    fn grow(&mut self, more: usize) -> bool {
        self.seen += more;
        let missing = self.seen.saturating_sub(UNCOUNTED).saturating_sub(self.counted);
        let fits = missing == 0 || self.intake.take(self.of, missing);
        if fits {
            self.counted += missing;
        }
        fits
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if self.counted > 0 {
            self.intake.give_back(self.of, self.counted);
        }
    }
}

/// Why a body was cut off, once it was.
pub(crate) type Cut = Arc<OnceLock<Problem>>;

/// A body that ends when its sender takes too long, says too much, or has to leave.
pub(crate) struct PacedBody {
    body: Body,
    limit: usize,
    seen: usize,
    /// What came since the deadline was set.
    lately: usize,
    deadline: Pin<Box<Sleep>>,
    /// None of who is not known: that one has no more time however much comes.
    known: Option<(SharedHolding, BoxFuture<'static, Problem>)>,
    cut: Cut,
}

/// What is held of a body, which is worked on longer than it is read.
pub(crate) type SharedHolding = Arc<Mutex<Holding>>;

impl PacedBody {
    /// Of somebody who is not known.
    pub(crate) fn of_stranger(body: Body, cut: Cut) -> Self {
        let deadline = Box::pin(sleep_until(Instant::now() + STRANGER_WITHIN));
        Self { body, limit: TINY, seen: 0, lately: 0, deadline, known: None, cut }
    }

    /// Of a caller.
    pub(crate) fn of_caller(body: Body, caller: &Caller, holding: SharedHolding, cut: Cut) -> Self {
        let (limit, caller) = (limit_of(caller), caller.clone());
        let out = Box::pin(async move { caller.put_out().await });
        let deadline = Box::pin(sleep_until(Instant::now() + PACE.1));
        Self { body, limit, seen: 0, lately: 0, deadline, known: Some((holding, out)), cut }
    }

    fn cut_off(&self, problem: Problem) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let error = axum::Error::new(problem.title.clone());
        // The first reason is the reason.
        let _ = self.cut.set(problem);
        Poll::Ready(Some(Err(error)))
    }

    /// Counts what came; says why it is too much.
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

/// What a socket has begun to say. The connection counts what it reads, the socket takes the account with each message.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    open: Mutex<Option<(Holding, Instant, usize)>>,
}

impl Frames {
    /// From here on what is read is counted for this caller.
    pub(crate) fn begin(&self, intake: &Arc<Intake>, of: Option<DeviceId>) {
        *self.open() = Some((intake.begin(of), Instant::now(), 0));
    }

    /// So much was read; false when there is no room for it.
    pub(crate) fn came(&self, more: usize) -> bool {
        let mut open = self.open();
        let Some((holding, since, lately)) = &mut *open else { return true };
        if holding.seen == 0 || *lately + more >= PACE.0 {
            (*since, *lately) = (Instant::now(), 0);
        } else {
            *lately += more;
        }
        holding.grow(more)
    }

    /// A message is whole: what is held of it, for as long as it is worked on.
    pub(crate) fn message(&self) -> Option<Holding> {
        let mut open = self.open();
        let (holding, since, lately) = open.as_mut()?;
        (*since, *lately) = (Instant::now(), 0);
        let next = holding.intake.begin(holding.of);
        Some(std::mem::replace(holding, next))
    }

    /// Whether a message was begun that does not get on.
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
        assert!(intake.held().is_empty(), "all is given back");
    }
}
