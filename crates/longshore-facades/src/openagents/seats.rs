//! Connections that broke, for clients that come back and go on where they were.
//!
//! The app says nothing of itself: after a lost connection it shakes hands and goes on with the old session. So the hub
//! keeps what a connection followed and how far, and gives it to the next connection of the same device, from the same
//! address if it can. What nobody comes back for is forgotten.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
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
    /// The sessions, each with the last event that the client got.
    pub(crate) sessions: HashMap<SessionId, Seq>,
    /// Prompts of this client that did not come back as messages yet. It shows its own prompts itself.
    echoes: Vec<(SessionId, String)>,
}

impl Seat {
    /// Notes a prompt that the client shows itself.
    pub(crate) fn expect(&mut self, session: SessionId, text: &str) {
        if self.echoes.len() == ECHOES {
            self.echoes.remove(0);
        }
        self.echoes.push((session, text.to_owned()));
    }

    /// Takes over the prompts of an earlier connection that are on their way.
    pub(crate) fn expect_all(&mut self, left: Seat) {
        left.echoes.iter().for_each(|(session, text)| self.expect(*session, text));
    }

    /// Whether a message is a prompt that the client shows itself. It comes back once.
    pub(crate) fn heard(&mut self, session: SessionId, text: &str) -> bool {
        let found = self.echoes.iter().position(|(of, sent)| *of == session && sent == text);
        found.map(|at| self.echoes.remove(at)).is_some()
    }
}

/// The seats of connections that broke.
#[derive(Debug, Default)]
pub(crate) struct Departures(Mutex<Vec<Departure>>);

#[derive(Debug)]
struct Departure {
    device: Option<DeviceId>,
    from: Option<IpAddr>,
    until: Instant,
    seat: Seat,
}

impl Departures {
    /// Keeps the seat of a connection that ended.
    pub(crate) fn leave(&self, device: Option<DeviceId>, from: Option<IpAddr>, seat: Seat) {
        if seat.sessions.is_empty() {
            return;
        }
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() == REMEMBERED {
            left.remove(0);
        }
        left.push(Departure { device, from, until: Instant::now() + FOR, seat });
    }

    /// The seat of the last connection of this device that ended, if nobody has taken it.
    pub(crate) fn take(&self, device: Option<DeviceId>, from: Option<IpAddr>) -> Seat {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        left.retain(|departure| departure.until > now);
        let nearest = left.iter().rposition(|departure| departure.device == device && departure.from == from);
        let any = || left.iter().rposition(|departure| departure.device == device);
        nearest.or_else(any).map(|at| left.remove(at).seat).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(name: &str) -> Seat {
        Seat { sessions: HashMap::from([(SessionId::of_words(&[name]), Seq(1))]), ..Seat::default() }
    }

    fn is(seat: &Seat, name: &str) -> bool {
        seat.sessions.contains_key(&SessionId::of_words(&[name]))
    }

    #[tokio::test(start_paused = true)]
    async fn a_seat_is_for_the_next_connection_of_its_device() {
        let departures = Departures::default();
        let (phone, other) = (Some(DeviceId::of_words(&["phone"])), Some(DeviceId::of_words(&["other"])));
        let (here, there) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        departures.leave(phone, here, seat("a"));
        departures.leave(phone, there, seat("b"));
        departures.leave(phone, there, Seat::default());
        assert!(departures.take(other, here).sessions.is_empty(), "another device gets nothing");
        assert!(is(&departures.take(phone, here), "a"), "its own address first");
        assert!(is(&departures.take(phone, here), "b"), "it may have another address now");
        assert!(departures.take(phone, here).sessions.is_empty(), "once");
        departures.leave(phone, here, seat("c"));
        tokio::time::advance(FOR).await;
        assert!(departures.take(phone, here).sessions.is_empty(), "not for ever");
        for at in 0..=REMEMBERED {
            departures.leave(None, here, seat(&at.to_string()));
        }
        let taken: Vec<Seat> = (0..REMEMBERED).map(|_| departures.take(None, here)).collect();
        assert!(is(&taken[0], &REMEMBERED.to_string()) && is(taken.last().unwrap(), "1"));
        assert!(departures.take(None, here).sessions.is_empty(), "the oldest was forgotten");
    }

    #[test]
    fn a_prompt_comes_back_once() {
        let (mut seat, session) = (Seat::default(), SessionId::of_words(&["a"]));
        seat.expect(session, "hi");
        assert!(!seat.heard(SessionId::of_words(&["b"]), "hi") && !seat.heard(session, "ho"));
        assert!(seat.heard(session, "hi") && !seat.heard(session, "hi"));
        (0..=ECHOES).for_each(|at| seat.expect(session, &at.to_string()));
        assert!(!seat.heard(session, "0") && seat.heard(session, "1"));
    }
}
