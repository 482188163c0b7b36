//! What connections follow, for clients whose connection broke and that go on where they were.
//!
//! The app says nothing of itself: after a lost connection it shakes hands and goes on with the old session. So the hub
//! keeps what a connection followed and how far, and gives it to the next connection of the same device, from the same
//! address if it can. What nobody comes back for is forgotten.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longshore_model::id::{DeviceId, Seq, SessionId};
use tokio::time::Instant;

/// How many broken connections are remembered. The oldest is forgotten.
const REMEMBERED: usize = 64;
/// For how long. The app tries for about a minute.
const FOR: Duration = Duration::from_secs(10 * 60);
/// How many prompts of one connection may be on their way back as messages.
const ECHOES: usize = 256;

/// What one client follows.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    /// The sessions, each with the last event that the client is known to have.
    pub(crate) sessions: HashMap<SessionId, Seq>,
    /// Prompts of this client that did not come back as messages yet. It shows its own prompts itself.
    echoes: Vec<(SessionId, String)>,
    /// The messages that were such prompts: they may come once more.
    own: Vec<(SessionId, Seq)>,
}

impl Seat {
    /// Notes a prompt that the client shows itself.
    pub(crate) fn expect(&mut self, session: SessionId, text: &str) {
        push(&mut self.echoes, (session, text.to_owned()));
    }

    /// Takes a prompt back that was not sent.
    pub(crate) fn forget(&mut self, session: SessionId, text: &str) -> bool {
        let found = self.echoes.iter().position(|(of, sent)| *of == session && sent == text);
        found.map(|at| self.echoes.remove(at)).is_some()
    }

    /// Whether a message is a prompt that the client shows itself.
    pub(crate) fn is_own(&mut self, session: SessionId, seq: Seq, text: &str) -> bool {
        if self.own.contains(&(session, seq)) {
            return true;
        }
        let is_own = self.forget(session, text);
        if is_own {
            push(&mut self.own, (session, seq));
        }
        is_own
    }

    /// The seat for another connection. A prompt that is on its way comes back to one of them.
    fn copy(&mut self) -> Self {
        let echoes = std::mem::take(&mut self.echoes);
        Self { sessions: self.sessions.clone(), echoes, own: self.own.clone() }
    }

    /// Takes over what an earlier connection of the client said.
    pub(crate) fn inherit(&mut self, left: Seat) {
        left.echoes.into_iter().for_each(|echo| push(&mut self.echoes, echo));
        left.own.into_iter().for_each(|own| push(&mut self.own, own));
    }
}

fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == ECHOES {
        list.remove(0);
    }
    list.push(item);
}

/// The seats of all connections, also of those that ended a while ago.
#[derive(Debug, Default)]
pub(crate) struct Seats(Mutex<Vec<TakenSeat>>);

#[derive(Debug)]
struct TakenSeat {
    device: Option<DeviceId>,
    from: Option<IpAddr>,
    /// How long it is kept; none while its connection lives.
    until: Option<Instant>,
    seat: Arc<Mutex<Seat>>,
}

impl Seats {
    /// Gives a new connection what the last connection of its device followed, if nobody has taken that. A connection
    /// that broke without a word still looks alive. So what a living one from the same address follows, the new one
    /// follows too.
    pub(crate) fn sit(
        &self,
        device: Option<DeviceId>,
        from: Option<IpAddr>,
        seat: &Arc<Mutex<Seat>>,
    ) -> Seat {
        let mut seats = self.seats();
        let now = Instant::now();
        seats.retain(|taken| taken.until.is_none_or(|until| until > now));
        let of_device = |taken: &TakenSeat| taken.device == device;
        let is_left = |taken: &TakenSeat| of_device(taken) && taken.until.is_some();
        let nearest = seats.iter().rposition(|taken| is_left(taken) && taken.from == from);
        let left = match nearest.or_else(|| seats.iter().rposition(is_left)) {
            Some(at) => std::mem::take(&mut *held(&seats.remove(at).seat)),
            None => {
                let living = seats.iter().rev().find(|taken| of_device(taken) && taken.from == from);
                living.map(|taken| held(&taken.seat).copy()).unwrap_or_default()
            }
        };
        seats.push(TakenSeat { device, from, until: None, seat: Arc::clone(seat) });
        left
    }

    /// Keeps the seat of a connection that ended.
    pub(crate) fn leave(&self, seat: &Arc<Mutex<Seat>>) {
        let mut seats = self.seats();
        let Some(at) = seats.iter().position(|taken| Arc::ptr_eq(&taken.seat, seat)) else { return };
        let mut taken = seats.remove(at);
        if held(seat).sessions.is_empty() {
            return;
        }
        if seats.iter().filter(|taken| taken.until.is_some()).count() == REMEMBERED
            && let Some(oldest) = seats.iter().position(|taken| taken.until.is_some())
        {
            seats.remove(oldest);
        }
        taken.until = Some(Instant::now() + FOR);
        seats.push(taken);
    }

    fn seats(&self) -> MutexGuard<'_, Vec<TakenSeat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The seat, for a moment.
pub(crate) fn held(seat: &Mutex<Seat>) -> MutexGuard<'_, Seat> {
    seat.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(name: &str) -> Arc<Mutex<Seat>> {
        let sessions = HashMap::from([(SessionId::of_words(&[name]), Seq(1))]);
        Arc::new(Mutex::new(Seat { sessions, ..Seat::default() }))
    }

    fn is(seat: &Seat, name: &str) -> bool {
        seat.sessions.contains_key(&SessionId::of_words(&[name]))
    }

    #[tokio::test(start_paused = true)]
    async fn a_seat_is_for_the_next_connection_of_its_device() {
        let seats = Seats::default();
        let (phone, other) = (Some(DeviceId::of_words(&["phone"])), Some(DeviceId::of_words(&["other"])));
        let (here, there) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        let come = |device, from| {
            let seat = Arc::<Mutex<Seat>>::default();
            let left = seats.sit(device, from, &seat);
            seats.leave(&seat);
            left
        };
        let come_and_go = |device, from, name| {
            let seat = seat(name);
            seats.sit(device, from, &seat);
            seats.leave(&seat);
        };
        let (a, b) = (seat("a"), seat("b"));
        seats.sit(phone, here, &a);
        seats.sit(phone, there, &b);
        assert!(is(&come(phone, here), "a"), "the old connection may be dead without a word");
        assert!(come(phone, Some([10, 0, 0, 3].into())).sessions.is_empty(), "or belong to somebody else");
        seats.leave(&a);
        seats.leave(&b);
        assert!(come(other, here).sessions.is_empty(), "another device gets nothing");
        assert!(is(&come(phone, here), "a"), "its own address first");
        assert!(is(&come(phone, here), "b"), "it may have another address now");
        assert!(come(phone, here).sessions.is_empty(), "once");
        come_and_go(phone, here, "c");
        tokio::time::advance(FOR).await;
        assert!(come(phone, here).sessions.is_empty(), "not for ever");
        for at in 0..=REMEMBERED {
            let name: &'static str = at.to_string().leak();
            let seat = seat(name);
            seats.sit(other, here, &seat);
            seats.0.lock().unwrap().last_mut().unwrap().device = None;
            seats.leave(&seat);
        }
        let taken: Vec<Seat> = (0..REMEMBERED).map(|_| come(None, here)).collect();
        assert!(is(&taken[0], &REMEMBERED.to_string()) && is(taken.last().unwrap(), "1"));
        assert!(come(None, here).sessions.is_empty(), "the oldest was forgotten");
    }

    #[test]
    fn a_prompt_comes_back_as_one_message_however_often_that_comes() {
        let (mut seat, session) = (Seat::default(), SessionId::of_words(&["a"]));
        seat.expect(session, "hi");
        assert!(
            !seat.is_own(SessionId::of_words(&["b"]), Seq(1), "hi") && !seat.is_own(session, Seq(1), "ho")
        );
        assert!(seat.is_own(session, Seq(2), "hi") && seat.is_own(session, Seq(2), "hi"));
        assert!(!seat.is_own(session, Seq(3), "hi"), "somebody else says the same");
        let mut next = Seat::default();
        next.inherit(seat.copy());
        assert!(next.is_own(session, Seq(2), "hi"));
        seat.expect(session, "not sent");
        assert!(seat.forget(session, "not sent") && !seat.is_own(session, Seq(4), "not sent"));
        (0..=ECHOES).for_each(|at| seat.expect(session, &at.to_string()));
        assert!(!seat.is_own(session, Seq(5), "0") && seat.is_own(session, Seq(6), "1"));
    }
}
